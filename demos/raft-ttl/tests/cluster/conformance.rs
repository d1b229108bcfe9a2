//! The engine's own suite for stores of its log.

use std::sync::Arc;

use openraft::StorageError;
use openraft::testing::{StoreBuilder, Suite};
use raft_ttl::Disk;
use raft_ttl::limits::Tuning;
use raft_ttl::log_store::LogStore;
use raft_ttl::state_machine::Replica;
use raft_ttl::time::Clock;
use raft_ttl::types::{DiskId, TypeConfig};
use tempfile::TempDir;
use timer_wheel::ttl::TtlConfig;

struct InDirectory;

impl StoreBuilder<TypeConfig, LogStore, Replica, TempDir> for InDirectory {
    async fn build(&self) -> Result<(TempDir, LogStore, Replica), StorageError<DiskId>> {
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::open(directory.path()).unwrap();
        let clock = Arc::new(Clock::system(None, Tuning::default().max_skew, 0));
        let log = LogStore::new(disk.clone(), Arc::clone(&clock));
        let replica = Replica::load(disk, clock, TtlConfig::default()).unwrap();
        Ok((directory, log, replica))
    }
}

#[test]
fn log_and_state_machine_are_as_the_engine_wants_them() {
    Suite::test_all(InDirectory).unwrap();
}
