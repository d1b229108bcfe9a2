//! The TTL layer against its rules: a model that is obviously right, three replicas around a log,
//! and the traps that others fell into, each beside what it is about.
//!
//! `model`, `pair`, `script` and `cluster` need nothing but the crate, `bytes` and `geometries`, so that fuzz
//! targets can include them by path.

#![cfg(feature = "ttl")]

#[path = "../wheel/bytes.rs"]
mod bytes;
mod cluster;
#[path = "../wheel/geometries.rs"]
#[allow(dead_code, unused_macros, reason = "the wheel's tests use more of it")]
mod geometries;
mod model;
mod pair;
mod script;
mod start;

#[path = "../wheel/arbitrary.rs"]
mod arbitrary;
mod contract;
mod followers;
#[path = "../timer/fuse.rs"]
#[allow(dead_code, reason = "the timer's tests use more of it")]
mod fuse;
mod panics;
mod random;
#[path = "../wheel/rng.rs"]
#[allow(dead_code, reason = "the wheel's tests use more of it")]
mod rng;
mod soak;
mod wake_ups;
