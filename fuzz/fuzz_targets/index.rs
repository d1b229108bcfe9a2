//! The wheel for indexes against a model of it: after every call both answer the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| timer_wheel_fuzz::index::run_input(bytes));
