//! The wheel for indexes against its contract: the pair, the model and the scripts are those of the wheel.
//!
//! `mirror` needs nothing but the crate and those, so that a fuzz target can include it by path.

#[path = "../wheel/arbitrary.rs"]
mod arbitrary;
#[path = "../wheel/bytes.rs"]
mod bytes;
#[macro_use]
#[path = "../wheel/geometries.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of them")]
mod geometries;
#[path = "../wheel/decoding.rs"]
mod decoding;
#[path = "../wheel/model.rs"]
mod model;
#[path = "../wheel/pair.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod pair;
#[path = "../wheel/rng.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod rng;
#[path = "../wheel/script.rs"]
mod script;
#[path = "mirror.rs"]
mod subject;

mod contract;
mod random;
mod work;
