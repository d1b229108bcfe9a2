//! The wheel for indexes against a model of it: after every call both answer the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::index::Case;

fuzz_target!(|case: Case| case.run());
