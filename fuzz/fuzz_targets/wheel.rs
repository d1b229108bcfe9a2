//! Any script of operations on the wheel, among them bursts, the ends of buckets and of time, and budgets that
//! interrupt, against the model of the test suite: whatever can be observed is compared after every operation, and every
//! invariant of the structure is checked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::Case;

fuzz_target!(|case: Case| case.run());
