//! Messages between nodes that are lost, late, there twice, and played again by a listener.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use raft_ttl::ledger::Ledger;
use raft_ttl::message::Request;
use raft_ttl::types::NodeId;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::bytes::Bytes;

use crate::process::{GLANCE, HASTY, Nodes, deadline, item};
use crate::proxy::{Fate, Frame, Wires};

/// A request that has passed: to whom, after which hello.
type Recorded = (NodeId, [Bytes; 2]);

/// Sends requests once more, the secret included, and is not interested in the replies.
async fn play_again(nodes: &Nodes, recorded: &[Recorded]) {
    for (to, requests) in recorded {
        let mut connection = nodes.connect(*to).await;
        for request in requests {
            let _ = connection.send(request.clone()).await;
            let _ = timeout(Duration::from_secs(1), connection.next()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_wires_and_recorded_messages_lose_nothing_and_resurrect_nothing() {
    let arguments = [&HASTY[..], &["--snapshot-every", "100"]].concat();
    let (recorded, mut random) = (Arc::<Mutex<Vec<Recorded>>>::default(), Pcg64::seed_from_u64(7));
    let passed = Arc::clone(&recorded);
    let (mut nodes, wires) = Wires::between_nodes(&arguments, move |frame: &mut Frame| {
        // Clients may be told of a leader behind a wire, and say no hello. What they say counts each time.
        if !frame.is_reply && matches!(postcard::from_bytes(&frame.hello), Ok(Request::Peer(_))) {
            passed.lock().unwrap().push((frame.ends[1], [frame.hello.clone(), frame.bytes.clone()]));
        }
        match random.random_range(0..100) {
            0..2 => Fate::Lost,
            2..17 => Fate::ArrivesAfter(Duration::from_millis(random.random_range(1..80))),
            _ => Fate::Arrives,
        }
    })
    .await;
    nodes.leads().await;
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
    let (mut ledger, mut played) = (Ledger::default(), Vec::new());
    while !writers.is_empty() {
        let new = recorded.lock().unwrap().split_off(0);
        play_again(&nodes, &new).await;
        played.extend(new);
        while let Some(written) = writers.try_join_next() {
            ledger.merge(written.unwrap());
        }
        sleep(GLANCE).await;
    }
    wires.heal();
    let before = nodes.agree(|status| status.ttls == 0).await;
    assert!(played.len() > 100);
    play_again(&nodes, &played).await;
    nodes.put(vec![item("after", 50)]).await;
    let after = nodes.agree(|status| status.ttls == 0 && status.applied > before[&1].applied + 1).await;
    ledger.counts(&nodes).await.unwrap().verdict().unwrap();
    for (id, status) in &after {
        assert_eq!(status.overtaken, before[id].overtaken, "node {id}");
        assert!(nodes.is_running(*id), "{}", nodes.log(*id));
    }
}
