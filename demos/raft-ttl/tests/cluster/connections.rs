//! Connections that are slow, say nothing, take nothing, or are too many: the node and its log go on.

use std::time::Duration;

use raft_ttl::client::Client;
use raft_ttl::cluster::GLANCE;
use raft_ttl::frame::{self, Connection};
use raft_ttl::limits::{MAX_FRAME, MAX_PART};
use raft_ttl::message::{Reply, Request};
use raft_ttl::types::{Command, Item, NodeId};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::process::{CALM, Nodes, deadline, item, next};
use crate::proxy::Wires;

/// The most memory that a node may have had, in KiB.
const MOST_KIB: u64 = 48 << 10;

/// How many connections ask for much and take nothing of it, and how often each asks.
const DEAF: usize = 600;
const ASKED: usize = 100;

/// How many answers to one of them, of [`MAX_PART`] bytes each, the systems at its two ends may hold.
const UNTAKEN: usize = 12;

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
async fn deaf_clients_in_masses_delay_no_write_refuse_no_read_and_change_no_leader() {
    // Nobody is to be given up for the time alone.
    let nodes = Nodes::started(&[&CALM[..], &["--frame-time", "600s", "--idle-time", "600s"]].concat());
    let (leader, term) = nodes.all_up().await;
    nodes.put(vec![Item { value: "v".repeat(MAX_PART), ..item("large", None) }]).await;

    // Another client writes and reads on the connection that it has, and on a new one: how long a put takes each time.
    let mut own = nodes.connect(leader).await;
    let use_it = async |own: &mut Connection, nth: usize, puts: &mut Vec<Duration>| {
        for connection in [own, &mut nodes.connect(leader).await] {
            let began = Instant::now();
            let put = Request::Write(Command::Put(vec![item(format!("key {nth}"), None)]));
            let written = frame::exchange(connection, &put).await;
            assert!(matches!(written, Ok(Reply::Done { .. })), "{written:?}");
            puts.push(began.elapsed());
            let get = Request::Get { key: format!("key {nth}"), linearizable: true, from: 0 };
            let read = frame::exchange(connection, &get).await;
            assert!(matches!(read, Ok(Reply::Value { .. })), "{read:?}");
        }
    };
    let (mut before, mut puts, mut deaf) = (Vec::new(), Vec::new(), Vec::new());
    for nth in 0..100 {
        use_it(&mut own, nth, &mut before).await;
    }
    for nth in 0..DEAF + 200 {
        if nth < DEAF {
            let mut connection = nodes.connect(leader).await;
            for _ in 0..ASKED {
                let get = Request::Get { key: "large".to_owned(), linearizable: nth % 2 == 0, from: 0 };
                // It may have had to go for another one.
                let _ = frame::send(&mut connection, &get).await;
            }
            deaf.push(connection);
        }
        if nth >= DEAF || nth % 6 == 0 {
            use_it(&mut own, nth, &mut puts).await;
        }
    }
    let p99 = |puts: &mut Vec<Duration>| {
        puts.sort();
        puts[puts.len() * 99 / 100]
    };
    let (calm, p99) = (p99(&mut before), p99(&mut puts));
    println!("a put takes {p99:.1?} at the 99th percentile, {calm:.1?} without them");
    // On a machine with nothing else to do, a fifth of a second is more than enough.
    assert!(p99 < Duration::from_millis(200).max(5 * calm), "{p99:?}, {calm:?} without them");
    let Ok(Reply::Status(status)) = frame::exchange(&mut own, &Request::Status).await else { panic!("no status") };
    assert_eq!((status.role.as_str(), status.term), ("Leader", term));
    let most = DEAF * UNTAKEN + before.len() + puts.len();
    println!("{} reads", status.reads);
    assert!(status.reads <= most as u64, "{} reads", status.reads);
    if let Some(peak) = nodes.peak_memory(leader) {
        assert!(peak < MOST_KIB, "{peak} KiB");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn linearizable_reads_of_many_at_once_are_all_answered_and_need_few_connections_between_nodes() {
    let (mut nodes, wires) = Wires::between_nodes(&CALM, 3).await;
    let (leader, term) = nodes.all_up().await;
    nodes.put(vec![item("key", None)]).await;
    // The second time one of the others does not answer.
    for slow in [None, nodes.ids().into_iter().find(|&id| id != leader)] {
        if let Some(slow) = slow {
            nodes.signal(slow, "-STOP").unwrap();
        }
        let (before, began) = (wires.connections(), Instant::now());
        let mut readers = JoinSet::new();
        for _ in 0..200 {
            let mut connection = place(&nodes, leader).await;
            readers.spawn(async move {
                for _ in 0..10 {
                    let get = Request::Get { key: "key".to_owned(), linearizable: true, from: 0 };
                    let read = frame::exchange(&mut connection, &get).await;
                    assert!(matches!(read, Ok(Reply::Value { .. })), "{read:?}");
                }
            });
        }
        while let Some(read) = readers.join_next().await {
            read.unwrap();
        }
        let made = wires.connections() - before;
        // Who waits in vain gives up after a heartbeat, and the next one connects anew.
        let most = 20 + 4 * began.elapsed().as_millis() / 600;
        assert!(u128::from(made) < most, "{made} connections between nodes, and not {most}");
        if let Some(slow) = slow {
            nodes.signal(slow, "-CONT").unwrap();
        }
    }
    assert_eq!(nodes.leads().await, (leader, term));
}

#[tokio::test(flavor = "multi_thread")]
async fn client_beyond_their_number_takes_the_place_of_an_idle_one_and_nodes_need_none() {
    let mut nodes = Nodes::started(&[&CALM[..], &["--clients", "2"]].concat());
    let (leader, term) = nodes.all_up().await;
    let mut held = Vec::new();
    for id in nodes.ids() {
        let mut first = place(&nodes, id).await;
        for _ in 0..2 {
            held.push((id, place(&nodes, id).await));
        }
        assert_given_up(&mut first, "others came").await;
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

/// A connection that has one of a node's places for clients.
async fn place(nodes: &Nodes, id: NodeId) -> Connection {
    let mut connection = nodes.connect(id).await;
    let status = frame::exchange(&mut connection, &Request::Status).await;
    assert!(matches!(status, Ok(Reply::Status(_))), "node {id} answers {status:?}");
    connection
}
