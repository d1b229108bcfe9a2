//! The glue between the TTL layer and the engine. This is the part to copy.

use std::future::Future;
use std::time::Duration;

use openraft::ServerState;
use openraft::error::Fatal;
use openraft::metrics::RaftServerMetrics;
use openraft::raft::ClientWriteResult;
use timer_wheel::ttl::{Expiry, Role};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::limits::MESSAGE;
use crate::state_machine::Replica;
use crate::types::{Command, DiskId, NodeId, Seat, TypeConfig};

/// Who leads in which term, as far as a node knows.
pub type Roles = watch::Receiver<RaftServerMetrics<DiskId, Seat>>;

/// Where the outcome of a proposal arrives. It may never do so.
pub type Outcome = oneshot::Receiver<ClientWriteResult<TypeConfig>>;

/// Proposes what is due on the leader, until the engine stops.
///
/// `propose` is the engine's `client_write_ff`: it queues a command and answers with where its outcome
/// will arrive. It never waits for that, and nor does this loop.
pub async fn drive<P, F>(id: NodeId, replica: &Replica, mut roles: Roles, propose: P)
where
    P: Fn(Command) -> F,
    F: Future<Output = Result<Outcome, Fatal<DiskId>>>,
{
    let mut outcomes = JoinSet::new();
    let mut known = None;
    loop {
        // The watch shows the latest state only: leader, follower and leader again may look like
        // nothing at all, but for the vote.
        let (role, vote) = role_of(&roles.borrow_and_update());
        let (expiries, wait, patience) = {
            let (mut state, now_ns) = (replica.lock(), replica.now_ns());
            if known.replace((role, vote)) != Some((role, vote)) {
                state.ttls.role_change(role, now_ns);
            }
            let patience = state.ttls.as_set().config().pending_timeout;
            let expiries = batch(&mut state.ttls.poll(now_ns));
            (expiries, state.ttls.expiration_delay(), patience)
        };
        if !expiries.is_empty() {
            let command = Command::Expire { expiries: expiries.clone(), by: id };
            let Ok(outcome) = propose(command).await else { return };
            outcomes.spawn(settle(replica.clone(), expiries, outcome, patience));
        }
        let wake = Duration::from_nanos(wait.unwrap_or(0));
        tokio::select! {
            changed = roles.changed() => if changed.is_err() { return },
            // Either may have moved the wait.
            () = replica.applied() => {}
            Some(_) = outcomes.join_next() => {}
            () = sleep(wake), if wait.is_some() => {}
        }
    }
}

/// The part of what is due that goes into one entry of the log. What is not taken stays due.
fn batch(due: &mut impl Iterator<Item = Expiry<String>>) -> Vec<(String, u64)> {
    let mut bytes = 0;
    let mut expiries = Vec::new();
    while bytes < MESSAGE {
        let Some(expiry) = due.next() else { break };
        bytes += expiry.key.len() + 16; // and its index
        expiries.push((expiry.key, expiry.index));
    }
    expiries
}

/// Waits for the outcome of a proposal for as long as the layer does, and tells it of a refusal. What comes back through
/// the log it has been told, and its pending timeout sees to what nobody knows.
async fn settle(replica: Replica, expiries: Vec<(String, u64)>, outcome: Outcome, patience: Duration) {
    // It may be committed all the same. To propose it again is harmless: the index decides.
    if let Ok(Ok(Err(_))) = timeout(patience, outcome).await {
        let (mut state, now_ns) = (replica.lock(), replica.now_ns());
        for (key, index) in expiries {
            state.ttls.failed(&key, index, now_ns);
        }
    }
}

/// Whether this node leads, and the vote by which it does or does not.
fn role_of(metrics: &RaftServerMetrics<DiskId, Seat>) -> (Role, openraft::Vote<DiskId>) {
    let role = match metrics.state {
        ServerState::Leader => Role::Leader,
        _ => Role::Follower,
    };
    (role, metrics.vote)
}
