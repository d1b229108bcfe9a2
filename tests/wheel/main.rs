//! The wheel against its contract: a model that is obviously right, one operation type that runs
//! on both, and the traps that other wheels fell into, each by name.
//!
//! `model`, `script` and `pair` need nothing but `std` and the crate, so that fuzz targets can
//! include them by path.

mod geometries;
mod model;
mod pair;
mod script;

mod budget;
mod contract;
mod memory;
mod panics;
mod random;
mod splits;
mod traps;
mod wake_ups;

#[cfg(feature = "serde")]
mod reload;
