//! W2 and W2j: fire everything within a minute, in small steps or in larger ones.

use std::time::Duration;

use timer_wheel_bench::queue::{Queue, filled};
use timer_wheel_bench::workload::{MILLISECOND, MINUTE, STEP, XorShift64Star};

use super::{ns_each, passes, timed};
use crate::answer::{Digest, Expected, WrongAnswer};
use crate::figure::{EXPIRE, EXPIRE_JUMPING, Figure, Sample};

/// How many ticks W2j goes at once.
const JUMP: u64 = 16;

pub(crate) struct Input {
    figure: Figure,
    pub(super) deadlines: Vec<u64>,
    step_ns: u64,
    expected: Expected,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        Self::stepping(n, STEP, EXPIRE)
    }

    pub(crate) fn jumping(n: usize) -> Self {
        Self::stepping(n, JUMP * STEP, EXPIRE_JUMPING)
    }

    fn stepping(n: usize, step_ns: u64, figure: Figure) -> Self {
        let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, MINUTE);
        Self {
            figure,
            expected: Expected::new(&deadlines, step_ns),
            deadlines,
            step_ns,
        }
    }
}

pub(crate) fn measure<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let n = input.deadlines.len();
    let mut elapsed = Duration::ZERO;
    for _ in 0..passes(n) {
        let mut queue: Q = filled(&input.deadlines);
        let fired = timed(&mut elapsed, || expire_all(&mut queue, input));
        elapsed = elapsed.saturating_sub(queue.clock_cost());
        input.expected.check(fired, Q::NAME)?;
    }
    Ok(vec![input.figure.sample(ns_each(elapsed, n * passes(n)))])
}

/// Steps until all have fired, or until the last of them should have.
#[inline(never)]
fn expire_all<Q: Queue>(queue: &mut Q, input: &Input) -> Digest {
    let all = input.deadlines.len() as u64;
    let mut fired = Digest::new(Q::PROMISE);
    for step in 1..=MINUTE.div_ceil(input.step_ns) {
        queue.advance(step * input.step_ns, |_, value| fired.add(step, value));
        if fired.tally.count >= all {
            break;
        }
    }
    fired
}
