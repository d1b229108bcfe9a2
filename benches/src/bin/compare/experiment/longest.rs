//! W6: fire everything within an hour and time every single call, to see the longest.

use std::time::Instant;

use timer_wheel_bench::workload::{HOUR, STEP, XorShift64Star};

use super::ns_each;
use crate::answer::{Digest, WrongAnswer};
use crate::figure::{LONGEST_CALL, MOST_ENTRIES, Sample, TAIL_CALL, WHOLE_HOUR};
use crate::subject::Queue;

pub(crate) const STEPS: u64 = HOUR.div_ceil(STEP);

pub(crate) struct Input {
    pub(super) deadlines: Vec<u64>,
    pub(super) expected: Digest,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let deadlines = XorShift64Star::new().uniform(n, 0, HOUR);
        Self {
            expected: Digest::expected(&deadlines, STEP),
            deadlines,
        }
    }

    pub(super) fn fill<Q: Queue>(&self) -> Q {
        let mut queue = Q::new();
        for (&deadline, value) in self.deadlines.iter().zip(0..) {
            queue.schedule(deadline, value);
        }
        queue
    }
}

pub(crate) fn measure<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut queue: Q = input.fill();
    // Ones rather than zeros, so that the pages are there before the clock starts.
    let mut calls_ns = vec![1_u32; STEPS as usize];
    let mut fired = Digest::default();
    let mut most_entries = 0;
    let start = Instant::now();
    let mut last = start;
    for (step, call_ns) in (1..).zip(&mut calls_ns) {
        let entries = queue.advance_counting(step * STEP, |value| fired.add(step, value));
        most_entries = most_entries.max(entries);
        // One reading of the clock a call: the end of one is the start of the next.
        let now = Instant::now();
        *call_ns = u32::try_from((now - last).as_nanos()).unwrap_or(u32::MAX);
        last = now;
    }
    let elapsed = last - start;
    fired.check(input.expected, Q::NAME)?;
    Ok(vec![
        LONGEST_CALL.sample(f64::from(longest(&calls_ns))),
        TAIL_CALL.sample(f64::from(tail(&mut calls_ns))),
        MOST_ENTRIES.sample(most_entries as f64),
        WHOLE_HOUR.sample(ns_each(elapsed, input.deadlines.len())),
    ])
}

fn longest(calls_ns: &[u32]) -> u32 {
    calls_ns.iter().copied().max().unwrap_or(0)
}

/// The time that one call in 10,000 exceeds.
fn tail(calls_ns: &mut [u32]) -> u32 {
    let rank = calls_ns.len() - calls_ns.len().div_ceil(10_000);
    *calls_ns.select_nth_unstable(rank).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_is_exceeded_by_one_call_in_ten_thousand() {
        let mut calls_ns: Vec<u32> = (0..20_000).rev().collect();
        assert_eq!(longest(&calls_ns), 19_999);
        assert_eq!(tail(&mut calls_ns), 19_998);
    }
}
