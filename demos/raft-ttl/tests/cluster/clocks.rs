//! Wall clocks that are wrong.

use raft_ttl::types::NodeId;

use crate::process::{HASTY, Nodes, item};

const HOUR_S: i64 = 3_600;

/// What a millisecond is rounded to, and a busy machine.
const SLACK_MS: u64 = 60_000;

/// Starts all nodes anew, the wall clock of each as far ahead as it says.
fn start(nodes: &mut Nodes, ahead_s: [i64; 3]) {
    for (id, ahead_s) in (1..).zip(ahead_s) {
        nodes.tell(id, &["--wall-ahead-s", &ahead_s.to_string()]);
    }
    nodes.start_all().unwrap();
}

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
async fn leader_whose_clock_was_set_ahead_while_all_were_down_expires_nothing_early() {
    let mut nodes = Nodes::started(&HASTY);
    nodes.put(vec![item("key", HOUR_S as u64 * 1_000)]).await;
    for id in nodes.ids() {
        // Also the one who led.
        nodes.make_lead(id).await;
        let mut ahead_s = [0; 3];
        ahead_s[id as usize - 1] = 2 * HOUR_S;
        start(&mut nodes, ahead_s);
        assert_an_hour_is_left(&mut nodes, id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_whose_clocks_differ_go_by_one_time() {
    let mut nodes = Nodes::new(3, &HASTY);
    for is_first in [true, false] {
        // Two hours ahead, two behind, and right.
        start(&mut nodes, [2 * HOUR_S, -2 * HOUR_S, 0]);
        if is_first {
            nodes.put(vec![item("key", HOUR_S as u64 * 1_000)]).await;
        }
        for id in if is_first { [1, 2, 3] } else { [3, 2, 1] } {
            assert_an_hour_is_left(&mut nodes, id).await;
        }
    }
}
