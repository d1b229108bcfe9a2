//! The TTL layer against its rules: a model that is obviously right, three replicas around a log,
//! the traps that others fell into, each by name, and what Dongting does, number by number.
//!
//! `model`, `pair`, `script` and `cluster` need nothing but `std` and the crate, so that fuzz
//! targets can include them by path.

#![cfg(feature = "ttl")]

mod cluster;
mod model;
mod pair;
mod script;
mod start;

mod contract;
mod dongting;
mod handles;
mod panics;
mod random;
mod snapshots;
mod traps;
mod wake_ups;
