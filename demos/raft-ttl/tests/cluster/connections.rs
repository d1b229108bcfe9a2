//! Connections that are slow, say nothing, take nothing, or are too many: the node and its log go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use raft_ttl::client::Client;
use raft_ttl::frame::{self, Connection};
use raft_ttl::limits::{MAX_FRAME, MAX_PART};
use raft_ttl::message::{Reply, Request};
use raft_ttl::types::Item;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::process::{CALM, Nodes, deadline, eventually, get, item, next, put};
use crate::proxy::{Fate, Frame, Wires};

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
async fn client_that_is_slow_or_says_nothing_is_given_up_and_finds_another_connection() {
    let nodes = Nodes::alone(&["--frame-time", "2s", "--idle-time", "2s"]).await;
    // At the door, and between two requests.
    let given_up = async |is_known: bool, part: &[u8]| {
        let mut connection = if is_known { nodes.place(1).await } else { nodes.connect(1).await };
        connection.get_mut().write_all(part).await.unwrap();
        assert_given_up(&mut connection, "no whole request").await;
    };
    let part = [0, 0, 1, 0, b'['];
    tokio::join!(given_up(false, &[]), given_up(false, &part), given_up(true, &[]), given_up(true, &part));
    let mut client = Client::new(vec![nodes.address(1).to_string()]);
    client.lead(&put("one"), deadline()).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    client.lead(&put("two"), deadline()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_deaf_silent_and_many_clients_delay_no_write_refuse_no_read_and_change_no_leader() {
    // Nobody is to be given up for the time alone, however busy the machine.
    let nodes = Nodes::started(&[&CALM[..], &["--frame-time", "600s", "--idle-time", "600s"]].concat());
    let (leader, term) = nodes.all_up().await;
    nodes.put(vec![Item { value: "v".repeat(MAX_PART), ..item("large", None) }]).await;

    // Another client writes and reads on the connection that it has, and on a new one: how long a put takes each time.
    let mut own = nodes.connect(leader).await;
    let use_it = async |own: &mut Connection, nth: usize, puts: &mut Vec<Duration>| {
        for connection in [own, &mut nodes.connect(leader).await] {
            let began = Instant::now();
            let written = frame::exchange(connection, &put(format!("key {nth}"))).await;
            assert!(matches!(written, Ok(Reply::Done { .. })), "{written:?}");
            puts.push(began.elapsed());
            let read = frame::exchange(connection, &get(format!("key {nth}"), true)).await;
            assert!(matches!(read, Ok(Reply::Value { .. })), "{read:?}");
        }
    };
    let (mut before, mut puts) = (Vec::new(), Vec::new());
    for nth in 0..100 {
        use_it(&mut own, nth, &mut before).await;
    }
    let (mut silent, mut held) = (Vec::new(), Vec::new());
    for nth in 0..DEAF + 200 {
        if nth < DEAF {
            silent.push(nodes.connect(leader).await);
            let mut deaf = nodes.connect(leader).await;
            for _ in 0..ASKED {
                // It may have had to go for another one.
                let _ = frame::send(&mut deaf, &get("large", nth % 2 == 0)).await;
            }
            held.push(deaf);
        }
        if nth < DEAF && nth % 5 == 0 {
            let mut slow = nodes.place(leader).await;
            let part = [&(MAX_FRAME as u32).to_be_bytes()[..], &[0; MAX_FRAME - 1]].concat();
            slow.get_mut().write_all(&part).await.unwrap();
            held.push(slow);
        }
        if nth >= DEAF || nth % 6 == 0 {
            use_it(&mut own, nth, &mut puts).await;
        }
    }
    // The oldest of those that said nothing had to go, and was told so.
    assert_given_up(&mut silent[0], "others came").await;
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
    let peak = nodes.peak_memory(leader);
    assert!(peak < MOST_KIB, "{peak} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn linearizable_reads_of_many_at_once_are_all_answered_and_need_few_connections_between_nodes() {
    let made = Arc::new(AtomicUsize::new(0));
    let hellos = Arc::clone(&made);
    let (mut nodes, _wires) = Wires::between_nodes(&CALM, move |frame: &mut Frame| {
        hellos.fetch_add(usize::from(frame.is_hello()), Ordering::Relaxed);
        Fate::Arrives
    })
    .await;
    let (leader, term) = nodes.all_up().await;
    nodes.put(vec![item("key", None)]).await;
    // The second time one of the others does not answer.
    for slow in [None, nodes.ids().into_iter().find(|&id| id != leader)] {
        if let Some(slow) = slow {
            nodes.signal(slow, "-STOP").unwrap();
        }
        let (before, began) = (made.load(Ordering::Relaxed), Instant::now());
        let mut readers = JoinSet::new();
        for _ in 0..200 {
            let mut connection = nodes.place(leader).await;
            readers.spawn(async move {
                for _ in 0..10 {
                    let read = frame::exchange(&mut connection, &get("key", true)).await;
                    assert!(matches!(read, Ok(Reply::Value { .. })), "{read:?}");
                }
            });
        }
        while let Some(read) = readers.join_next().await {
            read.unwrap();
        }
        let made = made.load(Ordering::Relaxed) - before;
        // A question without an answer is given up after some heartbeats, and the next one connects anew.
        let most = 20 + began.elapsed().as_millis() as usize / 600;
        assert!(made < most, "{made} connections between nodes, and not {most}");
        if let Some(slow) = slow {
            nodes.signal(slow, "-CONT").unwrap();
        }
    }
    assert_eq!(nodes.leads().await, (leader, term));
}

#[tokio::test(flavor = "multi_thread")]
async fn client_beyond_their_number_takes_the_place_of_an_idle_one_and_nodes_need_none() {
    let mut nodes = Nodes::started(&[&CALM[..], &["--clients", "2"]].concat());
    let (leader, _) = nodes.all_up().await;
    let mut held = Vec::new();
    for id in nodes.ids() {
        let mut first = nodes.place(id).await;
        for _ in 0..2 {
            held.push((id, nodes.place(id).await));
        }
        assert_given_up(&mut first, "others came").await;
    }
    // Nodes come to each other all the same: they elect one, and it writes with the other.
    nodes.kill(leader);
    held.retain(|(id, _)| *id != leader);
    eventually("no other node leads and writes", async || {
        for (id, connection) in &mut held {
            match frame::exchange(connection, &put("key")).await {
                Ok(Reply::Done { .. }) => return Some(()),
                Ok(Reply::NotLeader(_)) => {}
                other => panic!("node {id} answers {other:?}"),
            }
        }
        None
    })
    .await;
}
