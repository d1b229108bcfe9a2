//! Advances that any budget interrupts, with schedules, cancels and reschedules while a backlog
//! waits: the order stays that of one advance, and repeated calls come to an end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::{BACKLOG, Case};

fuzz_target!(|case: Case<BACKLOG, BACKLOG>| case.run());
