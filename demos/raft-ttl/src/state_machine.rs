//! The state of a replica behind a lock, as the engine wants it, and its snapshots on disk.
//!
//! Only snapshots are kept on disk: after a start the engine applies the log again from there on.

use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard};

use openraft::storage::{RaftSnapshotBuilder, RaftStateMachine};
use openraft::{Entry, OptionalSend, Snapshot, SnapshotMeta};
use redb::{Durability, ReadableTable};
use timer_wheel::ttl::TtlConfig;
use tokio::sync::Notify;

use crate::disk::{Cause, Disk, DiskError, FACTS, put_fact, unwritten};
use crate::error::Error;
use crate::frame::to_bytes;
use crate::log_store::CLOCK;
use crate::state::State;
use crate::time::{self, Clock, Reading};
use crate::types::{Answer, DiskId, LogId, Membership, TypeConfig};

type Meta = SnapshotMeta<DiskId, crate::types::Seat>;

/// The snapshot on disk, with its description.
const SNAPSHOT: &str = "snapshot";
type Stored = (Meta, Vec<u8>);

/// A replica's state, to be cloned for all who use it.
#[derive(Clone)]
pub struct Replica(Arc<Shared>);

struct Shared {
    disk: Disk,
    clock: Arc<Clock>,
    state: Mutex<State>,
    applied: Notify,
}

impl Replica {
    /// The state as of the snapshot in this file, if it has one.
    pub fn load(disk: Disk, clock: Arc<Clock>, config: TtlConfig) -> Result<Self, Error> {
        let last: Option<Reading> = disk.fact(CLOCK)?;
        let mut state = State::new(last.map_or(0, |last| last.time_ns));
        state.ttls.set_config(config).map_err(|error| Error::Arguments(error.to_string()))?;
        if let Some((meta, bytes)) = disk.fact::<Stored>(SNAPSHOT)? {
            state.restore(&bytes, meta.last_log_id, meta.last_membership).map_err(unwritten)?;
        }
        Ok(Self(Arc::new(Shared { disk, clock, state: Mutex::new(state), applied: Notify::new() })))
    }

    /// The state, to be let go of soon. If a thread panicked while it had it, nobody knows what it holds: then this panics.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("the state is whole")
    }

    /// The time by which the TTLs count.
    pub fn now_ns(&self) -> u64 {
        self.0.clock.now_ns()
    }

    /// Waits until something was applied since the last time that this was asked.
    pub async fn applied(&self) {
        self.0.applied.notified().await;
    }

    /// Writes a snapshot, unless there is a later one: the engine may install one in the meantime.
    async fn store(&self, snapshot: Stored) -> Result<(), DiskError> {
        let stored = self.0.disk.write(Durability::Immediate, move |change| {
            let facts = change.open_table(FACTS)?;
            // The description comes first, and is enough.
            let known =
                facts.get(SNAPSHOT)?.map(|known| postcard::take_from_bytes::<Meta>(known.value()).map(|it| it.0));
            drop(facts);
            if known.transpose()?.is_some_and(|known| known.last_log_id > snapshot.0.last_log_id) {
                return Ok(());
            }
            put_fact(change, SNAPSHOT, &snapshot)
        });
        stored.await
    }
}

impl RaftStateMachine<TypeConfig> for Replica {
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Membership), DiskError> {
        let state = self.lock();
        Ok((state.applied, state.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Answer>, DiskError>
    where
        I: IntoIterator<Item = Entry<TypeConfig>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut answers = Vec::new();
        {
            let mut state = self.lock();
            answers.extend(entries.into_iter().map(|entry| state.apply(entry)));
        }
        self.0.applied.notify_one();
        Ok(answers)
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, DiskError> {
        Ok(Box::default())
    }

    async fn install_snapshot(&mut self, meta: &Meta, snapshot: Box<Cursor<Vec<u8>>>) -> Result<(), DiskError> {
        let bytes = snapshot.into_inner();
        self.store((meta.clone(), bytes.clone())).await?;
        self.lock().restore(&bytes, meta.last_log_id, meta.last_membership.clone()).map_err(unwritten)?;
        self.0.applied.notify_one();
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<TypeConfig>>, DiskError> {
        let stored = self.0.disk.fact::<Stored>(SNAPSHOT)?;
        Ok(stored.map(|(meta, bytes)| Snapshot { meta, snapshot: Box::new(Cursor::new(bytes)) }))
    }
}

impl RaftSnapshotBuilder<TypeConfig> for Replica {
    async fn build_snapshot(&mut self) -> Result<Snapshot<TypeConfig>, DiskError> {
        // The state and the index it is of, in one go.
        let (image, meta) = {
            let state = self.lock();
            let index = state.applied.map_or(0, |applied| applied.index);
            let meta = Meta {
                last_log_id: state.applied,
                last_membership: state.membership.clone(),
                snapshot_id: format!("{index}-{}", time::wall_us_now()),
            };
            (state.image(), meta)
        };
        let bytes = tokio::task::spawn_blocking(move || to_bytes(&image));
        let bytes = bytes.await.map_err(Cause::from).and_then(|bytes| Ok(bytes?)).map_err(unwritten)?;
        self.store((meta.clone(), bytes.clone())).await?;
        Ok(Snapshot { meta, snapshot: Box::new(Cursor::new(bytes)) })
    }
}
