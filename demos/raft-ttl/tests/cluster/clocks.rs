//! Wall clocks that are wrong.

use raft_ttl::types::NodeId;

use crate::process::{HASTY, Nodes, item};

const HOUR_S: i64 = 3_600;

/// What a millisecond is rounded to, and a busy machine.
const SLACK_MS: u64 = 60_000;

/// Makes sure that a key of an hour has that left when a node leads, which has had its chance to expire what it thinks
/// is over.
async fn assert_an_hour_is_left(nodes: &mut Nodes, id: NodeId) {
    nodes.make_lead(id).await;
    nodes.put(vec![item("another", 50)]).await;
    nodes.agree(|status| status.ttls == 1).await;
    let (_, left_ms) = nodes.latest("key").await.expect("it is not over");
    let (left_ms, hour_ms) = (left_ms.expect("it has a TTL"), HOUR_S as u64 * 1_000);
    assert!((hour_ms - SLACK_MS..=hour_ms).contains(&left_ms), "node {id}: {left_ms} ms are left");
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_go_by_one_time_however_their_clocks_differ_or_were_set_ahead_while_all_were_down() {
    let mut nodes = Nodes::new(3, &HASTY);
    // Two hours ahead, two behind, and right.
    nodes.ahead_s = [(1, 2 * HOUR_S), (2, -2 * HOUR_S)].into();
    nodes.start_all().unwrap();
    nodes.put(vec![item("key", HOUR_S as u64 * 1_000)]).await;
    for id in nodes.ids() {
        assert_an_hour_is_left(&mut nodes, id).await;
    }
    for id in nodes.ids() {
        // Also the one who led.
        nodes.make_lead(id).await;
        *nodes.ahead_s.entry(id).or_default() += 2 * HOUR_S;
        nodes.start_all().unwrap();
        assert_an_hour_is_left(&mut nodes, id).await;
    }
}
