//! W5i: reach an hour ahead when only three timers stand near its end.

use std::time::Duration;

use timer_wheel_bench::queue::Queue;
use timer_wheel_bench::workload::{HOUR, MINUTE, STEP};

use super::timed;
use crate::answer::{Digest, Expected, WrongAnswer};
use crate::figure::{IDLE_JUMP, IDLE_STEPS, Sample};

/// How many timers there are, whatever the size of other experiments.
pub(crate) const N: usize = 3;
const DEADLINE: u64 = 59 * MINUTE;
/// The hour, in whole ticks.
const END: u64 = HOUR.next_multiple_of(STEP);
/// A single advance is too short for the clock to tell much.
const JUMPS: u32 = 200;

pub(crate) struct Input {
    after_jump: Expected,
    after_steps: Expected,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self {
            after_jump: Expected::new(&[DEADLINE; N], END),
            after_steps: Expected::new(&[DEADLINE; N], STEP),
        }
    }
}

fn fill<Q: Queue>() -> Q {
    let mut queue = Q::new(0);
    for value in 0..N as u32 {
        queue.schedule(DEADLINE, value);
    }
    queue
}

pub(crate) fn measure<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let (mut jumps, mut steps) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..JUMPS {
        let mut queue: Q = fill();
        let fired = timed(&mut jumps, || advance_by(&mut queue, END));
        input.after_jump.check(fired, Q::NAME)?;
    }
    let mut queue: Q = fill();
    let fired = timed(&mut steps, || advance_by(&mut queue, STEP));
    input.after_steps.check(fired, Q::NAME)?;
    Ok(vec![
        IDLE_JUMP.sample(jumps.as_nanos() as f64 / f64::from(JUMPS)),
        IDLE_STEPS.sample(steps.as_nanos() as f64),
    ])
}

#[inline(never)]
fn advance_by<Q: Queue>(queue: &mut Q, step_ns: u64) -> Digest {
    let mut fired = Digest::new(Q::PROMISE);
    for step in 1..=END / step_ns {
        queue.advance(step * step_ns, |_, value| fired.add(step, value));
    }
    fired
}
