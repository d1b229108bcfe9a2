//! Messages between nodes that are lost, late, and there twice; and everything at once.

use std::process::Command;
use std::time::Duration;

use raft_ttl::chaos::{self, Deed, End};
use raft_ttl::ledger::Ledger;
use raft_ttl::message::Request;
use raft_ttl::types::Item;
use tokio::task::JoinSet;

use crate::process::{HASTY, Nodes, deadline, item, program};
use crate::proxy::{Weather, Wires};

#[tokio::test(flavor = "multi_thread")]
async fn bad_wires_lose_nothing_and_expire_nothing_twice() {
    let arguments = [&HASTY[..], &["--snapshot-every", "100"]].concat();
    let mut nodes = Nodes::new(3, &arguments);
    let wires = Wires::between(&mut nodes, 7).await;
    nodes.start_all().unwrap();
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
                ledger.merge(Ledger::write(&mut client, item, deadline()).await.unwrap());
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
    for id in nodes.ids() {
        ledger.hear(&nodes, id).await;
    }
    let counts = ledger.counts(&nodes).await.unwrap();
    assert!(counts.is_sound(), "{counts:?}");
    assert_eq!(counts.attempted, 240);
    assert!(counts.acknowledged > 0);
    let [lost, delayed, doubled, passed] = wires.counts();
    assert!(lost > 0 && delayed > 0 && doubled > 0, "of {passed} frames");
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_that_takes_longer_than_an_election_arrives_and_causes_none() {
    let mut nodes = Nodes::new(3, &["--heartbeat", "300ms"]);
    let wires = Wires::between(&mut nodes, 5).await;
    nodes.start_all().unwrap();
    // The engine waits for 300 ms, and an election begins after 1.5 s at most.
    wires.set(Weather { long: Duration::from_secs(3), ..Weather::default() });
    // On a busy machine there may be an election all the same, but not each time.
    for attempt in 0..3 {
        let (_, term) = nodes.leads().await;
        let long = Item { value: "v".repeat(300 << 10), ..item(format!("long {attempt}"), None) };
        nodes.put(vec![long]).await;
        nodes.put(vec![item(format!("short {attempt}"), None)]).await;
        nodes.agree(|status| status.keys == 2 * (attempt + 1)).await;
        if nodes.leads().await.1 == term {
            return;
        }
    }
    panic!("there was an election each time");
}

/// A listener who recorded what nodes said to each other, the secret included, can bring nothing back with it.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_played_again_change_nothing() {
    let mut nodes = Nodes::new(3, &HASTY);
    let wires = Wires::between(&mut nodes, 11).await;
    nodes.start_all().unwrap();
    nodes.all_up().await;
    for nth in 0..30 {
        nodes.put(vec![item(format!("brief {nth}"), 200), item(format!("staying {nth}"), None)]).await;
    }
    for nth in 0..10 {
        nodes.done(&Request::Delete(format!("staying {nth}"))).await;
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

/// Deaths, and nothing else.
const KILLS: [Deed; 3] = [Deed::KillLeader, Deed::KillOne, Deed::KillAll];

#[tokio::test(flavor = "multi_thread")]
async fn nodes_killed_at_random_lose_nothing_acknowledged() {
    chaos::run(program(), &KILLS, End::Deeds(5), 20_161).await.unwrap();
}

/// Prints its counts: `-- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn nodes_killed_in_fifty_rounds_lose_nothing_acknowledged() {
    chaos::run(program(), &KILLS, End::Deeds(50), 20_161).await.unwrap();
}

/// Prints its counts: `-- --ignored --nocapture`. CI has 20 seconds of it.
#[test]
#[ignore = "takes ten minutes"]
fn chaos_of_all_kinds_loses_nothing_in_ten_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(program());
    command.env("TMPDIR", folder.path()).args(["chaos", "--seconds", "600"]);
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    println!("{stdout}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    let verdict = stdout.lines().last().unwrap();
    let sound = "lost 0, resurrected 0, early 0, twice 0";
    assert!(verdict.ends_with(sound), "{verdict}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
