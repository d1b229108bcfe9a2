//! Keys expire on all nodes alike, by the word of one.

use std::collections::{BTreeMap, BTreeSet};

use raft_ttl::history::Expired;
use raft_ttl::time::wall_us_now;
use raft_ttl::types::NodeId;

use crate::process::{CALM, HASTY, Nodes, item};

fn by_key(history: &[Expired]) -> BTreeMap<&str, (u64, NodeId)> {
    let expired = history.iter().map(|it| (it.key.as_str(), (it.index, it.by)));
    expired.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ttl_expires_on_all_three_and_one_node_proposes_it() {
    let nodes = Nodes::started(&CALM);
    // Should the lead change in spite of all, two nodes may propose the same, and rightly so: then all
    // of this is done again.
    for attempt in 0.. {
        let (leader, term) = nodes.all_up().await;
        let before = nodes.statuses().await;
        let keys: Vec<String> = (0..40).map(|nth| format!("{attempt}-{nth}")).collect();
        let began_us = wall_us_now();
        let items = (300..).step_by(10).zip(&keys);
        nodes.put(items.map(|(ttl_ms, key)| item(key, ttl_ms)).collect()).await;
        nodes.put(vec![item(format!("{attempt}-stays"), None)]).await;

        let after = nodes.agree(|status| status.ttls == 0).await;
        let mut histories = Vec::new();
        for id in nodes.ids() {
            let mut history = nodes.history(id).await;
            history.retain(|it| keys.contains(&it.key));
            let in_order: Vec<&String> = history.iter().map(|it| &it.key).collect();
            assert_eq!(in_order, keys.iter().collect::<Vec<_>>(), "in order of deadline");
            for (ttl_us, expired) in (300_000..).step_by(10_000).zip(&history) {
                assert!(expired.at_us >= began_us + ttl_us, "{expired:?} is early");
                assert!(expired.at_us >= expired.due_ms * 1_000, "{expired:?} is early");
            }
            histories.push(history);
        }
        assert_eq!(by_key(&histories[0]), by_key(&histories[1]));
        assert_eq!(by_key(&histories[0]), by_key(&histories[2]));
        assert!(nodes.latest(&format!("{attempt}-stays")).await.is_some());

        if nodes.leads().await == (leader, term) {
            let proposed = |id| after[&id].proposed - before[&id].proposed;
            for id in nodes.ids() {
                assert_eq!(proposed(id), if id == leader { 40 } else { 0 });
            }
            assert!(histories[0].iter().all(|it| it.by == leader));
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn next_leader_expires_what_the_dead_one_left() {
    let mut nodes = Nodes::started(&HASTY);
    let (leader, term) = nodes.leads().await;
    let began_us = wall_us_now();
    let items = (0..200).map(|nth| item(format!("key {nth}"), 1_500 + nth));
    nodes.put(items.collect()).await;
    nodes.kill(leader);

    for id in nodes.ids().into_iter().filter(|&id| id != leader) {
        nodes.wait_for(id, |status| status.expired > 0 && status.keys == 0).await;
        let history = nodes.history(id).await;
        let keys: BTreeSet<&str> = history.iter().map(|it| it.key.as_str()).collect();
        assert_eq!((history.len(), keys.len()), (200, 200));
        for expired in &history {
            assert_ne!(expired.by, leader, "it died long before the first was due");
            assert!(expired.at_us >= began_us + 1_500_000, "{expired:?} is early");
        }
    }
    let (_, later) = nodes.leads().await;
    assert!(later > term);

    // The dead one comes back and agrees.
    nodes.start(leader).unwrap();
    nodes.agree(|status| status.keys == 0 && status.ttls == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn burst_takes_an_entry_a_poll_and_not_one_a_key() {
    let nodes = Nodes::started(&CALM);
    nodes.leads().await;
    // Far apart in the log, and all due at once.
    let due_us = wall_us_now() + 3_000_000;
    for first in (0..3_000).step_by(100) {
        let left_ms = due_us.saturating_sub(wall_us_now()) / 1_000;
        let keys = first..first + 100;
        let items = keys.map(|nth| item(format!("key {nth}"), left_ms.max(1)));
        nodes.put(items.collect()).await;
    }
    let statuses = nodes.agree(|status| status.keys == 0).await;
    for (id, status) in statuses {
        assert_eq!(status.expired, 3_000, "node {id}");
        // Each put is a millisecond of its own, and may be a poll of its own.
        assert!(status.batches <= 100, "{} entries on node {id}", status.batches);
    }
}
