//! A node: what it must be told, its file, its engine and its TTLs.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::sync::Arc;

use openraft::error::Fatal;
use openraft::{Config, SnapshotPolicy};
use timer_wheel::Backoff;
use timer_wheel::ttl::TtlConfig;

use crate::confirmation::Confirmations;
use crate::disk::Disk;
use crate::error::Error;
use crate::limits::{
    BATCH, CALL_TIME, MAX_RETRY_DELAY, MAX_TTL, MESSAGE, PENDING_TIMEOUT, RETRY_DELAY, SNAPSHOT_TIME, Tuning,
};
use crate::log_store::{CLOCK, LogStore};
use crate::peers::Peers;
use crate::state_machine::Replica;
use crate::time::Clock;
use crate::types::{NodeId, Raft};

/// What a node must be told.
#[derive(Clone, Debug)]
pub struct Settings {
    pub id: NodeId,
    /// Where all nodes are that can be members of the cluster, this one included.
    pub members: BTreeMap<NodeId, SocketAddr>,
    /// What all nodes of the cluster know and nobody else; empty if nobody is to be kept out.
    pub secret: String,
    pub tuning: Tuning,
}

impl Settings {
    fn raft_config(&self) -> Result<Arc<Config>, Error> {
        let Tuning { heartbeat, snapshot_every, .. } = self.tuning;
        let heartbeat_ms = u64::try_from(heartbeat.as_millis()).unwrap_or(u64::MAX);
        let config = Config {
            cluster_name: "raft-ttl".to_owned(),
            heartbeat_interval: heartbeat_ms,
            election_timeout_min: heartbeat_ms.saturating_mul(5) / 2,
            election_timeout_max: heartbeat_ms.saturating_mul(5),
            install_snapshot_timeout: SNAPSHOT_TIME.as_millis() as u64,
            snapshot_policy: SnapshotPolicy::LogsSinceLast(snapshot_every),
            max_in_snapshot_log_to_keep: snapshot_every / 5,
            snapshot_max_chunk_size: MESSAGE as u64,
            ..Config::default()
        };
        let config = config.validate();
        config.map(Arc::new).map_err(|error| Error::Arguments(error.to_string()))
    }
}

fn ttl_config() -> TtlConfig {
    let mut config = TtlConfig::default();
    (config.expire_batch, config.retry_batch) = (BATCH, BATCH);
    (config.retry_delay, config.pending_timeout) = (RETRY_DELAY, PENDING_TIMEOUT);
    config.backoff = Backoff::Exponential { cap: MAX_RETRY_DELAY };
    config.max_ttl = MAX_TTL;
    config
}

/// A node that has been started, to be cloned for all who use it.
#[derive(Clone)]
pub struct Node {
    /// Which one, and where the others are.
    pub peers: Peers,
    pub raft: Raft,
    pub replica: Replica,
    pub(crate) limits: Tuning,
    pub(crate) confirmations: Arc<Confirmations>,
}

impl Node {
    /// Loads the state from a file and starts the engine on it, by a clock that goes on where the file says. Settings
    /// that make no sense and the file of another node are refused.
    pub(crate) async fn start(settings: &Settings, disk: Disk) -> Result<Self, Error> {
        let id = settings.id;
        if !settings.members.contains_key(&id) {
            return Err(Error::Arguments(format!("node {id} is no member")));
        }
        let raft_config = settings.raft_config()?;
        let disk_id = disk.claim(id).await?;
        let clock = Arc::new(Clock::system(disk.fact(CLOCK)?, settings.tuning.max_skew, settings.tuning.wall_ahead_s));
        let replica = Replica::load(disk.clone(), Arc::clone(&clock), ttl_config())?;
        if settings.tuning.tell {
            replica.lock().tell = Some(Box::new(BufWriter::new(io::stdout())));
        }
        let members = settings.members.clone();
        let call_time = settings.tuning.heartbeat.saturating_mul(CALL_TIME);
        let peers = Peers::new(id, members, disk_id, &settings.secret, Arc::clone(&clock), call_time);
        let log = LogStore::new(disk, clock);
        let stopped = |fatal: Fatal<_>| Error::Stopped(fatal.to_string());
        let raft = Raft::new(disk_id, raft_config, peers.clone(), log, replica.clone()).await.map_err(stopped)?;
        // Once it answers, it has told what its log says.
        raft.is_initialized().await.map_err(stopped)?;
        peers.follow(raft.server_metrics());
        let confirmations = Arc::new(Confirmations::new());
        Ok(Self { peers, raft, replica, limits: settings.tuning, confirmations })
    }
}
