//! A disk that is full.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use raft_ttl::limits::MAX_PART;
use raft_ttl::message::Reply;
use raft_ttl::types::Item;
use tokio::time::Instant;

use crate::process::{Nodes, eventually, item, program};

#[tokio::test(flavor = "multi_thread")]
async fn node_stops_at_a_failed_write_and_nothing_acknowledged_is_lost() {
    let mut nodes = Nodes::alone(&[]).await;
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 1..=3 {
        // The program, whose file can grow by so much and no more: then a write is an error.
        let limit = fs::metadata(nodes.data(1).join("raft.redb")).unwrap().len() + (round << 20);
        let (full, run) = (nodes.directory().join("full"), program().display());
        fs::write(&full, format!("#!/bin/sh\ntrap '' XFSZ\nexec prlimit --fsize={limit} {run} \"$@\"\n")).unwrap();
        fs::set_permissions(&full, Permissions::from_mode(0o755)).unwrap();
        nodes.program = full;
        nodes.start(1).unwrap();

        let mut client = nodes.client();
        eventually("the node goes on without its disk", async || {
            let key = format!("key {}", acknowledged.len());
            let put = client.put(Item { value: "v".repeat(MAX_PART), ..item(&key, None) }, Instant::now()).await;
            acknowledged.extend(matches!(put, Ok(Reply::Done { .. })).then_some(key));
            (!nodes.is_running(1)).then_some(())
        })
        .await;
        let log = nodes.log(1);
        assert!(log.lines().last().unwrap().starts_with("raft-ttl: the node stops: "), "{log}");

        // All that was acknowledged is there, now that it works.
        nodes.program = program().to_owned();
        nodes.start(1).unwrap();
        for key in &acknowledged {
            assert!(nodes.latest(key).await.is_some(), "{key}");
        }
    }
    assert!(acknowledged.len() > 30);
}
