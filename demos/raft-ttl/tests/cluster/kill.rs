//! Nodes that die at any moment, again and again, while keys are written and expire.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use raft_ttl::cluster::GLANCE;
use raft_ttl::ledger::{Counts, Ledger};
use raft_ttl::types::{Item, NodeId};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::process::{HASTY, Nodes, PATIENCE, deadline, item};

const WRITERS: u64 = 4;

/// How many keys that are gone are looked for in each round.
const LOOKED_FOR: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn nodes_killed_at_random_lose_nothing_acknowledged() {
    let counts = kill(4, 80, seed()).await;
    assert_eq!(counts.attempted, 4 * 80);
}

/// Prints its counts: `-- --ignored --nocapture`. `RAFT_TTL_WRITES` is how many a round has, if not a
/// hundred.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn nodes_killed_in_fifty_rounds_lose_nothing_acknowledged() {
    let writes = number("RAFT_TTL_WRITES").unwrap_or(100);
    let counts = kill(50, writes, seed()).await;
    assert_eq!(counts.attempted, 50 * writes);
    println!("{counts:#?}");
}

/// The same every time, unless another is wanted.
fn seed() -> u64 {
    number("RAFT_TTL_SEED").unwrap_or(20_161)
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// Who dies.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Leader,
    One(NodeId),
    All,
}

/// Writes so many keys in each round, in which nodes die once some of them are written.
async fn kill(rounds: u64, writes: u64, seed: u64) -> Counts {
    println!("seed {seed}");
    let mut random = Pcg64::seed_from_u64(seed);
    let arguments = [&HASTY[..], &["--snapshot-every", "400"]].concat();
    let mut nodes = Nodes::started(&arguments);
    let mut ledger = Ledger::default();
    for round in 0..rounds {
        nodes.leads().await;
        let written = Arc::new(AtomicU64::new(0));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let items = (writer..writes).step_by(WRITERS as usize);
            let items = items.map(|nth| random_item(&mut random, round, nth)).collect();
            let client = nodes.client();
            writers.spawn(write(client, items, Arc::clone(&written)));
        }
        let victim = match random.random_range(0..6) {
            0..3 => Victim::Leader,
            3 | 4 => Victim::One(random.random_range(1..=3)),
            _ => Victim::All,
        };
        let moment = random.random_range(0..writes);
        let pause = Duration::from_millis(random.random_range(0..400));
        let expired = ledger.expired();
        wait_until_written(&nodes, &mut ledger, &written, moment).await;
        die(&mut nodes, &mut ledger, victim).await;
        sleep(pause).await;
        for id in nodes.ids() {
            if !nodes.is_running(id) {
                ledger.forget(id);
                nodes.start(id).unwrap();
            }
        }
        wait_until_written(&nodes, &mut ledger, &written, writes).await;
        while let Some(done) = writers.join_next().await {
            ledger.merge(done.unwrap());
        }
        // Those that are known to be gone stay gone, whoever leads now.
        for key in ledger.gone(&format!("{}-", random.random_range(0..=round)), LOOKED_FOR) {
            assert_eq!(nodes.latest(&key).await, None, "{key} is back");
        }
        if rounds > 10 {
            let expired = ledger.expired() - expired;
            println!("round {round}: {victim:?} at {moment}, {expired} expired");
        }
    }
    nodes.agree(|status| status.ttls == 0).await;
    for id in nodes.ids() {
        ledger.hear(&nodes, id).await;
    }
    let counts = ledger.counts(&nodes).await.unwrap();
    assert!(counts.is_sound(), "{counts:?}");
    counts
}

fn random_item(random: &mut Pcg64, round: u64, nth: u64) -> Item {
    let ttl_ms = random.random_range(100..2_000);
    // A few stay, and must.
    let stays = random.random_range(0..20) == 0;
    item(format!("{round}-{nth}"), (!stays).then_some(ttl_ms))
}

async fn write(mut client: raft_ttl::client::Client, items: Vec<Item>, written: Arc<AtomicU64>) -> Ledger {
    let mut ledger = Ledger::default();
    for item in items {
        ledger.merge(Ledger::write(&mut client, item, deadline()).await.unwrap());
        written.fetch_add(1, Ordering::SeqCst);
    }
    ledger
}

/// Listens to what expires until so many keys are written.
async fn wait_until_written(nodes: &Nodes, ledger: &mut Ledger, written: &Arc<AtomicU64>, wanted: u64) {
    let mut deadline = Instant::now() + PATIENCE;
    let mut last = 0;
    loop {
        let now = written.load(Ordering::SeqCst);
        if now >= wanted {
            return;
        }
        if now > last {
            (last, deadline) = (now, Instant::now() + PATIENCE);
        }
        assert!(Instant::now() < deadline, "writing stands still at {now}");
        for id in nodes.ids() {
            ledger.hear(nodes, id).await;
        }
        sleep(GLANCE).await;
    }
}

async fn die(nodes: &mut Nodes, ledger: &mut Ledger, victim: Victim) {
    match victim {
        Victim::Leader => {
            let (leader, _) = nodes.leads().await;
            nodes.kill(leader);
        }
        Victim::One(id) => nodes.kill(id),
        Victim::All => {
            // What expired and is in a snapshot is told by nobody after a start. The last of them can
            // do nothing alone, so it can tell before it dies what it has seen.
            nodes.kill(1);
            nodes.kill(2);
            ledger.hear(nodes, 3).await;
            nodes.kill(3);
        }
    }
}
