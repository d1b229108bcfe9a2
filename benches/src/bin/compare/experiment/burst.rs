//! W7: every timer at the same nanosecond.

use std::time::Duration;

use cpu_time::ThreadTime;
use timer_wheel_bench::queue::{Budgeted, Queue};
use timer_wheel_bench::workload::{SECOND, STEP as TICK};

use super::budgeted::{advance_fully, most_extra_calls};
use super::calls::Calls;
use super::{ns_each, passes, timed};
use crate::answer::{Digest, Expected, WrongAnswer};
use crate::figure::{BURST, BURST_LONGEST_CALL, Sample};

/// The end of a tick, so that queues which know no finer time are as exact as the others.
const DEADLINE: u64 = (30 * SECOND).next_multiple_of(TICK);
/// The burst fires in one step.
const STEP: u64 = 1;

pub(crate) struct Input {
    n: usize,
    expected: Expected,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            n,
            expected: Expected::new(&vec![DEADLINE; n], DEADLINE),
        }
    }

    fn fill<Q: Queue>(&self) -> Q {
        let mut queue = Q::new(0);
        for value in 0..self.n as u32 {
            queue.schedule(DEADLINE, value);
        }
        queue
    }
}

pub(crate) fn measure<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut elapsed = Duration::ZERO;
    for _ in 0..passes(input.n) {
        let mut queue: Q = input.fill();
        let fired = timed(&mut elapsed, || expire_all(&mut queue));
        elapsed = elapsed.saturating_sub(queue.clock_cost());
        input.expected.check(fired, Q::NAME)?;
    }
    let timers = input.n * passes(input.n);
    Ok(vec![BURST.sample(ns_each(elapsed, timers))])
}

#[inline(never)]
fn expire_all<Q: Queue>(queue: &mut Q) -> Digest {
    let mut fired = Digest::new(Q::PROMISE);
    queue.advance(DEADLINE, |_, value| fired.add(STEP, value));
    fired
}

pub(crate) fn measure_budgeted<Q: Budgeted>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut extra_calls_left = most_extra_calls(input.n);
    let mut calls = Calls::<ThreadTime>::with_capacity(1 + extra_calls_left);
    let mut queue: Q = input.fill();
    let mut fired = Digest::new(Q::PROMISE);
    calls.start_run();
    advance_fully(
        &mut queue,
        DEADLINE,
        &mut extra_calls_left,
        &mut calls,
        |_, value| fired.add(STEP, value),
    )?;
    input.expected.check(fired, Q::NAME)?;
    let longest_ns = f64::from(calls.end_run().longest_ns);
    Ok(vec![BURST_LONGEST_CALL.sample(longest_ns)])
}
