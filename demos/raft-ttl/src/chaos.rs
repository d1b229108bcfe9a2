//! Three nodes under everything that networks and machines do, for a while: is anything lost, early, twice, or
//! too much?
//!
//! All the time clients write keys with TTLs, others are slow, silent or deaf, or talk nonsense. One after the other
//! nodes are killed or paused, all of them are killed, or the file of one is cut off somewhere, so that
//! it has to be added anew.

mod crowd;

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::time::{Instant, sleep};

use self::crowd::{Crowd, WRITERS};
use crate::client::Client;
use crate::cluster::{Cluster, GLANCE, Statuses};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::message::{Reply, Request, Status};
use crate::types::NodeId;

/// How long anything may take that is to be waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most memory that a node may have had, in KiB.
const MOST_KIB: u64 = 64 << 10;

/// Why the engine gives up by mistake. A leader's stream of messages to another node ends when that one
/// tells of a newer term. If a snapshot is due before the engine has heard of it, it finds the stream closed and
/// takes that for a failing disk (openraft 0.9.25, `Command::Replicate`). Nothing is lost; whoever keeps
/// nodes running starts this one again.
const MISTAKE: &str = "replication channel closed";

/// Elections begin soon, and logs are short.
const ARGUMENTS: [&str; 6] = ["--heartbeat", "150ms", "--snapshot-every", "1000", "--frame-time", "3s"];

/// Does all of that for so long, and reports.
///
/// # Errors
///
/// As [`run`].
pub async fn show(duration: Duration, seed: u64) -> Result<(), Error> {
    let program = std::env::current_exe().map_err(|error| broken("no program", &error))?;
    run(&program, &Deed::ALL, End::After(duration), seed).await
}

/// Does these deeds to nodes that run this program, until the end, and reports.
///
/// # Errors
///
/// [`Error::Broken`] if a promise was broken, or a node does not come back.
pub async fn run(program: &Path, deeds: &'static [Deed], end: End, seed: u64) -> Result<(), Error> {
    println!("{end:?} of chaos, seed {seed}");
    let nodes = Cluster::new(program, 3, &ARGUMENTS);
    let mut nodes = nodes.map_err(|error| broken("no nodes", &error))?;
    nodes.start_all().map_err(|error| broken("no nodes", &error))?;
    let mut chaos = Chaos {
        nodes,
        ledger: Ledger::default(),
        random: Pcg64::seed_from_u64(seed),
        deeds,
        done: vec![0; deeds.len()],
        peak_kib: 0,
        gave_up: 0,
    };
    chaos.leader().await?;
    let crowd = Crowd::gather(&chaos.nodes, seed).await?;
    let happened = chaos.go_on(end).await;
    let (written, stall, most) = crowd.leave().await?;
    happened?;
    chaos.ledger.merge(written);
    chaos.report(stall, most).await
}

fn broken(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::Broken(format!("{what}: {error}"))
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// After so long.
    After(Duration),
    /// After so many deeds.
    Deeds(u64),
}

/// What is done to the nodes.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "they have names")]
pub enum Deed {
    KillLeader,
    KillOne,
    KillAll,
    Pause,
    Cut,
}

impl Deed {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::KillLeader, Self::Cut, Self::Pause, Self::KillAll, Self::KillOne];

    fn name(self) -> &'static str {
        match self {
            Self::KillLeader => "leaders killed",
            Self::KillOne => "nodes killed",
            Self::KillAll => "all killed",
            Self::Pause => "nodes paused",
            Self::Cut => "files cut",
        }
    }
}

/// The nodes, and what is known of them.
struct Chaos {
    nodes: Cluster,
    ledger: Ledger,
    random: Pcg64,
    deeds: &'static [Deed],
    /// How often each was done.
    done: Vec<u64>,
    peak_kib: u64,
    gave_up: u64,
}

impl Chaos {
    async fn go_on(&mut self, end: End) -> Result<(), Error> {
        let (beginning, bar) = (Instant::now(), bar(end));
        for round in 0_u64.. {
            let (position, is_over) = match end {
                End::After(duration) => (beginning.elapsed().as_secs(), beginning.elapsed() >= duration),
                End::Deeds(deeds) => (round, round >= deeds),
            };
            bar.set_position(position);
            if is_over {
                break;
            }
            self.listen(self.nodes.ids(), Duration::from_millis(500)).await;
            self.measure();
            // Each of them soon, then as it comes.
            let nth = match usize::try_from(round) {
                Ok(round) if round < self.deeds.len() => round,
                _ => self.random.random_range(0..self.deeds.len()),
            };
            self.done[nth] += 1;
            self.act(self.deeds[nth]).await?;
            self.settle().await?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    async fn act(&mut self, deed: Deed) -> Result<(), Error> {
        let one = self.random.random_range(1..=3);
        let pause = Duration::from_millis(self.random.random_range(0..1_500));
        match deed {
            Deed::KillLeader => {
                let leader = self.leader().await?;
                self.kill(&[leader], pause).await
            }
            Deed::KillOne => self.kill(&[one], pause).await,
            Deed::KillAll => self.kill(&[1, 2, 3], pause).await,
            Deed::Pause => {
                let stopped = |error| broken("no pause", &error);
                self.nodes.pause(one).map_err(stopped)?;
                let others = self.nodes.ids().into_iter().filter(|&id| id != one);
                self.listen(others.collect(), 2 * pause).await;
                self.nodes.go_on(one).map_err(stopped)
            }
            Deed::Cut => self.cut(one).await,
        }
    }

    /// Kills nodes and starts them again. The last of several tells before it dies what it has seen: what
    /// expired and is in a snapshot is told by nobody after a start.
    async fn kill(&mut self, victims: &[NodeId], pause: Duration) -> Result<(), Error> {
        for (nth, &id) in victims.iter().enumerate() {
            if nth + 1 == victims.len() && nth > 0 {
                self.ledger.hear(&self.nodes, id).await;
            }
            self.nodes.kill(id);
            self.ledger.forget(id);
        }
        let others = self.nodes.ids().into_iter();
        let others = others.filter(|id| !victims.contains(id)).collect();
        self.listen(others, pause).await;
        for &id in victims {
            self.start(id)?;
        }
        Ok(())
    }

    fn start(&mut self, id: NodeId) -> Result<(), Error> {
        let started = self.nodes.start(id);
        started.map_err(|error| broken("a node does not start", &error))
    }

    /// Cuts the file of a node off somewhere, and goes the way back.
    async fn cut(&mut self, id: NodeId) -> Result<(), Error> {
        self.nodes.kill(id);
        self.ledger.forget(id);
        let data = self.nodes.data(id);
        let mut cut = || {
            let file = File::options().write(true).open(data.join("raft.redb"))?;
            let length = file.metadata()?.len();
            // Within a page of the file: where all of a page is gone it may open, if nothing was there.
            file.set_len(self.random.random_range(0..length) | 1)
        };
        cut().map_err(|error| broken("no file to cut", &error))?;
        self.start(id)?;
        self.refuses(id).await?;
        // What is left of it is of no use.
        fs::remove_dir_all(&data).map_err(|error| broken("no file to remove", &error))?;
        self.start(id)?;
        self.refuses(id).await?;
        self.done(&Request::Remove(id)).await?;
        self.start(id)?;
        self.done(&Request::Add(id)).await
    }

    /// Makes sure that a node ends with an error that the user can mend.
    async fn refuses(&mut self, id: NodeId) -> Result<(), Error> {
        let ended = self.nodes.wait(id, Instant::now() + PATIENCE).await;
        match ended {
            Ok(status) if status.code() == Some(2) => Ok(()),
            other => Err(self.stuck(&format!("node {id} runs on a bad file: {other:?}"))),
        }
    }

    async fn done(&self, request: &Request) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        // A node that has just been started may not listen yet.
        loop {
            let done = client_of(&self.nodes).insist(request, deadline).await;
            match done {
                Ok(Reply::Done { .. } | Reply::Missing) => return Ok(()),
                _ if Instant::now() < deadline => sleep(GLANCE).await,
                other => return Err(self.stuck(&format!("{request:?} gives {other:?}"))),
            }
        }
    }

    /// Waits until all nodes are up and have applied what there is now.
    async fn settle(&mut self) -> Result<(), Error> {
        let leader = self.leader().await?;
        let deadline = Instant::now() + PATIENCE;
        let mut wanted = None;
        loop {
            self.start_who_gave_up()?;
            let statuses = self.nodes.statuses().await;
            let last = statuses.get(&leader).map(|status| status.last_log);
            wanted = wanted.or(last);
            let has_it = |status: &Status| Some(status.applied) >= wanted;
            if wanted.is_some() && statuses.len() == 3 && statuses.values().all(has_it) {
                break;
            }
            if Instant::now() >= deadline {
                return Err(self.stuck(&format!("not all have come back: {statuses:?}")));
            }
            self.listen(self.nodes.ids(), GLANCE).await;
        }
        // Those that are known to be gone stay gone, whoever leads now.
        let from = self.random.random_range(0..WRITERS).to_string();
        for key in self.ledger.gone(&from, 5) {
            let get = Request::Get { key: key.clone(), linearizable: true };
            match client_of(&self.nodes).insist(&get, deadline).await {
                Ok(Reply::Missing) => {}
                other => return Err(self.stuck(&format!("{key} is back: {other:?}"))),
            }
        }
        Ok(())
    }

    /// Starts again whose engine gave up by mistake, and nobody else: any other end is a finding.
    fn start_who_gave_up(&mut self) -> Result<(), Error> {
        for id in self.nodes.ids() {
            if !self.nodes.is_running(id) && gave_up_by_mistake(&self.nodes.log(id)) {
                self.gave_up += 1;
                self.ledger.forget(id);
                self.start(id)?;
            }
        }
        Ok(())
    }

    /// Takes down what expires for a while.
    async fn listen(&mut self, ids: Vec<NodeId>, time: Duration) {
        let end = Instant::now() + time;
        loop {
            for &id in &ids {
                self.ledger.hear(&self.nodes, id).await;
            }
            if Instant::now() >= end {
                return;
            }
            sleep(GLANCE).await;
        }
    }

    fn measure(&mut self) {
        let peaks = self.nodes.ids().into_iter();
        let peaks = peaks.filter_map(|id| self.nodes.peak_memory(id));
        self.peak_kib = peaks.fold(self.peak_kib, u64::max);
    }

    async fn leader(&self) -> Result<NodeId, Error> {
        let leader = self.nodes.leader(Instant::now() + PATIENCE).await;
        let leader = leader.map(|(leader, _)| leader);
        leader.map_err(|statuses: Statuses| self.stuck(&format!("no leader: {statuses:?}")))
    }

    fn stuck(&self, what: &str) -> Error {
        let mut text = what.to_owned();
        for id in self.nodes.ids() {
            text += &format!("\nnode {id} said:\n{}", self.nodes.log(id));
        }
        Error::Broken(text)
    }

    /// Waits until all TTLs are over, and says what came of it all.
    async fn report(mut self, stall: Duration, kinds: [u64; 3]) -> Result<(), Error> {
        let deadline = Instant::now() + PATIENCE;
        let agreed = self.nodes.agreement(deadline, |status| status.ttls == 0);
        if let Err(statuses) = agreed.await {
            return Err(self.stuck(&format!("no agreement at the end: {statuses:?}")));
        }
        self.listen(self.nodes.ids(), Duration::ZERO).await;
        self.measure();
        let counts = self.ledger.counts(&self.nodes).await;
        let counts = counts.map_err(|error| broken("no answer", &error))?;
        for (number, deed) in self.done.iter().zip(self.deeds) {
            println!("{:>22}  {number}", deed.name());
        }
        println!("{:>22}  {}", "engines that gave up", self.gave_up);
        for (number, name) in kinds.iter().zip(["reads", "bad messages", "refusals"]) {
            println!("{name:>22}  {number}");
        }
        println!("{:>22}  {}, of which {} expired", "keys written", counts.attempted, counts.expired);
        println!("{:>22}  {} MiB a node", "most memory", self.peak_kib.div_ceil(1 << 10));
        println!("{:>22}  {stall:.1?}", "longest stall");
        if self.nodes.ids().into_iter().any(|id| self.nodes.log(id).contains("panicked")) {
            return Err(self.stuck("a node panicked"));
        }
        let line = counts.verdict()?;
        if self.peak_kib > MOST_KIB {
            return Err(Error::Broken(format!("{line}; but too much memory was used")));
        }
        println!("{line}");
        Ok(())
    }
}

/// Whether that was the last that a node said.
fn gave_up_by_mistake(log: &str) -> bool {
    log.lines().next_back().is_some_and(|line| line.ends_with(MISTAKE))
}

fn bar(end: End) -> ProgressBar {
    let length = match end {
        End::After(duration) => duration.as_secs(),
        End::Deeds(deeds) => deeds,
    };
    let style = ProgressStyle::with_template("{msg:10} [{bar:40}] {pos}/{len}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::new(length).with_style(style).with_message("chaos")
}

fn client_of(nodes: &Cluster) -> Client {
    let ids = nodes.ids().into_iter();
    Client::of(ids.map(|id| (id, nodes.address(id))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mistake_of_the_engine_is_forgiven_and_only_as_the_last_word() {
        let mistake = "raft-ttl: node 1 listens on 127.0.0.1:45973\n\
            raft-ttl: the node stops: when Read Snapshot(None): replication channel closed\n";
        assert!(gave_up_by_mistake(mistake));
        let started_again = format!("{mistake}raft-ttl: node 1 listens on 127.0.0.1:45973\n");
        assert!(!gave_up_by_mistake(&started_again));
        let full = "raft-ttl: the node stops: when Write Logs: No space left on device\n";
        assert!(!gave_up_by_mistake(&format!("{mistake}{full}")));
        assert!(!gave_up_by_mistake(""));
    }
}
