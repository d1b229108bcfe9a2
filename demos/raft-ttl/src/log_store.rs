//! The log on disk, as the engine wants it.

use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;
use std::sync::Arc;

use openraft::storage::{LogFlushed, LogState, RaftLogStorage};
use openraft::{Entry, EntryPayload, OptionalSend, RaftLogReader, Vote};
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
}

impl RaftLogReader<TypeConfig> for LogStore {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry<TypeConfig>>, DiskError> {
        self.disk.entries(range, usize::MAX)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry<TypeConfig>>, DiskError> {
        self.disk.entries(start..end, MESSAGE)
    }
}

impl RaftLogStorage<TypeConfig> for LogStore {
    type LogReader = Self;

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, DiskError> {
        let last_purged_log_id: Option<LogId> = self.disk.fact(PURGED)?;
        let last: Option<Entry<TypeConfig>> = self.disk.last_entry()?;
        Ok(LogState { last_purged_log_id, last_log_id: last.map(|entry| entry.log_id).or(last_purged_log_id) })
    }

    async fn save_vote(&mut self, vote: &Vote<DiskId>) -> Result<(), DiskError> {
        self.disk.note(Durability::Immediate, VOTE, *vote).await
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<DiskId>>, DiskError> {
        // Who led in a term leads in none before it is elected anew: by then it has heard of all that was acknowledged, and
        // from most members what time it is.
        let vote: Option<Vote<_>> = self.disk.fact(VOTE)?;
        Ok(vote.map(|vote| Vote { committed: false, ..vote }))
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), DiskError> {
        // An older one does no harm, so the disk may take its time: the next change takes it along.
        self.disk.note(Durability::None, COMMITTED, committed).await
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, DiskError> {
        Ok(self.disk.fact::<Option<LogId>>(COMMITTED)?.flatten())
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<TypeConfig>) -> Result<(), DiskError>
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
        appended
    }

    async fn truncate(&mut self, log_id: LogId) -> Result<(), DiskError> {
        let cut = self.disk.write(Durability::Immediate, move |change| {
            change.open_table(LOG)?.retain_in(log_id.index.., |_, _| false)?;
            Ok(())
        });
        cut.await
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), DiskError> {
        let cut = self.disk.write(Durability::Immediate, move |change| {
            put_fact(change, PURGED, &log_id)?;
            change.open_table(LOG)?.retain_in(..=log_id.index, |_, _| false)?;
            Ok(())
        });
        cut.await
    }
}
