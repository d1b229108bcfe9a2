//! The other nodes, as the engine wants them: JSON over TCP.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use openraft::EmptyNode;
use openraft::error::{
    InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use tokio::net::TcpStream;

use crate::frame;
use crate::message::{Call, Reply, Request};
use crate::types::{NodeId, TypeConfig};

/// How long a node that cannot be reached is left alone.
const BACKOFF: Duration = Duration::from_millis(100);

type Failure<E> = RPCError<NodeId, EmptyNode, RaftError<NodeId, E>>;

/// Where all nodes are.
#[derive(Clone, Debug)]
pub struct Peers {
    /// Who speaks.
    pub id: NodeId,
    /// The members of the cluster, this one included.
    pub addresses: Arc<BTreeMap<NodeId, SocketAddr>>,
}

/// The way to another node.
#[derive(Debug)]
pub struct Peer {
    from: NodeId,
    to: NodeId,
    address: Option<SocketAddr>,
    /// Nothing while a call is under way: a call that is given up at its time limit drops its
    /// connection, or the next one would take the answer to it for its own.
    connection: Option<TcpStream>,
}

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: NodeId, _: &EmptyNode) -> Peer {
        Peer {
            from: self.id,
            to: target,
            address: self.addresses.get(&target).copied(),
            connection: None,
        }
    }
}

impl Peer {
    async fn call<E: std::error::Error>(&mut self, call: Call) -> Result<Reply, Failure<E>> {
        let mut stream = match self.connection.take() {
            Some(stream) => stream,
            // Only this is worth a pause before the next attempt; what breaks is tried again at once.
            None => self
                .connect()
                .await
                .map_err(|error| Unreachable::new(&error))?,
        };
        let (from, to) = (self.from, self.to);
        let reply = frame::exchange(&mut stream, &Request::Peer { from, to, call }).await;
        let reply = reply.map_err(|error| NetworkError::new(&error))?;
        self.connection = Some(stream);
        Ok(reply)
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let unknown = || io::Error::other(format!("node {} has no address here", self.to));
        let stream = TcpStream::connect(self.address.ok_or_else(unknown)?).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// What is left to say when the reply is not the one to the call. It is worth a pause: a node that
    /// refuses to speak to this one will do so again.
    fn strange<E: std::error::Error>(reply: &Reply) -> Failure<E> {
        Unreachable::new(&io::Error::other(format!("it answers {reply:?}"))).into()
    }

    fn remote<E: std::error::Error>(&self, error: RaftError<NodeId, E>) -> Failure<E> {
        RemoteError::new(self.to, error).into()
    }
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<NodeId>, RPCError<NodeId, EmptyNode, RaftError<NodeId>>> {
        match self.call(Call::Append(rpc)).await? {
            Reply::Append(result) => result.map_err(|error| self.remote(error)),
            other => Err(Self::strange(&other)),
        }
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<
        InstallSnapshotResponse<NodeId>,
        RPCError<NodeId, EmptyNode, RaftError<NodeId, InstallSnapshotError>>,
    > {
        match self.call(Call::Snapshot(rpc)).await? {
            Reply::Snapshot(result) => result.map_err(|error| self.remote(error)),
            other => Err(Self::strange(&other)),
        }
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<NodeId>,
        _: RPCOption,
    ) -> Result<VoteResponse<NodeId>, RPCError<NodeId, EmptyNode, RaftError<NodeId>>> {
        match self.call(Call::Vote(rpc)).await? {
            Reply::Vote(result) => result.map_err(|error| self.remote(error)),
            other => Err(Self::strange(&other)),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(BACKOFF))
    }
}
