//! The tables of the file.

use redb::{Error as Fault, ReadableTable, StorageError, Table, TableDefinition, WriteTransaction};

use crate::store::{Claim, End, Lease, News, Row};

/// By partition and id: the deadline, the attempts, and the payload.
pub(super) const JOBS: TableDefinition<'_, (u32, u64), (u64, u32, &[u8])> = TableDefinition::new("jobs");

/// The same jobs in the order of their partition, deadline and id.
pub(super) const DUE: TableDefinition<'_, (u32, u64, u64), ()> = TableDefinition::new("due");

/// The jobs that have failed, by partition and id: the attempts, the last error, and the payload.
pub(super) const FAILED: TableDefinition<'_, (u32, u64), (u32, &str, &[u8])> = TableDefinition::new("failed");

/// By key: the owner, the epoch, the end, and the floor.
pub(super) const LEASES: TableDefinition<'_, u64, (u64, u64, u64, u64)> = TableDefinition::new("leases");

pub(super) const LAYOUT: TableDefinition<'_, (), &str> = TableDefinition::new("layout");

pub(super) type Faulty<T> = std::result::Result<T, StorageError>;

/// The tables of a transaction, and what it has to tell. The two tables of jobs hold the same positions.
pub(super) struct Tables<'a> {
    pub(super) jobs: Table<'a, (u32, u64), (u64, u32, &'static [u8])>,
    pub(super) due: Table<'a, (u32, u64, u64), ()>,
    pub(super) failed: Table<'a, (u32, u64), (u32, &'static str, &'static [u8])>,
    pub(super) leases: Table<'a, u64, (u64, u64, u64, u64)>,
    pub(super) news: Vec<News>,
}

impl<'a> Tables<'a> {
    pub(super) fn open(transaction: &'a WriteTransaction) -> std::result::Result<Self, Fault> {
        let (jobs, due) = (transaction.open_table(JOBS)?, transaction.open_table(DUE)?);
        let (failed, leases) = (transaction.open_table(FAILED)?, transaction.open_table(LEASES)?);
        Ok(Self { jobs, due, failed, leases, news: Vec::new() })
    }

    /// The deadline, the attempts and the payload of a job.
    pub(super) fn job(&self, part: u32, id: u64) -> Faulty<Option<(u64, u32, Vec<u8>)>> {
        Ok(self.jobs.get((part, id))?.map(|job| (job.value().0, job.value().1, job.value().2.to_vec())))
    }

    pub(super) fn insert(&mut self, part: u32, (deadline, id): Row, attempts: u32, payload: &[u8]) -> Faulty<()> {
        self.jobs.insert((part, id), (deadline, attempts, payload))?;
        self.due.insert((part, deadline, id), ()).map(drop)
    }

    pub(super) fn remove(&mut self, part: u32, (deadline, id): Row) -> Faulty<()> {
        self.jobs.remove((part, id))?;
        self.due.remove((part, deadline, id)).map(drop)
    }

    pub(super) fn claim(&mut self, part: u32, row: Row, until: u64) -> Faulty<Claim> {
        let Some((deadline, attempts, payload)) = self.job(part, row.1)? else { return Ok(Claim::Gone) };
        if deadline != row.0 {
            return Ok(Claim::Moved((deadline, row.1)));
        }
        let attempt = attempts.saturating_add(1);
        self.remove(part, row)?;
        self.insert(part, (until, row.1), attempt, &payload)?;
        Ok(Claim::Taken { attempt, payload })
    }

    pub(super) fn settle(&mut self, part: u32, row: Row, end: End) -> Faulty<()> {
        let Some((deadline, attempts, payload)) = self.job(part, row.1)? else { return Ok(()) };
        if deadline != row.0 {
            return Ok(());
        }
        self.remove(part, row)?;
        match end {
            End::Done => Ok(()),
            End::Later(later) => self.insert(part, (later, row.1), attempts, &payload),
            End::Failed(error) => self.failed.insert((part, row.1), (attempts, &*error, &*payload)).map(drop),
        }
    }

    pub(super) fn retry(&mut self, part: u32, id: u64, deadline: u64) -> Faulty<bool> {
        if self.jobs.get((part, id))?.is_some() {
            return Ok(false);
        }
        let Some(payload) = self.failed.remove((part, id))?.map(|job| job.value().2.to_vec()) else { return Ok(false) };
        self.news.push(News::Inserted(part, (deadline, id)));
        self.insert(part, (deadline, id), 0, &payload).map(|()| true)
    }

    pub(super) fn lease(&mut self, wanted: Lease) -> Faulty<bool> {
        let there = self.leases.get(wanted.key)?.map_or(0, |it| it.value().1);
        let is_next = wanted.epoch == there + 1;
        if is_next {
            self.leases.insert(wanted.key, (wanted.owner, wanted.epoch, wanted.until, wanted.floor))?;
        }
        Ok(is_next)
    }
}
