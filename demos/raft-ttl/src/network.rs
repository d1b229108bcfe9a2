//! The other nodes, as the engine wants them: frames over TCP.
//!
//! The engine gives up a call that has no answer within a heartbeat, and makes it again. If a round trip takes longer than
//! that, it would never hear an answer. So a call that it gave up goes on for a time limit of its own, and its answer is
//! that of the next call to which it says the same.

use std::io;
use std::time::Duration;

use openraft::Vote;
use openraft::error::{InstallSnapshotError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::frame::{self, Connection};
use crate::limits::SNAPSHOT_TIME;
use crate::message::{Call, Reply, Request};
use crate::peers::Peers;
use crate::types::{DiskId, LogId, Seat, TypeConfig};

/// How long a node that cannot be reached is left alone.
const BACKOFF: Duration = Duration::from_millis(100);

type Failure<E> = RPCError<DiskId, Seat, RaftError<DiskId, E>>;

/// The way to another node.
pub struct Peer {
    peers: Peers,
    disk: DiskId,
    seat: Seat,
    /// One for heartbeats, and one for entries and snapshots.
    lines: [Line; 2],
    has_called: bool,
}

/// A connection to a member. One call is under way on it at a time.
#[derive(Default)]
pub(crate) struct Line {
    connection: Option<Connection>,
    /// At most one.
    under_way: JoinSet<io::Result<(Connection, Reply)>>,
    /// What is under way, if an answer to it can be one to another call.
    sent: Option<Entries>,
}

/// Which entries a call is about: those after `prev`, up to `last`.
#[derive(Clone, Copy)]
struct Entries {
    vote: Vote<DiskId>,
    prev: Option<LogId>,
    last: Option<LogId>,
}

impl Entries {
    fn of(call: &Call) -> Option<Self> {
        let Call::Append(rpc) = call else { return None };
        let last = rpc.entries.last().map(|entry| entry.log_id).or(rpc.prev_log_id);
        Some(Self { vote: rpc.vote, prev: rpc.prev_log_id, last })
    }

    /// What a reply to these entries says about `others`, if anything.
    fn reply_to(&self, others: &Self, reply: Reply) -> Option<Reply> {
        let is_of_them = (self.vote, self.prev) == (others.vote, others.prev);
        is_of_them.then_some(match reply {
            // The call was made again with more entries than there were the first time.
            Reply::Append(Ok(AppendEntriesResponse::Success)) if self.last < others.last => {
                Reply::Append(Ok(AppendEntriesResponse::PartialSuccess(self.last)))
            }
            reply => reply,
        })
    }
}

impl Line {
    /// Makes a call after the one that is under way; but if that one's answer will do, it makes none.
    async fn call(
        &mut self,
        peers: &Peers,
        to: (DiskId, Seat),
        call: Call,
        meant: Option<Entries>,
    ) -> io::Result<Reply> {
        if let Some(done) = self.under_way.join_next().await {
            let sent = self.sent.take();
            // If it failed, the same is tried anew.
            if let Ok(Ok((connection, reply))) = done {
                self.connection = Some(connection);
                let reply = sent.zip(meant).and_then(|(sent, meant)| sent.reply_to(&meant, reply));
                if let Some(reply) = reply {
                    return Ok(reply);
                }
            }
        }
        let kept = self.connection.take().filter(frame::is_open);
        self.sent = meant;
        self.under_way.spawn(exchange(peers.clone(), to, kept, call));
        let done = self.under_way.join_next().await.expect("it is under way");
        self.sent = None;
        let (connection, reply) = done??;
        self.connection = Some(connection);
        Ok(reply)
    }
}

/// Sends a call on this connection, or on a new one: then each side hears what time it is on the other.
async fn exchange(
    peers: Peers,
    (disk, seat): (DiskId, Seat),
    kept: Option<Connection>,
    call: Call,
) -> io::Result<(Connection, Reply)> {
    let time = if matches!(call, Call::Snapshot(_)) { SNAPSHOT_TIME } else { peers.call_time };
    let mut connection = match kept {
        Some(connection) => connection,
        // A round trip for the connection, and one for its first words.
        None => timeout(2 * peers.call_time, peers.connect(seat.node, Some((disk, seat.cluster)))).await??.0,
    };
    let reply = timeout(time, frame::exchange(&mut connection, &Request::Call(call))).await??;
    Ok((connection, reply))
}

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, disk: DiskId, &seat: &Seat) -> Peer {
        Peer { peers: self.clone(), disk, seat, lines: Default::default(), has_called: false }
    }
}

impl Peer {
    async fn call<E: std::error::Error>(&mut self, call: Call) -> Result<Reply, Failure<E>> {
        let to = (self.disk, self.seat);
        let carries = match &call {
            Call::Append(rpc) => !rpc.entries.is_empty(),
            Call::Snapshot(_) => true,
            Call::Vote(_) => false,
        };
        // The engine makes a client for each vote and for each check that it leads. All of them share a line, and a node
        // that has not answered the last one is not asked again: so checks take no place of the stream of entries and
        // heartbeats at the other side. A new stream may begin with the same call, and then tries again. An older
        // answer would not do for a check.
        let is_question = !self.has_called && !carries;
        self.has_called = true;
        let peers = self.peers.clone();
        let reply = if let Some(asked) = peers.asked.get(&self.seat.node).filter(|_| is_question) {
            let mut asked = asked.try_lock().map_err(|error| Unreachable::new(&error))?;
            let (disk, line) = &mut *asked;
            if *disk != self.disk {
                (*disk, *line) = (self.disk, Line::default());
            }
            line.call(&peers, to, call, None).await
        } else {
            let meant = Entries::of(&call);
            self.lines[usize::from(carries)].call(&peers, to, call, meant).await
        };
        let reply = reply.map_err(|error| Unreachable::new(&error))?;
        if self.peers.believes(Reply::term(&reply)) { Ok(reply) } else { Err(self.strange(&reply)) }
    }

    /// What is left to say when the reply is not the one to the call, or not to be believed. It is worth
    /// a pause: a node that refuses to speak to this one will do so again.
    fn strange<E: std::error::Error>(&mut self, reply: &Reply) -> Failure<E> {
        // The other side may have closed them.
        self.lines = Default::default();
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
        let (node, last_log_id) = (self.seat.node, rpc.last_log_id);
        // It stays so if the engine gives up.
        self.peers.poll(node, "has not answered".to_owned());
        let answer = match self.call(Call::Vote(rpc)).await {
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

#[cfg(test)]
mod tests {
    use super::*;
    use openraft::CommittedLeaderId;

    #[test]
    fn late_reply_says_as_much_about_more_entries_and_nothing_about_others() {
        let log_id = |index| Some(LogId::new(CommittedLeaderId::new(1, DiskId(1)), index));
        let vote = Vote::new_committed(1, DiskId(1));
        let sent = Entries { vote, prev: log_id(3), last: log_id(5) };
        let said = |others: Entries, response| {
            let reply = sent.reply_to(&others, Reply::Append(Ok(response)))?;
            let Reply::Append(Ok(response)) = reply else { panic!("{reply:?}") };
            Some(response)
        };
        use AppendEntriesResponse::{Conflict, PartialSuccess, Success};
        assert_eq!(said(sent, Success), Some(Success));
        let more = Entries { last: log_id(9), ..sent };
        assert_eq!(said(more, Success), Some(PartialSuccess(log_id(5))));
        assert_eq!(said(more, Conflict), Some(Conflict));
        for others in [Entries { prev: log_id(4), ..sent }, Entries { vote: Vote::new_committed(2, DiskId(1)), ..sent }]
        {
            assert_eq!(said(others, Success), None);
        }
    }
}
