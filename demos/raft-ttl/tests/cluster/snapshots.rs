//! What is left of a TTL after a restart, and of timers after a snapshot.

use std::time::Duration;

use raft_ttl::message::{Reply, Request};
use raft_ttl::time::wall_us_now;
use raft_ttl::types::Command;
use tokio::time::{Instant, sleep, sleep_until};

use crate::process::{HASTY, Nodes, deadline, item};
use crate::proxy::{Wires, cut_off, fair};

const HOUR_MS: u64 = 3_600_000;

/// Long enough to be noticed on all nodes before it is over.
const BRIEF_MS: u64 = 9_000;

/// What clocks may differ by, and what a millisecond is rounded to.
const SLACK_MS: u64 = 100;

/// A TTL that a snapshot holds, and one that only the log does, while all nodes are down.
#[tokio::test(flavor = "multi_thread")]
async fn ttl_goes_on_through_a_restart_from_a_snapshot_and_the_log() {
    let arguments = [&HASTY[..], &["--snapshot-every", "50"]].concat();
    let mut nodes = Nodes::started(&arguments);
    nodes.leads().await;
    let before_us = wall_us_now();
    let index = nodes.put(vec![item("in the snapshot", HOUR_MS)]).await;
    for nth in 0..120 {
        nodes.put(vec![item(format!("key {nth}"), None)]).await;
    }
    // The entry that set it is not in any log any more.
    for id in nodes.ids() {
        nodes.wait_for(id, |status| status.purged > index).await;
    }
    let written_us = wall_us_now();
    let index = nodes.put(vec![item("in the log", HOUR_MS), item("short", 2_500)]).await;
    let after_us = wall_us_now();
    nodes.agree(|status| status.snapshot < index).await;
    // So that it shows if the TTL began again with the process, and not only with the key.
    sleep(Duration::from_millis(700)).await;

    nodes.start_all().unwrap();
    nodes.leads().await;
    for (key, began_us) in [("in the snapshot", [before_us, written_us]), ("in the log", [written_us, after_us])] {
        let asked_us = wall_us_now();
        let (_, left_ms) = nodes.latest(key).await.expect("it was acknowledged");
        let left_ms = left_ms.expect("it has a TTL");
        let least = HOUR_MS - (wall_us_now() - began_us[0]) / 1_000 - SLACK_MS;
        let most = HOUR_MS - (asked_us - began_us[1]) / 1_000 + SLACK_MS;
        assert!((least..=most).contains(&left_ms), "{left_ms} is not in {least}..={most}");
    }
    // What is over by then, or soon will be, goes, and not a moment early.
    nodes.agree(|status| status.ttls == 2).await;
    for id in nodes.ids() {
        for expired in nodes.expired(id).concat() {
            assert!(expired.at_us >= written_us + 2_500_000, "{expired:?} is early");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_that_was_restarted_reads_what_was_acknowledged() {
    let mut nodes = Nodes::started(&HASTY);
    for nth in 0..8 {
        let key = format!("key {nth}");
        nodes.put(vec![item(key.clone(), None)]).await;
        nodes.start_all().unwrap();
        // At once: who led leads again, and nobody has told it how far its log was committed.
        assert!(nodes.latest(&key).await.is_some(), "{key} was acknowledged");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lagging_follower_installs_a_snapshot_and_forgets_its_timers() {
    let arguments = [&HASTY[..], &["--snapshot-every", "50"]].concat();
    let (mut nodes, wires) = Wires::between_nodes(&arguments, fair).await;
    let (leader, _) = nodes.leads().await;
    let follower = nodes.ids().into_iter().find(|&id| id != leader).unwrap();

    // It knows these timers, and some of them would be over soon.
    let items = (0..40).map(|nth| item(format!("old {nth}"), HOUR_MS));
    nodes.put(items.collect()).await;
    let brief = (0..10).map(|nth| item(format!("brief {nth}"), BRIEF_MS));
    nodes.put(brief.collect()).await;
    let brief_are_over = Instant::now() + Duration::from_millis(BRIEF_MS);
    let known = nodes.agree(|status| status.ttls == 50).await[&follower].clone();
    wires.set(cut_off(follower));

    // None of them is there any more when it is heard of again, and nor are the entries that say so.
    for nth in 0..40 {
        let request = Request::Write(Command::Delete(format!("old {nth}")));
        let deleted = nodes.client().insist(&request, deadline()).await;
        // Missing if it was done before without an answer.
        let is_gone = matches!(deleted, Ok(Reply::Done { .. } | Reply::Missing));
        assert!(is_gone, "{deleted:?}");
    }
    for nth in 0..10 {
        // The same key under another index, which the follower's expiry would not fit.
        nodes.put(vec![item(format!("brief {nth}"), HOUR_MS)]).await;
    }
    for nth in 0..120 {
        nodes.put(vec![item(format!("new {nth}"), (nth % 4 == 0).then_some(HOUR_MS))]).await;
    }
    for id in nodes.ids().into_iter().filter(|&id| id != follower) {
        nodes.wait_for(id, |status| status.purged > known.last_log).await;
    }
    wires.heal();
    let healed = nodes.agree(|status| status.keys == 130 && status.ttls == 40).await;
    assert!(healed[&follower].snapshot > known.last_log, "it came by a snapshot");
    assert!(healed[&follower].purged > known.last_log);

    // The follower's turn: as leader it expires what is there now and nothing else.
    nodes.make_lead(follower).await;
    sleep_until(brief_are_over).await;
    nodes.put(vec![item("last", 50)]).await;
    nodes.wait_for(follower, |status| status.expired > 0).await;
    let expired = nodes.expired(follower).concat();
    assert!(matches!(&expired[..], [last] if last.key == "last"), "{expired:?}");
    let status = nodes.wait_for(follower, |status| status.pending == 0).await;
    assert_eq!(status.overtaken, 0, "nor was what is gone proposed");
}
