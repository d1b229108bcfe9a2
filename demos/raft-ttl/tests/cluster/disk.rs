//! A disk that fails a write.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use raft_ttl::Disk;
use raft_ttl::client::Client;
use raft_ttl::cluster::GLANCE;
use raft_ttl::error::Error;
use raft_ttl::limits::Tuning;
use raft_ttl::message::{Reply, Request};
use raft_ttl::node::{Node, Settings};
use raft_ttl::time::Clock;
use raft_ttl::types::Command;
use redb::StorageBackend;
use redb::backends::FileBackend;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::process::{deadline, item};

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

/// A node alone, within this process, on a disk with this fuse: where it listens, and how it will end.
async fn start(file: &Path, fuse: &Fuse) -> (SocketAddr, JoinHandle<Result<(), Error>>) {
    let (is_old, listener) = (file.exists(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = listener.local_addr().unwrap();
    let settings = Settings { id: 1, members: [(1, address)].into(), secret: String::new(), tuning: Tuning::default() };
    let deadline = deadline();
    let disk = loop {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(file).unwrap();
        // A connection that has not ended yet may hold the file of the last node for a moment.
        match FileBackend::new(file) {
            Ok(file) => break Disk::on(Failing { file, fuse: fuse.clone() }).unwrap(),
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        sleep(GLANCE).await;
    };
    let node = Node::start(&settings, disk, |last| Clock::system(last, Tuning::default().max_skew, 0)).await.unwrap();
    let members = node.raft.server_metrics().borrow().membership_config.nodes().count();
    assert_eq!(members, usize::from(is_old), "it has read what its log says");
    (address, tokio::spawn(node.run(listener, std::future::pending())))
}

#[tokio::test(flavor = "multi_thread")]
async fn node_stops_at_a_failed_write_and_nothing_acknowledged_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("raft.redb");
    let mut acknowledged: Vec<String> = Vec::new();
    // At the first write of a change, and at later ones of it, and at its end.
    for (round, writes) in [Some(0), Some(1), Some(2), Some(3), Some(6), None].into_iter().enumerate() {
        let fuse = Fuse::new();
        let (address, end) = start(&file, &fuse).await;
        let mut client = Client::new(vec![address]);
        // All that was acknowledged is in the file, on a disk that works.
        for key in &acknowledged {
            assert!(client.get(key, deadline()).await.unwrap().is_some(), "{key}");
        }
        let Some(writes) = writes else { return };
        let deadline = deadline();
        for nth in 0.. {
            // This is what its disk fails to take, sooner or later.
            if nth == 10 {
                fuse.burns_after(writes);
            }
            if end.is_finished() {
                break;
            }
            assert!(Instant::now() < deadline, "the node goes on without its disk");
            let key = format!("{round}-{nth}");
            let put = Request::Write(Command::Put(vec![item(key.clone(), (nth % 2 == 0).then_some(3_600_000))]));
            if let Ok(Reply::Done { .. }) =
                client.lead(&put, deadline.min(Instant::now() + Duration::from_secs(1))).await
            {
                acknowledged.push(key);
            }
        }
        match end.await.unwrap() {
            Err(Error::Stopped(reason)) => assert!(!reason.is_empty()),
            other => panic!("the node ends with {other:?}"),
        }
        assert!(acknowledged.len() >= 10 * (round + 1));
    }
}
