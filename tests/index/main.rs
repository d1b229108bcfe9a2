//! The wheel over somebody else's slots: exact for a store that does what it has to, and harmless to all
//! others for one that lies.
//!
//! `shelf` and `world` need nothing but `std`, the crate and `geometries` of the wheel's tests, so that a
//! fuzz target can include them by path.

#[path = "../wheel/geometries.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of them")]
mod geometries;
#[path = "../wheel/numbers.rs"]
mod numbers;
mod shelf;
mod world;

mod contract;
mod lies;
mod random;
mod work;
