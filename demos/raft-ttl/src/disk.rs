//! The one file of a node: log, vote and snapshot, in redb.

use std::fs;
use std::ops::RangeBounds;
use std::path::Path;
use std::sync::Arc;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;

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
pub(crate) type DiskError = Box<dyn std::error::Error + Send + Sync>;

/// The file of a node, to be cloned for all who use it. It is locked until the last clone is gone.
#[derive(Clone, Debug)]
pub struct Disk {
    database: Arc<Database>,
}

impl Disk {
    /// Opens the file in this directory, or creates both. It may be in use, or no such file.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let refuse = |error: DiskError| Error::Arguments(format!("{}: cannot be used: {error}", directory.display()));
        fs::create_dir_all(directory).map_err(|error| refuse(error.into()))?;
        // A file that something else has written to is refused rather than trusted.
        let database = Database::builder()
            .set_check_integrity_on_open(true)
            .set_cache_size(CACHE)
            .create(directory.join(FILE))
            .map_err(|error| refuse(error.into()))?;
        Self::of(database).map_err(refuse)
    }

    /// The same on another medium.
    pub fn on(backend: impl StorageBackend) -> Result<Self, Error> {
        let database = Database::builder().create_with_backend(backend);
        let disk = database.map_err(DiskError::from).and_then(Self::of);
        disk.map_err(|error| Error::Stopped(error.to_string()))
    }

    fn of(database: Database) -> Result<Self, DiskError> {
        let change = database.begin_write()?;
        change.open_table(LOG)?;
        change.open_table(FACTS)?;
        change.commit()?;
        Ok(Self { database: Arc::new(database) })
    }

    /// Makes sure that this is the file of that node, or makes it that, and tells the number of the disk.
    pub(crate) async fn claim(&self, node: NodeId) -> Result<DiskId, Error> {
        let stopped = |error: DiskError| Error::Stopped(error.to_string());
        match self.fact::<Identity>(IDENTITY).map_err(stopped)? {
            Some((owner, disk)) if owner == node => Ok(disk),
            Some((owner, _)) => {
                Err(Error::Arguments(format!("wrong data directory: it belongs to node {owner}, not to node {node}")))
            }
            None => {
                let identity: Identity = (node, DiskId(types::unique()));
                let claimed = self.write(Durability::Immediate, move |change| put_fact(change, IDENTITY, &identity));
                claimed.await.map(|()| identity.1).map_err(stopped)
            }
        }
    }

    /// Makes a change as a whole. With [`Durability::Immediate`] it is on disk on return.
    ///
    /// A commit waits for the disk, so it is made where that blocks nobody.
    pub(crate) async fn write<F>(&self, durability: Durability, make: F) -> Result<(), DiskError>
    where
        F: FnOnce(&WriteTransaction) -> Result<(), DiskError> + Send + 'static,
    {
        let database = Arc::clone(&self.database);
        let made = tokio::task::spawn_blocking(move || {
            let mut change = database.begin_write()?;
            change.set_durability(durability)?;
            make(&change)?;
            Ok(change.commit()?)
        });
        made.await.unwrap_or_else(|panic| Err(panic.into()))
    }

    /// What is noted under this name.
    pub(crate) fn fact<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, DiskError> {
        let facts = self.database.begin_read()?.open_table(FACTS)?;
        Ok(facts.get(name)?.map(|found| from_bytes(found.value())).transpose()?)
    }

    /// Entries of the log in order, until they are more than `most_bytes` long; the first one in any case.
    pub(crate) fn entries<T: DeserializeOwned>(
        &self,
        range: impl RangeBounds<u64>,
        most_bytes: usize,
    ) -> Result<Vec<T>, DiskError> {
        let log = self.database.begin_read()?.open_table(LOG)?;
        let mut entries = Vec::new();
        let mut bytes = 0;
        for found in log.range(range)? {
            let (_, entry) = found?;
            bytes += entry.value().len();
            if bytes > most_bytes && !entries.is_empty() {
                break;
            }
            entries.push(from_bytes(entry.value())?);
        }
        Ok(entries)
    }

    pub(crate) fn last_entry<T: DeserializeOwned>(&self) -> Result<Option<T>, DiskError> {
        let log = self.database.begin_read()?.open_table(LOG)?;
        let last = log.last()?;
        Ok(last.map(|(_, entry)| from_bytes(entry.value())).transpose()?)
    }
}

pub(crate) fn put_fact(change: &WriteTransaction, name: &str, fact: &impl Serialize) -> Result<(), DiskError> {
    change.open_table(FACTS)?.insert(name, to_bytes(fact)?.as_slice())?;
    Ok(())
}
