//! A node: its file, its engine, its TTLs, and the loop that answers others.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openraft::error::{Fatal, InitializeError, RaftError};
use openraft::{Config, SnapshotPolicy, Vote};
use timer_wheel::ttl::{Backoff, TtlConfig};
use tokio::net::TcpListener;

use crate::disk::Disk;
use crate::drive::{self, Outcome};
use crate::error::Error;
use crate::log_store::LogStore;
use crate::network::Peers;
use crate::server;
use crate::state_machine::Replica;
use crate::time::Clock;
use crate::types::{Command, MAX_TTL, NodeId, Raft};

/// How many expiries go into one entry of the log at most, and how many retries.
const BATCH: usize = 1_000;

/// How much of a snapshot is sent at once. In JSON it is up to four times as long.
const SNAPSHOT_CHUNK: u64 = 512 << 10;

/// What a node must be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its number.
    pub id: NodeId,
    /// Where all members of the cluster are, this one included.
    pub members: BTreeMap<NodeId, SocketAddr>,
    /// How often a leader makes itself heard. What it sends must be answered within that time, and an
    /// election begins after 2.5 to 5 times as long without it.
    pub heartbeat: Duration,
    /// How many entries of the log there are to a snapshot.
    pub snapshot_every: u64,
    /// How long an expiry may be without an outcome before it is proposed again.
    pub pending_timeout: Duration,
    /// How long a refused expiry waits at least.
    pub retry_delay: Duration,
}

impl Settings {
    /// The usual ones.
    pub fn new(id: NodeId, members: BTreeMap<NodeId, SocketAddr>) -> Self {
        Self {
            id,
            members,
            heartbeat: Duration::from_millis(200),
            snapshot_every: 5_000,
            pending_timeout: Duration::from_secs(5),
            retry_delay: Duration::from_millis(500),
        }
    }

    fn ttl_config(&self) -> Result<TtlConfig, Error> {
        let cap = Duration::from_secs(30).max(self.retry_delay);
        let config = TtlConfig::builder()
            .expire_batch(BATCH)
            .retry_batch(BATCH)
            .retry_delay(self.retry_delay)
            .backoff(Backoff::Exponential { cap })
            .pending_timeout(self.pending_timeout)
            .max_ttl(MAX_TTL);
        config
            .build()
            .map_err(|error| Error::Arguments(error.to_string()))
    }

    fn raft_config(&self) -> Result<Arc<Config>, Error> {
        let heartbeat_ms = u64::try_from(self.heartbeat.as_millis()).unwrap_or(u64::MAX);
        let config = Config {
            cluster_name: "raft-ttl".to_owned(),
            heartbeat_interval: heartbeat_ms,
            election_timeout_min: heartbeat_ms.saturating_mul(5) / 2,
            election_timeout_max: heartbeat_ms.saturating_mul(5),
            install_snapshot_timeout: 5_000,
            snapshot_policy: SnapshotPolicy::LogsSinceLast(self.snapshot_every),
            max_in_snapshot_log_to_keep: self.snapshot_every / 5,
            replication_lag_threshold: self.snapshot_every.saturating_mul(2),
            snapshot_max_chunk_size: SNAPSHOT_CHUNK,
            ..Config::default()
        };
        let config = config.validate();
        config
            .map(Arc::new)
            .map_err(|error| Error::Arguments(error.to_string()))
    }
}

/// A node that has been started, to be cloned for all who use it.
#[derive(Clone)]
pub struct Node {
    /// Which one, and where the others are.
    pub peers: Peers,
    /// The engine.
    pub raft: Raft,
    /// The state.
    pub replica: Replica,
    /// The vote in which this process, as leader, has seen an entry of its own applied.
    pub(crate) caught_up: Arc<Mutex<Option<Vote<NodeId>>>>,
}

impl Node {
    /// Loads the state from a file and starts the engine on it.
    ///
    /// # Errors
    ///
    /// [`Error::Arguments`] for settings that make no sense and for the file of another node,
    /// [`Error::Stopped`] if it cannot be read or written.
    pub async fn start(settings: &Settings, disk: Disk) -> Result<Self, Error> {
        let id = settings.id;
        if !settings.members.contains_key(&id) {
            return Err(Error::Arguments(format!("node {id} is no member")));
        }
        let ttl_config = settings.ttl_config()?;
        let raft_config = settings.raft_config()?;
        let stopped = |error: &dyn std::fmt::Display| Error::Stopped(error.to_string());
        let members = settings.members.keys().copied().collect();
        disk.claim(id, members).await?;

        let clock = Arc::new(Clock::default());
        let replica = Replica::load(disk.clone(), Arc::clone(&clock), ttl_config)?;
        let peers = Peers {
            id,
            addresses: Arc::new(settings.members.clone()),
        };
        let log = LogStore::new(disk, clock);
        let raft = Raft::new(id, raft_config, peers.clone(), log, replica.clone());
        let raft = raft.await.map_err(|error| stopped(&error))?;
        Ok(Self {
            peers,
            raft,
            replica,
            caught_up: Arc::default(),
        })
    }

    /// Where this node's expiries go: into the log.
    pub fn propose(&self) -> impl Fn(Command) -> ProposalFuture + use<> {
        let raft = self.raft.clone();
        move |command| {
            let raft = raft.clone();
            Box::pin(async move { raft.client_write_ff(command).await })
        }
    }

    /// Answers on this listener and proposes what is due, until `stop` is ready.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] when the engine gave up, of a disk that fails for instance. Whatever was
    /// acknowledged is safe on the disks of most nodes.
    pub async fn run<P, F>(
        self,
        listener: TcpListener,
        propose: P,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Error>
    where
        P: Fn(Command) -> F,
        F: Future<Output = Result<Outcome, Fatal<NodeId>>>,
    {
        let ended = {
            let roles = self.raft.server_metrics();
            let drive = async {
                self.initialize().await.map_err(Some)?;
                drive::drive(self.peers.id, &self.replica, roles, propose).await
            };
            tokio::select! {
                Err(reason) = drive => Err(self.reason(reason)),
                never = server::serve(self.clone(), listener) => match never {},
                () = stop => Ok(()),
            }
        };
        let joined = self.raft.shutdown().await;
        ended.and(joined.map_err(|error| Error::Stopped(error.to_string())))
    }

    /// Founds the cluster, which is harmless if another node did, or it was long ago.
    async fn initialize(&self) -> Result<(), Fatal<NodeId>> {
        let members: BTreeSet<NodeId> = self.peers.addresses.keys().copied().collect();
        match self.raft.initialize(members).await {
            Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => Ok(()),
            Err(RaftError::Fatal(fatal)) => Err(fatal),
            Err(RaftError::APIError(InitializeError::NotInMembers(error))) => {
                unreachable!("a node is a member of its cluster: {error}")
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

/// A command on its way to the engine.
pub type ProposalFuture =
    std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Fatal<NodeId>>> + Send>>;
