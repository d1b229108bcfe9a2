//! Nodes within the test's own process, so that it can get between their parts. The sockets and files
//! are real.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raft_ttl::Disk;
use raft_ttl::client::Client;
use raft_ttl::error::Error;
use raft_ttl::limits::Tuning;
use raft_ttl::message::{Reply, Request};
use raft_ttl::node::{Node, Settings};
use raft_ttl::time::{Clock, MAX_SKEW, wall_us_now};
use raft_ttl::types::{Item, NodeId};
use tempfile::TempDir;
use timer_wheel::clock::SystemClock;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::process::{deadline, done};

/// Three nodes.
pub(crate) struct Trio {
    pub(crate) nodes: BTreeMap<NodeId, Node>,
    pub(crate) addresses: BTreeMap<NodeId, SocketAddr>,
    /// How each ended.
    pub(crate) ends: BTreeMap<NodeId, JoinHandle<Result<(), Error>>>,
    stops: BTreeMap<NodeId, oneshot::Sender<()>>,
    /// Keep the ports while nobody listens there.
    _reserved: Vec<TcpSocket>,
    directory: TempDir,
}

impl Trio {
    /// None is started.
    pub(crate) fn new() -> Self {
        let mut addresses = BTreeMap::new();
        let mut reserved = Vec::new();
        for id in 1..=3 {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseaddr(true).unwrap();
            socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            addresses.insert(id, socket.local_addr().unwrap());
            reserved.push(socket);
        }
        Self {
            nodes: BTreeMap::new(),
            addresses,
            ends: BTreeMap::new(),
            stops: BTreeMap::new(),
            _reserved: reserved,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn file(&self, id: NodeId) -> PathBuf {
        self.directory.path().join(format!("node-{id}.redb"))
    }

    /// Starts a node on this disk, with its wall clock so far off.
    pub(crate) async fn start(&mut self, id: NodeId, disk: Disk, off_us: i64) {
        let wall_us = move || wall_us_now().saturating_add_signed(off_us);
        let clock = |last| Clock::new(SystemClock::default(), wall_us, last, MAX_SKEW);
        let tuning = Tuning { heartbeat: Duration::from_millis(300), ..Tuning::default() };
        let settings = Settings { id, members: self.addresses.clone(), secret: String::new(), tuning };
        let node = Node::start(&settings, disk, clock).await.unwrap();
        let listener = TcpListener::bind(self.addresses[&id]).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let running = node.clone().run(listener, async {
            let _ = stopped.await;
        });
        self.nodes.insert(id, node);
        self.stops.insert(id, stop);
        self.ends.insert(id, tokio::spawn(running));
    }

    /// Stops a node, and waits until its file is closed.
    pub(crate) async fn stop(&mut self, id: NodeId) {
        self.nodes.remove(&id);
        drop(self.stops.remove(&id));
        let ended = self.ends.remove(&id).unwrap().await;
        ended.unwrap().unwrap();
    }

    /// The node that leads, when all that are up say so.
    pub(crate) async fn leader(&self) -> NodeId {
        let deadline = deadline();
        loop {
            let metrics = self.nodes.values().map(|node| node.raft.metrics().borrow().clone());
            let metrics: Vec<_> = metrics.collect();
            let leader = metrics[0].current_leader;
            if let Some(leader) = leader
                && self.nodes.contains_key(&leader)
                && metrics.iter().all(|it| it.current_leader == Some(leader))
            {
                return leader;
            }
            assert!(Instant::now() < deadline, "no leader: {metrics:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.addresses.values().copied().collect())
    }

    pub(crate) async fn done(&self, request: &Request) -> u64 {
        done(self.client(), request).await
    }

    pub(crate) async fn put(&self, items: Vec<Item>) -> u64 {
        self.done(&Request::Put(items)).await
    }

    /// Whether a node has this key.
    pub(crate) async fn has(&self, id: NodeId, key: &str) -> bool {
        let request = Request::Get { key: key.to_owned(), linearizable: false };
        let asked = raft_ttl::client::ask(self.addresses[&id], &request).await;
        matches!(asked, Ok(Reply::Value { .. }))
    }

    /// Waits until none of the nodes that are up has this key.
    pub(crate) async fn wait_until_gone(&self, key: &str) {
        let deadline = deadline();
        for &id in self.nodes.keys() {
            while self.has(id, key).await {
                assert!(Instant::now() < deadline, "{key} stays on node {id}");
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// The disk of a node that may have just been stopped: a connection that has not ended yet may hold its file
/// for a moment.
pub(crate) async fn disk(file: &Path) -> Disk {
    let deadline = deadline();
    loop {
        match Disk::on(backend(file)) {
            Ok(disk) => return disk,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn backend(file: &Path) -> redb::backends::FileBackend {
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(file);
    redb::backends::FileBackend::new(file.unwrap()).unwrap()
}
