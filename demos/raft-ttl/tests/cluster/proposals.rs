//! Proposals that are refused, lost, or overtaken.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openraft::error::{ClientWriteError, ForwardToLeader};
use raft_ttl::message::Request;
use raft_ttl::node::ProposalFuture;
use raft_ttl::types::{Command, Raft};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::process::{deadline, item};
use crate::within::{Trio, disk};

/// What happens on the way of proposals.
#[derive(Default)]
struct Troubles {
    /// How often a batch that names "refused" is refused.
    refusals: AtomicUsize,
    /// Whether batches that name "lost" vanish without an answer.
    loses: AtomicBool,
    lost: AtomicUsize,
    /// Whether batches that name "held" are kept back.
    holds: AtomicBool,
    held: Mutex<Vec<Command>>,
    /// What would have been answered on, so that it is not.
    silences: Mutex<Vec<Box<dyn Send>>>,
}

impl Troubles {
    /// Proposes to this engine, with these troubles.
    fn on_the_way_to(self: &Arc<Self>, raft: Raft) -> impl Fn(Command) -> ProposalFuture + use<> {
        let troubles = Arc::clone(self);
        move |command| {
            let (troubles, raft) = (Arc::clone(&troubles), raft.clone());
            Box::pin(async move {
                let (answer, outcome) = oneshot::channel();
                if names(&command, "refused") && counts_down(&troubles.refusals) {
                    let refusal = ClientWriteError::ForwardToLeader(ForwardToLeader::empty());
                    answer.send(Err(refusal)).unwrap();
                    return Ok(outcome);
                }
                let is_lost = names(&command, "lost") && troubles.loses.load(Ordering::SeqCst);
                let is_held = names(&command, "held") && troubles.holds.load(Ordering::SeqCst);
                if is_lost || is_held {
                    if is_lost {
                        troubles.lost.fetch_add(1, Ordering::SeqCst);
                    } else {
                        troubles.held.lock().unwrap().push(command);
                    }
                    troubles.silences.lock().unwrap().push(Box::new(answer));
                    return Ok(outcome);
                }
                raft.client_write_ff(command).await
            })
        }
    }
}

fn names(command: &Command, wanted: &str) -> bool {
    match command {
        Command::Expire { expiries, .. } => expiries.iter().any(|(key, _)| key == wanted),
        _ => panic!("the loop proposes expiries, and not {command:?}"),
    }
}

fn counts_down(count: &AtomicUsize) -> bool {
    let taken = count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    taken.is_ok()
}

async fn troubled(troubles: &Arc<Troubles>) -> Trio {
    let mut trio = Trio::new();
    for id in 1..=3 {
        let disk = disk(&trio.file(id)).await;
        trio.start(id, disk, 0, |node| troubles.on_the_way_to(node.raft.clone())).await;
    }
    trio.leader().await;
    trio
}

async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = deadline();
    while !is_so() {
        assert!(Instant::now() < deadline, "not {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_proposal_is_made_again() {
    let troubles = Arc::new(Troubles::default());
    let trio = troubled(&troubles).await;
    // A change of the lead begins anew, without a word of failures. There will not be one each time.
    for _ in 0..5 {
        let before = (term(&trio), failures(&trio));
        troubles.refusals.store(3, Ordering::SeqCst);
        trio.put(vec![item("refused", 100)]).await;
        trio.wait_until_gone("refused").await;
        let after = (term(&trio), failures(&trio));
        if after.0 == before.0 {
            assert_eq!(after.1.0 - before.1.0, 3, "the layer is told each time");
            assert_eq!(after.1.1 - before.1.1, 3, "and has it proposed again");
            assert_eq!(troubles.refusals.load(Ordering::SeqCst), 0);
            return;
        }
    }
    panic!("the lead changed each time");
}

fn term(trio: &Trio) -> Option<u64> {
    let nodes = trio.nodes.values();
    nodes.map(|node| node.raft.metrics().borrow().current_term).max()
}

/// How many proposals were refused, and how many were made again.
fn failures(trio: &Trio) -> (u64, u64) {
    let counters = trio.nodes.values().map(|node| node.replica.lock().ttls.stats());
    counters.fold((0, 0), |(failed, retried), it| (failed + it.failed, retried + it.retried))
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_proposal_blocks_nobody_and_is_made_again() {
    let troubles = Arc::new(Troubles::default());
    troubles.loses.store(true, Ordering::SeqCst);
    let trio = troubled(&troubles).await;
    trio.put(vec![item("lost", 100)]).await;
    wait_until("lost", || troubles.lost.load(Ordering::SeqCst) > 0).await;

    // Others expire while nobody answers.
    for key in ["one", "two"] {
        trio.put(vec![item(key, 50)]).await;
        trio.wait_until_gone(key).await;
    }
    for id in 1..=3 {
        assert!(trio.has(id, "lost").await, "nobody deletes without the log");
    }
    // It is proposed again, and lost again, until it is not.
    wait_until("lost again", || troubles.lost.load(Ordering::SeqCst) > 1).await;
    troubles.loses.store(false, Ordering::SeqCst);
    trio.wait_until_gone("lost").await;
    let timed_out = trio.nodes.values().map(|node| node.replica.lock().ttls.stats().timed_out);
    assert!(timed_out.sum::<u64>() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn expiry_that_a_touch_has_overtaken_is_void() {
    let troubles = Arc::new(Troubles::default());
    troubles.holds.store(true, Ordering::SeqCst);
    let trio = troubled(&troubles).await;
    let set_at = trio.put(vec![item("held", 50)]).await;
    wait_until("held", || !troubles.held.lock().unwrap().is_empty()).await;

    let (key, ttl_ms) = ("held".to_owned(), 3_600_000);
    let touched_at = trio.done(&Request::Touch { key, ttl_ms }).await;
    assert!(touched_at > set_at);
    // The proposal was right when it was made. Now it comes through the log.
    let held = troubles.held.lock().unwrap()[0].clone();
    assert!(matches!(&held, Command::Expire { expiries, .. } if expiries[0].1 == set_at));
    let leader = trio.leader().await;
    let written = trio.nodes[&leader].raft.client_write(held.clone()).await;
    let index = written.unwrap().log_id.index;

    for (&id, node) in &trio.nodes {
        wait_until("applied", || {
            let applied = node.raft.metrics().borrow().last_applied;
            applied.is_some_and(|applied| applied.index >= index)
        })
        .await;
        assert!(trio.has(id, "held").await, "a stale expiry deletes nothing");
        let left = node.replica.lock().remaining_ns("held", node.replica.now_ns());
        assert!(left.unwrap() > 3_000_000_000_000, "and the new TTL runs");
    }
    // With the index of the touch the same command counts.
    let Command::Expire { mut expiries, by } = held else { unreachable!() };
    expiries[0].1 = touched_at;
    let command = Command::Expire { expiries, by };
    trio.nodes[&leader].raft.client_write(command).await.unwrap();
    trio.wait_until_gone("held").await;
}
