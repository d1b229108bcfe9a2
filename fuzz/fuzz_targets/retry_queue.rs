//! The retry queue against a model of it: after every call both answer the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/retry_queue/script.rs"]
mod script;
#[path = "../../tests/retry_queue/world.rs"]
mod world;

fuzz_target!(|bytes: &[u8]| {
    if let Some((begin, ops)) = bytes.split_first_chunk() {
        world::run(&script::Script::decode(*begin, ops.chunks_exact(2).map(|op| [op[0], op[1]])));
    }
});
