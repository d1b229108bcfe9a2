//! What makes no sense is answered as such, and the node lives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Output};

use futures_util::SinkExt;
use raft_ttl::error::Error;
use raft_ttl::frame;
use raft_ttl::limits::{MAX_FRAME, MAX_KEY, MAX_PART, MAX_TTL, MAX_VALUE};
use raft_ttl::message::{Reply, Request};
use raft_ttl::types::{Command, Item, NodeId};
use tokio::io::AsyncWriteExt;
use tokio_util::bytes::Bytes;

use crate::process::{CALM, Nodes, assert_refused, deadline, item, next, program};

#[tokio::test(flavor = "multi_thread")]
async fn frame_that_is_malformed_or_too_long_is_refused_and_the_node_lives() {
    let mut nodes = Nodes::alone(&[]).await;
    let mut connection = nodes.connect(1).await;
    // Nothing, no such request, a key that is no text, a put of more keys than there are, more than one request.
    let nonsense: [&[u8]; 6] =
        [b"", b"\xff", b"\x02\x02\x01\xfe", b"\x02\x00\xff\xff\xff\xff\x0f", b"\x04\x04", &[4; 40_000]];
    for bytes in nonsense {
        connection.send(Bytes::from_static(bytes)).await.unwrap();
        assert_refused(&next(&mut connection).await.unwrap(), "no request");
    }
    // The next one is answered.
    let status = frame::exchange(&mut connection, &Request::Status).await;
    assert!(matches!(status, Ok(Reply::Status(_))));

    for length in [MAX_FRAME as u32 + 1, u32::MAX] {
        let mut connection = nodes.connect(1).await;
        // Only its length comes, and is answered.
        connection.get_mut().write_all(&length.to_be_bytes()).await.unwrap();
        assert_refused(&next(&mut connection).await.unwrap(), "longer than");
        // Nobody can tell where the next one would begin.
        assert!(next(&mut connection).await.is_none());
    }
    // Half a length, half a frame, and gone.
    for bytes in [&[0, 0][..], &[0, 0, 1, 0, b'{'][..]] {
        nodes.connect(1).await.get_mut().write_all(bytes).await.unwrap();
    }
    assert!(nodes.is_running(1));
    nodes.put(vec![item("key", None)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_values_and_ttls_are_taken_up_to_their_limits() {
    let mut nodes = Nodes::alone(&[]).await;
    let max_ttl_ms = u64::try_from(MAX_TTL.as_millis()).unwrap();
    let key = |length| "k".repeat(length);
    let valued = |length| Item { value: "v".repeat(length), ..item("key", None) };
    let many = |count: usize| (0..count).map(|nth| item(nth.to_string(), None)).collect();
    let touch = |length, ttl_ms| Command::Touch { key: key(length), ttl_ms };
    let join = |key: String, parts, ttl_ms: Option<u64>| Command::Join { key, parts, ttl_ms };
    let put = |item| Command::Put(vec![item]);
    let refused = [
        (put(item(key(MAX_KEY + 1), None)), "a key of"),
        (put(valued(MAX_PART + MAX_KEY)), "a write of"),
        (join(key(0), vec![], None), "must not be empty"),
        (join(key(3), vec![], Some(0)), "a TTL of 0"),
        (join(key(3), vec![key(4); 700], None), "a write of"),
        (put(item("key", 0)), "a TTL of 0"),
        (put(item("key", max_ttl_ms + 1)), "longer than 36500 days"),
        (put(item("key", u64::MAX)), "longer than 36500 days"),
        (Command::Put(vec![]), "without a key"),
        (put(item("", 60_000)), "must not be empty"),
        (touch(0, 5), "must not be empty"),
        (Command::Delete(String::new()), "must not be empty"),
        (Command::Delete(key(MAX_KEY + 1)), "a key of"),
        (Command::Expire { expiries: vec![("key".to_owned(), 1)], by: 1 }, "only nodes"),
        (Command::Put(vec![item("a", 5), item("b", 5), item("a", 6)]), "twice"),
        (Command::Put(vec![valued(MAX_PART), item(key(MAX_KEY), None)]), "a write of"),
        (Command::Put(many(700)), "a write of"),
        (touch(MAX_KEY + 1, 5), "a key of"),
        (touch(1, 0), "a TTL of 0"),
        (touch(1, max_ttl_ms + 1), "longer than 36500 days"),
    ];
    let refused = refused.map(|(command, reason)| (Request::Write(command), reason));
    let others = [(Request::Remove(1), "the only one"), (Request::Add(9), "nobody has told")];
    let before = nodes.wait_for(1, |status| status.applied == status.last_log).await;
    for (request, reason) in refused.iter().chain(&others) {
        assert_refused(&nodes.answer(1, request).await, reason);
    }
    // What no frame holds is not even sent, nor parts of what is too long.
    let mut client = nodes.client();
    let unsent = [
        client.lead(&Request::Write(Command::Put(vec![valued(MAX_FRAME)])), deadline()).await,
        client.put(valued(MAX_VALUE + 1), deadline()).await,
    ];
    assert!(matches!(unsent, [Err(Error::Arguments(_)), Err(Error::Arguments(_))]), "{unsent:?}");
    let after = nodes.wait_for(1, |_| true).await;
    assert_eq!(after.last_log, before.last_log, "nothing of it was proposed");

    nodes.put(vec![item(key(MAX_KEY), max_ttl_ms)]).await;
    nodes.put(vec![valued(MAX_PART)]).await;
    nodes.put(many(500)).await;
    assert!(matches!(nodes.answer(1, &Request::Write(touch(MAX_KEY, max_ttl_ms))).await, Reply::Done { .. }));
    assert!(matches!(nodes.answer(1, &Request::Write(touch(3, 5))).await, Reply::Missing));
    assert_eq!(nodes.latest("key").await.unwrap().0.len(), MAX_PART);
    assert!(nodes.is_running(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn largest_value_reaches_all_nodes() {
    let mut nodes = Nodes::started(&CALM);
    let (leader, _) = nodes.all_up().await;
    let key = "k".repeat(MAX_KEY);
    // No part of it ends in the middle of a character.
    let value = "€".repeat(MAX_VALUE / 3) + "v";
    assert_eq!(value.len(), MAX_VALUE);
    let largest = Item { key: key.clone(), value: value.clone(), ttl_ms: Some(3_600_000) };
    let behind = leader % 3 + 1;
    nodes.kill(behind);
    let put = nodes.client().put(largest, deadline()).await;
    assert!(matches!(put, Ok(Reply::Done { .. })), "{put:?}");
    assert!(nodes.latest(&key).await.unwrap().0 == value);

    // More than a frame holds is caught up with, and is told when it has expired.
    for nth in 0..10 {
        nodes.put(vec![item(format!("{nth}{}", &key[1..]), 1_000)]).await;
    }
    nodes.start(behind).unwrap();
    nodes.agree(|status| (status.keys, status.expired) == (1, 10)).await;
    for id in nodes.ids() {
        assert_eq!(nodes.expired(id).concat().len(), 10);
    }
}

/// An address that is free.
pub(crate) const ANYWHERE: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// Runs a node that should not start, and gives up on it if it does.
pub(crate) fn run_node(id: NodeId, data: &Path, arguments: &[&str]) -> Output {
    let mut command = process::Command::new(program());
    command.args(["node", "--id", &id.to_string(), "--lifeline", "--data"]).arg(data).args(arguments);
    // Its standard input is at its end: it would stop at once.
    command.output().unwrap()
}

#[track_caller]
pub(crate) fn assert_fails(output: &Output, status: i32, reason: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert!(stderr.contains(reason), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_directory_of_another_node_is_refused() {
    let mut nodes = Nodes::started(&CALM);
    nodes.all_up().await;
    nodes.put(vec![item("key", None)]).await;
    let node = |data: PathBuf, more: &[&str]| {
        let peers = ["--peer", "1=127.0.0.1:9", "--peer", "3=127.0.0.1:9"];
        run_node(2, &data, &[&ANYWHERE[..], &peers, more].concat())
    };
    assert_fails(&node(nodes.data(2), &[]), 2, "cannot be used"); // it is running
    nodes.kill(1);
    nodes.kill(2);
    assert_fails(&node(nodes.data(1), &[]), 2, "it belongs to node 1, not to node 2");
    // It may be told of others: one more is to be added, say.
    assert_fails(&node(nodes.data(2), &["--peer", "4=127.0.0.1:9"]), 0, "listens on");

    // Nothing of that has done them any harm.
    nodes.start(1).unwrap();
    nodes.start(2).unwrap();
    nodes.agree(|status| status.keys == 1).await;
}

#[test]
fn node_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (file, garbage) = (path("file"), path("garbage"));
    fs::write(&file, "no directory").unwrap();
    fs::create_dir(&garbage).unwrap();
    fs::write(garbage.join("raft.redb"), [7; 10_000]).unwrap();
    // Nobody can write to the last one, not even root.
    for data in [&file, &garbage, Path::new("/proc/raft-ttl")] {
        assert_fails(&run_node(1, data, &ANYWHERE), 2, "cannot be used");
    }

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_fails(&run_node(1, &path("fresh"), &["--listen", &address]), 2, "cannot listen");
    assert_fails(&run_node(70_000, &path("fresh"), &[]), 2, "which address");
    let twice = ["--peer", "2=127.0.0.1:9", "--peer", "2=127.0.0.1:8"];
    for (arguments, reason) in [
        (&twice[..], "is given twice"),
        (&["--peer", "1=127.0.0.1:9"], "is given twice"),
        (&["--peer", "2"], "expected ID=ADDRESS"),
        (&["--peer", "x=127.0.0.1:1"], "invalid digit"),
        (&["--peer", "2=localhost"], "invalid socket address"),
        (&["--heartbeat", "0s"], ""),
        (&["--clients", "0"], "not in 1.."),
    ] {
        assert_fails(&run_node(1, &path("fresh"), &[&ANYWHERE[..], arguments].concat()), 2, reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_file_is_refused() {
    let mut nodes = Nodes::alone(&[]).await;
    for nth in 0..50 {
        nodes.put(vec![item(format!("key {nth}"), 60_000)]).await;
    }
    nodes.kill(1);
    let file = nodes.data(1).join("raft.redb");
    let mut bytes = fs::read(&file).unwrap();
    let needle = b"key 7";
    // Every page that holds the entry, so that the one in use is among them.
    let windows = bytes.windows(needle.len()).enumerate();
    let places: Vec<usize> = windows.filter(|(_, window)| window == needle).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "entries are not compressed");
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(&file, bytes).unwrap();
    assert_fails(&run_node(1, &nodes.data(1), &ANYWHERE), 2, "cannot be used");
}
