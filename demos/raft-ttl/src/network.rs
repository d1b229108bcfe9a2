//! The other nodes, as the engine wants them: frames over TCP.

use std::io;
use std::time::Duration;

use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};

use crate::frame::{self, Connection};
use crate::message::{Call, Reply, Request};
use crate::peers::Peers;
use crate::types::{DiskId, Seat, TypeConfig};

/// How long a node that cannot be reached is left alone.
const BACKOFF: Duration = Duration::from_millis(100);

type Failure<E> = RPCError<DiskId, Seat, RaftError<DiskId, E>>;

/// The way to another node.
pub struct Peer {
    peers: Peers,
    disk: DiskId,
    seat: Seat,
    /// One for what is short, heartbeats above all, and one for entries and snapshots: see [`carries`]. Nothing while a call
    /// is under way: a call that is given up at its time limit drops its connection, or the next one would take the
    /// answer to it for its own.
    connections: [Option<Connection>; 2],
    has_called: bool,
}

/// Whether a call takes long, if the other node or the way to it is slow.
fn carries(call: &Call) -> bool {
    match call {
        Call::Append(rpc) => !rpc.entries.is_empty(),
        Call::Snapshot(_) => true,
        Call::Vote(_) => false,
    }
}

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, disk: DiskId, &seat: &Seat) -> Peer {
        Peer { peers: self.clone(), disk, seat, connections: [None, None], has_called: false }
    }
}

impl Peer {
    async fn call<E: std::error::Error>(&mut self, call: Call) -> Result<Reply, Failure<E>> {
        let carries = carries(&call);
        // The engine makes a client for each check that it leads. All of them share a connection, and a node that has not
        // answered the last one is not asked again: so checks take no place of the stream of entries and heartbeats at the
        // other side. A new stream may begin with the same call, and then tries again.
        let is_check = !self.has_called && !carries && matches!(call, Call::Append(_));
        self.has_called = true;
        let peers = self.peers.clone();
        let reply = if let Some(asked) = peers.asked.get(&self.seat.node).filter(|_| is_check) {
            let mut asked = asked.try_lock().map_err(|error| Unreachable::new(&error))?;
            let kept = asked.take().filter(|(disk, connection)| *disk == self.disk && frame::is_open(connection));
            let (connection, reply) = self.exchange(kept.map(|(_, connection)| connection), call).await?;
            *asked = Some((self.disk, connection));
            reply
        } else {
            let kept = self.connections[usize::from(carries)].take();
            let (connection, reply) = self.exchange(kept, call).await?;
            self.connections[usize::from(carries)] = Some(connection);
            reply
        };
        if self.peers.believes(Reply::term(&reply)) { Ok(reply) } else { Err(self.strange(&reply)) }
    }

    /// Sends a call on this connection, or on a new one: then each side hears what time it is on the other.
    async fn exchange<E: std::error::Error>(
        &self,
        kept: Option<Connection>,
        call: Call,
    ) -> Result<(Connection, Reply), Failure<E>> {
        let mut connection = match kept {
            Some(connection) => connection,
            None => {
                let connected = self.peers.connect(self.seat.node, Some((self.disk, self.seat.cluster))).await;
                // Only this is worth a pause before the next attempt; what breaks is tried again at once.
                connected.map_err(|error| Unreachable::new(&error))?.0
            }
        };
        let reply = frame::exchange(&mut connection, &Request::Call(call)).await;
        Ok((connection, reply.map_err(|error| NetworkError::new(&error))?))
    }

    /// What is left to say when the reply is not the one to the call, or not to be believed. It is worth
    /// a pause: a node that refuses to speak to this one will do so again.
    fn strange<E: std::error::Error>(&mut self, reply: &Reply) -> Failure<E> {
        // The other side may have closed them.
        self.connections = [None, None];
        if let Reply::Refused(problem) = reply {
            self.peers.complain(self.seat.node, problem.clone());
        }
        Unreachable::new(&io::Error::other(format!("it answers {reply:?}"))).into()
    }

    fn remote<E: std::error::Error>(&self, error: RaftError<DiskId, E>) -> Failure<E> {
        RemoteError::new(self.disk, error).into()
    }
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<DiskId>, RPCError<DiskId, Seat, RaftError<DiskId>>> {
        match self.call(Call::Append(rpc)).await? {
            Reply::Append(result) => result.map_err(|error| self.remote(error)),
            other => Err(self.strange(&other)),
        }
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<DiskId>, RPCError<DiskId, Seat, RaftError<DiskId, InstallSnapshotError>>> {
        match self.call(Call::Snapshot(rpc)).await? {
            Reply::Snapshot(result) => result.map_err(|error| self.remote(error)),
            other => Err(self.strange(&other)),
        }
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<DiskId>,
        _: RPCOption,
    ) -> Result<VoteResponse<DiskId>, RPCError<DiskId, Seat, RaftError<DiskId>>> {
        match self.call(Call::Vote(rpc)).await? {
            Reply::Vote(result) => result.map_err(|error| self.remote(error)),
            other => Err(self.strange(&other)),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(BACKOFF))
    }
}
