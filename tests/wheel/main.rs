//! The wheel against its contract: a model that is obviously right, one operation type that runs
//! on both, and the traps that other wheels fell into, each by name.
//!
//! `geometries`, `kinds`, `model`, `script` and `pair` need nothing but `std` and the crate, and
//! `reload` `serde_json` besides, so that fuzz targets can include them by path.

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

mod geometries;
mod kinds;
mod model;
mod numbers;
mod pair;
mod script;

mod answers;
mod budget;
mod bulk;
mod contract;
mod due;
mod handles;
mod hostile;
mod levels;
mod memory;
mod panics;
mod pauses;
mod random;
mod reuse;
mod sentences;
mod small_worlds;
mod splits;
mod stress;
mod traps;
mod wake_ups;

#[cfg(feature = "serde")]
mod recorded;

#[cfg(feature = "serde")]
mod reload;
