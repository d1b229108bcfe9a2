//! Three nodes, keys with TTLs, a dead leader: what happens, when, and whether anything is wrong.

mod burst;
mod failover;

use std::fmt::Display;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::Instant;

use crate::client::Client;
use crate::cluster::{Cluster, Statuses};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::message::Request;
use crate::time::wall_us_now;
use crate::types::{Item, NodeId};

/// How many nodes there are.
const NODES: u64 = 3;

/// How long anything may take that does not depend on the TTLs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What to show.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// Whether all keys are to expire at one moment, and nobody is killed.
    pub burst: bool,
    /// How many keys.
    pub keys: u64,
    /// The longest TTL, or in a burst the time until all is due.
    pub ttl: Duration,
}

impl Wishes {
    /// What there is to see.
    fn story(&self) -> String {
        let keys = self.keys;
        if self.burst {
            format!(
                "This shows that keys which are due together go together: {keys} of them, all due at one\n\
                 moment, leave three nodes soon after it, in a few entries of the log."
            )
        } else {
            format!(
                "This shows that a dead leader takes no TTL with it: {keys} keys wait to expire when the node\n\
                 that would have proposed it is killed. The next one does so, on time; the dead one\n\
                 comes back and agrees. Then all is counted: lost, back again, early, twice."
            )
        }
    }
}

/// Shows it, on standard output, and a progress bar on standard error if that is a terminal. Dropped
/// or failed, it leaves no process and no file.
///
/// # Errors
///
/// [`Error::Broken`] if anything was lost, resurrected, early or expired twice, and whatever keeps it
/// from being shown.
pub async fn show(wishes: &Wishes) -> Result<(), Error> {
    if wishes.ttl < Duration::from_millis(100) || wishes.ttl > Duration::from_secs(3_600) {
        return Err(Error::Arguments("a TTL is from 100ms to 1h here".to_owned()));
    }
    println!("{}\n", wishes.story());
    let mut stage = Stage::set().await?;
    if wishes.burst { burst::show(wishes, &mut stage).await } else { failover::show(wishes, &mut stage).await }
}

/// Sets keys and takes down that they were acknowledged.
async fn put(client: &mut Client, items: Vec<Item>, ledger: &mut Ledger) -> Result<(), Error> {
    let (began_us, request) = (wall_us_now(), Request::Put(items));
    let done = client.insist(&request, Instant::now() + PATIENCE).await;
    done.map_err(|failure| Error::Unanswered(failure.to_string()))?;
    if let Request::Put(items) = &request {
        ledger.promise(items, began_us);
    }
    Ok(())
}

/// The nodes, and how long it has been.
struct Stage {
    cluster: Cluster,
    leader: NodeId,
    beginning: Instant,
    bar: ProgressBar,
}

impl Stage {
    /// Starts the nodes and waits for a leader.
    async fn set() -> Result<Self, Error> {
        let broken = |error: std::io::Error| Error::Broken(format!("no nodes: {error}"));
        let program = std::env::current_exe().map_err(broken)?;
        let mut cluster = Cluster::new(&program, NODES, &[]).map_err(broken)?;
        cluster.start_all().map_err(broken)?;
        let mut stage = Self { cluster, leader: 0, beginning: Instant::now(), bar: ProgressBar::hidden() };
        let addresses = stage.cluster.addresses();
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let directory = stage.cluster.directory().display().to_string();
        stage.tell(format!("nodes 1 to {NODES} at {}", addresses.join(", ")));
        stage.tell(format!("their data in {directory}, until the end"));
        stage.await_leader().await?;
        Ok(stage)
    }

    /// Waits for a leader, and tells who it is.
    async fn await_leader(&mut self) -> Result<(), Error> {
        let leader = self.cluster.leader(Instant::now() + PATIENCE).await;
        let (leader, term) = leader.map_err(|statuses| self.stuck("no leader", &statuses))?;
        self.leader = leader;
        self.tell(format!("node {leader} leads, in term {term}"));
        Ok(())
    }

    /// Tells what happened, and when.
    fn tell(&self, what: impl Display) {
        let seconds = self.beginning.elapsed().as_secs_f64();
        self.bar.suspend(|| println!("{seconds:8.2} s  {what}"));
    }

    /// What came of it, when each node has been heard to its end.
    async fn verdict(&self, ledger: &Ledger) -> Result<(), Error> {
        let counts = ledger.counts(&self.cluster).await;
        let counts = counts.map_err(|error| Error::Unanswered(error.to_string()))?;
        println!("\n{}\n", ledger.table());
        println!("{}", counts.verdict()?);
        Ok(())
    }

    /// Begins another stretch of the way.
    fn advance_to(&mut self, name: &'static str, length: u64) {
        self.bar.finish_and_clear();
        let style = ProgressStyle::with_template("{msg:10} [{bar:40}] {pos}/{len}")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        self.bar = ProgressBar::new(length).with_style(style).with_message(name);
    }

    /// What to say if the nodes do not become as they should.
    fn stuck(&self, what: &str, statuses: &Statuses) -> Error {
        let mut text = format!("{what} within {PATIENCE:?}: {statuses:?}");
        for id in self.cluster.ids() {
            text += &format!("\nnode {id} said:\n{}", self.cluster.log(id));
        }
        Error::Broken(text)
    }
}
