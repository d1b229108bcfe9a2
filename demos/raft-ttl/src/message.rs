//! What nodes and clients say to each other.

use std::net::SocketAddr;

use openraft::error::{InstallSnapshotError, RaftError};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use serde::{Deserialize, Serialize};

use crate::history::Expired;
use crate::types::{Item, NodeId, TypeConfig};

/// What is asked of a node.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// The engine of another node speaks.
    Peer {
        /// Who speaks.
        from: NodeId,
        /// To whom.
        to: NodeId,
        /// What it says.
        call: Call,
    },
    /// Sets keys, all of them in one entry of the log. For the leader.
    Put(Vec<Item>),
    /// Gives a key another TTL. For the leader.
    Touch {
        /// The key.
        key: String,
        /// The TTL in milliseconds.
        ttl_ms: u64,
    },
    /// Deletes a key. For the leader.
    Delete(String),
    /// Asks for a value.
    Get {
        /// The key.
        key: String,
        /// Whether it must be the latest; for the leader then. Else any node says what it has.
        linearizable: bool,
    },
    /// Asks a node how it is.
    Status {
        /// Whether to tell the digest, too, for which it looks at all it has.
        digest: bool,
    },
    /// Asks a node what expired, from this number on.
    History(u64),
}

/// What one engine says to another.
#[derive(Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they are what the engine says they are")]
pub enum Call {
    Append(AppendEntriesRequest<TypeConfig>),
    Vote(VoteRequest<NodeId>),
    Snapshot(InstallSnapshotRequest<TypeConfig>),
}

/// What a node answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Call::Append`].
    Append(Result<AppendEntriesResponse<NodeId>, RaftError<NodeId>>),
    /// To [`Call::Vote`].
    Vote(Result<VoteResponse<NodeId>, RaftError<NodeId>>),
    /// To [`Call::Snapshot`].
    Snapshot(Result<InstallSnapshotResponse<NodeId>, RaftError<NodeId, InstallSnapshotError>>),
    /// It is done, and most nodes have it on disk.
    Done {
        /// The index of the entry in the log.
        index: u64,
    },
    /// There is no such key.
    Missing,
    /// The value of a key.
    Value {
        /// The value.
        value: String,
        /// How long it has left by the clock of this node, in milliseconds: 0 if it is overdue,
        /// nothing if it stays.
        remaining_ms: Option<u64>,
    },
    /// How the node is.
    Status(Box<Status>),
    /// What expired.
    History {
        /// The number of the first.
        first: u64,
        /// How many there are in all.
        total: u64,
        /// In the order in which they were applied.
        expired: Vec<Expired>,
    },
    /// Nothing was done: another node leads, or nobody knows who.
    NotLeader(Option<(NodeId, SocketAddr)>),
    /// Nothing was done: the request makes no sense.
    Refused(String),
    /// Nobody knows whether it was, or will be, done.
    Unsure(String),
}

/// How a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its number.
    pub id: NodeId,
    /// Leader, Follower, Candidate or Learner.
    pub role: String,
    /// Its term.
    pub term: u64,
    /// Who leads, as far as it knows.
    pub leader: Option<NodeId>,
    /// The last index in its log.
    pub last_log: u64,
    /// The last index it applied.
    pub applied: u64,
    /// The last index in its snapshot.
    pub snapshot: u64,
    /// The last index that is not in its log any more.
    pub purged: u64,
    /// How many keys there are.
    pub keys: u64,
    /// How many of them have a TTL.
    pub ttls: u64,
    /// How many expiries it has proposed and knows no outcome of.
    pub pending: u64,
    /// How many expiries failed and wait to be proposed again.
    pub retrying: u64,
    /// How many expiries it has proposed since its start, retries not counted.
    pub proposed: u64,
    /// How many of its expiries it proposed again after a failure or a timeout.
    pub retried: u64,
    /// How many expiries it has applied since its start.
    pub expired: u64,
    /// How many expiries it has applied that found their key gone or set anew.
    pub overtaken: u64,
    /// How many entries of the log these came in.
    pub batches: u64,
    /// The same on all nodes that applied the same, and hardly ever on others; if it was asked for.
    pub digest: Option<String>,
}
