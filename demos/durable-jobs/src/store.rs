//! A store of jobs: what an engine must do so that workers can share it.
//!
//! A store keeps each job once, at a position `(deadline, id)` of its partition. All that a worker changes, it changes by
//! position: a job that was moved or removed meanwhile is not touched. So of two workers that claim a job, one moves it,
//! and the other is told where it is.

mod backlog;
#[cfg(feature = "etcd")]
pub mod etcd;
mod password;
pub mod postgres;
pub mod redb;
pub mod shared;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};
use timer_wheel::window::Position;

use crate::error::{Error, Result};

/// The position of a job in the order of its partition: its deadline in milliseconds since the Unix epoch, and its id.
pub type Row = Position<u64>;

/// The largest id and the largest deadline: PostgreSQL's integers have a sign.
pub const MAX_NUMBER: u64 = i64::MAX as u64;

pub const MAX_PAYLOAD: usize = 64 << 10;

/// The version of the tables, of whatever store.
pub const VERSION: u32 = 2;

/// How many jobs that have failed are looked at in one request.
const FAILED: usize = 1_000;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Job {
    pub part: u32,
    pub id: u64,
    pub deadline: u64,
    pub payload: Vec<u8>,
}

/// What came of the claim of one row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Claim {
    /// It was moved to the end of the lease. This is attempt number `attempt`, from 1 on.
    Taken {
        attempt: u32,
        payload: Vec<u8>,
    },
    /// It had been moved before, and is there. The window must be told, as this may be the only news of the move.
    Moved(Row),
    Gone,
}

/// What becomes of a job whose claim ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum End {
    Done,
    /// It is to be done again, at this deadline.
    Later(u64),
    /// It is not to be done again, until somebody says so. With the error of its last attempt.
    Failed(String),
}

/// A job that is not done again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failed {
    pub id: u64,
    pub attempts: u32,
    pub error: String,
}

/// The right to look after a partition until some time, 0 if it was given back. Two workers that both believe to have it do
/// no harm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lease {
    /// The partition, or what else is counted.
    pub key: u64,
    pub owner: u64,
    /// One more with each change, from 1 on.
    pub epoch: u64,
    /// In milliseconds since the Unix epoch.
    pub until: u64,
    /// No job of the partition waits below this deadline, as far as its owner knows. Whoever takes it over loads from
    /// there on first.
    pub floor: u64,
}

/// What happened in a store, told after the commit and in the order of commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum News {
    Inserted(u32, Row),
    Removed(u32, Row),
}

/// Which part of the jobs a store has. It is written down when the store is first used, and compared from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Layout {
    /// How many partitions there are, in all stores.
    pub partitions: u32,
    /// Which of the stores this one is, from 0 on, and how many there are. It has the partitions that are congruent.
    pub shard: u32,
    pub shards: u32,
}

impl Layout {
    pub fn parts(self) -> impl Iterator<Item = u32> {
        (self.shard..self.partitions).step_by(self.shards as usize)
    }

    /// As it is written down.
    pub fn encode(self) -> String {
        format!("durable-jobs {VERSION}: {} partitions, store {} of {}", self.partitions, self.shard + 1, self.shards)
    }

    pub fn check(self, found: &str) -> Result<()> {
        if found == self.encode() {
            return Ok(());
        }
        Err(Error::Refused(format!("this is \"{found}\", not \"{}\"", self.encode())))
    }
}

/// How stores are opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether inserts and cancellations are told: PostgreSQL's relatives may know no `NOTIFY`.
    pub news: bool,
    /// Whether PostgreSQL keeps prepared statements for a connection.
    pub prepares: bool,
    /// How long a server may be silent, before its connection is given up.
    pub patience: Duration,
    /// Whether PostgreSQL's tables are made if they are missing.
    pub makes_tables: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { news: true, prepares: true, patience: Duration::from_secs(2), makes_tables: false }
    }
}

/// An error means that the request may have been carried out, or not. Rows are of one partition, and in order.
#[async_trait]
pub trait Store: Send + Sync {
    /// Inserts jobs in one transaction, and tells of them. Answers how many: those whose id is there stay as they are.
    async fn put(&self, jobs: &[Job]) -> Result<u64>;

    /// Removes a job wherever it is, and tells of that. Answers whether it was there.
    async fn cancel(&self, part: u32, id: u64) -> Result<bool>;

    /// The first rows after a position, up to `limit`, as committed when this is called or later.
    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>>;

    /// Moves the rows that are at their positions to the deadline `until`, and counts an attempt. It need not tell. Answers
    /// for each row.
    async fn claim(&self, part: u32, rows: &[Row], until: u64) -> Result<Vec<Claim>>;

    /// Removes the rows that are at their positions, moves them, or puts them among the failed, where one of the same id is
    /// replaced. It need not tell.
    async fn settle(&self, part: u32, ends: &[(Row, End)]) -> Result<()>;

    /// The first jobs that have failed, up to `limit`, in the order of their ids.
    async fn failed(&self, part: u32, limit: usize) -> Result<Vec<Failed>>;

    /// Moves jobs that have failed back, without attempts, and tells of them. Answers how many: not those whose id waits.
    async fn retry(&self, part: u32, ids: &[u64], deadline: u64) -> Result<u64>;

    /// The leases that there are. Those that are over may be among them.
    async fn leases(&self) -> Result<Vec<Lease>>;

    /// Writes each lease whose epoch is the next: one more than that of the lease that is there, or 1. Answers for each.
    async fn lease(&self, wanted: &[Lease]) -> Result<Vec<bool>>;

    /// The news of all partitions from now on. When they end, some may have been lost.
    async fn news(&self) -> Result<BoxStream<'static, News>>;

    /// How many jobs wait in a partition, and how many have failed.
    async fn count(&self, part: u32) -> Result<(u64, u64)>;
}

/// All stores of jobs, one or more, each with its share of the partitions, in the order of their shards.
#[derive(Clone)]
pub struct Shards {
    pub stores: Vec<(Layout, Arc<dyn Store>)>,
}

impl Shards {
    /// Opens the stores by name.
    pub async fn open(names: &[String], partitions: u32, options: &Options) -> Result<Self> {
        let shards = names.len() as u32;
        if names.iter().enumerate().any(|(at, name)| names[..at].contains(name)) {
            return Err(Error::Refused("a store is named twice".to_owned()));
        }
        if shards == 0 || shards > partitions {
            return Err(Error::Refused(format!("{partitions} partitions cannot be spread over {shards} stores")));
        }
        let mut stores = Vec::new();
        for (shard, name) in names.iter().enumerate() {
            let layout = Layout { partitions, shard: shard as u32, shards };
            stores.push((layout, open(name, layout, options).await?));
        }
        Ok(Self { stores })
    }

    /// How many partitions there are, in all stores.
    pub fn partitions(&self) -> u32 {
        self.stores[0].0.partitions
    }

    pub fn part_of(&self, id: u64) -> u32 {
        // A hash that SQL has: a service may insert a job beside its own rows.
        let hash: [u8; 16] = Md5::digest(id.to_string()).into();
        u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) % self.partitions()
    }

    fn shard_of(&self, part: u32) -> usize {
        part as usize % self.stores.len()
    }

    pub fn store_of(&self, part: u32) -> &dyn Store {
        &*self.stores[self.shard_of(part)].1
    }

    /// Inserts jobs, those of each store in one transaction.
    pub async fn put(&self, jobs: Vec<(u64, u64, Vec<u8>)>) -> Result<u64> {
        let mut shares = vec![Vec::new(); self.stores.len()];
        for (id, deadline, payload) in jobs {
            let part = self.part_of(id);
            shares[self.shard_of(part)].push(Job { part, id, deadline, payload });
        }
        let mut inserted = 0;
        for (share, (_, store)) in shares.iter().zip(&self.stores).filter(|(share, _)| !share.is_empty()) {
            inserted += store.put(share).await?;
        }
        Ok(inserted)
    }

    /// Lets jobs that have failed be done again: one, or all. Answers how many.
    pub async fn retry(&self, id: Option<u64>, deadline: u64) -> Result<u64> {
        if let Some(id) = id {
            let part = self.part_of(id);
            return self.store_of(part).retry(part, &[id], deadline).await;
        }
        let mut all = 0;
        for part in 0..self.partitions() {
            loop {
                let failed = self.store_of(part).failed(part, FAILED).await?;
                let ids: Vec<u64> = failed.iter().map(|job| job.id).collect();
                let back = self.store_of(part).retry(part, &ids, deadline).await?;
                all += back;
                if back == 0 {
                    break;
                }
            }
        }
        Ok(all)
    }

    pub async fn cancel(&self, id: u64) -> Result<bool> {
        let part = self.part_of(id);
        self.store_of(part).cancel(part, id).await
    }
}

pub async fn open(name: &str, layout: Layout, options: &Options) -> Result<Arc<dyn Store>> {
    let opened: Result<Arc<dyn Store>> = match name.split_once("://") {
        Some(("postgres" | "postgresql", _)) => postgres::Postgres::open(name, layout, options).await.map(of),
        #[cfg(feature = "etcd")]
        Some(("etcd", endpoints)) => etcd::Etcd::open(endpoints, layout, options.patience).await.map(of),
        #[cfg(not(feature = "etcd"))]
        Some(("etcd", _)) => Err(Error::Refused("this program was built without the feature etcd".to_owned())),
        Some((kind, _)) => Err(Error::Refused(format!("unknown store \"{kind}\": postgres, etcd, or a file"))),
        None => shared::Shared::open(name.as_ref(), layout).await.map(of),
    };
    opened.map_err(|error| match error {
        Error::Refused(why) => Error::Refused(format!("{}: {why}", shown(name))),
        error => error,
    })
}

fn of(store: impl Store + 'static) -> Arc<dyn Store> {
    Arc::new(store)
}

/// The name of a store without a password.
pub fn shown(name: &str) -> String {
    match name.split_once("://") {
        Some(("postgres" | "postgresql", _)) => password::without(name),
        _ => name.to_owned(),
    }
}
