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

impl Drop for Peer {
    fn drop(&mut self) {
        for connection in self.connections.iter_mut().filter_map(Option::take) {
            self.peers.keep(self.seat.node, self.disk, connection);
        }
    }
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
        // The stream of entries and heartbeats goes on, whoever else asks.
        let only_asks = !self.has_called && !carries && matches!(call, Call::Append(_));
        self.has_called = true;
        let turn = if only_asks { self.peers.turn(self.seat.node) } else { Ok(None) };
        let _turn = turn.map_err(|error| Unreachable::new(&error))?;
        let mut connection = match self.connections[usize::from(carries)].take().or_else(|| self.kept(&call)) {
            Some(connection) => connection,
            None => {
                let connected = self.peers.connect(self.seat.node, Some((self.disk, self.seat.cluster))).await;
                // Only this is worth a pause before the next attempt; what breaks is tried again at once.
                connected.map_err(|error| Unreachable::new(&error))?.0
            }
        };
        let reply = frame::exchange(&mut connection, &Request::Call(call)).await;
        let reply = reply.map_err(|error| NetworkError::new(&error))?;
        self.connections[usize::from(carries)] = Some(connection);
        if self.peers.believes(Reply::term(&reply)) { Ok(reply) } else { Err(self.strange(&reply)) }
    }

    /// A connection that another client of the engine has left. The engine makes one for each check that it leads: so that
    /// takes no connection of its own, and no place of the stream of entries and heartbeats at the other side.
    fn kept(&self, call: &Call) -> Option<Connection> {
        // Each side of a new connection hears what time it is, and who is to be elected must have been told.
        let is_vote = matches!(call, Call::Vote(_));
        if is_vote { None } else { self.peers.kept(self.seat.node, self.disk) }
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
