//! What nodes and clients say to each other.

use std::fmt;
use std::net::SocketAddr;

use openraft::Vote;
use openraft::error::{InstallSnapshotError, RaftError};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::history::Expired;
use crate::limits::MAX_KEYS;
use crate::types::{Item, LogId, NodeId, TypeConfig};

/// What is asked of a node.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Another node begins to speak. After its [`Welcome`] it sends [`Call`](Self::Call)s only.
    Peer(Hello),
    /// What its engine says to this one.
    Call(Call),
    /// Sets keys, all of them in one entry of the log. For the leader.
    Put(#[serde(deserialize_with = "few")] Vec<Item>),
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
    Status,
    /// Asks a node what expired, from this number on.
    History(u64),
    /// Makes a node a member that is none, with the disk it has. For the leader.
    Add(NodeId),
    /// Makes a member none any more. For the leader.
    Remove(NodeId),
}

/// Reads the items of a put, and not more of them than one may have: short ones take more memory than
/// their bytes.
fn few<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Item>, D::Error> {
    struct Items;

    impl<'de> Visitor<'de> for Items {
        type Value = Vec<Item>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("keys with values")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<Item>, A::Error> {
            let mut few = Vec::new();
            while let Some(item) = items.next_element()? {
                if few.len() == MAX_KEYS {
                    return Err(A::Error::custom("too many keys"));
                }
                few.push(item);
            }
            Ok(few)
        }
    }

    deserializer.deserialize_seq(Items)
}

/// What a node says first on a connection to another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What all nodes of a cluster know, and nobody else.
    pub secret: String,
    /// Who speaks.
    pub from: NodeId,
    /// To whom.
    pub to: NodeId,
    /// The cluster of who speaks, if it has one.
    pub cluster: Option<u64>,
    /// The disk that the log of who speaks gives the other one, if it is a member.
    pub disk: Option<u64>,
    /// What time it is.
    pub now_ns: u64,
}

/// The answer to [`Hello`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// The cluster of who answers, if it has one.
    pub cluster: Option<u64>,
    /// The disk of who answers.
    pub disk: u64,
    /// The disk that its log gives who asked, if that is a member.
    pub yours: Option<u64>,
    /// The place in the log that says so.
    pub as_of: Option<LogId>,
    /// What time it is.
    pub now_ns: u64,
}

/// What one engine says to another.
#[derive(Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they are what the engine says they are")]
pub enum Call {
    Append(AppendEntriesRequest<TypeConfig>),
    Vote(VoteRequest<NodeId>),
    Snapshot(InstallSnapshotRequest<TypeConfig>),
}

impl Call {
    /// The latest term that it speaks of.
    pub(crate) fn term(&self) -> u64 {
        match self {
            Self::Append(rpc) => {
                let logs = [rpc.prev_log_id, rpc.leader_commit];
                let entries = rpc.entries.iter().map(|entry| Some(entry.log_id));
                latest(rpc.vote, logs.into_iter().chain(entries))
            }
            Self::Vote(rpc) => latest(rpc.vote, [rpc.last_log_id]),
            Self::Snapshot(rpc) => latest(rpc.vote, [rpc.meta.last_log_id]),
        }
    }
}

fn latest(vote: Vote<NodeId>, logs: impl IntoIterator<Item = Option<LogId>>) -> u64 {
    let logs = logs.into_iter().flatten();
    let terms = logs.map(|log_id| log_id.leader_id.term);
    terms.fold(vote.leader_id().term, u64::max)
}

impl Reply {
    /// The latest term that it speaks of.
    pub(crate) fn term(&self) -> u64 {
        match self {
            Self::Append(Ok(AppendEntriesResponse::HigherVote(vote))) => latest(*vote, []),
            Self::Append(Ok(AppendEntriesResponse::PartialSuccess(log_id))) => latest(Vote::default(), [*log_id]),
            Self::Vote(Ok(response)) => latest(response.vote, [response.last_log_id]),
            Self::Snapshot(Ok(response)) => latest(response.vote, []),
            _ => 0,
        }
    }
}

/// What a node answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Request::Peer`].
    Welcome(Welcome),
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
    /// Nothing was done: too much is asked of this node. Later, or another one, may do it.
    Busy(String),
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
    /// The same on all nodes that applied the same, and hardly ever on others.
    pub digest: String,
    /// The members, those that vote.
    pub voters: Vec<NodeId>,
}
