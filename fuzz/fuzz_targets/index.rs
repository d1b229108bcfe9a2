//! The wheel over a store that does what it has to, and over one that lies: freed and reused without a cancel,
//! timers swapped, kept and put back, two stores for one wheel and two wheels for one store. What the store is
//! honest about fires exactly; whatever else it does, nothing panics and every call ends.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| timer_wheel_fuzz::index::run_input(bytes));
