//! The life of a node: how it becomes a member, learns the time, and works until it is told to stop.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use openraft::error::{Fatal, InitializeError, RaftError};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connections;
use crate::drive;
use crate::error::Error;
use crate::node::Node;
use crate::types::{self, DiskId, NodeId, Seat, Stamped};

/// How long another node may take to say who it is, and how long it is left alone then.
const ASKING: Duration = Duration::from_secs(3);
const ASKING_PAUSE: Duration = Duration::from_millis(100);

impl Node {
    /// Answers on this listener and proposes what is due, until `stop` is ready, or the engine gives up, of a disk that
    /// fails for instance. Whatever was acknowledged is safe on the disks of most nodes.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let ended = {
            let mut roles = self.raft.server_metrics();
            let drive = async {
                self.join().await?;
                // Until it leads for the first time it has nothing to propose, and others may tell it the time.
                roles.wait_for(|it| it.state.is_leader()).await.map_err(|_| self.reason())?;
                self.peers.clock.settle();
                let stamped = |command| Stamped { stamp_ms: self.peers.clock.stamp_ms(), command };
                let propose = |command| self.raft.client_write_ff(stamped(command));
                drive::drive(self.peers.id, &self.replica, roles, propose).await;
                Err(self.reason())
            };
            tokio::select! {
                ended = drive => ended,
                never = connections::serve(self.clone(), listener) => match never {},
                () = stop => Ok(()),
            }
        };
        let joined = self.raft.shutdown().await;
        ended.and(joined.map_err(|error| Error::Stopped(error.to_string())))
    }

    /// Waits until this node's log says that it is a member; founds the cluster if there is none.
    ///
    /// Without such a log, others are asked. If any of them is of a cluster, this node has to be added: it is new, or its
    /// disk is, and then it has forgotten what it promised as a member. If all of them are there and have none, the first of
    /// all, and no other, founds the cluster.
    async fn join(&self) -> Result<(), Error> {
        let peers = &self.peers;
        let mut waited = 0;
        while peers.cluster().is_none() {
            let mut asked = JoinSet::new();
            for id in peers.others() {
                let peers = peers.clone();
                asked.spawn(async move { (id, timeout(ASKING, peers.connect(id, None)).await) });
            }
            let (mut disks, mut is_founded) = (vec![(peers.id, peers.disk)], false);
            while let Some(answer) = asked.join_next().await {
                if let Ok((id, Ok(Ok((_, welcome))))) = answer {
                    disks.push((id, welcome.disk));
                    is_founded |= welcome.cluster.is_some();
                }
            }
            let (id, is_first) = (peers.id, peers.others().all(|other| peers.id < other));
            waited += u32::from(is_founded);
            // Or else it is just being founded, and this node will soon hear of it.
            if is_founded && waited == 10 {
                eprintln!("raft-ttl: node {id} is no member with this disk, and waits to be added: raft-ttl add {id}");
            }
            if !is_founded && is_first && disks.len() == peers.addresses.len() {
                return self.found(disks).await;
            }
            sleep(ASKING_PAUSE).await;
        }
        Ok(())
    }

    async fn found(&self, disks: Vec<(NodeId, DiskId)>) -> Result<(), Error> {
        let cluster = types::unique();
        let seats = disks.into_iter().map(|(node, disk)| (disk, Seat { cluster, node }));
        match self.raft.initialize(seats.collect::<BTreeMap<_, _>>()).await {
            Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => Ok(()),
            Err(error) => Err(Error::Stopped(error.to_string())),
        }
    }

    fn reason(&self) -> Error {
        let fatal = self.raft.metrics().borrow().running_state.clone().err();
        Error::Stopped(fatal.unwrap_or(Fatal::Stopped).to_string())
    }
}
