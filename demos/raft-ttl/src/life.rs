//! The life of a node: how it becomes a member, learns the time, and works until it is told to stop.

use std::collections::BTreeMap;
use std::future::Future;
use std::mem::replace;
use std::time::Duration;

use openraft::error::{Fatal, InitializeError, RaftError};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connections;
use crate::drive;
use crate::error::Error;
use crate::node::Node;
use crate::types::{self, NodeId, Seat};

/// How long another node may take to say who it is, and how long it is left alone then.
const ASKING: Duration = Duration::from_secs(1);
const ASKING_PAUSE: Duration = Duration::from_millis(100);

impl Node {
    /// Answers on this listener and proposes what is due, until `stop` is ready, or the engine gives up, of a disk that
    /// fails for instance. Whatever was acknowledged is safe on the disks of most nodes.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let ended = {
            let roles = self.raft.server_metrics();
            let drive = async {
                self.join().await?;
                self.know_the_time().await?;
                let driven =
                    drive::drive(self.peers.id, &self.replica, roles, |command| self.raft.client_write_ff(command))
                        .await;
                driven.map_err(|reason| self.reason(reason))
            };
            tokio::select! {
                Err(error) = drive => Err(error),
                never = connections::serve(self.clone(), self.limits, listener) => match never {},
                () = stop => Ok(()),
            }
        };
        let joined = self.raft.shutdown().await;
        ended.and(joined.map_err(|error| Error::Stopped(error.to_string())))
    }

    /// Waits until this node's log says that it is a member; founds the cluster if there is none.
    ///
    /// A log that says so is on this disk, and so is what this node has promised. Without one, others
    /// are asked. If the newest of their logs knows this node with another disk, that was emptied or
    /// replaced, and what it promised is forgotten: it must not vote under its old number, or a vote
    /// could count twice. If none of them has a log either, the first of all, and no other, founds the
    /// cluster.
    async fn join(&self) -> Result<(), Error> {
        let peers = &self.peers;
        let mut has_told = false;
        while peers.cluster().is_none() {
            let mut asked = JoinSet::new();
            for id in peers.others() {
                let peers = peers.clone();
                asked.spawn(async move { (id, timeout(ASKING, peers.connect(id)).await) });
            }
            let mut welcomes = BTreeMap::new();
            while let Some(answer) = asked.join_next().await {
                if let Ok((id, Ok(Ok((_, welcome))))) = answer {
                    welcomes.insert(id, welcome);
                }
            }
            let of_a_cluster = welcomes.values().filter(|it| it.cluster.is_some());
            // One that lags behind may not know yet that this node was removed.
            if let Some(newest) = of_a_cluster.max_by_key(|it| it.as_of) {
                match newest.yours {
                    Some(disk) if disk != peers.disk => return Err(emptied(peers.id)),
                    None if !replace(&mut has_told, true) => {
                        let id = peers.id;
                        eprintln!("raft-ttl: node {id} waits to be added: raft-ttl add {id}");
                    }
                    _ => {}
                }
            } else if welcomes.len() + 1 == peers.addresses.len() && peers.others().all(|other| peers.id < other) {
                let seats = welcomes.into_iter().map(|(id, it)| (id, it.disk));
                return self.found(seats.chain([(peers.id, peers.disk)])).await;
            }
            sleep(ASKING_PAUSE).await;
        }
        Ok(())
    }

    /// Founds a cluster of these nodes with these disks.
    async fn found(&self, disks: impl Iterator<Item = (NodeId, u64)>) -> Result<(), Error> {
        let cluster = types::unique();
        let seats: BTreeMap<NodeId, Seat> = disks.map(|(id, disk)| (id, Seat { cluster, disk })).collect();
        match self.raft.initialize(seats).await {
            Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => Ok(()),
            Err(RaftError::Fatal(fatal)) => Err(self.reason(Some(fatal))),
            Err(RaftError::APIError(InitializeError::NotInMembers(error))) => {
                unreachable!("a node is a member of its cluster: {error}")
            }
        }
    }

    /// Waits until most members have told what time it is. Whoever does not know that expires nothing.
    async fn know_the_time(&self) -> Result<(), Error> {
        let mut roles = self.raft.server_metrics();
        loop {
            let voters = {
                let metrics = roles.borrow_and_update();
                metrics.membership_config.membership().voter_ids().count()
            };
            if voters > 0 && self.peers.clock.knows(voters / 2) {
                return Ok(());
            }
            tokio::select! {
                changed = roles.changed() => changed.map_err(|_| self.reason(None))?,
                () = self.peers.clock.told() => {}
            }
        }
    }

    fn reason(&self, reason: Option<Fatal<NodeId>>) -> Error {
        let known = self.raft.metrics().borrow().running_state.clone().err();
        let text = match known.or(reason) {
            Some(fatal) => fatal.to_string(),
            None => "the engine has stopped".to_owned(),
        };
        Error::Stopped(text)
    }
}

/// What to tell the user when a node's disk is not the one it had.
fn emptied(id: NodeId) -> Error {
    Error::Arguments(format!(
        "the disk of node {id} is empty, and the others know it with another one: what it promised \
         them is lost with that, so it cannot go on as node {id}. To add it anew: \
         1. raft-ttl remove {id}; 2. start this node again; 3. raft-ttl add {id}"
    ))
}
