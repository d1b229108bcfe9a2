//! Any script of operations on the wheel, and bursts of hundreds, against the model of the test
//! suite: whatever can be observed is compared after every operation, and every invariant of the
//! structure is checked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::{ANY, BURSTS, Case};

fuzz_target!(|case: Case<ANY, BURSTS>| case.run());
