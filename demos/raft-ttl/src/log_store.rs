//! The log on disk, as the engine wants it.

use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;
use std::sync::Arc;

use openraft::storage::{LogFlushed, LogState, RaftLogStorage};
use openraft::{AnyError, Entry, EntryPayload, OptionalSend, RaftLogReader, StorageError, StorageIOError, Vote};
use redb::Durability;

use crate::disk::{Disk, DiskError, LOG, put_fact};
use crate::frame::to_bytes;
use crate::limits::MESSAGE;
use crate::time::Clock;
use crate::types::{DiskId, LogId, TypeConfig};

const VOTE: &str = "vote";
const COMMITTED: &str = "committed";
const PURGED: &str = "purged";

/// The last [reading](crate::time::Reading) of the clocks.
pub(crate) const CLOCK: &str = "clock";

/// The log of a node. It also tells the clock what the stamps of entries say, and writes down what it said.
#[derive(Clone)]
pub struct LogStore {
    disk: Disk,
    clock: Arc<Clock>,
}

impl LogStore {
    pub fn new(disk: Disk, clock: Arc<Clock>) -> Self {
        Self { disk, clock }
    }

    async fn note(
        &self,
        durability: Durability,
        name: &'static str,
        fact: impl serde::Serialize + Send + 'static,
    ) -> Result<(), DiskError> {
        self.disk.write(durability, move |change| put_fact(change, name, &fact)).await
    }
}

impl RaftLogReader<TypeConfig> for LogStore {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry<TypeConfig>>, StorageError<DiskId>> {
        let found = self.disk.entries(range, usize::MAX);
        found.map_err(|error| StorageIOError::read_logs(cause(&error)).into())
    }

    async fn limited_get_log_entries(
        &mut self,
        start: u64,
        end: u64,
    ) -> Result<Vec<Entry<TypeConfig>>, StorageError<DiskId>> {
        let found = self.disk.entries(start..end, MESSAGE);
        found.map_err(|error| StorageIOError::read_logs(cause(&error)).into())
    }
}

impl RaftLogStorage<TypeConfig> for LogStore {
    type LogReader = Self;

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, StorageError<DiskId>> {
        let read = || {
            let last_purged_log_id: Option<LogId> = self.disk.fact(PURGED)?;
            let last: Option<Entry<TypeConfig>> = self.disk.last_entry()?;
            Ok(LogState { last_purged_log_id, last_log_id: last.map(|entry| entry.log_id).or(last_purged_log_id) })
        };
        read().map_err(|error: DiskError| StorageIOError::read_logs(cause(&error)).into())
    }

    async fn save_vote(&mut self, vote: &Vote<DiskId>) -> Result<(), StorageError<DiskId>> {
        let noted = self.note(Durability::Immediate, VOTE, *vote).await;
        noted.map_err(|error| StorageIOError::write_vote(cause(&error)).into())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<DiskId>>, StorageError<DiskId>> {
        // Who led in a term leads in none before it is elected anew: by then it has heard of all that was acknowledged, and
        // from most members what time it is.
        let vote = self.disk.fact(VOTE).map(|vote: Option<Vote<_>>| vote.map(|vote| Vote { committed: false, ..vote }));
        vote.map_err(|error| StorageIOError::read_vote(cause(&error)).into())
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError<DiskId>> {
        // An older one does no harm, so the disk may take its time: the next change takes it along.
        let noted = self.note(Durability::None, COMMITTED, committed).await;
        noted.map_err(|error| StorageIOError::write(cause(&error)).into())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError<DiskId>> {
        let committed = self.disk.fact::<Option<LogId>>(COMMITTED);
        committed.map(Option::flatten).map_err(|error| StorageIOError::read(cause(&error)).into())
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<TypeConfig>) -> Result<(), StorageError<DiskId>>
    where
        I: IntoIterator<Item = Entry<TypeConfig>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<_> = entries.into_iter().collect();
        for entry in &entries {
            if let EntryPayload::Normal(stamped) = &entry.payload {
                self.clock.receive(stamped.stamp_ms);
            }
        }
        let reading = self.clock.reading();
        let appended = self.disk.write(Durability::Immediate, move |change| {
            let mut log = change.open_table(LOG)?;
            for entry in &entries {
                log.insert(entry.log_id.index, to_bytes(entry)?.as_slice())?;
            }
            put_fact(change, CLOCK, &reading)
        });
        let appended = appended.await;
        callback.log_io_completed(appended.as_ref().copied().map_err(|error| io::Error::other(error.to_string())));
        appended.map_err(|error| StorageIOError::write_logs(cause(&error)).into())
    }

    async fn truncate(&mut self, log_id: LogId) -> Result<(), StorageError<DiskId>> {
        let cut = self.disk.write(Durability::Immediate, move |change| {
            let mut log = change.open_table(LOG)?;
            log.retain_in(log_id.index.., |_, _| false)?;
            Ok(())
        });
        cut.await.map_err(|error| StorageIOError::write_logs(cause(&error)).into())
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), StorageError<DiskId>> {
        let cut = self.disk.write(Durability::Immediate, move |change| {
            put_fact(change, PURGED, &log_id)?;
            let mut log = change.open_table(LOG)?;
            log.retain_in(..=log_id.index, |_, _| false)?;
            Ok(())
        });
        cut.await.map_err(|error| StorageIOError::write_logs(cause(&error)).into())
    }
}

/// An error as the engine wants it.
pub(crate) fn cause(error: &DiskError) -> AnyError {
    AnyError::error(error)
}
