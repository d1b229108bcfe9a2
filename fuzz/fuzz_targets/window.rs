//! The window and a store against a model of both: no row is lost, early, out of order or pending twice.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/wheel/bytes.rs"]
mod bytes;
#[path = "../../tests/window/script.rs"]
mod script;
#[allow(dead_code, reason = "the host keeps the rules")]
#[path = "../../tests/window/world.rs"]
mod world;

fuzz_target!(|bytes: &[u8]| {
    world::run(&bytes::decode::<script::Script>(bytes, usize::MAX), None);
});
