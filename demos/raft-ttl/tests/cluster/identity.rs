//! Who is a node of the cluster, and who only says so.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest};
use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId, Vote};
use raft_ttl::frame::{self, Connection};
use raft_ttl::message::{Call, Hello, Reply, Request, Welcome};
use raft_ttl::time::wall_us_now;
use raft_ttl::types::{DiskId, NodeId};

use crate::process::{CALM, HASTY, Nodes, assert_refused, deadline, eventually, item, next};
use crate::proxy::{Fate, Frame, Wires, fair};

const HOUR_MS: u64 = 3_600_000;

async fn waits_to_be_added(nodes: &mut Nodes, id: NodeId) {
    let waits = format!("waits to be added: raft-ttl add {id}");
    eventually("a node does not wait to be added", async || {
        assert!(nodes.is_running(id));
        nodes.log(id).contains(&waits).then_some(())
    })
    .await;
}

/// Empties the disk of a node, and goes the way back that it tells.
async fn comes_back_by_a_snapshot(victim: NodeId, is_removed_first: bool) {
    let arguments = [&HASTY[..], &["--snapshot-every", "50"]].concat();
    let mut nodes = Nodes::started(&arguments);
    nodes.leads().await;
    for nth in 0..120 {
        let ttl_ms = (nth % 2 == 0).then_some(HOUR_MS);
        nodes.put(vec![item(format!("key {nth}"), ttl_ms)]).await;
    }
    // What came first is not in any log any more.
    for id in nodes.ids() {
        nodes.wait_for(id, |status| status.purged > 10).await;
    }
    nodes.kill(victim);
    fs::remove_dir_all(nodes.data(victim)).unwrap();

    // Each time, whatever it wrote the last time.
    for _ in 0..2 {
        nodes.start(victim).unwrap();
        waits_to_be_added(&mut nodes, victim).await;
        nodes.put(vec![item("meanwhile", None)]).await;
    }
    // The leader finds another one in its place, and does not take it for the member that it was.
    let status = nodes.wait_for(victim, |_| true).await;
    assert_eq!((status.term, status.last_log), (0, 0), "nobody has told it anything");
    if is_removed_first {
        let removed = nodes.client().insist(&Request::Remove(victim), deadline()).await;
        // Missing if it was done at an attempt that got no answer.
        assert!(matches!(removed, Ok(Reply::Done { .. } | Reply::Missing)), "{removed:?}");
    }
    nodes.done(&Request::Add(victim)).await;
    let agreed =
        nodes.agree(|status| status.keys == 121 && status.ttls == 60 && status.voters == [1, 2, 3].into()).await;
    assert!(agreed[&victim].snapshot > 0, "it came by a snapshot");

    // It counts: with another one dead there is a majority all the same, also after a start.
    let other = victim % 3 + 1;
    nodes.kill(other);
    nodes.put(vec![item("with it", None)]).await;
    nodes.kill(victim);
    nodes.start(victim).unwrap();
    nodes.put(vec![item("with it again", None)]).await;

    // One that was not there at first is added in the same way.
    let fourth = nodes.grow().unwrap();
    nodes.start_all().unwrap();
    waits_to_be_added(&mut nodes, fourth).await;
    nodes.done(&Request::Add(fourth)).await;
    nodes.agree(|status| status.keys == 123 && status.voters == [1, 2, 3, 4].into()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn emptied_disk_is_no_member_and_comes_back_by_a_snapshot() {
    comes_back_by_a_snapshot(3, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn emptied_disk_of_the_founder_founds_nothing_and_comes_back() {
    comes_back_by_a_snapshot(1, true).await;
}

/// Puts others in the place of a node's replies.
fn forging(victim: NodeId, forge: impl Fn(Reply) -> Reply) -> impl FnMut(&mut Frame) -> Fate {
    move |frame| {
        if frame.is_reply && frame.ends[1] == victim {
            frame.bytes = postcard::to_stdvec(&forge(postcard::from_bytes(&frame.bytes).unwrap())).unwrap().into();
        }
        Fate::Arrives
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn node_that_does_not_learn_is_not_counted_on() {
    let (mut nodes, wires) = Wires::between_nodes(&HASTY, fair).await;
    let (leader, _) = nodes.all_up().await;
    let victim = leader % 3 + 1;
    nodes.kill(victim);
    fs::remove_dir_all(nodes.data(victim)).unwrap();
    nodes.start(victim).unwrap();
    waits_to_be_added(&mut nodes, victim).await;
    // It says who it is, and takes nothing.
    wires.set(forging(victim, |reply| match reply {
        Reply::Welcome(welcome) => Reply::Welcome(welcome),
        _ => Reply::Refused("it is deaf".to_owned()),
    }));
    let (leader, _) = nodes.leads().await;
    let added = nodes.answer(leader, &Request::Add(victim)).await;
    assert!(matches!(&added, Reply::Unsure(problem) if problem.contains("add it again")), "{added:?}");
    let status = nodes.wait_for(leader, |_| true).await;
    assert!(!status.voters.contains(&victim), "{status:?}");
}

/// Says that it is node `from`, and means this member.
async fn say(
    nodes: &Nodes,
    from: NodeId,
    to: NodeId,
    secret: &str,
    member: Option<(DiskId, u64)>,
) -> (Connection, Reply) {
    let hello = Hello { secret: secret.to_owned(), from, to, member, now_ns: wall_us_now() * 1_000 };
    let mut connection = nodes.connect(to).await;
    let reply = frame::exchange(&mut connection, &Request::Peer(hello)).await.unwrap();
    (connection, reply)
}

/// Says what node `from` would say, who knows what only nodes do.
async fn greet(nodes: &Nodes, from: NodeId, to: NodeId) -> (Connection, Reply) {
    let secret = nodes.secret().unwrap();
    let (_, reply) = say(nodes, from, to, &secret, None).await;
    let Reply::Welcome(Welcome { disk, cluster, .. }) = reply else { panic!("{reply:?}") };
    say(nodes, from, to, &secret, cluster.map(|cluster| (disk, cluster))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn peer_that_is_none_is_refused() {
    let nodes = Nodes::started(&CALM);
    let (_, term) = nodes.all_up().await;
    let secret = nodes.secret().unwrap();
    let (mut curious, welcome) = say(&nodes, 2, 1, &secret, None).await;
    let Reply::Welcome(Welcome { disk, cluster: Some(cluster), .. }) = welcome else { panic!("{welcome:?}") };
    for (from, secret, member, reason) in [
        (2, "", None, "another secret"),
        (2, "a guess", None, "another secret"),
        (9, &*secret, None, "no peer"),
        (1, &*secret, None, "no peer"),
        (2, &*secret, Some((DiskId(7), cluster)), "another disk"),
        (2, &*secret, Some((disk, 7)), "another cluster"),
    ] {
        let (mut connection, reply) = say(&nodes, from, 1, secret, member).await;
        assert_refused(&reply, reason);
        // Nor does anybody listen to it any more.
        assert!(next(&mut connection).await.is_none());
    }
    // Nor is a client heard as a node, nor one who does not say which member is meant.
    for (connection, reason) in [(&mut nodes.connect(1).await, "before anything else"), (&mut curious, "only asked")] {
        let vote = Call::Vote(VoteRequest::new(Vote::new(term + 1_000, DiskId(2)), None));
        let reply: Reply = frame::exchange(connection, &Request::Call(vote)).await.unwrap();
        assert_refused(&reply, reason);
    }
    assert!(nodes.wait_for(1, |_| true).await.term < term + 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn absurd_term_is_refused_and_kills_nobody() {
    let mut nodes = Nodes::started(&CALM);
    let (leader, known) = nodes.all_up().await;
    let (from, disk) = (leader % 3 + 1, DiskId(7));
    for term in [u64::MAX, u64::MAX - 1, 1 << 40] {
        let forged = LogId::new(CommittedLeaderId::new(term, disk), 5);
        let append = |term, prev_log_id, entries| {
            let vote = Vote::new_committed(term, disk);
            Call::Append(AppendEntriesRequest { vote, prev_log_id, entries, leader_commit: None })
        };
        let calls = [
            Call::Vote(VoteRequest::new(Vote::new(term, disk), None)),
            Call::Vote(VoteRequest::new(Vote::new(1, disk), Some(forged))),
            append(term, None, vec![]),
            append(1, None, vec![Entry { log_id: forged, payload: EntryPayload::Blank }]),
            append(1, Some(forged), vec![]),
        ];
        let (mut connection, _) = greet(&nodes, from, leader).await;
        for call in calls.map(Request::Call) {
            let reply: Reply = frame::exchange(&mut connection, &call).await.unwrap();
            assert_refused(&reply, "there can be no term");
        }
    }
    nodes.put(vec![item("key", None)]).await;
    nodes.agree(|status| status.keys == 1 && status.term < known + 1_000).await;
    assert!(nodes.is_running(leader));
}

#[tokio::test(flavor = "multi_thread")]
async fn absurd_term_and_another_cluster_in_an_answer_are_not_believed() {
    let (mut nodes, wires) = Wires::between_nodes(&CALM, fair).await;
    let (leader, term) = nodes.all_up().await;
    let victim = leader % 3 + 1;
    let forged = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&forged);
    wires.set(forging(victim, move |reply| {
        counted.fetch_add(1, Ordering::Relaxed);
        match reply {
            Reply::Welcome(welcome) => Reply::Welcome(Welcome { cluster: Some(7), ..welcome }),
            _ => Reply::Append(Ok(AppendEntriesResponse::HigherVote(Vote::new(u64::MAX, DiskId(7))))),
        }
    }));
    eventually("nobody asks the node", async || {
        nodes.put(vec![item("key", None)]).await;
        (forged.load(Ordering::Relaxed) >= 3).then_some(())
    })
    .await;
    assert_eq!(nodes.leads().await, (leader, term));
    assert!(nodes.is_running(leader));
    assert_refused(&nodes.answer(leader, &Request::Add(victim)).await, "of another cluster");
}
