//! Keys expire on all nodes alike, by the word of one.

use std::collections::BTreeMap;

use raft_ttl::time::wall_us_now;
use raft_ttl::types::{Expired, NodeId};

use crate::process::{CALM, Nodes, item};

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
            let mut history = nodes.expired(id).concat();
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
            assert!(after[&leader].late_p99_us > 0 && after[&leader].outcome_p99_us > 0);
            return;
        }
    }
}
