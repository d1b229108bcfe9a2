//! Schedules and advances in turn, at the times where wheels have failed: the edges of buckets and
//! levels, the present tick, the past and the end of time.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::{Case, EDGES};

fuzz_target!(|case: Case<EDGES, EDGES>| case.run());
