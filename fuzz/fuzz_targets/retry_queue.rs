//! The retry queue against a model of it: after every call both answer the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/wheel/bytes.rs"]
mod bytes;
#[path = "../../tests/wheel/model.rs"]
#[allow(dead_code, reason = "the wheel uses more of it")]
mod model;
#[path = "../../tests/retry_queue/script.rs"]
mod script;
#[path = "../../tests/retry_queue/world.rs"]
mod world;

fuzz_target!(|bytes: &[u8]| world::run(&bytes::decode::<script::Script>(bytes, usize::MAX)));
