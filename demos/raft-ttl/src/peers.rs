//! Who this node is, who the others are, and how two of them make sure of each other.
//!
//! A node's number is not enough: what it promised is on its disk, so another disk is another node. Each disk has
//! an identity of its own, and the log says which disk a member has. A node whose disk was emptied finds that the
//! others know it with another one.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use openraft::Vote;
use tokio::net::TcpStream;

use crate::drive::Roles;
use crate::frame::{self, Connection};
use crate::limits::{MAX_FIRST_TERM, MAX_TERM_STEP};
use crate::message::{Hello, Reply, Request, Welcome};
use crate::time::Clock;
use crate::types::{LogId, NodeId, Seat};

/// This node and the others, as far as it knows them.
#[derive(Clone, Debug)]
pub struct Peers {
    /// This one.
    pub id: NodeId,
    /// Where all nodes are that can be members, this one included.
    pub addresses: Arc<BTreeMap<NodeId, SocketAddr>>,
    pub(crate) disk: u64,
    pub(crate) clock: Arc<Clock>,
    secret: Arc<str>,
    /// What the engine knows, once there is one.
    roles: Arc<OnceLock<Roles>>,
    /// The last thing that was wrong with each of the others.
    complaints: Arc<Mutex<BTreeMap<NodeId, String>>>,
}

impl Peers {
    pub(crate) fn new(
        id: NodeId,
        addresses: BTreeMap<NodeId, SocketAddr>,
        disk: u64,
        secret: &str,
        clock: Arc<Clock>,
    ) -> Self {
        Self {
            id,
            addresses: Arc::new(addresses),
            disk,
            clock,
            secret: secret.into(),
            roles: Arc::default(),
            complaints: Arc::default(),
        }
    }

    /// Lets the engine tell from now on who leads and who is a member.
    pub(crate) fn follow(&self, roles: Roles) {
        // It is called once.
        let _ = self.roles.set(roles);
    }

    /// The numbers of the others.
    pub(crate) fn others(&self) -> impl Iterator<Item = NodeId> {
        let others = self.addresses.keys().copied();
        others.filter(|&id| id != self.id)
    }

    /// The cluster that this node is of, if its log says.
    pub(crate) fn cluster(&self) -> Option<u64> {
        self.seat(None).map(|seat| seat.cluster)
    }

    /// The disk that the log gives a member.
    pub(crate) fn disk_of(&self, id: NodeId) -> Option<u64> {
        self.seat(Some(id)).map(|seat| seat.disk)
    }

    /// The place in the log that says who is a member.
    fn as_of(&self) -> Option<LogId> {
        *self.roles.get()?.borrow().membership_config.log_id()
    }

    fn seat(&self, id: Option<NodeId>) -> Option<Seat> {
        let metrics = self.roles.get()?.borrow();
        let membership = metrics.membership_config.membership();
        match id {
            Some(id) => membership.get_node(&id).cloned(),
            None => membership.nodes().next().map(|(_, seat)| seat.clone()),
        }
    }

    /// Whether this node takes a term for true. What is absurd would leave no term for the next election.
    pub(crate) fn believes(&self, term: u64) -> bool {
        let vote: Option<Vote<NodeId>> = self.roles.get().map(|roles| roles.borrow().vote);
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
        let cluster = self.cluster();
        if let (Some(mine), Some(theirs)) = (cluster, hello.cluster)
            && mine != theirs
        {
            return Err(format!("node {} is of another cluster", self.id));
        }
        self.clock.hear(from, hello.now_ns);
        // First, so that what is said as of it is no older.
        let as_of = self.as_of();
        Ok(Welcome { cluster, disk: self.disk, yours: self.disk_of(from), as_of, now_ns: self.clock.now_ns() })
    }

    /// Whether the engine is to hear one who has been welcomed.
    pub(crate) fn admit(&self, hello: &Hello) -> Result<(), String> {
        if hello.cluster.is_none() {
            return Err(format!("node {} is of no cluster yet", hello.from));
        }
        // A log on this disk says that it is a member's. Without one it may have been emptied.
        if self.cluster().is_none() && hello.disk != Some(self.disk) {
            return Err(format!("node {} is no member with this disk", self.id));
        }
        Ok(())
    }

    /// Connects to another node and makes sure of it.
    pub(crate) async fn connect(&self, to: NodeId) -> io::Result<(Connection, Welcome)> {
        let connected = self.try_connect(to).await;
        if let Err(error) = &connected
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            self.complain(to, error.to_string());
        }
        connected
    }

    async fn try_connect(&self, to: NodeId) -> io::Result<(Connection, Welcome)> {
        let address = self.addresses.get(&to);
        let unknown = || io::Error::other(format!("node {to} has no address here"));
        let mut connection = frame::connection(TcpStream::connect(address.ok_or_else(unknown)?).await?);
        let cluster = self.cluster();
        let hello = Hello {
            secret: self.secret.to_string(),
            from: self.id,
            to,
            cluster,
            disk: self.disk_of(to),
            now_ns: self.clock.now_ns(),
        };
        let refused = |reason| io::Error::new(io::ErrorKind::PermissionDenied, reason);
        match frame::exchange(&mut connection, &Request::Peer(hello)).await? {
            Reply::Welcome(welcome) => {
                if cluster.is_some() && welcome.cluster.is_some() && cluster != welcome.cluster {
                    return Err(refused(format!("node {to} is of another cluster")));
                }
                self.clock.hear(to, welcome.now_ns);
                Ok((connection, welcome))
            }
            Reply::Refused(reason) => Err(refused(reason)),
            other => Err(io::Error::other(format!("it answers {other:?}"))),
        }
    }

    /// Says once what is wrong with another node, and not each time.
    pub(crate) fn complain(&self, with: NodeId, problem: String) {
        let complaints = self.complaints.lock();
        let mut complaints = complaints.unwrap_or_else(PoisonError::into_inner);
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
