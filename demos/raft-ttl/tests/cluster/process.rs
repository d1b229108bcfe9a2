//! Nodes as processes, and what tests want of them.

use std::path::Path;

use derive_more::{Deref, DerefMut};
use raft_ttl::cluster::{Cluster, Statuses};
use raft_ttl::frame::{self, Connection};
use raft_ttl::message::{Reply, Request, Status};
use raft_ttl::types::{Command, Item, NodeId};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

pub(crate) use raft_ttl::cluster::{GLANCE, PATIENCE, deadline};

/// Elections take so long to begin that a busy machine causes none.
pub(crate) const CALM: [&str; 2] = ["--heartbeat", "600ms"];

/// Elections begin soon.
pub(crate) const HASTY: [&str; 2] = ["--heartbeat", "150ms"];

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_raft-ttl"))
}

pub(crate) fn item(key: impl Into<String>, ttl_ms: impl Into<Option<u64>>) -> Item {
    Item { key: key.into(), value: "value".to_owned(), ttl_ms: ttl_ms.into() }
}

/// A request that sets a key without a TTL.
pub(crate) fn put(key: impl Into<String>) -> Request {
    Request::Write(Command::Put(vec![item(key, None)]))
}

/// A request for a value from its beginning.
pub(crate) fn get(key: impl Into<String>, linearizable: bool) -> Request {
    Request::Get { key: key.into(), linearizable, from: 0 }
}

/// A cluster of processes. When a test fails it says what its nodes said.
#[derive(Deref, DerefMut)]
pub(crate) struct Nodes(Cluster);

impl Nodes {
    /// Nodes that have not been started.
    pub(crate) fn new(nodes: u64, arguments: &[&str]) -> Self {
        Self(Cluster::new(program(), nodes, arguments).unwrap())
    }

    /// Three nodes that have been started.
    pub(crate) fn started(arguments: &[&str]) -> Self {
        let mut nodes = Self::new(3, arguments);
        nodes.start_all().unwrap();
        nodes
    }

    /// A node alone, which leads itself.
    pub(crate) async fn alone(arguments: &[&str]) -> Self {
        let mut nodes = Self::new(1, &[&CALM[..], arguments].concat());
        nodes.start(1).unwrap();
        nodes.leads().await;
        nodes
    }

    pub(crate) async fn connect(&self, id: NodeId) -> Connection {
        frame::connection(TcpStream::connect(self.address(id)).await.unwrap())
    }

    /// A connection that has one of a node's places for clients.
    pub(crate) async fn place(&self, id: NodeId) -> Connection {
        let mut connection = self.connect(id).await;
        let status = frame::exchange(&mut connection, &Request::Status).await;
        assert!(matches!(status, Ok(Reply::Status(_))), "node {id} answers {status:?}");
        connection
    }

    /// Who leads, and in which term, when most nodes agree on that.
    pub(crate) async fn leads(&self) -> (NodeId, u64) {
        self.leader().await.unwrap()
    }

    /// The same when all of them are up and know of each other: the last may take longer to start than the
    /// others to elect.
    pub(crate) async fn all_up(&self) -> (NodeId, u64) {
        let all = self.ids().into_iter().collect();
        self.agree(|status| status.voters == all).await;
        self.leads().await
    }

    /// Has each that leads die until this one does, and brings them back.
    pub(crate) async fn make_lead(&mut self, id: NodeId) {
        let (mut leader, _) = self.leads().await;
        while leader != id {
            self.kill(leader);
            let (next, _) = self.leads().await;
            self.start(leader).unwrap();
            leader = next;
        }
    }

    /// Sets keys, all in one entry, and answers with its index.
    pub(crate) async fn put(&self, items: Vec<Item>) -> u64 {
        self.done(&Request::Write(Command::Put(items))).await
    }

    /// Has the leader do something, again if need be, and answers with its index.
    pub(crate) async fn done(&self, request: &Request) -> u64 {
        match self.client().insist(request, deadline()).await {
            Ok(Reply::Done { index }) => index,
            // Not the request, which may be long.
            other => panic!("a write gives {other:?}"),
        }
    }

    /// The latest value of a key and what it has left.
    pub(crate) async fn latest(&self, key: &str) -> Option<(String, Option<u64>)> {
        self.client().get(key, deadline()).await.unwrap()
    }

    /// Waits until a node is as wanted.
    pub(crate) async fn wait_for(&self, id: NodeId, is_wanted: impl Fn(&Status) -> bool) -> Status {
        let found = |statuses: &Statuses| statuses.get(&id).filter(|status| is_wanted(status)).cloned();
        self.until(&format!("node {id} is not as wanted"), found).await.unwrap()
    }

    /// Waits until all nodes have applied the same and are as wanted.
    pub(crate) async fn agree(&self, is_wanted: impl Fn(&Status) -> bool) -> Statuses {
        self.agreement(is_wanted).await.unwrap()
    }

    /// What a node answers.
    pub(crate) async fn answer(&self, id: NodeId, request: &Request) -> Reply {
        self.ask(id, request).await.unwrap()
    }
}

/// Waits until there is what is looked for.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = deadline();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        sleep(GLANCE).await;
    }
}

/// What comes next on a connection, unless it is its end.
pub(crate) async fn next(connection: &mut Connection) -> Option<Reply> {
    let received = timeout(PATIENCE, frame::receive(connection)).await.expect("an answer");
    received.ok().flatten().map(Result::unwrap)
}

/// It was refused for this reason.
#[track_caller]
pub(crate) fn assert_refused(reply: &Reply, reason: &str) {
    match reply {
        Reply::Refused(problem) => assert!(problem.contains(reason), "{problem}"),
        other => panic!("{other:?} is no refusal for {reason}"),
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for id in self.ids() {
                eprintln!("node {id} said:\n{}", self.log(id));
            }
        }
    }
}
