//! Connections that are slow, say nothing, take nothing, or are too many: the node and its log go on.

use std::net::SocketAddr;

use raft_ttl::client::Client;
use raft_ttl::cluster::GLANCE;
use raft_ttl::frame::{self, Received};
use raft_ttl::limits::{MAX_FRAME, MAX_VALUE};
use raft_ttl::message::{Reply, Request};
use raft_ttl::types::{Item, NodeId};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::process::{CALM, Nodes, PATIENCE, deadline, item};

/// The most memory that a node may have had, in KiB.
const MOST_KIB: u64 = 64 << 10;

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// What comes next on a connection.
async fn next(stream: &mut TcpStream) -> Received<Reply> {
    let received = timeout(PATIENCE, frame::receive(stream)).await;
    received.expect("an answer").unwrap()
}

async fn assert_given_up(stream: &mut TcpStream, reason: &str) {
    match next(stream).await {
        Received::Message(Reply::Busy(problem)) => assert!(problem.contains(reason), "{problem}"),
        other => panic!("{other:?} is not busy for {reason}"),
    }
    assert!(matches!(next(stream).await, Received::End));
}

/// A node alone, with these arguments.
async fn alone(arguments: &[&str]) -> Nodes {
    let mut nodes = Nodes::new(1, &[&CALM[..], arguments].concat());
    nodes.start(1).unwrap();
    nodes.leads().await;
    nodes
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_silent_and_many_connections_stop_neither_writes_nor_the_log() {
    // Nobody is to be given up for the time alone, however busy the machine.
    let arguments = ["--clients", "100", "--frame-time", "600s"];
    let nodes = Nodes::started(&[&CALM[..], &arguments].concat());
    let (leader, _) = nodes.leads().await;
    let address = nodes.address(leader);
    let large = Item { value: "v".repeat(MAX_VALUE), ..item("large", None) };
    nodes.put(vec![large.clone()]).await;
    let mut client = Client::new(vec![address]);
    let first = Request::Put(vec![item("first", None)]);
    client.lead(&first, deadline()).await.unwrap();

    let mut slow = Vec::new();
    for _ in 0..40 {
        let mut stream = connect(address).await;
        stream.write_all(&(MAX_FRAME as u32).to_be_bytes()).await.unwrap();
        let part = vec![0; MAX_FRAME - 1];
        // The node may have enough of it before that.
        let _ = stream.write_all(&part).await;
        slow.push(stream);
    }
    let mut deaf = Vec::new();
    let get = Request::Get { key: "large".to_owned(), linearizable: false };
    for _ in 0..40 {
        let mut stream = connect(address).await;
        let asked = frame::encode(&get).unwrap();
        stream.write_all(&asked).await.unwrap();
        deaf.push(stream);
    }
    let mut silent = Vec::new();
    for nth in 0..700 {
        silent.push(connect(address).await);
        if nth % 10 == 0 {
            // Meanwhile others write: on a connection they have, and on another one.
            let put = Request::Put(vec![item(format!("key {nth}"), None)]);
            let written = client.insist(&put, deadline()).await;
            assert!(matches!(written, Ok(Reply::Done { .. })), "{written:?}");
            let mut other = Client::new(vec![address]);
            let written = other.insist(&put, deadline()).await;
            assert!(matches!(written, Ok(Reply::Done { .. })), "{written:?}");
        }
    }
    // A frame that is long and not slow gets a place.
    nodes.put(vec![large]).await;
    // The oldest of those that said nothing had to go, and was told so; and of those that are slow all but
    // the few for whom there was a place.
    assert_given_up(&mut silent[0], "others came").await;
    let mut refused = 0;
    let mut slow: JoinSet<_> =
        slow.into_iter().map(|mut stream| async move { frame::receive(&mut stream).await }).collect();
    while refused <= 20 {
        let answer = timeout(PATIENCE, slow.join_next()).await.expect("more of them are told").unwrap();
        if let Ok(Received::Message(Reply::Busy(problem))) = answer.unwrap() {
            assert!(problem.contains("others hold too much"), "{problem}");
            refused += 1;
        }
    }
    if let Some(open) = nodes.open_files(leader) {
        assert!(open < 250, "{open} files and connections are open");
    }
    if let Some(peak) = nodes.peak_memory(leader) {
        assert!(peak < MOST_KIB, "{peak} KiB");
    }
    drop((slow, deaf, silent));
    nodes.agree(|status| status.keys == 72).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frame_that_takes_too_long_is_given_up() {
    let nodes = alone(&["--frame-time", "2s"]).await;
    let mut stream = connect(nodes.address(1)).await;
    stream.write_all(&[0, 0, 1, 0, b'[', b'[']).await.unwrap();
    assert_given_up(&mut stream, "too long").await;
    // The same of a frame that is too long for the door.
    let mut stream = connect(nodes.address(1)).await;
    stream.write_all(&[0, 1, 0, 0, b'[', b'[']).await.unwrap();
    assert_given_up(&mut stream, "too long").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_that_says_nothing_is_given_up_and_finds_another_connection() {
    let nodes = alone(&["--frame-time", "2s", "--idle-time", "2s"]).await;
    // At the door, and between two requests.
    let mut stream = connect(nodes.address(1)).await;
    assert_given_up(&mut stream, "nothing was said").await;
    let mut stream = connect(nodes.address(1)).await;
    let status = frame::exchange(&mut stream, &Request::Status).await;
    assert!(matches!(status, Ok(Reply::Status(_))));
    assert_given_up(&mut stream, "nothing was said").await;

    let mut client = Client::new(vec![nodes.address(1)]);
    let put = |key: &str| Request::Put(vec![item(key, None)]);
    client.lead(&put("one"), deadline()).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    client.lead(&put("two"), deadline()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_beyond_their_number_are_refused_and_nodes_are_not() {
    let arguments = [&CALM[..], &["--clients", "2"]].concat();
    let mut nodes = Nodes::started(&arguments);
    let (leader, term) = nodes.all_up().await;
    let mut held = Vec::new();
    for id in nodes.ids() {
        for _ in 0..2 {
            held.push((id, place(&nodes, id).await));
        }
        let mut third = connect(nodes.address(id)).await;
        let asked = frame::encode(&Request::Status).unwrap();
        third.write_all(&asked).await.unwrap();
        assert_given_up(&mut third, "too many clients").await;
    }
    // Nodes come to each other all the same: they elect one, and it writes with the other.
    nodes.kill(leader);
    let deadline = deadline();
    let stream = 'elected: loop {
        for (id, stream) in held.iter_mut().filter(|(id, _)| *id != leader) {
            match frame::exchange(stream, &Request::Status).await {
                Ok(Reply::Status(status)) if status.role == "Leader" && status.term > term => {
                    break 'elected stream;
                }
                Ok(Reply::Status(_)) => {}
                other => panic!("node {id} answers {other:?}"),
            }
        }
        assert!(Instant::now() < deadline, "no other node leads");
        sleep(GLANCE).await;
    };
    let put = Request::Put(vec![item("key", None)]);
    let written: Reply = frame::exchange(stream, &put).await.unwrap();
    assert!(matches!(written, Reply::Done { .. }), "{written:?}");
}

/// A connection that has one of a node's places for clients. One that asked before may not have left yet.
async fn place(nodes: &Nodes, id: NodeId) -> TcpStream {
    let deadline = deadline();
    loop {
        let mut stream = connect(nodes.address(id)).await;
        match frame::exchange(&mut stream, &Request::Status).await {
            Ok(Reply::Status(_)) => return stream,
            Ok(Reply::Busy(_)) if Instant::now() < deadline => sleep(GLANCE).await,
            other => panic!("node {id} answers {other:?}"),
        }
    }
}
