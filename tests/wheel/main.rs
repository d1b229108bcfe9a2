//! The wheel against its contract: a model that is obviously right, one operation type that runs
//! on both, and the traps that other wheels fell into, each by name.
//!
//! The first block of modules needs nothing but `std`, the crate and `serde_json`, so that fuzz targets can include
//! them by path.

/// Calls a function for every geometry in which several rotations fit into time.
macro_rules! in_every_geometry {
    ($check:ident) => {
        $check::<timer_wheel::Millis>();
        $check::<timer_wheel::Caffeine>();
        $check::<timer_wheel::Micros>();
        $check::<timer_wheel::Compact>();
        $check::<crate::geometries::Narrow>();
        $check::<crate::geometries::Tiny>();
        $check::<crate::geometries::TinyTick>();
        $check::<crate::geometries::Lopsided>();
        $check::<crate::geometries::Wide>();
    };
}

mod bytes;
mod decoder;
mod geometries;
mod kinds;
mod model;
mod numbers;
mod pair;
mod script;
mod serialized;

mod answers;
mod budget;
mod bulk;
mod chains;
mod contract;
mod crowds;
mod handles;
mod hostile;
mod levels;
mod lives;
mod memory;
mod panics;
mod pauses;
mod random;
mod recorded;
mod reload;
mod shares;
mod small_worlds;
mod splits;
mod traps;
mod wake_ups;
