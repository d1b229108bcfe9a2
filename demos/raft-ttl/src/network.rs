//! The other nodes, as the engine wants them: frames over TCP.

use std::io;
use std::time::Duration;

use openraft::Vote;
use openraft::error::{Infallible, InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::frame;
use crate::message::{Call, Reply, Request};
use crate::peers::Peers;
use crate::types::{LogId, NodeId, Seat, TypeConfig};

/// How long a node that cannot be reached is left alone.
const BACKOFF: Duration = Duration::from_millis(100);

/// From how many bytes on a request may take longer than a heartbeat.
const LONG: usize = 128 << 10;

/// How long such a request may take. Only then is it sent again, should it be lost.
const LONG_LIMIT: Duration = Duration::from_secs(30);

type Failure<E> = RPCError<NodeId, Seat, RaftError<NodeId, E>>;

/// The way to another node.
#[derive(Debug)]
pub struct Peer {
    peers: Peers,
    to: NodeId,
    /// Nothing while a call is under way: a call that is given up at its time limit drops its
    /// connection, or the next one would take the answer to it for its own.
    connection: Option<TcpStream>,
    /// Many bytes of entries that were sent and have not been answered yet.
    ///
    /// The engine gives up on entries after one heartbeat and sends them again at once. If they take
    /// longer, that would go on for ever; so they stay under way, and the answer to them is the answer
    /// to whoever asks the same again.
    under_way: Option<(Entries, Exchange)>,
}

/// What makes two requests to append the same: who asks, behind what, up to what.
type Entries = (Vote<NodeId>, Option<LogId>, LogId);

/// A request and its reply, and the connection that may be used again.
type Exchange = JoinHandle<io::Result<(TcpStream, Reply)>>;

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: NodeId, _: &Seat) -> Peer {
        Peer { peers: self.clone(), to: target, connection: None, under_way: None }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Peer {
    async fn call<E: std::error::Error>(&mut self, call: Call) -> Result<Reply, Failure<E>> {
        let frame = frame::encode(&Request::Call(call)).map_err(|error| Unreachable::new(&error))?;
        let stream = self.connected().await?;
        self.answer(stream, &frame).await
    }

    async fn answer<E: std::error::Error>(&mut self, mut stream: TcpStream, frame: &[u8]) -> Result<Reply, Failure<E>> {
        let reply = frame::exchange_frame(&mut stream, frame).await;
        let reply = reply.map_err(|error| NetworkError::new(&error))?;
        self.connection = Some(stream);
        Ok(reply)
    }

    /// As [`call`](Self::call), but what is long goes on when it is given up.
    async fn append(&mut self, rpc: AppendEntriesRequest<TypeConfig>) -> Result<Reply, Failure<Infallible>> {
        let Some(last) = rpc.entries.last().map(|entry| entry.log_id) else {
            // A heartbeat overtakes what is under way.
            return self.call(Call::Append(rpc)).await;
        };
        let entries = (rpc.vote, rpc.prev_log_id, last);
        if self.under_way.as_ref().is_some_and(|(known, _)| *known == entries) {
            // The other node must hear meanwhile that there still is a leader.
            let pulse = AppendEntriesRequest { entries: Vec::new(), ..rpc };
            match self.call(Call::Append(pulse)).await? {
                Reply::Append(Ok(AppendEntriesResponse::Success)) => {}
                other => return Ok(other),
            }
        } else {
            self.give_up();
            let frame = frame::encode(&Request::Call(Call::Append(rpc)));
            let frame = frame.map_err(|error| Unreachable::new(&error))?;
            let mut stream = self.connected().await?;
            if frame.len() < LONG {
                return self.answer(stream, &frame).await;
            }
            let exchange = async move {
                let exchange = frame::exchange_frame(&mut stream, &frame);
                let reply = timeout(LONG_LIMIT, exchange).await??;
                Ok((stream, reply))
            };
            self.under_way = Some((entries, tokio::spawn(exchange)));
        }
        let Some((_, task)) = &mut self.under_way else { unreachable!("something is under way") };
        let answer = task.await; // here it may be given up
        self.under_way = None;
        let answer = answer.unwrap_or_else(|panic| Err(io::Error::other(panic)));
        let (stream, reply) = answer.map_err(|error| NetworkError::new(&error))?;
        self.connection = Some(stream);
        Ok(reply)
    }

    /// The connection that is there, or another one.
    async fn connected<E: std::error::Error>(&mut self) -> Result<TcpStream, Failure<E>> {
        match self.connection.take() {
            Some(stream) => Ok(stream),
            // Only this is worth a pause before the next attempt; what breaks is tried again at once.
            None => {
                if self.peers.cluster().is_none() {
                    let early = io::Error::other("what the log says is not known yet");
                    return Err(Unreachable::new(&early).into());
                }
                let connected = self.peers.connect(self.to).await;
                let (stream, _) = connected.map_err(|error| Unreachable::new(&error))?;
                Ok(stream)
            }
        }
    }

    /// Forgets what is under way, and its connection with it.
    fn give_up(&mut self) {
        if let Some((_, task)) = self.under_way.take() {
            task.abort();
        }
    }

    /// What is left to say when the reply is not the one to the call, or not to be believed. It is worth
    /// a pause: a node that refuses to speak to this one will do so again.
    fn strange<E: std::error::Error>(&mut self, reply: &Reply) -> Failure<E> {
        // What was said of this node at the beginning of the connection may not be true any more.
        self.connection = None;
        if let Reply::Refused(problem) = reply {
            self.peers.complain(self.to, problem.clone());
        }
        Unreachable::new(&io::Error::other(format!("it answers {reply:?}"))).into()
    }

    fn believes(&self, reply: &Reply) -> bool {
        self.peers.believes(reply.term())
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
    ) -> Result<AppendEntriesResponse<NodeId>, RPCError<NodeId, Seat, RaftError<NodeId>>> {
        match self.append(rpc).await? {
            reply if !self.believes(&reply) => Err(self.strange(&reply)),
            Reply::Append(result) => result.map_err(|error| self.remote(error)),
            other => Err(self.strange(&other)),
        }
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<NodeId>, RPCError<NodeId, Seat, RaftError<NodeId, InstallSnapshotError>>> {
        match self.call(Call::Snapshot(rpc)).await? {
            reply if !self.believes(&reply) => Err(self.strange(&reply)),
            Reply::Snapshot(result) => result.map_err(|error| self.remote(error)),
            other => Err(self.strange(&other)),
        }
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<NodeId>,
        _: RPCOption,
    ) -> Result<VoteResponse<NodeId>, RPCError<NodeId, Seat, RaftError<NodeId>>> {
        match self.call(Call::Vote(rpc)).await? {
            reply if !self.believes(&reply) => Err(self.strange(&reply)),
            Reply::Vote(result) => result.map_err(|error| self.remote(error)),
            other => Err(self.strange(&other)),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(BACKOFF))
    }
}
