//! The retry queue against a model of it: after every call both answer the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/retry_queue/world.rs"]
mod world;

fuzz_target!(|bytes: &[u8]| world::run(bytes));
