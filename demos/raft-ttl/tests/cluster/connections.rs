//! Connections that are slow, say nothing, take nothing, or are too many: the node and its log go on.

use std::time::Duration;

use raft_ttl::client::Client;
use raft_ttl::cluster::GLANCE;
use raft_ttl::frame::{self, Connection};
use raft_ttl::limits::{MAX_FRAME, MAX_PART};
use raft_ttl::message::{Reply, Request};
use raft_ttl::types::{Command, Item, NodeId};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

use crate::process::{CALM, Nodes, deadline, item, next};

/// The most memory that a node may have had, in KiB.
const MOST_KIB: u64 = 48 << 10;

async fn assert_given_up(connection: &mut Connection, reason: &str) {
    match next(connection).await {
        Some(Reply::Busy(problem)) => assert!(problem.contains(reason), "{problem}"),
        other => panic!("{other:?} is not busy for {reason}"),
    }
    assert!(next(connection).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_deaf_silent_and_many_connections_stop_neither_writes_nor_the_log() {
    // Nobody is to be given up for the time alone, however busy the machine.
    let nodes = Nodes::started(&[&CALM[..], &["--frame-time", "600s", "--idle-time", "600s"]].concat());
    let (leader, _) = nodes.leads().await;
    let large = Item { value: "v".repeat(MAX_PART), ..item("large", None) };
    nodes.put(vec![large.clone()]).await;
    let mut client = Client::new(vec![nodes.address(leader)]);
    client.lead(&Request::Write(Command::Put(vec![item("first", None)])), deadline()).await.unwrap();

    // They hold as many places as they can, but for a few, each with a frame that never ends or an answer that is not taken.
    let mut held = Vec::new();
    for nth in 0..240 {
        let mut connection = nodes.connect(leader).await;
        let status: Reply = frame::exchange(&mut connection, &Request::Status).await.unwrap();
        assert!(matches!(status, Reply::Status(_)), "{status:?}");
        if nth % 2 == 0 {
            let part = [&(MAX_FRAME as u32).to_be_bytes()[..], &[0; MAX_FRAME - 1]].concat();
            connection.get_mut().write_all(&part).await.unwrap();
        } else {
            for _ in 0..10 {
                let get = Request::Get { key: "large".to_owned(), linearizable: false, from: 0 };
                frame::send(&mut connection, &get).await.unwrap();
            }
        }
        held.push(connection);
    }
    let mut silent = Vec::new();
    for nth in 0..700 {
        silent.push(nodes.connect(leader).await);
        if nth % 10 == 0 {
            // Meanwhile others write: on a connection they have, and on another one.
            let put = Request::Write(Command::Put(vec![item(format!("key {nth}"), None)]));
            for client in [&mut client, &mut Client::new(vec![nodes.address(leader)])] {
                let written = client.insist(&put, deadline()).await;
                assert!(matches!(written, Ok(Reply::Done { .. })), "{written:?}");
            }
        }
    }
    nodes.put(vec![large]).await;
    // The oldest of those that said nothing had to go, and was told so.
    assert_given_up(&mut silent[0], "others came").await;
    if let Some(open) = nodes.open_files(leader) {
        assert!(open < 450, "{open} files and connections are open");
    }
    if let Some(peak) = nodes.peak_memory(leader) {
        assert!(peak < MOST_KIB, "{peak} KiB");
    }
    drop((held, silent));
    nodes.agree(|status| status.keys == 72).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_is_slow_or_says_nothing_is_given_up_and_finds_another_connection() {
    let nodes = Nodes::alone(&["--frame-time", "2s", "--idle-time", "2s"]).await;
    // At the door, and between two requests.
    let given_up = async |is_known: bool, part: &[u8]| {
        let mut connection = nodes.connect(1).await;
        if is_known {
            let status = frame::exchange(&mut connection, &Request::Status).await;
            assert!(matches!(status, Ok(Reply::Status(_))));
        }
        connection.get_mut().write_all(part).await.unwrap();
        assert_given_up(&mut connection, "no whole request").await;
    };
    let part = [0, 0, 1, 0, b'['];
    tokio::join!(given_up(false, &[]), given_up(false, &part), given_up(true, &[]), given_up(true, &part));
    let mut client = Client::new(vec![nodes.address(1)]);
    let put = |key: &str| Request::Write(Command::Put(vec![item(key, None)]));
    client.lead(&put("one"), deadline()).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    client.lead(&put("two"), deadline()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_beyond_their_number_are_refused_and_nodes_are_not() {
    let mut nodes = Nodes::started(&[&CALM[..], &["--clients", "2"]].concat());
    let (leader, term) = nodes.all_up().await;
    let mut held = Vec::new();
    for id in nodes.ids() {
        for _ in 0..2 {
            held.push((id, place(&nodes, id).await));
        }
        let mut third = nodes.connect(id).await;
        frame::send(&mut third, &Request::Status).await.unwrap();
        assert_given_up(&mut third, "too many clients").await;
    }
    // Nodes come to each other all the same: they elect one, and it writes with the other.
    nodes.kill(leader);
    let deadline = deadline();
    let connection = 'elected: loop {
        for (id, connection) in held.iter_mut().filter(|(id, _)| *id != leader) {
            match frame::exchange(connection, &Request::Status).await {
                Ok(Reply::Status(status)) if status.role == "Leader" && status.term > term => {
                    break 'elected connection;
                }
                Ok(Reply::Status(_)) => {}
                other => panic!("node {id} answers {other:?}"),
            }
        }
        assert!(Instant::now() < deadline, "no other node leads");
        sleep(GLANCE).await;
    };
    let written: Reply =
        frame::exchange(connection, &Request::Write(Command::Put(vec![item("key", None)]))).await.unwrap();
    assert!(matches!(written, Reply::Done { .. }), "{written:?}");
}

/// A connection that has one of a node's places for clients. One that asked before may not have left yet.
async fn place(nodes: &Nodes, id: NodeId) -> Connection {
    let deadline = deadline();
    loop {
        let mut connection = nodes.connect(id).await;
        match frame::exchange(&mut connection, &Request::Status).await {
            Ok(Reply::Status(_)) => return connection,
            Ok(Reply::Busy(_)) if Instant::now() < deadline => sleep(GLANCE).await,
            other => panic!("node {id} answers {other:?}"),
        }
    }
}
