//! Messages between nodes that are lost, late, there twice, and played again.

use raft_ttl::ledger::Ledger;
use raft_ttl::message::Request;
use raft_ttl::types::Command;
use tokio::task::JoinSet;

use crate::process::{HASTY, deadline, item};
use crate::proxy::{Weather, Wires};

#[tokio::test(flavor = "multi_thread")]
async fn bad_wires_lose_nothing_and_expire_nothing_twice() {
    let arguments = [&HASTY[..], &["--snapshot-every", "100"]].concat();
    let (nodes, wires) = Wires::between_nodes(&arguments, 7).await;
    nodes.leads().await;
    wires.set(Weather { lost: 2, delayed: 15, doubled: 20, ..Weather::default() });

    let mut writers = JoinSet::new();
    for writer in 0..4 {
        let mut client = nodes.client();
        writers.spawn(async move {
            let mut ledger = Ledger::default();
            for nth in 0..60 {
                let ttl_ms = (nth % 10 != 0).then_some(200 + nth * 20);
                let item = item(format!("{writer}-{nth}"), ttl_ms);
                ledger.write(&mut client, item, deadline()).await.unwrap();
            }
            ledger
        });
    }
    let mut ledger = Ledger::default();
    while let Some(written) = writers.join_next().await {
        ledger.merge(written.unwrap());
    }
    wires.heal();
    nodes.agree(|status| status.ttls == 0).await;
    let counts = ledger.counts(&nodes).await.unwrap();
    counts.verdict().unwrap();
    assert_eq!(counts.attempted, 240);
    assert!(wires.counts().iter().all(|&count| count > 0), "{:?}", wires.counts());
}

/// A listener who recorded what nodes said to each other, the secret included, can bring nothing back with it.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_played_again_change_nothing() {
    let (mut nodes, wires) = Wires::between_nodes(&HASTY, 11).await;
    nodes.all_up().await;
    for nth in 0..30 {
        nodes.put(vec![item(format!("brief {nth}"), 200), item(format!("staying {nth}"), None)]).await;
    }
    for nth in 0..10 {
        nodes.done(&Request::Write(Command::Delete(format!("staying {nth}")))).await;
    }
    let before = nodes.agree(|status| status.keys == 20 && status.expired == 30).await;
    assert!(wires.play_again().await > 60);
    nodes.put(vec![item("after", None)]).await;
    let after = nodes.agree(|status| status.keys == 21 && status.expired == 30).await;
    for (id, status) in &after {
        assert_eq!((status.ttls, status.overtaken), (0, before[id].overtaken), "node {id}");
        assert!(nodes.is_running(*id), "{}", nodes.log(*id));
    }
}
