//! A trace decoded into memory: requests in order of time, keys as dense numbers.
//!
//! Every request takes 24 bytes, wherever it came from, so that no pass over the trace pays for parsing,
//! hashing of keys or random numbers.

mod file;
mod format;
pub(crate) mod profile;
mod synthetic;

use crate::figure::NS_PER_S;

pub(crate) use file::load;
pub(crate) use synthetic::generate;

/// The longest TTL accepted, in seconds: 136 years.
pub(crate) const TTL_LIMIT_S: u64 = u32::MAX as u64;

/// The first time that no trace may reach, in seconds since its origin: 272 years.
pub(crate) const TIME_LIMIT_S: u64 = 1 << 33;

// The latest deadline is a time that a queue can hold.
const _: () = assert!(TIME_LIMIT_S + TTL_LIMIT_S < u64::MAX / NS_PER_S);

/// A key's number, in order of first appearance in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KeyId(pub(crate) u32);

impl KeyId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for KeyId {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl From<KeyId> for u32 {
    fn from(key: KeyId) -> Self {
        key.0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    /// Look a key up. A miss leaves the cache as it is.
    Get,
    /// Look a key up; the client fills the cache after a miss (look-aside).
    Fetch,
    /// Write, present or not.
    Set,
    /// Write only what is absent.
    Add,
    /// Write only what is present.
    Replace,
    /// Change a present value and keep its deadline.
    Modify,
    Delete,
}

impl Operation {
    /// What memcached's command of that name does to a cache that stores no values. A `cas` is taken to win.
    pub(crate) fn of_memcached(command: &[u8]) -> Option<Self> {
        Some(match command {
            b"get" | b"gets" => Self::Get,
            b"set" => Self::Set,
            b"add" => Self::Add,
            b"replace" | b"cas" => Self::Replace,
            b"append" | b"prepend" | b"incr" | b"decr" => Self::Modify,
            b"delete" => Self::Delete,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// When it arrives, in nanoseconds since the trace's origin.
    pub(crate) at_ns: u64,
    /// The TTL it writes with, in seconds; 0 is none.
    pub(crate) ttl_s: u32,
    pub(crate) key: KeyId,
    pub(crate) operation: Operation,
}

/// A whole trace.
///
/// Invariant: `requests` is not empty and its times never fall; every key is below `keys`.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The file's name, or the profile and the seed.
    pub(crate) name: String,
    pub(crate) requests: Vec<Request>,
    /// How many distinct keys it names.
    pub(crate) keys: u32,
}

impl Trace {
    pub(crate) fn start_ns(&self) -> u64 {
        self.requests.first().map_or(0, |request| request.at_ns)
    }

    pub(crate) fn end_ns(&self) -> u64 {
        self.requests.last().map_or(0, |request| request.at_ns)
    }

    pub(crate) fn length_ns(&self) -> u64 {
        self.end_ns() - self.start_ns()
    }

    pub(crate) fn has_ttls(&self) -> bool {
        self.requests.iter().any(|request| request.ttl_s > 0)
    }
}
