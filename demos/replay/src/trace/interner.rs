//! Numbers for keys, in order of first appearance.
//!
//! Only a key's 128-bit fingerprint is kept. Among 2^29 keys, the most a trace may have, two share one
//! with a probability of 2^-71.

use rustc_hash::FxHashMap;

use super::KeyId;

/// A stand-in for a key's bytes.
pub(super) type Fingerprint = u128;

/// The numbers given so far.
#[derive(Default)]
pub(super) struct Interner {
    numbers: FxHashMap<Fingerprint, u32>,
}

impl Interner {
    /// The key's number, a fresh one if it is new, or `None` when there are none left.
    pub(super) fn number(&mut self, key: Fingerprint) -> Option<KeyId> {
        let fresh = self.numbers.len() as u32;
        if fresh == KeyId::LIMIT {
            return self.numbers.get(&key).copied().map(KeyId);
        }
        Some(KeyId(*self.numbers.entry(key).or_insert(fresh)))
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> u32 {
        self.numbers.len() as u32
    }
}
