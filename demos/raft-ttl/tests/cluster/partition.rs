//! A leader that is cut off, and does not know.

use raft_ttl::message::{Reply, Request};
use raft_ttl::time::wall_us_now;

use crate::ledger::Ledger;
use crate::process::{HASTY, Nodes, item};
use crate::proxy::Wires;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_expires_twice_or_is_lost_when_the_leader_is_cut_off() {
    let arguments = [
        &HASTY[..],
        &["--pending-timeout", "1s", "--retry-delay", "200ms"],
    ]
    .concat();
    let mut nodes = Nodes::new(3, &arguments);
    let wires = Wires::between(&mut nodes, 1).await;
    nodes.start_all().unwrap();
    let (leader, term) = nodes.leads().await;

    let mut ledger = Ledger::default();
    let items: Vec<_> = (0..100)
        .map(|nth| item(format!("key {nth}"), 1_000 + nth * 10))
        .collect();
    let began_us = wall_us_now();
    nodes.put(items.clone()).await;
    ledger.promise(&items, began_us);
    nodes.agree(|status| status.keys == 100).await;
    wires.cut_off(leader);

    // It goes on to lead, for nobody tells it otherwise, and proposes into the void.
    let isolated = nodes
        .wait_for(leader, |status| {
            status.proposed == 100 && status.retried > 0
        })
        .await;
    assert_eq!(
        (isolated.keys, isolated.expired),
        (100, 0),
        "it must not decide alone"
    );
    assert_eq!(isolated.term, term);
    // Nor does it acknowledge anything.
    let unacknowledged = nodes
        .ask(leader, &Request::Put(vec![item("void", 60_000)]))
        .await;
    assert!(
        matches!(unacknowledged, Reply::Unsure(_)),
        "{unacknowledged:?}"
    );

    // The others elect one of their own, and that one proposes.
    for id in nodes.ids().into_iter().filter(|&id| id != leader) {
        nodes
            .wait_for(id, |status| status.keys == 0 && status.expired == 100)
            .await;
    }
    wires.heal();
    let healed = nodes
        .agree(|status| status.keys == 0 && status.ttls == 0)
        .await;
    for (id, status) in &healed {
        assert_eq!(status.expired, 100, "node {id}");
        ledger.hear(&nodes, *id).await;
    }
    let counts = ledger.counts(&nodes).await;
    counts.assert_sound();
    assert_eq!((counts.acknowledged, counts.expired), (100, 100));

    // And all is as it was.
    nodes.put(vec![item("after", 50)]).await;
    nodes
        .agree(|status| status.keys == 0 && status.expired == 101)
        .await;
}
