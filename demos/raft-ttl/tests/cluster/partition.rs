//! A leader that is cut off, and does not know.

use std::time::Duration;

use raft_ttl::ledger::Ledger;
use raft_ttl::limits::MAX_PART;
use raft_ttl::message::{Reply, Request, Status};
use raft_ttl::time::wall_us_now;
use raft_ttl::types::{Command, Item};
use tokio::time::sleep;

use crate::process::{HASTY, Nodes, get, item};
use crate::proxy::{Weather, Wires};

const KEYS: u64 = 100;

/// Writes keys and cuts the leader off before any of them is due. Says how it was then, and how many
/// keys were written; more than once, should the lead have changed that very moment.
async fn cut_leader_off(nodes: &Nodes, wires: &Wires, ledger: &mut Ledger) -> (Status, u64) {
    for attempt in 1.. {
        let keys = (0..KEYS).map(|nth| item(format!("{attempt}-{nth}"), 2_500 + nth * 5));
        let keys: Vec<_> = keys.collect();
        let began_us = wall_us_now();
        nodes.put(keys.clone()).await;
        ledger.promise(&keys, began_us);
        let (leader, _) = nodes.leads().await;
        wires.set(Weather { cut_off: Some(leader), ..Weather::default() });
        let status = nodes.wait_for(leader, |_| true).await;
        if status.role == "Leader" && status.keys == KEYS {
            return (status, attempt * KEYS);
        }
        wires.heal();
        nodes.agree(|status| status.ttls == 0).await;
    }
    unreachable!("somebody leads at last")
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_expires_twice_or_is_lost_when_the_leader_is_cut_off() {
    let patience = ["--pending-timeout", "1s", "--retry-delay", "200ms"];
    let (nodes, wires) = Wires::between_nodes(&[&HASTY[..], &patience].concat(), 1).await;
    let mut ledger = Ledger::default();
    let (cut_off, written) = cut_leader_off(&nodes, &wires, &mut ledger).await;
    let leader = cut_off.id;

    // It goes on to lead, for nobody tells it otherwise, and proposes into the void.
    let all_proposed = cut_off.proposed + KEYS;
    let isolated = nodes.wait_for(leader, |status| status.proposed == all_proposed && status.retried > 0);
    let isolated = isolated.await;
    assert_eq!(isolated.keys, KEYS, "it must not decide alone");
    assert_eq!(isolated.expired, cut_off.expired);
    assert_eq!(isolated.term, cut_off.term);
    // Nor does it acknowledge anything.
    let (void, stranger) = (Request::Write(Command::Put(vec![item("void", 60_000)])), Request::Remove(9));
    let read = get("1-0", true);
    let (void, stranger, read) =
        tokio::join!(nodes.answer(leader, &void), nodes.answer(leader, &stranger), nodes.answer(leader, &read));
    assert!(matches!(void, Reply::Unsure(_)), "{void:?}");
    // What changes nothing may be tried elsewhere.
    assert!(matches!((&stranger, &read), (Reply::NotLeader(None), Reply::NotLeader(None))), "{stranger:?}, {read:?}");

    // The others elect one of their own, and that one proposes.
    for id in nodes.ids().into_iter().filter(|&id| id != leader) {
        let is_done = |status: &Status| status.keys == 0 && status.expired == written;
        nodes.wait_for(id, is_done).await;
    }
    wires.heal();
    let healed = nodes.agree(|status| status.keys == 0 && status.ttls == 0).await;
    for (id, status) in &healed {
        assert_eq!(status.expired, written, "node {id}");
    }
    let counts = ledger.counts(&nodes).await.unwrap();
    counts.verdict().unwrap();
    assert_eq!((counts.acknowledged, counts.expired), (written, written));

    // And all is as it was.
    nodes.put(vec![item("after", 50)]).await;
    let is_done = |status: &Status| status.keys == 0 && status.expired == written + 1;
    nodes.agree(is_done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_that_neither_entries_nor_new_connections_reach_hears_the_leader_all_the_same() {
    let (nodes, wires) = Wires::between_nodes(&HASTY, 3).await;
    let (leader, term) = nodes.all_up().await;
    let slow = nodes.ids().into_iter().find(|&id| id != leader).unwrap();
    wires.set(Weather { strait: Some(slow), ..Weather::default() });
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
    let (mut nodes, wires) = Wires::between_nodes(&HASTY, 9).await;
    let (leader, _) = nodes.all_up().await;
    let [alone, dead] = [leader % 3 + 1, (leader + 1) % 3 + 1];
    wires.set(Weather { cut_off: Some(alone), ..Weather::default() });
    let says = async |nodes: &Nodes, said: &str| {
        let said = [leader, dead].map(|id| format!("node {id} {said}"));
        let says = |status: &Status| {
            let votes = status.votes.as_ref();
            votes.is_some_and(|votes| said.iter().all(|said| votes.contains(said)))
        };
        assert_eq!(nodes.wait_for(alone, says).await.role, "Candidate");
    };
    says(&nodes, "has not answered").await;
    nodes.kill(leader);
    nodes.kill(dead);
    wires.heal();
    says(&nodes, "cannot be asked").await;
    nodes.start(leader).unwrap();
    nodes.start(dead).unwrap();
    nodes.agree(|status| status.votes.is_none()).await;
}
