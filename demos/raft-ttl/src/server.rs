//! Answers to what others ask of a node.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use openraft::{ChangeMembers, RaftMetrics};
use tokio::time::timeout;

use crate::limits::ALMOST_ALL;
use crate::message::{Call, Reply, Request, Status};
use crate::node::Node;
use crate::types::{Answer, Command, DiskId, LogId, NodeId, Seat, Stamped, check_key, part};

/// How long a client waits for the engine. An isolated leader would have it wait for ever.
const PATIENCE: Duration = Duration::from_secs(5);

impl Node {
    pub(crate) async fn answer(&self, request: Request) -> Reply {
        self.done(request).await.unwrap_or_else(|reply| reply)
    }

    async fn done(&self, request: Request) -> Result<Reply, Reply> {
        match request {
            Request::Peer(_) | Request::Call(_) => Err(Reply::Refused("a node is no client".to_owned())),
            Request::Write(command) => {
                command.check().map_err(Reply::Refused)?;
                self.write(command).await
            }
            Request::Get { key, linearizable, from } => {
                check_key(&key).map_err(Reply::Refused)?;
                if linearizable {
                    self.still_lead().await?;
                }
                Ok(self.value(&key, from))
            }
            Request::Status => Ok(Reply::Status(Box::new(self.status()))),
            Request::Add(id) => match timeout(PATIENCE, self.add(id)).await {
                Ok(added) => added,
                Err(_) => {
                    let problem = format!("node {id} does not answer, or still learns what there is: add it again");
                    Err(Reply::Unsure(problem))
                }
            },
            Request::Remove(id) => self.remove(id).await,
        }
    }

    /// Makes sure that this node leads and has applied all that was acknowledged before. Else another one may be asked.
    async fn still_lead(&self) -> Result<(), Reply> {
        self.lead()?;
        let check = async { self.raft.ensure_linearizable().await.is_ok() };
        match timeout(PATIENCE, self.confirmations.confirm(check)).await {
            Ok(true) => Ok(()),
            _ => Err(Reply::NotLeader(None)),
        }
    }

    /// Hands the engine what another one says.
    pub(crate) async fn hear(&self, call: Call) -> Reply {
        let term = call.term();
        if !self.peers.believes(term) {
            return Reply::Refused(format!("there can be no term {term} yet"));
        }
        match call {
            Call::Append(rpc) => Reply::Append(self.raft.append_entries(rpc).await),
            Call::Vote(rpc) => Reply::Vote(self.raft.vote(rpc).await),
            Call::Snapshot(rpc) => Reply::Snapshot(self.raft.install_snapshot(rpc).await),
        }
    }

    /// Makes a node a member with the disk it has now, in the place of the one it had: first one that only learns, until
    /// it has almost all. Else it might be counted on for what it does not have.
    async fn add(&self, id: NodeId) -> Result<Reply, Reply> {
        self.lead()?;
        let Some(cluster) = self.peers.cluster() else {
            return Err(Reply::Unsure("there is no cluster yet".to_owned()));
        };
        if !self.peers.addresses.contains_key(&id) {
            let problem = format!("nobody has told this node where node {id} is: see --peer");
            return Err(Reply::Refused(problem));
        }
        let disk = if id == self.peers.id {
            self.peers.disk
        } else {
            match self.peers.connect(id, None).await {
                Ok((_, welcome)) if welcome.cluster.is_none_or(|its| its == cluster) => welcome.disk,
                Ok(_) => return Err(Reply::Refused(format!("node {id} is of another cluster"))),
                Err(error) => return Err(Reply::Refused(format!("node {id}: {error}"))),
            }
        };
        let mut others = self.peers.disks_of(id);
        let is_known = others.remove(&disk);
        if !others.is_empty() {
            self.dismiss(others).await?;
        }
        if !is_known {
            // Each such change begins the way of the log to all nodes anew.
            self.change(ChangeMembers::AddNodes([(disk, Seat { cluster, node: id })].into())).await?;
        }
        let has_learned = |metrics: &RaftMetrics<DiskId, Seat>| {
            let learned = metrics.replication.as_ref().and_then(|nodes| *nodes.get(&disk)?);
            disk == self.peers.disk || learned.map(|it| it.index + ALMOST_ALL) > metrics.last_log_index
        };
        in_time(self.raft.wait(None).metrics(has_learned, "to learn")).await?;
        self.change(ChangeMembers::AddVoterIds([disk].into())).await
    }

    async fn remove(&self, id: NodeId) -> Result<Reply, Reply> {
        self.lead()?;
        match self.peers.disks_of(id) {
            // What removed it may be in this node's log and in no other.
            disks if disks.is_empty() => self.still_lead().await.map(|()| Reply::Missing),
            disks => self.dismiss(disks).await,
        }
    }

    async fn dismiss(&self, disks: BTreeSet<DiskId>) -> Result<Reply, Reply> {
        let voters: BTreeSet<DiskId> = self.peers.membership().voter_ids().collect();
        if voters.is_subset(&disks) {
            return Err(Reply::Refused("it is the only one that votes".to_owned()));
        }
        let (voting, learning): (BTreeSet<_>, BTreeSet<_>) = disks.into_iter().partition(|disk| voters.contains(disk));
        let mut removed = Reply::Missing;
        if !voting.is_empty() {
            removed = self.change(ChangeMembers::RemoveVoters(voting)).await?;
        }
        if !learning.is_empty() {
            removed = self.change(ChangeMembers::RemoveNodes(learning)).await?;
        }
        Ok(removed)
    }

    async fn change(&self, change: ChangeMembers<DiskId, Seat>) -> Result<Reply, Reply> {
        let written = in_time(self.raft.change_membership(change, false)).await?;
        Ok(Reply::Done { index: written.log_id.index })
    }

    /// Puts a command into the log, stamped with the time, and waits until it is applied.
    async fn write(&self, command: Command) -> Result<Reply, Reply> {
        self.lead()?;
        let stamped = Stamped { stamp_ms: self.peers.clock.stamp_ms(), command };
        // Should the lead be lost meanwhile, it may have been in the log already.
        let written = in_time(self.raft.client_write(stamped)).await?;
        match written.data {
            Answer::Done => Ok(Reply::Done { index: written.log_id.index }),
            Answer::Missing => Ok(Reply::Missing),
            Answer::Refused(problem) => Err(Reply::Refused(problem)),
        }
    }

    /// Says so if another one leads, or nobody.
    fn lead(&self) -> Result<(), Reply> {
        match self.leader() {
            Some(id) if id == self.peers.id => Ok(()),
            leader => Err(Reply::NotLeader(leader.and_then(|id| self.peers.addresses.get(&id).copied()))),
        }
    }

    fn leader(&self) -> Option<NodeId> {
        let disk = self.raft.metrics().borrow().current_leader?;
        self.peers.node_of(disk)
    }

    /// What this node has. The TTL is not looked at: a key is there until its expiry is applied.
    fn value(&self, key: &str, from: usize) -> Reply {
        let now_ns = self.replica.now_ns();
        let (value, index, remaining_ns) = {
            let mut state = self.replica.lock();
            state.reads += 1;
            let Some(record) = state.records.get(key) else { return Reply::Missing };
            (Arc::clone(&record.value), record.index, state.ttls.remaining(key, now_ns))
        };
        Reply::Value {
            // If it was set anew meanwhile, it may end before that. The index tells.
            part: part(value.get(from..).unwrap_or_default()).to_owned(),
            length: value.len(),
            index,
            remaining_ms: remaining_ns.map(|ns| ns.div_ceil(1_000_000)),
        }
    }

    fn status(&self) -> Status {
        let metrics = self.raft.metrics().borrow().clone();
        let members = self.peers.membership();
        let index = |log_id: Option<LogId>| log_id.map_or(0, |it| it.index);
        let state = self.replica.lock();
        let (ttls, counters) = (state.ttls.as_set(), state.ttls.as_set().stats());
        Status {
            id: self.peers.id,
            role: format!("{:?}", metrics.state),
            term: metrics.current_term,
            votes: metrics.state.is_candidate().then(|| self.peers.votes()),
            leader: self.leader(),
            last_log: metrics.last_log_index.unwrap_or(0),
            applied: index(state.applied),
            snapshot: index(metrics.snapshot),
            purged: index(metrics.purged),
            keys: state.records.len() as u64,
            ttls: ttls.len() as u64,
            pending: ttls.pending_len() as u64,
            retrying: ttls.retrying_len() as u64,
            proposed: counters.expired,
            retried: counters.retried,
            failed: counters.failed + counters.timed_out,
            late_p99_us: counters.first_waits.at_most_ns(0.99) / 1_000,
            outcome_p99_us: counters.pending_times.at_most_ns(0.99) / 1_000,
            expired: state.expired,
            overtaken: state.overtaken,
            batches: state.batches,
            reads: state.reads,
            digest: format!("{:016x}", state.digest),
            voters: members.voter_ids().filter_map(|disk| self.peers.node_of(disk)).collect::<BTreeSet<_>>(),
        }
    }
}

/// What the engine answers in time. After an error nobody knows what was done.
async fn in_time<T, E: Display>(work: impl Future<Output = Result<T, E>>) -> Result<T, Reply> {
    match timeout(PATIENCE, work).await {
        Ok(answer) => answer.map_err(|error| Reply::Unsure(error.to_string())),
        Err(_) => Err(Reply::Unsure(format!("no outcome within {PATIENCE:?}"))),
    }
}
