//! The wheel for indexes against its contract: a model that is obviously right, run through the same calls.
//!
//! `world` needs nothing but `std`, the crate and `geometries` of the wheel's tests, so that a fuzz target can include
//! it by path.

#[path = "../wheel/geometries.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of them")]
mod geometries;
#[path = "../wheel/numbers.rs"]
mod numbers;
mod world;

mod contract;
mod random;
mod work;
