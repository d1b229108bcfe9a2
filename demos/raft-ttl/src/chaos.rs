//! Three nodes under everything that networks and machines do, for a while: is anything lost, early, twice, or
//! too much?
//!
//! All the time clients write keys with TTLs, others are slow, silent or deaf, or talk nonsense. One after the other
//! nodes are killed or paused, all of them are killed, or the file of one is cut off somewhere, so that
//! it has to be added anew.

use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::client::{self, Client};
use crate::cluster::{Cluster, GLANCE, Statuses};
use crate::error::Error;
use crate::frame::{self, MAX_FRAME};
use crate::ledger::{Counts, Ledger};
use crate::message::{Reply, Request};
use crate::peers::Hello;
use crate::time::wall_us_now;
use crate::types::{Item, MAX_VALUE, NodeId};

/// How many of each kind of client there are.
const WRITERS: u64 = 4;
const READERS: u64 = 4;
const SLOW: u64 = 20;
const SILENT: usize = 300;
const DEAF: u64 = 10;

/// How long anything may take that is to be waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long those who are no use leave a node alone before they come again.
const PAUSE: Duration = Duration::from_secs(1);

/// The most memory that a node may have had, in KiB.
const MOST_KIB: u64 = 64 << 10;

/// Elections begin soon, and logs are short.
const ARGUMENTS: [&str; 6] = [
    "--heartbeat",
    "150ms",
    "--snapshot-every",
    "1000",
    "--frame-time",
    "3s",
];

/// A value of the longest, for those who ask and do not listen.
const LARGE: &str = "large";

/// Does all that for so long, and reports.
///
/// # Errors
///
/// [`Error::Broken`] if a promise was broken, or a node does not come back.
pub async fn show(duration: Duration, seed: u64) -> Result<(), Error> {
    println!("{duration:?} of chaos, seed {seed}");
    let program = std::env::current_exe().map_err(|error| broken("no program", &error))?;
    let nodes = Cluster::new(&program, 3, &ARGUMENTS);
    let mut nodes = nodes.map_err(|error| broken("no nodes", &error))?;
    nodes
        .start_all()
        .map_err(|error| broken("no nodes", &error))?;
    let mut chaos = Chaos {
        nodes,
        ledger: Ledger::default(),
        random: Pcg64::seed_from_u64(seed),
        deeds: [0; Deed::ALL.len()],
        peak_kib: 0,
    };
    chaos.leader().await?;
    let crowd = Crowd::gather(&chaos.nodes, seed).await?;
    let happened = chaos.go_on(duration).await;
    let (written, stall, most) = crowd.leave().await?;
    happened?;
    chaos.ledger.merge(written);
    chaos.report(stall, most).await
}

fn broken(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::Broken(format!("{what}: {error}"))
}

/// What is done to the nodes.
#[derive(Clone, Copy, Debug)]
enum Deed {
    KillLeader,
    KillOne,
    KillAll,
    Pause,
    Cut,
}

impl Deed {
    const ALL: [(Self, &'static str); 5] = [
        (Self::KillLeader, "leaders killed"),
        (Self::KillOne, "nodes killed"),
        (Self::KillAll, "all killed"),
        (Self::Pause, "nodes paused"),
        (Self::Cut, "files cut"),
    ];
}

/// The nodes, and what is known of them.
struct Chaos {
    nodes: Cluster,
    ledger: Ledger,
    random: Pcg64,
    deeds: [u64; Deed::ALL.len()],
    peak_kib: u64,
}

impl Chaos {
    async fn go_on(&mut self, duration: Duration) -> Result<(), Error> {
        let (beginning, bar) = (Instant::now(), bar(duration));
        for round in 0_usize.. {
            bar.set_position(beginning.elapsed().as_secs());
            if beginning.elapsed() >= duration {
                break;
            }
            self.listen(self.nodes.ids(), Duration::from_millis(500))
                .await;
            self.measure();
            // Each of them soon, then as it comes.
            let nth = match round {
                0..5 => [0, 4, 3, 2, 1][round],
                _ => self.random.random_range(0..Deed::ALL.len()),
            };
            self.deeds[nth] += 1;
            self.act(Deed::ALL[nth].0).await?;
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
            file.set_len(self.random.random_range(0..length))
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
            let statuses = self.nodes.statuses().await;
            let last = statuses.get(&leader).map(|status| status.last_log);
            wanted = wanted.or(last);
            let has_it = |status: &crate::message::Status| Some(status.applied) >= wanted;
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
            let get = Request::Get {
                key: key.clone(),
                linearizable: true,
            };
            match client_of(&self.nodes).insist(&get, deadline).await {
                Ok(Reply::Missing) => {}
                other => return Err(self.stuck(&format!("{key} is back: {other:?}"))),
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
        for (number, (_, name)) in self.deeds.iter().zip(Deed::ALL) {
            println!("{name:>22}  {number}");
        }
        for (number, name) in kinds.iter().zip(["reads", "bad messages", "refusals"]) {
            println!("{name:>22}  {number}");
        }
        let Counts {
            attempted,
            acknowledged,
            expired,
            lost,
            resurrected,
            early,
            twice,
            ..
        } = counts;
        println!(
            "{:>22}  {attempted}, of which {expired} expired",
            "keys written"
        );
        println!(
            "{:>22}  {} MiB a node",
            "most memory",
            self.peak_kib.div_ceil(1 << 10)
        );
        println!("{:>22}  {stall:.1?}", "longest stall");
        let line = format!(
            "acknowledged {acknowledged}, lost {lost}, resurrected {resurrected}, early {early}, twice {twice}"
        );
        let panics = self.nodes.ids().into_iter();
        let panics = panics
            .filter(|&id| self.nodes.log(id).contains("panicked"))
            .count();
        if panics > 0 {
            return Err(self.stuck("a node panicked"));
        }
        if !counts.is_sound() || acknowledged == 0 {
            return Err(Error::Broken(line));
        }
        if self.peak_kib > MOST_KIB {
            return Err(Error::Broken(format!(
                "{line}; but too much memory was used"
            )));
        }
        println!("{line}");
        Ok(())
    }
}

fn bar(duration: Duration) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:10} [{bar:40}] {pos}/{len} s")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::new(duration.as_secs())
        .with_style(style)
        .with_message("chaos")
}

fn client_of(nodes: &Cluster) -> Client {
    let ids = nodes.ids().into_iter();
    Client::of(ids.map(|id| (id, nodes.address(id))).collect())
}

/// All that ask something of the nodes meanwhile.
struct Crowd {
    ledger: Ledger,
    writers: JoinSet<Result<(Ledger, Duration), Error>>,
    others: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    tally: Arc<Tally>,
}

/// What the others have done.
#[derive(Default)]
struct Tally {
    reads: AtomicU64,
    bad: AtomicU64,
    refusals: AtomicU64,
}

impl Tally {
    fn count(which: &AtomicU64) {
        which.fetch_add(1, Ordering::Relaxed);
    }
}

impl Crowd {
    async fn gather(nodes: &Cluster, seed: u64) -> Result<Self, Error> {
        let large = Item {
            key: LARGE.to_owned(),
            value: "v".repeat(MAX_VALUE),
            ttl_ms: None,
        };
        let began_us = wall_us_now();
        let put = Request::Put(vec![large.clone()]);
        let deadline = Instant::now() + PATIENCE;
        let written = client_of(nodes).insist(&put, deadline).await;
        written.map_err(|failure| broken("no write", &failure))?;
        let mut ledger = Ledger::default();
        ledger.promise(&[large], began_us);

        let is_over = Arc::new(AtomicBool::new(false));
        let tally = Arc::new(Tally::default());
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let random = Pcg64::seed_from_u64(seed.wrapping_add(writer + 1));
            writers.spawn(write(
                client_of(nodes),
                writer,
                random,
                Arc::clone(&is_over),
            ));
        }
        let mut others = JoinSet::new();
        let addresses = nodes.addresses();
        let some = |nth: u64| addresses[nth as usize % addresses.len()];
        for nth in 0..READERS {
            others.spawn(read(some(nth), client_of(nodes), Arc::clone(&tally)));
        }
        for nth in 0..SLOW {
            others.spawn(again(some(nth), be_slow));
        }
        for nth in 0..DEAF {
            others.spawn(again(some(nth), be_deaf));
        }
        for &address in &addresses {
            others.spawn(be_silent(address));
            let random = Pcg64::seed_from_u64(seed.wrapping_add(u64::from(address.port())));
            others.spawn(talk_nonsense(address, random, Arc::clone(&tally)));
        }
        Ok(Self {
            ledger,
            writers,
            others,
            is_over,
            tally,
        })
    }

    /// What was written, how long the longest write took, and how often the others did what.
    async fn leave(mut self) -> Result<(Ledger, Duration, [u64; 3]), Error> {
        self.is_over.store(true, Ordering::Relaxed);
        let (mut ledger, mut stall) = (self.ledger, Duration::ZERO);
        while let Some(written) = self.writers.join_next().await {
            let written = written.map_err(|panic| broken("a writer", &panic))?;
            let (part, longest) = written?;
            ledger.merge(part);
            stall = stall.max(longest);
        }
        drop(self.others);
        let Tally {
            reads,
            bad,
            refusals,
        } = &*self.tally;
        let kinds = [reads, bad, refusals].map(|count| count.load(Ordering::Relaxed));
        Ok((ledger, stall, kinds))
    }
}

/// Writes keys, each once, until all is over. One in a hundred stays, and must.
async fn write(
    mut client: Client,
    writer: u64,
    mut random: Pcg64,
    is_over: Arc<AtomicBool>,
) -> Result<(Ledger, Duration), Error> {
    let (mut ledger, mut longest) = (Ledger::default(), Duration::ZERO);
    let mut nth = 0_u64;
    while !is_over.load(Ordering::Relaxed) {
        nth += 1;
        let ttl_ms = random.random_range(100..2_000);
        let stays = random.random_range(0..100) == 0;
        let item = Item {
            key: format!("{writer}-{nth:08}"),
            value: "value".to_owned(),
            ttl_ms: (!stays).then_some(ttl_ms),
        };
        let began = Instant::now();
        let written = Ledger::write(&mut client, item, began + PATIENCE).await;
        let written = written.map_err(|failure| broken("a write", &failure))?;
        longest = longest.max(began.elapsed());
        ledger.merge(written);
        sleep(Duration::from_millis(5)).await;
    }
    Ok((ledger, longest))
}

/// Asks for what costs something: how a node is, what expired there, the latest of a key.
async fn read(address: SocketAddr, mut client: Client, tally: Arc<Tally>) {
    loop {
        let get = Request::Get {
            key: "nobody's".to_owned(),
            linearizable: true,
        };
        let asked = [
            client::ask(address, &Request::Status).await.is_ok(),
            client::ask(address, &Request::History(0)).await.is_ok(),
            client.lead(&get, Instant::now() + PATIENCE).await.is_ok(),
        ];
        for _ in asked.into_iter().filter(|&is_answered| is_answered) {
            Tally::count(&tally.reads);
        }
        sleep(GLANCE).await;
    }
}

/// Does something on one connection after the other.
async fn again<F: Future<Output = io::Result<()>>>(
    address: SocketAddr,
    act: impl Fn(TcpStream) -> F,
) {
    loop {
        if let Ok(stream) = TcpStream::connect(address).await {
            // However it ends, the node goes on.
            let _ = act(stream).await;
        }
        sleep(PAUSE).await;
    }
}

/// Sends a frame a little at a time, and never its end.
async fn be_slow(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(&(MAX_FRAME as u32).to_be_bytes()).await?;
    let part = vec![b'['; 512 << 10];
    for _ in 0..MAX_FRAME / part.len() - 1 {
        stream.write_all(&part).await?;
        sleep(PAUSE / 5).await;
    }
    wait_for_the_end(&mut stream).await
}

/// Asks for much, again and again, and takes nothing of it.
async fn be_deaf(mut stream: TcpStream) -> io::Result<()> {
    let get = frame::encode(&Request::Get {
        key: LARGE.to_owned(),
        linearizable: false,
    })?;
    for _ in 0..10 {
        stream.write_all(&get).await?;
    }
    // Nothing is read, so nothing tells that the other side is gone, either.
    sleep(Duration::from_secs(5)).await;
    Ok(())
}

async fn wait_for_the_end(stream: &mut TcpStream) -> io::Result<()> {
    let read = timeout(PATIENCE, stream.read(&mut [0; 1 << 10])).await;
    read.map_or(Ok(()), |read| read.map(drop))
}

/// Holds as many connections as it can, and says nothing on any.
async fn be_silent(address: SocketAddr) {
    let mut held: Vec<TcpStream> = Vec::new();
    loop {
        held.retain(|stream| {
            let read = stream.try_read(&mut [0; 256]);
            read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        });
        while held.len() < SILENT / 3 {
            match TcpStream::connect(address).await {
                Ok(stream) => held.push(stream),
                Err(_) => break,
            }
        }
        sleep(PAUSE).await;
    }
}

/// Sends what is no frame, no message, no node's hello.
async fn talk_nonsense(address: SocketAddr, mut random: Pcg64, tally: Arc<Tally>) {
    loop {
        let mut bytes = vec![0; random.random_range(1..2_000)];
        bytes.fill_with(|| random.random_range(0..=255_u8));
        match random.random_range(0..4) {
            0 => {}
            1 => drop(bytes.splice(..0, [0, 0, 0, 200])),
            2 => {
                let nested = [&[0, 0, 1, 0][..], &[b'['; 256]].concat();
                bytes = nested;
            }
            _ => {
                let hello = Hello {
                    secret: "a guess".to_owned(),
                    from: random.random_range(0..4),
                    to: random.random_range(0..4),
                    cluster: Some(random.random_range(0..u64::MAX)),
                    disk: None,
                    now_ns: random.random_range(0..u64::MAX),
                };
                bytes = frame::encode(&Request::Peer(hello)).unwrap_or_default();
            }
        }
        if let Ok(mut stream) = TcpStream::connect(address).await
            && stream.write_all(&bytes).await.is_ok()
        {
            Tally::count(&tally.bad);
            let answer = timeout(Duration::from_millis(200), frame::receive(&mut stream)).await;
            if let Ok(Ok(frame::Received::Message(Reply::Refused(_)))) = answer {
                Tally::count(&tally.refusals);
            }
        }
        sleep(GLANCE).await;
    }
}
