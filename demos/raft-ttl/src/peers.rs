//! Who this node is, who the others are, and how two of them make sure of each other.
//!
//! A node's number is not enough: what it promised is on its disk, so another disk is another node. Each disk has
//! an identity of its own, by which the log and the engine know a member. A node whose disk was emptied is none.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use openraft::Vote;
use parking_lot::Mutex;
use tokio::net::TcpStream;

use crate::drive::Roles;
use crate::frame::{self, Connection};
use crate::limits::{MAX_FIRST_TERM, MAX_TERM_STEP};
use crate::message::{Hello, Reply, Request, Welcome};
use crate::network::{Line, Purpose};
use crate::time::Clock;
use crate::types::{DiskId, Membership, NodeId};

/// This node and the others, as far as it knows them.
#[derive(Clone)]
pub struct Peers {
    pub id: NodeId,
    /// Where all nodes are that can be members, this one included.
    pub addresses: Arc<BTreeMap<NodeId, SocketAddr>>,
    pub(crate) disk: DiskId,
    pub(crate) clock: Arc<Clock>,
    secret: Arc<str>,
    /// What the engine knows, once there is one.
    roles: Arc<OnceLock<Roles>>,
    /// The last thing that was wrong with each of the others.
    complaints: Arc<Mutex<BTreeMap<NodeId, String>>>,
    lines: Arc<Mutex<BTreeMap<(DiskId, Purpose), Line>>>,
    /// What each of the others said when it was last asked for its vote.
    votes: Arc<Mutex<BTreeMap<NodeId, String>>>,
    /// How long an answer to a call may take.
    pub(crate) call_time: Duration,
}

impl Peers {
    pub(crate) fn new(
        id: NodeId,
        addresses: BTreeMap<NodeId, SocketAddr>,
        disk: DiskId,
        secret: &str,
        clock: Arc<Clock>,
        call_time: Duration,
    ) -> Self {
        Self {
            id,
            addresses: Arc::new(addresses),
            disk,
            clock,
            secret: secret.into(),
            roles: Arc::default(),
            complaints: Arc::default(),
            lines: Arc::default(),
            votes: Arc::default(),
            call_time,
        }
    }

    /// Lets the engine tell from now on who leads and who is a member.
    pub(crate) fn follow(&self, roles: Roles) {
        // It is called once.
        let _ = self.roles.set(roles);
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = NodeId> {
        let others = self.addresses.keys().copied();
        others.filter(|&id| id != self.id)
    }

    /// The members, as far as this node's log says.
    pub(crate) fn membership(&self) -> Arc<Membership> {
        self.roles.get().map(|roles| Arc::clone(&roles.borrow().membership_config)).unwrap_or_default()
    }

    pub(crate) fn cluster(&self) -> Option<u64> {
        self.membership().nodes().next().map(|(_, seat)| seat.cluster)
    }

    /// The disk of a member; more than one if it was emptied while it was added.
    pub(crate) fn disks_of(&self, id: NodeId) -> BTreeSet<DiskId> {
        self.membership().nodes().filter(|(_, seat)| seat.node == id).map(|(&disk, _)| disk).collect()
    }

    pub(crate) fn node_of(&self, disk: DiskId) -> Option<NodeId> {
        self.membership().membership().get_node(&disk).map(|seat| seat.node)
    }

    pub(crate) fn line(&self, disk: DiskId, purpose: Purpose) -> Line {
        Arc::clone(self.lines.lock().entry((disk, purpose)).or_default())
    }

    /// Whether this node takes a term for true. What is absurd would leave no term for the next election.
    pub(crate) fn believes(&self, term: u64) -> bool {
        let vote: Option<Vote<DiskId>> = self.roles.get().map(|roles| roles.borrow().vote);
        let known = vote.map_or(0, |vote| vote.leader_id().term);
        let latest = match known {
            0 => MAX_FIRST_TERM,
            _ => known.saturating_add(MAX_TERM_STEP),
        };
        term <= latest
    }

    /// Answers one who says that it is another node.
    pub(crate) fn welcome(&self, hello: &Hello) -> Result<Welcome, String> {
        let Hello { from, to, .. } = *hello;
        if !is_same(&self.secret, &hello.secret) {
            return Err(format!("node {} has another secret", self.id));
        }
        if from == self.id || !self.addresses.contains_key(&from) {
            return Err(format!("node {from} is no peer of node {}", self.id));
        }
        if to != self.id {
            return Err(format!("this is node {}, not node {to}", self.id));
        }
        if hello.member.is_some() {
            self.admit(hello)?;
            // A node that is no member knows only its wall clock.
            self.clock.hear(hello.now_ns);
        }
        Ok(Welcome { disk: self.disk, cluster: self.cluster(), now_ns: self.clock.now_ns() })
    }

    /// Whether the engine is to hear one who has been welcomed. What the log says may have changed since.
    pub(crate) fn admit(&self, hello: &Hello) -> Result<(), String> {
        match hello.member {
            Some((disk, _)) if disk != self.disk => Err(format!("node {} has another disk now", self.id)),
            Some((_, cluster)) if self.cluster().is_none_or(|mine| mine == cluster) => Ok(()),
            Some(_) => Err(format!("node {} is of another cluster", self.id)),
            None => Err(format!("node {} has only asked who is there", hello.from)),
        }
    }

    /// Connects to another node, and makes sure of it if it is to be a certain member.
    pub(crate) async fn connect(&self, to: NodeId, member: Option<(DiskId, u64)>) -> io::Result<(Connection, Welcome)> {
        let Some(address) = self.addresses.get(&to) else {
            let problem = format!("nobody has told node {} where node {to} is: see --peer", self.id);
            self.complain(to, problem.clone());
            return Err(io::Error::other(problem));
        };
        let mut connection = frame::connection(TcpStream::connect(address).await?);
        let hello = Hello { secret: self.secret.to_string(), from: self.id, to, member, now_ns: self.clock.now_ns() };
        match frame::exchange(&mut connection, &Request::Peer(hello)).await? {
            Reply::Welcome(welcome) => {
                self.clock.hear(welcome.now_ns);
                Ok((connection, welcome))
            }
            Reply::Refused(reason) => {
                self.complain(to, reason.clone());
                Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
            }
            other => Err(io::Error::other(format!("it answers {other:?}"))),
        }
    }

    /// Takes down what became of asking another node for its vote.
    pub(crate) fn poll(&self, node: NodeId, outcome: String) {
        self.votes.lock().insert(node, outcome);
    }

    /// Why a candidate does not lead: what the others said.
    pub(crate) fn votes(&self) -> String {
        let votes = self.votes.lock();
        let votes = votes.iter().map(|(node, outcome)| format!("node {node} {outcome}"));
        votes.collect::<Vec<_>>().join(", ")
    }

    /// Says once what is wrong with another node, and not each time.
    pub(crate) fn complain(&self, with: NodeId, problem: String) {
        let mut complaints = self.complaints.lock();
        if complaints.get(&with) != Some(&problem) {
            eprintln!("raft-ttl: node {with}: {problem}");
            complaints.insert(with, problem);
        }
    }
}

/// Whether two secrets are the same, in a time that does not tell how far they are.
fn is_same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
