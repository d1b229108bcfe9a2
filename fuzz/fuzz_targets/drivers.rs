//! The delay queue and the timer for loops with one thread against the models of the test suite: what is delivered and
//! when, and what is woken.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::drivers::Case;

fuzz_target!(|case: Case| case.run());
