//! What goes through the log, and what comes out of it.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Cursor;

use derive_more::{Display, From};
use serde::{Deserialize, Serialize};

use crate::limits::{ITEM_BYTES, MAX_KEY, MAX_PART, MAX_PUT, MAX_TTL, MAX_VALUE};

/// What a node is called: 1, 2, 3 and so on.
pub type NodeId = u64;

/// Who a node is to the engine: its disk, since what it promised is there. With another one it is somebody else.
#[derive(Clone, Copy, Debug, Default, Display, From, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[display("{_0:016x}")]
pub struct DiskId(pub u64);

pub type Raft = openraft::Raft<TypeConfig>;

pub type LogId = openraft::LogId<DiskId>;

/// The members as of some place in the log.
pub type Membership = openraft::StoredMembership<DiskId, Seat>;

/// What the log says of a member beside its disk. Addresses are not in it: a node is told them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    pub cluster: u64,
    pub node: NodeId,
}

/// A number for a cluster, a disk or a value in parts that no other has, hardly ever.
pub(crate) fn unique() -> u64 {
    // The hasher is seeded by the system.
    RandomState::new().hash_one(std::process::id())
}

openraft::declare_raft_types!(
    pub TypeConfig:
        D = Stamped,
        R = Answer,
        NodeId = DiskId,
        Node = Seat,
        Entry = openraft::Entry<TypeConfig>,
        SnapshotData = Cursor<Vec<u8>>,
        AsyncRuntime = crate::runtime::Runtime,
);

/// What an entry of the log says, and the time of the cluster just before it was proposed: entries carry none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped {
    pub stamp_ms: u64,
    pub command: Command,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Sets keys, each once.
    Put(Vec<Item>),
    /// Gives a key another TTL, which begins now.
    Touch {
        key: String,
        ttl_ms: u64,
    },
    Delete(String),
    /// Deletes each of these keys if it still carries this index. All that one poll found.
    Expire {
        /// Keys, each with the index of the entry that set its TTL.
        expiries: Vec<(String, u64)>,
        /// Whose idea it was.
        by: NodeId,
    },
    /// Sets a key to the values of others in a row, and deletes those. So a value gets there that no message holds.
    Join {
        key: String,
        parts: Vec<String>,
        ttl_ms: Option<u64>,
    },
}

impl Command {
    /// Refuses what the store does not take from a client.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Put(items) => {
                items.iter().try_for_each(Item::check)?;
                check_size(items.iter().map(|item| item.key.len() + item.value.len()))?;
                let mut keys = BTreeSet::new();
                match items.iter().find(|item| !keys.insert(&item.key)) {
                    Some(twice) => Err(format!("a put has a key twice: {:?}", twice.key)),
                    None if items.is_empty() => Err("a put without a key".to_owned()),
                    None => Ok(()),
                }
            }
            Self::Touch { key, ttl_ms } => check_key(key).and(check_ttl(*ttl_ms)),
            Self::Delete(key) => check_key(key),
            Self::Join { key, parts, ttl_ms } => {
                check_key(key).and(ttl_ms.map_or(Ok(()), check_ttl))?;
                check_size(parts.iter().map(String::len).chain([key.len()]))
            }
            Self::Expire { .. } => Err("only nodes propose that".to_owned()),
        }
    }
}

/// Refuses keys and values of these lengths that are too long to be in one entry of the log.
fn check_size(lengths: impl Iterator<Item = usize>) -> Result<(), String> {
    let all: usize = lengths.map(|length| length + ITEM_BYTES).sum();
    if all > MAX_PUT {
        return Err(format!("a write of {all} bytes is longer than {MAX_PUT}"));
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub key: String,
    pub value: String,
    /// Its TTL in milliseconds, never 0; without one it stays.
    pub ttl_ms: Option<u64>,
}

/// A key that expired, as one node saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    pub key: String,
    /// The index of the entry that set its TTL.
    pub index: u64,
    pub by: NodeId,
    /// When its TTL was over by the time of the cluster, in milliseconds.
    pub due_ms: u64,
    /// When it was applied here by the wall clock, in microseconds.
    pub at_us: u64,
}

/// What the state machine made of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    Done,
    Missing,
    /// Nothing was changed, and why.
    Refused(String),
}

impl Item {
    pub fn check(&self) -> Result<(), String> {
        check_key(&self.key)?;
        check_length(self.value.len())?;
        self.ttl_ms.map_or(Ok(()), check_ttl)
    }
}

/// As much of a value as one message holds, from its beginning.
pub(crate) fn part(value: &str) -> &str {
    let is_end = |&end: &usize| value.is_char_boundary(end);
    let end = (0..=value.len().min(MAX_PART)).rev().find(is_end);
    &value[..end.unwrap_or(0)]
}

pub(crate) fn check_length(length: usize) -> Result<(), String> {
    if length > MAX_VALUE {
        return Err(format!("a value of {length} bytes is longer than {MAX_VALUE}"));
    }
    Ok(())
}

pub fn check_key(key: &str) -> Result<(), String> {
    if key.is_empty() {
        return Err("a key must not be empty".to_owned());
    }
    if key.len() > MAX_KEY {
        return Err(format!("a key of {} bytes is longer than {MAX_KEY}", key.len()));
    }
    Ok(())
}

pub fn check_ttl(ttl_ms: u64) -> Result<(), String> {
    if ttl_ms == 0 {
        return Err("a TTL of 0 would be none: leave it out, or delete the key".to_owned());
    }
    if u128::from(ttl_ms) > MAX_TTL.as_millis() {
        let most = MAX_TTL.as_secs() / 86_400;
        return Err(format!("a TTL of {ttl_ms} ms is longer than {most} days"));
    }
    Ok(())
}
