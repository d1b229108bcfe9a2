//! A disk that fails a write.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use raft_ttl::Disk;
use raft_ttl::error::Error;
use raft_ttl::message::{Reply, Request};
use redb::StorageBackend;
use redb::backends::FileBackend;
use tokio::time::{Instant, timeout};

use crate::process::{PATIENCE, deadline, item};
use crate::within::{Trio, backend};

/// How many more writes a disk takes; none any more from 0 on.
#[derive(Clone, Debug)]
struct Fuse(Arc<AtomicI64>);

impl Fuse {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(i64::MAX)))
    }

    fn burns_after(&self, writes: i64) {
        self.0.store(writes, Ordering::SeqCst);
    }

    fn check(&self) -> io::Result<()> {
        if self.0.fetch_sub(1, Ordering::SeqCst) > 0 {
            Ok(())
        } else {
            self.burns_after(0);
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    }
}

/// A file on a disk with such a fuse.
#[derive(Debug)]
struct Failing {
    file: FileBackend,
    fuse: Fuse,
}

impl StorageBackend for Failing {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.fuse.check()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.fuse.check()?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.fuse.check()?;
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

async fn start(trio: &mut Trio, id: u64) -> Fuse {
    let fuse = Fuse::new();
    let file = Failing { file: backend(&trio.file(id)), fuse: fuse.clone() };
    let disk = Disk::on(file).unwrap();
    trio.start(id, disk, 0).await;
    fuse
}

#[tokio::test(flavor = "multi_thread")]
async fn node_stops_at_a_failed_write_and_nothing_acknowledged_is_lost() {
    let mut trio = Trio::new();
    let mut fuses = Vec::new();
    for id in 1..=3 {
        fuses.push(start(&mut trio, id).await);
    }
    let mut acknowledged = Vec::new();
    // At the first write of a change, and at later ones of it, and at its end.
    for (round, writes) in [0, 1, 2, 3, 6].into_iter().enumerate() {
        for nth in 0..10 {
            let key = format!("{round}-{nth}");
            trio.put(vec![item(key.clone(), (nth % 2 == 0).then_some(3_600_000))]).await;
            acknowledged.push(key);
        }
        let leader = trio.leader().await;
        fuses[leader as usize - 1].burns_after(writes);
        // This is what its disk fails to take, sooner or later.
        let mut client = trio.client();
        let end = trio.ends.remove(&leader).unwrap();
        let mut nth = 0;
        let deadline = deadline();
        while !end.is_finished() {
            assert!(Instant::now() < deadline, "the node goes on without its disk");
            let key = format!("{round}-failing-{nth}");
            let request = Request::Put(vec![item(key.clone(), None)]);
            if let Ok(Reply::Done { .. }) = client.lead(&request, deadline).await {
                acknowledged.push(key);
            }
            nth += 1;
        }
        match end.await.unwrap() {
            Err(Error::Stopped(reason)) => assert!(!reason.is_empty()),
            other => panic!("the node ends with {other:?}"),
        }
        trio.nodes.remove(&leader);

        // The others have it all; and so has the file, on a disk that works.
        let another = trio.leader().await;
        assert_ne!(another, leader);
        fuses[leader as usize - 1] = start(&mut trio, leader).await;
        trio.leader().await;
        let mut client = trio.client();
        for key in &acknowledged {
            let request = Request::Get { key: key.clone(), linearizable: true };
            let reply = client.insist(&request, crate::process::deadline()).await;
            assert!(matches!(reply, Ok(Reply::Value { .. })), "{key}: {reply:?}");
        }
        let last = acknowledged.last().unwrap();
        let caught_up = async {
            while !trio.has(leader, last).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, caught_up).await.expect("it catches up");
        for key in &acknowledged {
            assert!(trio.has(leader, key).await, "{key} on node {leader}");
        }
    }
}
