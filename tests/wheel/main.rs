//! The wheel against its contract: a model that is obviously right, one operation type that runs
//! on both, and the traps that other wheels fell into, each beside what it is about.
//!
//! The first block of modules needs nothing but `std`, the crate and `serde_json`, so that fuzz targets can include
//! them by path.

mod bytes;
mod decoding;
#[macro_use]
mod geometries;
mod model;
mod pair;
mod script;
mod serialized;
mod subject;

mod advance;
mod arbitrary;
mod budget;
mod crowds;
mod expiration_delay;
mod held;
mod hostile;
mod invariants;
mod iterators;
mod keys;
mod lanes;
mod levels;
mod memory;
mod panics;
mod pauses;
mod random;
mod rng;
mod serde;
mod small_worlds;
mod stack;
