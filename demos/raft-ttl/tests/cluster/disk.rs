//! A disk that fails a write.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use raft_ttl::Disk;
use raft_ttl::client::Client;
use raft_ttl::error::Error;
use raft_ttl::limits::Tuning;
use raft_ttl::message::{Reply, Request};
use raft_ttl::node::{Node, Settings};
use raft_ttl::time::Clock;
use raft_ttl::types::Command;
use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::process::{deadline, item};

/// A disk that takes so many more writes, and none any more from 0 on.
#[derive(Clone, Debug)]
struct Failing {
    memory: Arc<InMemoryBackend>,
    writes: Arc<AtomicI64>,
}

impl Failing {
    /// The same disk, mended.
    fn mended(memory: &Arc<InMemoryBackend>) -> Self {
        Self { memory: Arc::clone(memory), writes: Arc::new(AtomicI64::new(i64::MAX)) }
    }

    fn check(&self) -> io::Result<()> {
        let writes = self.writes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left > 0).then(|| left - 1));
        writes.map(drop).map_err(|_| io::ErrorKind::StorageFull.into())
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.memory.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.memory.write(offset, data)
    }
}

/// A node alone, within this process, on such a disk: where it listens, and how it will end.
async fn start(disk: Failing) -> (SocketAddr, JoinHandle<Result<(), Error>>) {
    let (is_new, listener) = (disk.len().unwrap() == 0, TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = listener.local_addr().unwrap();
    let settings = Settings { id: 1, members: [(1, address)].into(), secret: String::new(), tuning: Tuning::default() };
    let clock = |last| Clock::system(last, Tuning::default().max_skew, 0);
    let node = Node::start(&settings, Disk::on(disk).unwrap(), clock).await.unwrap();
    let members = node.raft.server_metrics().borrow().membership_config.nodes().count();
    assert_eq!(members, usize::from(!is_new), "it has read what its log says");
    (address, tokio::spawn(node.run(listener, std::future::pending())))
}

#[tokio::test(flavor = "multi_thread")]
async fn node_stops_at_a_failed_write_and_nothing_acknowledged_is_lost() {
    let memory = Arc::new(InMemoryBackend::new());
    let mut acknowledged: Vec<String> = Vec::new();
    // At the first write of a change, and at later ones of it, and at its end.
    for (round, writes) in [Some(0), Some(1), Some(2), Some(3), Some(6), None].into_iter().enumerate() {
        let disk = Failing::mended(&memory);
        let (address, end) = start(disk.clone()).await;
        let mut client = Client::new(vec![address.to_string()]);
        // All that was acknowledged is there, now that it works.
        for key in &acknowledged {
            assert!(client.get(key, deadline()).await.unwrap().is_some(), "{key}");
        }
        let Some(writes) = writes else { return };
        let deadline = deadline();
        for nth in 0.. {
            // This is what its disk fails to take, sooner or later.
            if nth == 10 {
                disk.writes.store(writes, Ordering::SeqCst);
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
