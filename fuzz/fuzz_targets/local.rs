//! The timer for loops with one thread against a model of the deadlines: after every call both answer the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/wheel/bytes.rs"]
mod bytes;
#[path = "../../tests/wheel/model.rs"]
#[allow(dead_code, reason = "the wheel uses more of it")]
mod model;
#[path = "../../tests/local/world.rs"]
mod world;

fuzz_target!(|bytes: &[u8]| world::run(bytes::decode::<world::Call>(bytes, 200)));
