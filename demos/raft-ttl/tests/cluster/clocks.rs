//! Wall clocks that are wrong.

use raft_ttl::cluster::GLANCE;
use raft_ttl::message::{Reply, Request};
use raft_ttl::types::NodeId;
use tokio::time::{Instant, sleep};

use crate::process::{deadline, item};
use crate::within::{Trio, disk};

const HOUR_MS: u64 = 3_600_000;
const TWO_HOURS_US: i64 = 2 * 3_600 * 1_000_000;

/// What a millisecond is rounded to, and a busy machine.
const SLACK_MS: u64 = 60_000;

/// Starts all nodes, the wall clock of each as far off as it says.
async fn start(trio: &mut Trio, offsets_us: [i64; 3]) {
    for (id, offset_us) in (1..).zip(offsets_us) {
        let disk = disk(&trio.file(id)).await;
        trio.start(id, disk, offset_us).await;
    }
}

/// What a key has left when a node leads.
async fn left_ms(trio: &Trio, id: NodeId) -> u64 {
    let deadline = deadline();
    // Nobody else beats or stands for election, or two could take turns for ever.
    for node in trio.nodes.values() {
        let config = node.raft.runtime_config();
        config.heartbeat(node.peers.id == id);
        config.elect(node.peers.id == id);
    }
    while trio.leader().await != id {
        assert!(Instant::now() < deadline, "node {id} does not lead");
        sleep(GLANCE).await;
    }
    // It has had its chance to expire what it thinks is over.
    trio.put(vec![item("another", 50)]).await;
    trio.wait_until_gone("another").await;
    let get = Request::Get { key: "key".to_owned(), linearizable: true };
    match trio.client().insist(&get, deadline).await {
        Ok(Reply::Value { remaining_ms, .. }) => remaining_ms.expect("it has a TTL"),
        other => panic!("with an hour left it gives {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_whose_clock_was_set_ahead_while_all_were_down_expires_nothing_early() {
    let mut trio = Trio::new();
    start(&mut trio, [0; 3]).await;
    trio.put(vec![item("key", HOUR_MS)]).await;
    // Also the one who led: it leads again at once, before anybody has told it the time.
    for id in 1..=3 {
        for id in 1..=3 {
            trio.stop(id).await;
        }
        let mut offsets_us = [0; 3];
        offsets_us[id as usize - 1] = TWO_HOURS_US;
        start(&mut trio, offsets_us).await;
        let left_ms = left_ms(&trio, id).await;
        assert!((HOUR_MS - SLACK_MS..=HOUR_MS).contains(&left_ms), "node {id}: {left_ms} ms are left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_whose_clocks_differ_go_by_one_time() {
    let mut trio = Trio::new();
    // Two hours ahead, two behind, and right.
    let offsets_us = [TWO_HOURS_US, -TWO_HOURS_US, 0];
    start(&mut trio, offsets_us).await;
    trio.put(vec![item("key", HOUR_MS)]).await;
    for id in 1..=3 {
        let left_ms = left_ms(&trio, id).await;
        assert!((HOUR_MS - SLACK_MS..=HOUR_MS).contains(&left_ms), "node {id}: {left_ms}");
    }
    for id in 1..=3 {
        trio.stop(id).await;
    }
    start(&mut trio, offsets_us).await;
    for id in 1..=3 {
        let left_ms = left_ms(&trio, id).await;
        assert!((HOUR_MS - SLACK_MS..=HOUR_MS).contains(&left_ms), "node {id}: {left_ms}");
    }
}
