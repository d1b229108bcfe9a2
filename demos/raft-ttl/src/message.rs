//! What nodes and clients say to each other.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use openraft::Vote;
use openraft::error::{InstallSnapshotError, RaftError};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use serde::{Deserialize, Serialize};

use crate::types::{Command, DiskId, LogId, NodeId, TypeConfig};

/// What is asked of a node.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Another node begins to speak. After its [`Welcome`] it sends [`Call`](Self::Call)s only.
    Peer(Hello),
    /// What its engine says to this one.
    Call(Call),
    /// Changes something, in one entry of the log. For the leader.
    Write(Command),
    Get {
        key: String,
        /// Whether it must be the latest; for the leader then. Else any node says what it has.
        linearizable: bool,
        /// How much of the value is known already, in bytes.
        from: usize,
    },
    Status,
    /// Makes a node a member with the disk it has, in the place of the one that it had if it was one. For the leader.
    Add(NodeId),
    /// Makes a member none any more. For the leader.
    Remove(NodeId),
}

/// What a node says first on a connection to another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What all nodes of a cluster know, and nobody else.
    pub secret: String,
    pub from: NodeId,
    pub to: NodeId,
    /// The disk and the cluster of the member that is meant. Without them the one who speaks only asks who is there.
    pub member: Option<(DiskId, u64)>,
    pub now_ns: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Welcome {
    pub disk: DiskId,
    /// The cluster of who answers, if it has one.
    pub cluster: Option<u64>,
    pub now_ns: u64,
}

/// What one engine says to another.
#[derive(Debug, Serialize, Deserialize)]
pub enum Call {
    Append(AppendEntriesRequest<TypeConfig>),
    Vote(VoteRequest<DiskId>),
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

fn latest(vote: Vote<DiskId>, logs: impl IntoIterator<Item = Option<LogId>>) -> u64 {
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

#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    Welcome(Welcome),
    Append(Result<AppendEntriesResponse<DiskId>, RaftError<DiskId>>),
    Vote(Result<VoteResponse<DiskId>, RaftError<DiskId>>),
    Snapshot(Result<InstallSnapshotResponse<DiskId>, RaftError<DiskId, InstallSnapshotError>>),
    Done {
        index: u64,
    },
    Missing,
    Value {
        /// As much of it as one message holds.
        part: String,
        /// How long all of it is, in bytes.
        length: usize,
        /// The entry of the log that set it, or its TTL.
        index: u64,
        /// How long it has left by the clock of this node, in milliseconds: 0 if it is overdue,
        /// nothing if it stays.
        remaining_ms: Option<u64>,
    },
    Status(Box<Status>),
    /// Nothing was done: another node leads, and where it is, or none.
    NotLeader(Option<SocketAddr>),
    /// Nothing was done: the request makes no sense, or comes too late.
    Refused(String),
    /// Nothing was done: too much is asked of this node. Later, or another one, may do it.
    Busy(String),
    /// Nobody knows whether it was, or will be, done.
    Unsure(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub id: NodeId,
    /// Leader, Follower, Candidate or Learner.
    pub role: String,
    pub term: u64,
    /// Why it does not lead, if it is a candidate: what the others said when it asked for their votes.
    pub votes: Option<String>,
    /// Who leads, as far as it knows.
    pub leader: Option<NodeId>,
    pub last_log: u64,
    pub applied: u64,
    pub snapshot: u64,
    /// The last index that is not in its log any more.
    pub purged: u64,
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
    /// How many of its proposals were refused, or had no outcome in time.
    pub failed: u64,
    /// Of its first proposals 99 in 100 came at most this long after their deadline, to a factor of two.
    pub late_p99_us: u64,
    /// Of its proposals 99 in 100 had an outcome, or were given up, within this, to a factor of two.
    pub outcome_p99_us: u64,
    /// How many expiries it has applied since its start.
    pub expired: u64,
    /// How many expiries it has applied that found their key gone or set anew.
    pub overtaken: u64,
    /// How many entries of the log these came in.
    pub batches: u64,
    /// How many values, or parts of one, it has read for clients since its start.
    pub reads: u64,
    /// The same on all nodes that applied the same, and hardly ever on others.
    pub digest: String,
    /// The members, those that vote.
    pub voters: BTreeSet<NodeId>,
}
