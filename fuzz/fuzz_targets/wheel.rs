//! Any script of operations on the wheel, and bursts of hundreds, against the model of the test
//! suite: whatever can be observed is compared after every operation, and every invariant of the
//! structure is checked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::{Case, Kind, Kinds};

struct Everything;

impl Kinds for Everything {
    const KINDS: &'static [Kind] = &[Kind::ANY, Kind::BURSTS];
}

fuzz_target!(|case: Case<Everything>| case.run());
