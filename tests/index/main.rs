//! The wheel for indexes against its contract: the model and the scripts are those of the wheel.
//!
//! `pair` needs nothing but the crate and those, so that a fuzz target can include it by path.

#[path = "../wheel/bytes.rs"]
mod bytes;
#[path = "../wheel/drawn.rs"]
mod drawn;
#[macro_use]
#[path = "../wheel/geometries.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of them")]
mod geometries;
#[path = "../wheel/kinds.rs"]
mod kinds;
#[path = "../wheel/model.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod model;
#[path = "../wheel/numbers.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod numbers;
mod pair;
#[path = "../wheel/script.rs"]
mod script;

mod contract;
mod random;
mod work;
