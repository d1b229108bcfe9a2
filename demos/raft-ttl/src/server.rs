//! Answers to what others ask of a node.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use openraft::Vote;
use openraft::error::{CheckIsLeaderError, ClientWriteError, RaftError};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::frame::{self, MAX_FRAME, Received};
use crate::message::{Call, Reply, Request, Status};
use crate::node::Node;
use crate::time::wall_ms_stamp;
use crate::types::{Answer, Command, Item, MAX_KEY, MAX_VALUE, NodeId, check_key, check_ttl};

/// How long a client waits for the engine. An isolated leader would have it wait for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a key in a put costs beside its bytes, so that many short ones do not outgrow a frame either.
const ITEM_BYTES: usize = 64;

/// Answers on every connection to this listener; dropped, it closes them all.
pub(crate) async fn serve(node: Node, listener: TcpListener) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(converse(node.clone(), stream))),
                // Too many open files, say: that passes.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Answers one request after the other, as long as the connection makes sense.
async fn converse(node: Node, mut stream: TcpStream) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    loop {
        let (reply, is_last) = match frame::receive(&mut stream).await {
            Ok(Received::Message(request)) => (node.answer(request).await, false),
            Ok(Received::Malformed(problem)) => {
                (Reply::Refused(format!("no request: {problem}")), false)
            }
            Ok(Received::TooLong(length)) => {
                let problem = format!("a frame of {length} bytes is longer than {MAX_FRAME}");
                (Reply::Refused(problem), true)
            }
            Ok(Received::End) | Err(_) => return,
        };
        let Ok(frame) = frame::encode(&reply) else {
            return;
        };
        if stream.write_all(&frame).await.is_err() || is_last {
            return;
        }
    }
}

impl Node {
    async fn answer(&self, request: Request) -> Reply {
        match request {
            Request::Peer { from, to, call } => self.hear(from, to, call).await,
            Request::Put(items) => match check_put(&items) {
                Ok(()) => self.write(|wall_ms| Command::Put { items, wall_ms }).await,
                Err(problem) => Reply::Refused(problem),
            },
            Request::Touch { key, ttl_ms } => match check_key(&key).and(check_ttl(ttl_ms)) {
                Ok(()) => {
                    let command = |wall_ms| Command::Touch {
                        key,
                        ttl_ms,
                        wall_ms,
                    };
                    self.write(command).await
                }
                Err(problem) => Reply::Refused(problem),
            },
            Request::Delete(key) => self.write(|_| Command::Delete { key }).await,
            Request::Get { key, linearizable } => {
                if linearizable && let Err(reply) = self.catch_up().await {
                    return reply;
                }
                self.value(&key)
            }
            Request::Status { digest } => Reply::Status(Box::new(self.status(digest))),
            Request::History(since) => {
                let state = self.replica.lock();
                let (first, expired) = state.history.since(since);
                Reply::History {
                    first,
                    total: state.history.len(),
                    expired,
                }
            }
        }
    }

    /// Hands the engine what another one says, if both are who they should be.
    async fn hear(&self, from: NodeId, to: NodeId, call: Call) -> Reply {
        if from == self.peers.id || !self.peers.addresses.contains_key(&from) {
            return Reply::Refused(format!("node {from} is no peer of node {}", self.peers.id));
        }
        if to != self.peers.id {
            return Reply::Refused(format!("this is node {}, not node {to}", self.peers.id));
        }
        match call {
            Call::Append(rpc) => Reply::Append(self.raft.append_entries(rpc).await),
            Call::Vote(rpc) => Reply::Vote(self.raft.vote(rpc).await),
            Call::Snapshot(rpc) => Reply::Snapshot(self.raft.install_snapshot(rpc).await),
        }
    }

    /// Puts a command into the log, stamped with the time, and waits until it is applied.
    async fn write(&self, command: impl FnOnce(u64) -> Command) -> Reply {
        let leader = self.raft.metrics().borrow().current_leader;
        if leader != Some(self.peers.id) {
            return self.not_leader(leader);
        }
        let written = self.raft.client_write(command(wall_ms_stamp()));
        match timeout(PATIENCE, written).await {
            Ok(Ok(written)) => match written.data {
                Answer::Done => Reply::Done {
                    index: written.log_id.index,
                },
                Answer::Missing => Reply::Missing,
                Answer::Refused(problem) => Reply::Refused(problem),
            },
            // It may have been in the log already when the lead was lost.
            Ok(Err(RaftError::APIError(ClientWriteError::ForwardToLeader(_)))) => {
                Reply::Unsure("the node lost the lead".to_owned())
            }
            Ok(Err(error)) => Reply::Unsure(error.to_string()),
            Err(_) => Reply::Unsure(format!("no majority within {PATIENCE:?}")),
        }
    }

    /// Makes sure that this node leads and has applied all that was acknowledged until now.
    ///
    /// A leader that was restarted goes on to lead in its old term. It does not know then how far its
    /// log was committed, and the engine would have it read what it had applied by some time before;
    /// so it puts an entry of its own into the log first, once in each term.
    async fn catch_up(&self) -> Result<(), Reply> {
        let vote = self.raft.metrics().borrow().vote;
        if self.caught_up() != Some(vote) {
            match self.write(|_| Command::Barrier).await {
                Reply::Done { .. } => *self.lock_caught_up() = Some(vote),
                other => return Err(other),
            }
        }
        match timeout(PATIENCE, self.raft.ensure_linearizable()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(RaftError::APIError(CheckIsLeaderError::ForwardToLeader(forward)))) => {
                Err(self.not_leader(forward.leader_id))
            }
            Ok(Err(error)) => Err(Reply::Unsure(error.to_string())),
            Err(_) => Err(Reply::Unsure(format!("no majority within {PATIENCE:?}"))),
        }
    }

    fn caught_up(&self) -> Option<Vote<NodeId>> {
        *self.lock_caught_up()
    }

    fn lock_caught_up(&self) -> MutexGuard<'_, Option<Vote<NodeId>>> {
        // A vote cannot be half written.
        let caught_up = self.caught_up.lock();
        caught_up.unwrap_or_else(PoisonError::into_inner)
    }

    fn not_leader(&self, leader: Option<NodeId>) -> Reply {
        let other = leader.filter(|&leader| leader != self.peers.id);
        Reply::NotLeader(other.and_then(|leader| {
            let address = self.peers.addresses.get(&leader)?;
            Some((leader, *address))
        }))
    }

    /// What this node has. The TTL is not looked at: a key is there until its expiry is applied.
    fn value(&self, key: &str) -> Reply {
        let state = self.replica.lock();
        match state.records.get(key) {
            None => Reply::Missing,
            Some(record) => {
                let remaining_ns = state.remaining_ns(key, self.replica.now_ns());
                Reply::Value {
                    value: record.value.to_string(),
                    remaining_ms: remaining_ns.map(|ns| ns.div_ceil(1_000_000)),
                }
            }
        }
    }

    fn status(&self, digest: bool) -> Status {
        let metrics = self.raft.metrics().borrow().clone();
        let index = |log_id: Option<crate::types::LogId>| log_id.map_or(0, |it| it.index);
        let state = self.replica.lock();
        let counters = state.ttls.counters();
        Status {
            id: self.peers.id,
            role: format!("{:?}", metrics.state),
            term: metrics.current_term,
            leader: metrics.current_leader,
            last_log: metrics.last_log_index.unwrap_or(0),
            applied: index(state.applied),
            snapshot: index(metrics.snapshot),
            purged: index(metrics.purged),
            keys: state.records.len() as u64,
            ttls: state.ttls.len() as u64,
            pending: state.ttls.pending_len() as u64,
            retrying: state.ttls.retrying_len() as u64,
            proposed: counters.expired,
            retried: counters.retried,
            expired: state.history.len(),
            overtaken: state.overtaken,
            batches: state.batches,
            digest: digest.then(|| format!("{:016x}", state.digest())),
        }
    }
}

/// Refuses a put that the store does not take, or that is too long to be one entry of the log.
fn check_put(items: &[Item]) -> Result<(), String> {
    if items.is_empty() {
        return Err("a put without a key".to_owned());
    }
    items.iter().try_for_each(Item::check)?;
    let bytes = |item: &Item| item.key.len() + item.value.len() + ITEM_BYTES;
    let all: usize = items.iter().map(bytes).sum();
    let most = MAX_KEY + MAX_VALUE + ITEM_BYTES;
    if all > most {
        return Err(format!("a put of {all} bytes is longer than {most}"));
    }
    let mut keys = BTreeSet::new();
    match items.iter().find(|item| !keys.insert(&item.key)) {
        Some(twice) => Err(format!("a put has a key twice: {:?}", twice.key)),
        None => Ok(()),
    }
}
