//! A trace decoded into memory: requests in order of time, keys as dense numbers.
//!
//! Wherever requests come from, they end up in the same sixteen bytes each, so that no pass over them
//! pays for parsing, hashing of keys or random numbers.

mod bad_line;
mod cloudphysics;
mod field;
mod file;
mod interner;
mod lines;
pub(crate) mod profile;
mod record;
mod synthetic;
mod twitter;

use crate::figure::NS_PER_S;

pub(crate) use file::{BadLines, Format, Skipped, load};
pub(crate) use synthetic::generate;

/// The longest TTL accepted, in seconds: 136 years.
pub(crate) const TTL_LIMIT_S: u64 = u32::MAX as u64;

/// The first time no trace may reach, in seconds since its origin: 272 years.
pub(crate) const TIME_LIMIT_S: u64 = 1 << 33;

// The latest deadline is a time a queue can hold.
const _: () = assert!(TIME_LIMIT_S + TTL_LIMIT_S < u64::MAX / NS_PER_S);

/// A key's number, in order of first appearance in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KeyId(pub(crate) u32);

impl KeyId {
    /// How many distinct keys a trace may have: what a request's word leaves beside the operation.
    pub(crate) const LIMIT: u32 = 1 << (u32::BITS - Operation::BITS);

    /// The key's place in a table.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a request asks of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    /// Look a key up. A miss leaves the cache as it is.
    Get,
    /// Look a key up; the client fills the cache after a miss (look-aside).
    Fetch,
    /// Write, present or not.
    Set,
    /// Write only if absent.
    Add,
    /// Write only if present.
    Replace,
    /// Change a present value and keep its deadline.
    Modify,
    /// Remove.
    Delete,
}

impl Operation {
    /// Bits enough for any operation.
    const BITS: u32 = 3;

    /// Whether it asks for a value.
    pub(crate) fn is_look_up(self) -> bool {
        matches!(self, Self::Get | Self::Fetch)
    }

    /// All operations, each at its own number.
    const ALL: [Self; 7] = [
        Self::Get,
        Self::Fetch,
        Self::Set,
        Self::Add,
        Self::Replace,
        Self::Modify,
        Self::Delete,
    ];
}

const _: () = assert!(Operation::ALL.len() <= 1 << Operation::BITS);

/// One request, in sixteen bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// When it arrives, in nanoseconds since the trace's origin.
    pub(crate) at_ns: u64,
    /// The TTL it writes with, in seconds; 0 is none.
    pub(crate) ttl_s: u32,
    /// The operation in the high bits, the key below.
    operation_and_key: u32,
}

const _: () = assert!(size_of::<Request>() == 16);

impl Request {
    /// Packs a request.
    pub(crate) fn new(at_ns: u64, operation: Operation, key: KeyId, ttl_s: u32) -> Self {
        debug_assert!(key.0 < KeyId::LIMIT);
        Self {
            at_ns,
            ttl_s,
            operation_and_key: (operation as u32 * KeyId::LIMIT) | key.0,
        }
    }

    /// What it asks for.
    pub(crate) fn operation(self) -> Operation {
        Operation::ALL[(self.operation_and_key / KeyId::LIMIT) as usize]
    }

    /// Which key it names.
    pub(crate) fn key(self) -> KeyId {
        KeyId(self.operation_and_key % KeyId::LIMIT)
    }
}

/// A whole trace.
///
/// Invariant: `requests` is not empty and its times never fall; every key is below `keys`.
#[derive(Debug)]
pub(crate) struct Trace {
    /// What it is, in words: the file's name, or the profile and seed.
    pub(crate) name: String,
    /// The requests, in order of time.
    pub(crate) requests: Vec<Request>,
    /// How many distinct keys it names.
    pub(crate) keys: u32,
    /// The finest step of its clock, in nanoseconds, as far as a picture is concerned.
    pub(crate) resolution_ns: u64,
    /// Lines left out because they made no sense.
    pub(crate) skipped: Skipped,
}

impl Trace {
    /// The time of the first request.
    pub(crate) fn start_ns(&self) -> u64 {
        self.requests.first().map_or(0, |request| request.at_ns)
    }

    /// The time of the last request.
    pub(crate) fn end_ns(&self) -> u64 {
        self.requests.last().map_or(0, |request| request.at_ns)
    }

    /// Whether any request comes with a TTL.
    pub(crate) fn has_ttls(&self) -> bool {
        self.requests.iter().any(|request| request.ttl_s > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_packed_gives_back_every_operation_and_key() {
        for (number, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, number);
            for key in [0, 1, KeyId::LIMIT - 1] {
                let request = Request::new(7, operation, KeyId(key), 9);
                assert_eq!(request.operation(), operation);
                assert_eq!(request.key(), KeyId(key));
            }
        }
    }
}
