//! Who is a node of the cluster, and who only says so.

use std::fs;

use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest};
use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId, Vote};
use raft_ttl::frame::{self, Connection};
use raft_ttl::message::{Call, Hello, Reply, Request, Welcome};
use raft_ttl::time::wall_us_now;
use raft_ttl::types::NodeId;
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

use crate::process::{CALM, HASTY, Nodes, assert_refused, deadline, item, next};
use crate::proxy::Wires;

const HOUR_MS: u64 = 3_600_000;

async fn remove(nodes: &Nodes, id: NodeId) {
    let (mut client, request) = (nodes.client(), Request::Remove(id));
    let removed = client.insist(&request, deadline()).await;
    // Missing if it was done at an attempt that got no answer.
    assert!(matches!(removed, Ok(Reply::Done { .. } | Reply::Missing)), "{removed:?}");
}

async fn waits_to_be_added(nodes: &mut Nodes, id: NodeId) {
    let deadline = deadline();
    let waits = format!("waits to be added: raft-ttl add {id}");
    while !nodes.log(id).contains(&waits) {
        tokio::time::sleep(raft_ttl::cluster::GLANCE).await;
        let has_time = tokio::time::Instant::now() < deadline;
        assert!(has_time && nodes.is_running(id), "{}", nodes.log(id));
    }
}

/// Empties the disk of a node and goes the way back that the node tells.
async fn comes_back_by_a_snapshot(victim: NodeId) {
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
        let status = nodes.wait(victim).await.unwrap();
        let said = nodes.log(victim);
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("raft-ttl remove {victim}")), "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    nodes.put(vec![item("meanwhile", None)]).await;

    remove(&nodes, victim).await;
    nodes.start(victim).unwrap();
    waits_to_be_added(&mut nodes, victim).await;
    nodes.done(&Request::Add(victim)).await;
    let agreed = nodes.agree(|status| status.keys == 121 && status.ttls == 60 && status.voters == [1, 2, 3]).await;
    assert!(agreed[&victim].snapshot > 0, "it came by a snapshot");

    // It counts: with another one dead there is a majority all the same, also after a start.
    let other = victim % 3 + 1;
    nodes.kill(other);
    nodes.put(vec![item("with it", None)]).await;
    nodes.kill(victim);
    nodes.start(victim).unwrap();
    nodes.put(vec![item("with it again", None)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn emptied_disk_is_refused_and_comes_back_as_a_learner_by_a_snapshot() {
    comes_back_by_a_snapshot(3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn emptied_disk_of_the_founder_founds_nothing_and_comes_back() {
    comes_back_by_a_snapshot(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_node_is_not_sent_away_by_one_that_has_not_heard_of_it() {
    let mut nodes = Nodes::new(5, &HASTY);
    let wires = Wires::between(&mut nodes, 1).await;
    nodes.start_all().unwrap();
    let (leader, _) = nodes.all_up().await;
    let victim = leader % 5 + 1;
    let behind = victim % 5 + 1;
    nodes.kill(victim);
    fs::remove_dir_all(nodes.data(victim)).unwrap();
    wires.cut_off(behind);
    remove(&nodes, victim).await;

    // These two hear each other.
    let address = nodes.address(behind);
    nodes.route(victim, behind, address);
    nodes.start(victim).unwrap();
    waits_to_be_added(&mut nodes, victim).await;
    let status = nodes.wait_for(behind, |_| true).await;
    assert!(status.voters.contains(&victim), "{status:?}");

    wires.heal();
    nodes.done(&Request::Add(victim)).await;
    nodes.all_up().await;
}

/// Says who it is, as node `from` would.
async fn greet(nodes: &Nodes, from: NodeId, to: NodeId, secret: &str) -> (Connection, Reply) {
    let mut hello =
        Hello { secret: secret.to_owned(), from, to, cluster: None, disk: None, now_ns: wall_us_now() * 1_000 };
    let mut connection = nodes.connect(to).await;
    let mut reply = frame::exchange(&mut connection, &Request::Peer(hello.clone())).await.unwrap();
    if let Reply::Welcome(Welcome { cluster, disk, .. }) = &reply {
        // Now with what only a node knows.
        (hello.cluster, hello.disk) = (*cluster, Some(*disk));
        connection = nodes.connect(to).await;
        reply = frame::exchange(&mut connection, &Request::Peer(hello)).await.unwrap();
    }
    (connection, reply)
}

#[tokio::test(flavor = "multi_thread")]
async fn peer_that_is_none_is_refused() {
    let mut nodes = Nodes::started(&CALM);
    let (_, term) = nodes.all_up().await;
    let secret = nodes.secret().to_owned();
    for (from, secret, reason) in [
        (2, "", "another secret"),
        (2, "a guess", "another secret"),
        (9, secret.as_str(), "no peer"),
        (1, secret.as_str(), "no peer"),
    ] {
        let (mut connection, reply) = greet(&nodes, from, 1, secret).await;
        assert_refused(&reply, reason);
        // Nor does anybody listen to it any more.
        assert!(next(&mut connection).await.is_none());
    }
    // A client is not heard as a node.
    let mut connection = nodes.connect(1).await;
    let vote = Call::Vote(VoteRequest::new(Vote::new(term + 1_000, 2), None));
    let reply: Reply = frame::exchange(&mut connection, &Request::Call(vote)).await.unwrap();
    assert_refused(&reply, "before anything else");
    let status = nodes.wait_for(1, |_| true).await;
    assert!(status.term < term + 1_000);
    assert!(nodes.is_running(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn absurd_term_is_refused_and_kills_nobody() {
    let mut nodes = Nodes::started(&CALM);
    let (leader, term) = nodes.all_up().await;
    let from = leader % 3 + 1;
    let secret = nodes.secret().to_owned();
    let log_id = |term| LogId::new(CommittedLeaderId::new(term, from), 5);
    let entry = Entry { log_id: log_id(u64::MAX), payload: EntryPayload::Blank };
    for term in [u64::MAX, u64::MAX - 1, 1 << 40] {
        let append =
            |vote, prev_log_id, entries| AppendEntriesRequest { vote, prev_log_id, entries, leader_commit: None };
        let forged = Vote::new_committed(term, from);
        let calls = [
            Call::Vote(VoteRequest::new(Vote::new(term, from), None)),
            Call::Vote(VoteRequest::new(Vote::new(1, from), Some(log_id(term)))),
            Call::Append(append(forged, None, Vec::new())),
            Call::Append(append(Vote::new_committed(1, from), None, vec![entry.clone()])),
            Call::Append(append(Vote::new_committed(1, from), Some(log_id(term)), Vec::new())),
        ];
        for call in calls.map(Request::Call) {
            for to in nodes.ids().into_iter().filter(|&to| to != from) {
                let (mut connection, welcome) = greet(&nodes, from, to, &secret).await;
                assert!(matches!(welcome, Reply::Welcome(_)), "{welcome:?}");
                let reply: Reply = frame::exchange(&mut connection, &call).await.unwrap();
                assert_refused(&reply, "there can be no term");
            }
        }
    }
    nodes.put(vec![item("key", None)]).await;
    nodes.agree(|status| status.keys == 1 && status.term < term + 1_000).await;
    for id in nodes.ids() {
        assert!(nodes.is_running(id));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn absurd_term_in_an_answer_is_not_believed() {
    let mut nodes = Nodes::started(&CALM);
    let (leader, term) = nodes.all_up().await;
    let victim = leader % 3 + 1;
    let (_, welcome) = greet(&nodes, leader, victim, nodes.secret()).await;
    let Reply::Welcome(welcome) = welcome else {
        panic!("{welcome:?}");
    };
    nodes.kill(victim);
    // Somebody sits where the node was, and knows the secret.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(nodes.address(victim)).unwrap();
    let listener = socket.listen(16).unwrap();
    let (asked, mut was_asked) = tokio::sync::mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let mut connection = frame::connection(listener.accept().await.unwrap().0);
            let (mut reply, asked) = (Reply::Welcome(welcome.clone()), asked.clone());
            connections.spawn(async move {
                while let Ok(Some(Ok(request))) = frame::receive::<Request>(&mut connection).await {
                    match request {
                        Request::Peer(_) => {}
                        Request::Call(_) => {
                            let _ = asked.send(());
                            reply = Reply::Append(Ok(AppendEntriesResponse::HigherVote(Vote::new(u64::MAX, victim))));
                        }
                        _ => return,
                    }
                    if frame::send(&mut connection, &reply).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    for _ in 0..3 {
        was_asked.recv().await.unwrap();
    }
    nodes.put(vec![item("key", None)]).await;
    assert_eq!(nodes.leads().await, (leader, term));
    assert!(nodes.is_running(leader));
}
