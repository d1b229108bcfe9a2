//! Nodes that are far away: a round trip to them takes as long as a heartbeat, or up to three times as long.

use std::time::Duration;

use raft_ttl::types::NodeId;
use tokio::time::Instant;

use crate::process::item;
use crate::proxy::{Fate, Frame, Wires, fair};

/// The default, which the README speaks of.
const DEFAULT: [&str; 2] = ["--heartbeat", "200ms"];

/// Every frame to and from these nodes takes so long. A connection is there after a round trip.
fn far(nodes: Vec<NodeId>, one_way: Duration) -> impl FnMut(&mut Frame) -> Fate {
    move |frame| match frame.ends.iter().any(|end| nodes.contains(end)) {
        true if frame.is_hello() => Fate::ArrivesAfter(3 * one_way),
        true => Fate::ArrivesAfter(one_way),
        false => Fate::Arrives,
    }
}

/// A round trip for the entry that is under way, one for this one, one to learn that it is committed; and the rest.
#[track_caller]
fn assert_soon(began: Instant, round_trip: Duration) {
    let took = began.elapsed();
    assert!(took < 4 * round_trip + Duration::from_secs(2), "{took:?}");
}

/// Writes for some seconds while nodes are far from the leader, which must stay, and in the same term.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_one_and_three_heartbeats_away_get_all_entries_and_call_no_election() {
    let (nodes, wires) = Wires::between_nodes(&DEFAULT, fair).await;
    let (leader, term) = nodes.all_up().await;
    for (count, one_way_ms) in [(1, 100), (1, 300), (2, 100), (2, 300)] {
        let away = nodes.ids().into_iter().filter(|&id| id != leader).take(count);
        let one_way = Duration::from_millis(one_way_ms);
        wires.set(far(away.collect(), one_way));
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(5) {
            let index = nodes.put(vec![item("key", None)]).await;
            let written = Instant::now();
            for id in nodes.ids() {
                nodes.wait_for(id, |status| status.applied >= index).await;
            }
            assert_soon(written, 2 * one_way);
        }
        let asked = Instant::now();
        assert!(nodes.latest("key").await.is_some(), "it can be read from the leader");
        assert_soon(asked, 2 * one_way);
        assert_eq!(nodes.leads().await, (leader, term), "nobody has called an election");
    }
}

/// Starts nodes that are far from each other, has their leader die, and one come back without what it has missed.
async fn nodes_come_and_go(heartbeat: &str, one_way: Duration) {
    let arguments = ["--heartbeat", heartbeat, "--snapshot-every", "20"];
    let (mut nodes, _wires) = Wires::between_nodes(&arguments, far(vec![2, 3], one_way)).await;
    let (leader, _) = nodes.all_up().await;
    nodes.put(vec![item("one", None)]).await;
    nodes.kill(leader);
    for nth in 0..30 {
        nodes.put(vec![item(format!("key {nth}"), None)]).await;
    }
    let (next, term) = nodes.leads().await;
    nodes.wait_for(next, |status| status.purged > 2).await;
    nodes.start(leader).unwrap();
    let after = nodes.agree(|status| status.keys == 31).await;
    assert!(after[&leader].snapshot > 0, "it came by a snapshot");
    assert_eq!(nodes.leads().await, (next, term), "one that comes back calls no election");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_one_and_two_heartbeats_away_elect_and_send_snapshots() {
    tokio::join!(
        nodes_come_and_go("200ms", Duration::from_millis(100)),
        nodes_come_and_go("300ms", Duration::from_millis(300)),
    );
}
