//! A node: its file, its engine, its TTLs, and the loop that answers others.

use std::collections::BTreeMap;
use std::future::Future;
use std::mem::replace;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openraft::error::{Fatal, InitializeError, RaftError};
use openraft::{Config, SnapshotPolicy, Vote};
use timer_wheel::ttl::{Backoff, TtlConfig};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connections::{self, Limits};
use crate::disk::{Disk, DiskError};
use crate::drive::{self, Outcome};
use crate::error::Error;
use crate::log_store::{CLOCK, LogStore};
use crate::peers::{self, Peers};
use crate::state_machine::Replica;
use crate::time::{Clock, MAX_SKEW, Reading};
use crate::types::{Command, MAX_TTL, NodeId, Raft, Seat};

/// How many expiries go into one entry of the log at most, and how many retries.
const BATCH: usize = 1_000;

/// How much of a snapshot is sent at once. In JSON it is up to four times as long.
const SNAPSHOT_CHUNK: u64 = 512 << 10;

/// How long another node may take to say who it is, and how long it is left alone then.
const ASKING: Duration = Duration::from_secs(1);
const ASKING_PAUSE: Duration = Duration::from_millis(100);

/// What a node must be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its number.
    pub id: NodeId,
    /// Where all nodes are that can be members of the cluster, this one included.
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
    /// What all nodes of the cluster know and nobody else; empty if nobody is to be kept out.
    pub secret: String,
    /// How far the times of two nodes may be apart before that is taken for a fault.
    pub max_skew: Duration,
    /// What clients may take.
    pub limits: Limits,
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
            secret: String::new(),
            max_skew: MAX_SKEW,
            limits: Limits::default(),
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
    limits: Limits,
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
        let clock = |last| Clock::system(last, settings.max_skew);
        Self::start_with(settings, disk, clock).await
    }

    /// The same by another clock, made of what the file says of the time.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_with(
        settings: &Settings,
        disk: Disk,
        clock: impl FnOnce(Option<Reading>) -> Clock,
    ) -> Result<Self, Error> {
        let id = settings.id;
        if !settings.members.contains_key(&id) {
            return Err(Error::Arguments(format!("node {id} is no member")));
        }
        let ttl_config = settings.ttl_config()?;
        let raft_config = settings.raft_config()?;
        settings.limits.check()?;
        let stopped = |error: &dyn std::fmt::Display| Error::Stopped(error.to_string());
        let members = settings.members.keys().copied().collect();
        let number = disk.claim(id, members).await?;

        let last = disk.fact(CLOCK);
        let last = last.map_err(|error: DiskError| stopped(&error))?;
        let clock = Arc::new(clock(last));
        let replica = Replica::load(disk.clone(), Arc::clone(&clock), ttl_config)?;
        let members = settings.members.clone();
        let peers = Peers::new(id, members, number, &settings.secret, Arc::clone(&clock));
        let log = LogStore::new(disk, clock);
        let raft = Raft::new(id, raft_config, peers.clone(), log, replica.clone());
        let raft = raft.await.map_err(|error| stopped(&error))?;
        peers.follow(raft.server_metrics());
        Ok(Self {
            peers,
            raft,
            replica,
            limits: settings.limits,
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
                self.join().await?;
                self.know_the_time().await?;
                let driven = drive::drive(self.peers.id, &self.replica, roles, propose).await;
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
            } else if welcomes.len() + 1 == peers.addresses.len()
                && peers.others().all(|other| peers.id < other)
            {
                let seats = welcomes.into_iter().map(|(id, it)| (id, it.disk));
                return self.found(seats.chain([(peers.id, peers.disk)])).await;
            }
            sleep(ASKING_PAUSE).await;
        }
        Ok(())
    }

    /// Founds a cluster of these nodes with these disks.
    async fn found(&self, disks: impl Iterator<Item = (NodeId, u64)>) -> Result<(), Error> {
        let cluster = peers::unique();
        let seats: BTreeMap<NodeId, Seat> = disks
            .map(|(id, disk)| (id, Seat { cluster, disk }))
            .collect();
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

/// A command on its way to the engine.
pub type ProposalFuture =
    std::pin::Pin<Box<dyn Future<Output = Result<Outcome, Fatal<NodeId>>> + Send>>;
