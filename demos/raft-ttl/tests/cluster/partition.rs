//! A leader that is cut off, and does not know.

use std::time::Duration;

use raft_ttl::ledger::Ledger;
use raft_ttl::limits::MAX_PART;
use raft_ttl::message::{Reply, Request, Status};
use raft_ttl::time::wall_us_now;
use raft_ttl::types::{Command, Item};
use tokio::time::sleep;

use crate::process::{CALM, HASTY, get, item};
use crate::proxy::{Fate, Frame, Wires, cut_off, fair};

const KEYS: u64 = 100;

/// A frame with more bytes has entries: a heartbeat is shorter.
const LONG: usize = 4 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_expires_twice_or_is_lost_when_the_leader_is_cut_off() {
    let (nodes, wires) = Wires::between_nodes(&CALM, fair).await;
    let (leader, term) = nodes.all_up().await;
    let keys: Vec<_> = (0..KEYS).map(|nth| item(format!("key {nth}"), 2_500 + nth * 5)).collect();
    let (mut ledger, began_us) = (Ledger::default(), wall_us_now());
    nodes.put(keys.clone()).await;
    ledger.promise(&keys, began_us);
    wires.set(cut_off(leader));

    // It goes on to lead, for nobody tells it otherwise, and proposes into the void.
    let isolated = nodes.wait_for(leader, |status| status.proposed == KEYS && status.retried > 0).await;
    assert_eq!((isolated.keys, isolated.expired, isolated.term), (KEYS, 0, term), "it must not decide alone");
    // Nor does it acknowledge anything.
    let (void, stranger) = (Request::Write(Command::Put(vec![item("void", 60_000)])), Request::Remove(9));
    let read = get("key 0", true);
    let (void, stranger, read) =
        tokio::join!(nodes.answer(leader, &void), nodes.answer(leader, &stranger), nodes.answer(leader, &read));
    assert!(matches!(void, Reply::Unsure(_)), "{void:?}");
    // What changes nothing may be tried elsewhere.
    assert!(matches!((&stranger, &read), (Reply::NotLeader(None), Reply::NotLeader(None))), "{stranger:?}, {read:?}");

    // The others elect one of their own, and that one proposes.
    for id in nodes.ids().into_iter().filter(|&id| id != leader) {
        nodes.wait_for(id, |status| status.keys == 0 && status.expired == KEYS).await;
    }
    wires.heal();
    nodes.agree(|status| (status.keys, status.ttls, status.expired) == (0, 0, KEYS)).await;
    ledger.counts(&nodes).await.unwrap().verdict().unwrap();

    // And all is as it was.
    nodes.put(vec![item("after", 50)]).await;
    let after = nodes.agree(|status| status.keys == 0 && status.expired == KEYS + 1).await;
    assert!(after.values().any(|status| status.late_p99_us > 0 && status.outcome_p99_us > 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn node_that_neither_entries_nor_new_connections_reach_hears_the_leader_all_the_same() {
    let (nodes, wires) = Wires::between_nodes(&HASTY, fair).await;
    let (leader, term) = nodes.all_up().await;
    let slow = nodes.ids().into_iter().find(|&id| id != leader).unwrap();
    wires.set(move |frame: &mut Frame| {
        let is_entries = !frame.is_reply && frame.bytes.len() > LONG;
        if frame.ends[1] == slow && (frame.is_hello() || is_entries) { Fate::HeldUp } else { Fate::Arrives }
    });
    let before = nodes.wait_for(slow, |_| true).await.keys;
    // An election takes three quarters of a second at most to begin, and while this is under way the engine is silent.
    nodes.put(vec![Item { value: "v".repeat(MAX_PART), ..item("long", None) }]).await;
    for _ in 0..10 {
        sleep(Duration::from_millis(400)).await;
        assert_eq!(nodes.leads().await, (leader, term));
    }
    let status = nodes.wait_for(slow, |_| true).await;
    assert_eq!((status.term, status.keys), (term, before), "it has had no entry, and elected nobody");
    wires.heal();
    nodes.agree(|status| status.keys > before).await;
    assert_eq!(nodes.leads().await, (leader, term));
}

#[tokio::test(flavor = "multi_thread")]
async fn candidate_says_why_it_does_not_lead() {
    let (mut nodes, wires) = Wires::between_nodes(&HASTY, fair).await;
    let (leader, _) = nodes.all_up().await;
    let [alone, dead] = [leader % 3 + 1, (leader + 1) % 3 + 1];
    wires.set(cut_off(alone));
    let says = |status: &Status, said: &str| {
        let votes = status.votes.as_ref();
        votes.is_some_and(|votes| [leader, dead].iter().all(|id| votes.contains(&format!("node {id} {said}"))))
    };
    let status = nodes.wait_for(alone, |status| says(status, "has not answered")).await;
    assert_eq!(status.role, "Candidate");
    nodes.kill(leader);
    nodes.kill(dead);
    wires.heal();
    nodes.wait_for(alone, |status| says(status, "cannot be asked")).await;
    nodes.start(leader).unwrap();
    nodes.start(dead).unwrap();
    nodes.agree(|status| status.votes.is_none()).await;
}
