//! Nodes as processes, and what tests want of them.

use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use raft_ttl::client::{self, Client};
use raft_ttl::cluster::{Cluster, Statuses};
use raft_ttl::history::Expired;
use raft_ttl::message::{Reply, Request, Status};
use raft_ttl::types::{Item, NodeId};
use tokio::time::Instant;

/// How long anything may take. It is there to end a test that will not pass, not to measure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Elections take so long to begin that a busy machine causes none.
pub(crate) const CALM: [&str; 2] = ["--heartbeat", "600ms"];

/// Elections begin soon.
pub(crate) const HASTY: [&str; 2] = ["--heartbeat", "150ms"];

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_raft-ttl"))
}

pub(crate) fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

pub(crate) fn item(key: impl Into<String>, ttl_ms: impl Into<Option<u64>>) -> Item {
    Item { key: key.into(), value: "value".to_owned(), ttl_ms: ttl_ms.into() }
}

/// A cluster of processes. When a test fails it says what its nodes said.
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

    /// Who leads, and in which term, when most nodes agree on that.
    pub(crate) async fn leads(&self) -> (NodeId, u64) {
        self.leader(deadline()).await.expect("a leader")
    }

    /// The same when all of them are up and know of each other: the last may take longer to start than the
    /// others to elect.
    pub(crate) async fn all_up(&self) -> (NodeId, u64) {
        let all = self.ids();
        self.agree(|status| status.voters == all).await;
        self.leads().await
    }

    pub(crate) fn client(&self) -> Client {
        Client::of(self.ids().into_iter().map(|id| (id, self.address(id))).collect())
    }

    /// Sets keys, all in one entry, and answers with its index.
    pub(crate) async fn put(&self, items: Vec<Item>) -> u64 {
        self.done(&Request::Put(items)).await
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
        let request = Request::Get { key: key.to_owned(), linearizable: true };
        match self.client().insist(&request, deadline()).await {
            Ok(Reply::Value { value, remaining_ms }) => Some((value, remaining_ms)),
            Ok(Reply::Missing) => None,
            other => panic!("{request:?} gives {other:?}"),
        }
    }

    /// Waits until a node is as wanted.
    pub(crate) async fn wait_for(&self, id: NodeId, is_wanted: impl Fn(&Status) -> bool) -> Status {
        let deadline = deadline();
        loop {
            let status = client::status(self.address(id)).await;
            match status {
                Ok(status) if is_wanted(&status) => return status,
                last if Instant::now() >= deadline => panic!("node {id} is {last:?}"),
                _ => tokio::time::sleep(raft_ttl::cluster::GLANCE).await,
            }
        }
    }

    /// Waits until all nodes have applied the same and are as wanted.
    pub(crate) async fn agree(&self, is_wanted: impl Fn(&Status) -> bool) -> Statuses {
        let agreed = self.agreement(deadline(), is_wanted).await;
        agreed.expect("all nodes agree")
    }

    /// All that expired on a node since its start.
    pub(crate) async fn history(&self, id: NodeId) -> Vec<Expired> {
        let mut all = Vec::new();
        loop {
            let request = Request::History(all.len() as u64);
            match client::ask(self.address(id), &request).await {
                Ok(Reply::History { expired, .. }) if expired.is_empty() => return all,
                Ok(Reply::History { first, expired, .. }) => {
                    assert_eq!(first, all.len() as u64, "nothing is forgotten yet");
                    all.extend(expired);
                }
                other => panic!("node {id} answers {other:?}"),
            }
        }
    }

    /// Asks one node, again if a busy machine kept it from answering in time.
    pub(crate) async fn ask(&self, id: NodeId, request: &Request) -> Reply {
        let deadline = deadline();
        loop {
            match client::ask(self.address(id), request).await {
                Ok(reply) => return reply,
                Err(error) if error.kind() == ErrorKind::TimedOut && Instant::now() < deadline => {}
                Err(error) => panic!("node {id} does not answer: {error}"),
            }
        }
    }
}

/// It was refused for this reason.
#[track_caller]
pub(crate) fn assert_refused(reply: &Reply, reason: &str) {
    match reply {
        Reply::Refused(problem) => assert!(problem.contains(reason), "{problem}"),
        other => panic!("{other:?} is no refusal for {reason}"),
    }
}

impl Deref for Nodes {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl DerefMut for Nodes {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.0
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
