//! The window and a store against a model of both: no row is lost, early, out of order or pending twice.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::window::Case;

fuzz_target!(|case: Case| case.run());
