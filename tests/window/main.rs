//! The window and a store against a model of both, and what the window promises in single cases.
//!
//! `script` and `world` need nothing but `std`, the crate and `bytes`, so that a fuzz target can include them by path.

#[path = "../wheel/arbitrary.rs"]
mod arbitrary;
#[path = "../wheel/bytes.rs"]
mod bytes;
#[allow(dead_code, reason = "only bytes are drawn")]
#[path = "../wheel/rng.rs"]
mod rng;
mod script;
mod world;

mod contract;
mod random;
mod rules;
