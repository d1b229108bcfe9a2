//! W6: fire everything within an hour and time every single call, to see the longest.

use std::time::Duration;

use timer_wheel_bench::queue::{Queue, Work, filled};
use timer_wheel_bench::workload::{HOUR, STEP, XorShift64Star};

use super::calls::Calls;
use super::{ns_each, timed};
use crate::answer::{Digest, Expected, WrongAnswer};
use crate::figure::{CALM_LONGEST_CALL, LONGEST_CALL, MOST_ENTRIES, Sample, TAIL_CALL, WHOLE_HOUR};

pub(super) const STEPS: u64 = HOUR.div_ceil(STEP);
/// How often the same calls are run within one measurement.
pub(super) const RUNS: usize = 3;

pub(crate) struct Input {
    pub(super) deadlines: Vec<u64>,
    pub(super) expected: Expected,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let deadlines = XorShift64Star::new().uniform(n, 0, HOUR);
        Self {
            expected: Expected::new(&deadlines, STEP),
            deadlines,
        }
    }
}

pub(crate) fn measure<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut calls = Calls::with_capacity(STEPS as usize);
    let mut samples = Vec::new();
    for _ in 0..RUNS {
        let mut queue: Q = filled(&input.deadlines);
        let mut elapsed = Duration::ZERO;
        calls.start_run();
        let (fired, most_entries) = timed(&mut elapsed, || expire_all(&mut queue, &mut calls));
        input.expected.check(fired, Q::NAME)?;
        let run = calls.end_run();
        samples.extend([
            LONGEST_CALL.sample(f64::from(run.longest_ns)),
            TAIL_CALL.sample(f64::from(run.tail_ns)),
            WHOLE_HOUR.sample(ns_each(elapsed, input.deadlines.len())),
        ]);
        if Q::WORK != Work::Untold {
            samples.push(MOST_ENTRIES.sample(most_entries as f64));
        }
    }
    let calm_longest_ns = f64::from(calls.calm_longest_ns());
    samples.push(CALM_LONGEST_CALL.sample(calm_longest_ns));
    Ok(samples)
}

/// Gives what fired, and the most entries handled in one call.
#[inline(never)]
fn expire_all<Q: Queue>(queue: &mut Q, calls: &mut Calls) -> (Digest, usize) {
    let mut fired = Digest::new(Q::PROMISE);
    let mut most_entries = 0;
    for step in 1..=STEPS {
        let entries = queue.advance_counting(step * STEP, |_, value| fired.add(step, value));
        calls.end_call();
        most_entries = most_entries.max(entries);
    }
    (fired, most_entries)
}
