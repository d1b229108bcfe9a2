//! What is counted, each with its limit, as gungraun has it.
#![expect(unreachable_pub, reason = "gungraun's macros make public functions")]

use std::hint::black_box;

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};

use crate::steady::{CALLS, Steady};

const SCHEDULE: u64 = 100;
const CANCEL: u64 = 85;
const RESCHEDULE_TO_LATER: u64 = 36;
const IDLE_ADVANCE: u64 = 10;

/// What a turn of a loop takes that makes the calls: the next key, and a look at the answer.
const TURN: u64 = 4;

/// At most so many instructions a call.
fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind.hard_limits([(EventKind::Ir, (instructions + TURN) * CALLS as u64)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}

#[library_benchmark(config = at_most(SCHEDULE))]
#[bench::thousand(setup = Steady::without_oldest)]
fn schedule(steady: Steady) -> Steady {
    black_box(steady).schedule()
}

#[library_benchmark(config = at_most(CANCEL))]
#[bench::thousand(setup = Steady::with_oldest)]
fn cancel(steady: Steady) -> Steady {
    black_box(steady).cancel()
}

#[library_benchmark(config = at_most(RESCHEDULE_TO_LATER))]
#[bench::thousand(setup = Steady::with_random)]
fn reschedule_to_later(steady: Steady) -> Steady {
    black_box(steady).reschedule_to_later()
}

#[library_benchmark(config = at_most(IDLE_ADVANCE))]
#[bench::thousand(setup = Steady::with_oldest)]
fn idle_advance(steady: Steady) -> Steady {
    black_box(steady).advance_idly()
}

library_benchmark_group!(
    name = steady_run,
    benchmarks = [schedule, cancel, reschedule_to_later, idle_advance]
);
