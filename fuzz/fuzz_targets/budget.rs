//! Advances that any budget interrupts, with schedules, cancels and reschedules while a backlog
//! waits: the order stays that of one advance, and repeated calls come to an end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::{Case, Kind, Kinds};

struct Backlog;

impl Kinds for Backlog {
    const KINDS: &'static [Kind] = &[Kind::BACKLOG];
}

fuzz_target!(|case: Case<Backlog>| case.run());
