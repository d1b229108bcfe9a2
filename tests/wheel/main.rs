//! The wheel against its contract: a model that is obviously right, one operation type that runs
//! on both, and the traps that other wheels fell into, each by name.
//!
//! The first block of modules needs nothing but `std`, the crate and `serde_json`, so that fuzz targets can include
//! them by path.

mod bytes;
#[macro_use]
mod geometries;
mod kinds;
mod model;
mod pair;
mod script;
mod serialized;

mod answers;
mod budget;
mod bulk;
mod chains;
mod contract;
mod crowds;
mod drawn;
mod handles;
mod hostile;
mod lanes;
mod levels;
mod lives;
mod memory;
mod numbers;
mod panics;
mod pauses;
mod random;
mod recorded;
mod reload;
mod shares;
mod small_threads;
mod small_worlds;
mod splits;
mod traps;
mod wake_ups;
