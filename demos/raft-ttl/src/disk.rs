//! The one file of a node: log, vote and snapshot, in redb.

use std::fs;
use std::ops::RangeBounds;
use std::path::Path;
use std::sync::Arc;

use openraft::{AnyError, StorageError, StorageIOError};
use redb::{Database, Durability, ReadTransaction, ReadableDatabase, TableDefinition, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::error::Error;
use crate::frame::{from_bytes, to_bytes};
use crate::types::{self, DiskId, NodeId};

/// The entries of the log by index.
pub(crate) const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

/// Everything else by name.
pub(crate) const FACTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("facts");

const IDENTITY: &str = "identity";

const FILE: &str = "raft.redb";

/// How much of the file is kept in memory. The engine reads what it wrote last.
const CACHE: usize = 4 << 20;

/// Whose file it is, and what tells this disk from one that is put in its place.
type Identity = (NodeId, DiskId);

/// What may go wrong with the file: it cannot be read or written, or holds what nobody understands.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The same as the engine wants it.
pub(crate) type DiskError = StorageError<DiskId>;

pub(crate) fn unwritten(cause: Cause) -> DiskError {
    StorageIOError::write(AnyError::error(cause)).into()
}

/// The file of a node, to be cloned for all who use it. It is locked until the last clone is gone.
#[derive(Clone, Debug)]
pub struct Disk {
    database: Arc<Database>,
    /// Held by the one write under way. A write that waited within the database would keep a thread, and threads keep
    /// memory for ever.
    turn: Arc<Mutex<()>>,
}

impl Disk {
    /// Opens the file in this directory, or creates both. It may be in use, or no such file.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let open = || {
            fs::create_dir_all(directory)?;
            // A file that something else has written to is refused rather than trusted.
            let mut builder = Database::builder();
            let builder = builder.set_check_integrity_on_open(true).set_cache_size(CACHE);
            Self::of(builder.create(directory.join(FILE))?)
        };
        open().map_err(|cause| Error::Arguments(format!("{}: cannot be used: {cause}", directory.display())))
    }

    fn of(database: Database) -> Result<Self, Cause> {
        let change = database.begin_write()?;
        change.open_table(LOG)?;
        change.open_table(FACTS)?;
        change.commit()?;
        Ok(Self { database: Arc::new(database), turn: Arc::default() })
    }

    /// Makes sure that this is the file of that node, or makes it that, and tells the number of the disk.
    pub(crate) async fn claim(&self, node: NodeId) -> Result<DiskId, Error> {
        match self.fact::<Identity>(IDENTITY)? {
            Some((owner, disk)) if owner == node => Ok(disk),
            Some((owner, _)) => {
                Err(Error::Arguments(format!("wrong data directory: it belongs to node {owner}, not to node {node}")))
            }
            None => {
                let disk = DiskId(types::unique());
                self.note(Durability::Immediate, IDENTITY, (node, disk)).await?;
                Ok(disk)
            }
        }
    }

    /// Makes a change as a whole. With [`Durability::Immediate`] it is on disk on return.
    ///
    /// A commit waits for the disk, so it is made where that blocks nobody.
    pub(crate) async fn write<F>(&self, durability: Durability, make: F) -> Result<(), DiskError>
    where
        F: FnOnce(&WriteTransaction) -> Result<(), Cause> + Send + 'static,
    {
        let (database, turn) = (Arc::clone(&self.database), Arc::clone(&self.turn).lock_owned().await);
        let made = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let mut change = database.begin_write()?;
            change.set_durability(durability)?;
            make(&change)?;
            Ok(change.commit()?)
        });
        made.await.unwrap_or_else(|panic| Err(panic.into())).map_err(unwritten)
    }

    /// Notes a fact under a name.
    pub(crate) async fn note(
        &self,
        durability: Durability,
        name: &'static str,
        fact: impl Serialize + Send + 'static,
    ) -> Result<(), DiskError> {
        self.write(durability, move |change| put_fact(change, name, &fact)).await
    }

    fn read<T>(&self, look: impl FnOnce(&ReadTransaction) -> Result<T, Cause>) -> Result<T, DiskError> {
        let looked = self.database.begin_read().map_err(Cause::from).and_then(|state| look(&state));
        looked.map_err(|cause| StorageIOError::read(AnyError::error(cause)).into())
    }

    /// What is noted under this name.
    pub(crate) fn fact<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, DiskError> {
        self.read(|state| {
            let found = state.open_table(FACTS)?.get(name)?;
            Ok(found.map(|found| from_bytes(found.value())).transpose()?)
        })
    }

    /// Entries of the log in order, until they are more than `most_bytes` long; the first one in any case.
    pub(crate) fn entries<T: DeserializeOwned>(
        &self,
        range: impl RangeBounds<u64>,
        most_bytes: usize,
    ) -> Result<Vec<T>, DiskError> {
        self.read(|state| {
            let (mut entries, mut bytes) = (Vec::new(), 0);
            for found in state.open_table(LOG)?.range(range)? {
                let (_, entry) = found?;
                bytes += entry.value().len();
                if bytes > most_bytes && !entries.is_empty() {
                    break;
                }
                entries.push(from_bytes(entry.value())?);
            }
            Ok(entries)
        })
    }

    pub(crate) fn last_entry<T: DeserializeOwned>(&self) -> Result<Option<T>, DiskError> {
        self.read(|state| {
            let last = state.open_table(LOG)?.range(0..)?.next_back().transpose()?;
            Ok(last.map(|(_, entry)| from_bytes(entry.value())).transpose()?)
        })
    }
}

pub(crate) fn put_fact(change: &WriteTransaction, name: &str, fact: &impl Serialize) -> Result<(), Cause> {
    change.open_table(FACTS)?.insert(name, to_bytes(fact)?.as_slice())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::sync::oneshot;

    #[test]
    fn all_who_wait_to_write_keep_one_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(2).build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::open(directory.path()).unwrap();
        let ((begin, begun), (go, told)) = (oneshot::channel(), mpsc::channel());
        let first = disk.write(Durability::None, move |_| {
            begin.send(()).unwrap();
            Ok(told.recv_timeout(Duration::from_secs(10))?)
        });
        let others = (0..10).map(|_| disk.write(Durability::None, |_| Ok(())));
        let other_work = async {
            begun.await.unwrap();
            tokio::task::spawn_blocking(move || go.send(()).unwrap()).await.unwrap();
        };
        let (first, others, ()) = runtime.block_on(async { tokio::join!(biased; first, join_all(others), other_work) });
        first.unwrap();
        others.into_iter().for_each(Result::unwrap);
    }
}
