//! Three nodes, keys with TTLs, a dead leader: what happens, when, and whether anything is wrong.

use std::fmt::Display;
use std::time::Duration;

use clap::Args;
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep, sleep_until};

use crate::cluster::{Cluster, Statuses, deadline};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::message::Request;
use crate::time::wall_us_now;
use crate::types::{Command, Item, NodeId};

const NODES: u64 = 3;

/// How many clients write at once.
const CLIENTS: u64 = 16;

/// Keys without a TTL, which must all be there at the end.
const STAYING: u64 = 10;

/// What to show.
#[derive(Args, Debug)]
pub struct Wishes {
    /// Have all keys expire at one moment, kill nobody, and measure how long that takes
    #[arg(long)]
    burst: bool,
    /// How many keys [default: 2000, or 20000 in a burst]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=50_000))]
    keys: Option<u64>,
    /// The longest TTL; the shortest is half of it. In a burst, the time until all is due
    #[arg(long, value_parser = humantime::parse_duration, default_value = "6s")]
    ttl: Duration,
}

impl Wishes {
    fn keys(&self) -> u64 {
        self.keys.unwrap_or(if self.burst { 20_000 } else { 2_000 })
    }
}

/// Shows it, on standard output. Dropped or failed, it leaves no process and no file. It fails if anything was lost,
/// resurrected, early or expired twice.
pub async fn show(wishes: &Wishes) -> Result<(), Error> {
    if wishes.ttl < Duration::from_millis(100) || wishes.ttl > Duration::from_secs(3_600) {
        return Err(Error::Arguments("a TTL is from 100ms to 1h here".to_owned()));
    }
    let keys = wishes.keys();
    if wishes.burst {
        println!(
            "This shows that keys which are due together go together: {keys} of them, all due at one\n\
             moment, leave three nodes soon after it, in a few entries of the log.\n"
        );
    } else {
        println!(
            "This shows that a dead leader takes no TTL with it: {keys} keys wait to expire when the node\n\
             that would have proposed it is killed. The next one does so, on time; the dead one\n\
             comes back and agrees. Then all is counted: lost, back again, early, twice.\n"
        );
    }
    let mut stage = Stage::set().await?;
    if wishes.burst {
        stage.burst(wishes).await?
    } else {
        stage.failover(wishes).await?
    }
    let counts = stage.ledger.counts(&stage.cluster).await?;
    println!("\n{}\n", stage.ledger.table());
    println!("{}", counts.verdict()?);
    Ok(())
}

/// The nodes, what was written to them, and how long it has been.
struct Stage {
    cluster: Cluster,
    ledger: Ledger,
    beginning: Instant,
}

impl Stage {
    async fn set() -> Result<Self, Error> {
        let mut cluster = Cluster::new(&std::env::current_exe()?, NODES, &[])?;
        cluster.start_all()?;
        let stage = Self { cluster, ledger: Ledger::default(), beginning: Instant::now() };
        let addresses: Vec<String> = stage.cluster.addresses().iter().map(ToString::to_string).collect();
        stage.tell(format!("nodes 1 to {NODES} at {}", addresses.join(", ")));
        stage.tell(format!("their data in {}, until the end", stage.cluster.directory().display()));
        stage.leader().await?;
        Ok(stage)
    }

    /// Waits for a leader, and tells who it is.
    async fn leader(&self) -> Result<NodeId, Error> {
        let (leader, term) = self.cluster.leader().await?;
        self.tell(format!("node {leader} leads, in term {term}"));
        Ok(leader)
    }

    fn tell(&self, what: impl Display) {
        let seconds = self.beginning.elapsed().as_secs_f64();
        println!("{seconds:8.2} s  {what}");
    }

    /// Keys with TTLs, and a leader that dies while most of them wait.
    async fn failover(&mut self, wishes: &Wishes) -> Result<(), Error> {
        let keys = wishes.keys();
        let half = u64::try_from(wishes.ttl.as_millis() / 2).unwrap_or(u64::MAX);
        // Neighbours in time get TTLs that are far apart.
        self.write(keys + STAYING, 1, |nth| (nth < keys).then(|| half + half * (nth * 7_919 % keys) / keys)).await?;
        let all_are_due = Instant::now() + wishes.ttl;
        let shortest = Duration::from_millis(half);
        self.tell(format!(
            "{keys} keys with TTLs from {shortest:?} to {:?} are acknowledged, and {STAYING} without",
            wishes.ttl
        ));

        let (victim, _) = self.cluster.leader().await?;
        let left = self.cluster.statuses().await.get(&victim).map_or(0, |status| status.ttls);
        self.cluster.kill(victim);
        self.tell(format!("node {victim}, the leader, is killed; {left} keys wait to expire"));
        self.leader().await?;
        let survivors: Vec<NodeId> = self.cluster.ids().into_iter().filter(|&id| id != victim).collect();
        sleep_until(all_are_due).await;
        self.have_expired(keys, &survivors).await?;
        self.tell(format!("all of them have expired on nodes {survivors:?}"));

        self.cluster.start(victim)?;
        let statuses = self.cluster.agreement(|status| status.keys >= STAYING).await?;
        let (applied, digest) = (statuses[&victim].applied, &statuses[&victim].digest);
        self.tell(format!("node {victim} is back; all have applied {applied} entries and have digest {digest}"));
        Ok(())
    }

    /// Many keys that are due at one moment.
    async fn burst(&mut self, wishes: &Wishes) -> Result<(), Error> {
        let keys = wishes.keys();
        let deadline_ms = wall_us_now() / 1_000 + u64::try_from(wishes.ttl.as_millis()).unwrap_or(u64::MAX);
        let left_ms = || deadline_ms.saturating_sub(wall_us_now() / 1_000);
        self.write(keys, 100, |_| Some(left_ms().max(1))).await?;
        let left = Duration::from_millis(left_ms());
        if left.is_zero() {
            return Err(Error::Arguments("the keys could not be written in that time: use a longer --ttl".to_owned()));
        }
        self.tell(format!("{keys} keys are acknowledged, and all of them are due in {left:?}"));
        sleep(left).await;
        self.have_expired(keys, &self.cluster.ids()).await?;

        self.ledger.hear(&self.cluster);
        for (id, heard) in &self.ledger.heard {
            let took = Duration::from_micros(heard.last_us.saturating_sub(deadline_ms * 1_000));
            self.tell(format!("gone on node {id} {took:?} after the deadline"));
        }
        let statuses = self.cluster.statuses().await;
        let batches = statuses.values().map(|status| status.batches).max().unwrap_or(0);
        self.tell(format!("the expiries took {batches} entries of the log"));
        Ok(())
    }

    /// Writes keys, so many with each put, and takes down that they were acknowledged.
    async fn write(&mut self, keys: u64, each: u64, ttl_ms: impl Fn(u64) -> Option<u64>) -> Result<(), Error> {
        let item = |nth| Item { key: format!("key {nth}"), value: format!("value {nth}"), ttl_ms: ttl_ms(nth) };
        let writers = (0..CLIENTS).map(async |writer| {
            let (mut client, mut ledger) = (self.cluster.client(), Ledger::default());
            for first in (writer * each..keys).step_by((CLIENTS * each) as usize) {
                let items: Vec<Item> = (first..(first + each).min(keys)).map(&item).collect();
                let began_us = wall_us_now();
                client.insist(&Request::Write(Command::Put(items.clone())), deadline()).await?;
                ledger.promise(&items, began_us);
            }
            Ok::<_, Error>(ledger)
        });
        for written in try_join_all(writers).await? {
            self.ledger.merge(written);
        }
        Ok(())
    }

    /// Waits until all keys have expired on these nodes.
    async fn have_expired(&self, keys: u64, nodes: &[NodeId]) -> Result<(), Error> {
        let have_all = |statuses: &Statuses| {
            let mut expired = nodes.iter().map(|id| statuses.get(id).map_or(0, |status| status.expired));
            expired.all(|expired| expired >= keys).then_some(())
        };
        self.cluster.until("not all keys have expired", have_all).await
    }
}
