//! The other nodes, as the engine wants them: frames over TCP.

use std::convert::Infallible;
use std::io;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use openraft::Vote;
use openraft::error::{InstallSnapshotError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{sleep, timeout};

use crate::frame::{self, Connection};
use crate::limits::{CALL_TIME, SNAPSHOT_TIME};
use crate::message::{Call, Reply, Request};
use crate::peers::Peers;
use crate::types::{DiskId, LogId, Seat, TypeConfig};

/// How long a node that cannot be reached is left alone.
const BACKOFF: Duration = Duration::from_millis(100);

type Failure<E> = RPCError<DiskId, Seat, RaftError<DiskId, E>>;

/// What a connection to a member is for. Each purpose has one of its own: none waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    Heartbeats,
    /// Entries and snapshots.
    Entries,
    /// Votes, and whether this node leads.
    Questions,
}

/// A connection to a member, if there is one. It is locked while a call is under way on it.
pub(crate) type Line = Arc<Mutex<Option<Connection>>>;

/// The way to another node.
pub struct Peer {
    peers: Peers,
    disk: DiskId,
    seat: Seat,
    has_called: bool,
}

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, disk: DiskId, &seat: &Seat) -> Peer {
        Peer { peers: self.clone(), disk, seat, has_called: false }
    }
}

impl Peer {
    async fn call<E: std::error::Error>(&self, purpose: Purpose, call: Call) -> Result<Reply, Failure<E>> {
        let line = self.peers.line(self.disk, purpose);
        let line = match purpose {
            // Whoever has not answered the last one is not asked again.
            Purpose::Questions => line.try_lock_owned().map_err(|error| Unreachable::new(&error))?,
            _ => line.lock_owned().await,
        };
        // If the engine gives it up, it goes on until its own limit: then the connection may be of use to the next one.
        let reply = tokio::spawn(exchange(self.peers.clone(), (self.disk, self.seat), line, call)).await;
        let reply = reply.map_err(io::Error::from).flatten().map_err(|error| Unreachable::new(&error))?;
        if self.peers.believes(Reply::term(&reply)) { Ok(reply) } else { Err(self.strange(&reply)) }
    }

    /// Has the node hear that this one leads, as long as entries are under way to it: the engine is silent then.
    async fn beat(&self, vote: Vote<DiskId>, prev_log_id: Option<LogId>) -> Infallible {
        loop {
            sleep(self.peers.call_time / CALL_TIME).await;
            if let Ok(line) = self.peers.line(self.disk, Purpose::Heartbeats).try_lock_owned() {
                let heartbeat = AppendEntriesRequest { vote, prev_log_id, entries: vec![], leader_commit: None };
                let to = (self.disk, self.seat);
                tokio::spawn(exchange(self.peers.clone(), to, line, Call::Append(heartbeat)));
            }
        }
    }

    /// What is left to say when the reply is not the one to the call, or not to be believed. It is worth
    /// a pause: a node that refuses to speak to this one will do so again.
    fn strange<E: std::error::Error>(&self, reply: &Reply) -> Failure<E> {
        if let Reply::Refused(problem) = reply {
            self.peers.complain(self.seat.node, problem.clone());
        }
        Unreachable::new(&io::Error::other(format!("it answers {reply:?}"))).into()
    }

    fn remote<E: std::error::Error>(&self, error: RaftError<DiskId, E>) -> Failure<E> {
        RemoteError::new(self.disk, error).into()
    }
}

/// Sends a call on the connection of a line, or on a new one: then each side hears what time it is on the other.
async fn exchange(
    peers: Peers,
    (disk, seat): (DiskId, Seat),
    mut line: OwnedMutexGuard<Option<Connection>>,
    call: Call,
) -> io::Result<Reply> {
    let time = if matches!(call, Call::Snapshot(_)) { SNAPSHOT_TIME } else { peers.call_time };
    let mut connection = match line.take().filter(frame::is_open) {
        Some(connection) => connection,
        // A round trip for the connection, and one for its first words.
        None => timeout(2 * peers.call_time, peers.connect(seat.node, Some((disk, seat.cluster)))).await??.0,
    };
    let reply = timeout(time, frame::exchange(&mut connection, &Request::Call(call))).await??;
    *line = Some(connection);
    Ok(reply)
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<DiskId>, RPCError<DiskId, Seat, RaftError<DiskId>>> {
        let (vote, prev, carries) = (rpc.vote, rpc.prev_log_id, !rpc.entries.is_empty());
        let is_first = !mem::replace(&mut self.has_called, true);
        let purpose = match carries {
            true => Purpose::Entries,
            // The engine makes a client for each check that it leads. A new stream may begin with the same call.
            false if is_first => Purpose::Questions,
            false => Purpose::Heartbeats,
        };
        let reply = tokio::select! {
            reply = self.call(purpose, Call::Append(rpc)) => reply?,
            never = self.beat(vote, prev), if carries => match never {},
        };
        match reply {
            Reply::Append(result) => result.map_err(|error| self.remote(error)),
            other => Err(self.strange(&other)),
        }
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<DiskId>, RPCError<DiskId, Seat, RaftError<DiskId, InstallSnapshotError>>> {
        match self.call(Purpose::Entries, Call::Snapshot(rpc)).await? {
            Reply::Snapshot(result) => result.map_err(|error| self.remote(error)),
            other => Err(self.strange(&other)),
        }
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<DiskId>,
        _: RPCOption,
    ) -> Result<VoteResponse<DiskId>, RPCError<DiskId, Seat, RaftError<DiskId>>> {
        let (node, last_log_id) = (self.seat.node, rpc.last_log_id);
        // It stays so if the engine gives up.
        self.peers.poll(node, "has not answered".to_owned());
        let answer = match self.call(Purpose::Questions, Call::Vote(rpc)).await {
            Ok(Reply::Vote(result)) => result.map_err(|error| self.remote(error)),
            Ok(other) => Err(self.strange(&other)),
            Err(error) => Err(error),
        };
        self.peers.poll(
            node,
            match &answer {
                Ok(VoteResponse { vote_granted: true, .. }) => "votes for it".to_owned(),
                Ok(answer) if answer.last_log_id > last_log_id => "has more of the log".to_owned(),
                Ok(VoteResponse { vote, .. }) if vote.is_committed() => {
                    format!("has heard a leader of term {}", vote.leader_id().term)
                }
                Ok(VoteResponse { vote, .. }) => format!("votes for another in term {}", vote.leader_id().term),
                Err(error) => format!("cannot be asked: {error}"),
            },
        );
        answer
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(BACKOFF))
    }
}
