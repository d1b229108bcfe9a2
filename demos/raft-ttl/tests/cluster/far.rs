//! Nodes that are far away: a round trip to them takes as long as a heartbeat, or three times as long.

use std::time::Duration;

use raft_ttl::types::NodeId;
use tokio::time::Instant;

use crate::process::item;
use crate::proxy::{Weather, Wires};

/// The default, which the README speaks of.
const DEFAULT: [&str; 2] = ["--heartbeat", "200ms"];

fn far(nodes: impl IntoIterator<Item = NodeId>, one_way_ms: u64) -> Weather {
    let mut far = nodes.into_iter().map(Some);
    let far = [far.next().flatten(), far.next().flatten()];
    Weather { far: (far, Duration::from_millis(one_way_ms)), ..Weather::default() }
}

/// A round trip for the entry that is under way, one for this one, one to learn that it is committed; and the rest.
#[track_caller]
fn assert_soon(began: Instant, round_trip: Duration) {
    let took = began.elapsed();
    assert!(took < 4 * round_trip + Duration::from_secs(2), "{took:?}");
}

/// Writes for some seconds while so many nodes are far from the leader, which must stay, and in the same term.
async fn entries_reach(count: usize, one_way_ms: u64) {
    let (nodes, wires) = Wires::between_nodes(&DEFAULT, 1).await;
    let (leader, term) = nodes.all_up().await;
    let away = nodes.ids().into_iter().filter(|&id| id != leader).take(count);
    wires.set(far(away, one_way_ms));
    let round_trip = Duration::from_millis(2 * one_way_ms);
    let began = Instant::now();
    for nth in 0.. {
        if began.elapsed() > Duration::from_secs(6) {
            break;
        }
        let index = nodes.put(vec![item(format!("key {nth}"), None)]).await;
        let written = Instant::now();
        for id in nodes.ids() {
            nodes.wait_for(id, |status| status.applied >= index).await;
        }
        assert_soon(written, round_trip);
    }
    let asked = Instant::now();
    assert!(nodes.latest("key 0").await.is_some(), "it can be read from the leader");
    assert_soon(asked, round_trip);
    assert_eq!(nodes.leads().await, (leader, term), "nobody has called an election");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_a_heartbeat_away_gets_all_entries_and_calls_no_election() {
    entries_reach(1, 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_three_heartbeats_away_gets_all_entries_and_calls_no_election() {
    entries_reach(1, 300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_a_heartbeat_away_get_all_entries_and_call_no_election() {
    entries_reach(2, 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_three_heartbeats_away_get_all_entries_and_call_no_election() {
    entries_reach(2, 300).await;
}

/// Starts nodes that are far from each other, has their leader die, and one come back without what it has missed.
async fn nodes_come_and_go(heartbeat: &str, one_way_ms: u64) {
    let arguments = ["--heartbeat", heartbeat, "--snapshot-every", "20"];
    let (mut nodes, wires) = Wires::between_nodes_in(&arguments, 1, far([2, 3], one_way_ms)).await;
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
    drop(wires);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_a_heartbeat_away_elect_and_send_snapshots() {
    nodes_come_and_go("200ms", 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_two_heartbeats_away_elect_and_send_snapshots() {
    nodes_come_and_go("300ms", 300).await;
}
