//! W5: ask for the next wake-up, then advance by a tick, for as long as a few timers last.

use std::hint::black_box;
use std::time::Duration;

use timer_wheel_bench::queue::{Queue, Wakes, filled};
use timer_wheel_bench::workload::{HOUR, MILLISECOND, STEP, XorShift64Star};

use super::{ns_each, timed};
use crate::answer::{Digest, Expected, WrongAnswer, step_of};
use crate::figure::{Sample, WAKE_QUERY, WAKE_QUERY_AND_ADVANCE};

/// How many timers there are, whatever the size of other experiments.
pub(crate) const N: usize = 100;
const STEPS: u64 = HOUR.div_ceil(STEP);

pub(crate) struct Input {
    deadlines: Vec<u64>,
    /// The last step that each wake-up may be in: that of the earliest timer left, in order.
    latest: Vec<u64>,
    expected: Expected,
}

impl Input {
    pub(crate) fn new() -> Self {
        let deadlines = XorShift64Star::new().uniform(N, MILLISECOND, HOUR);
        let mut latest: Vec<u64> = deadlines.iter().map(|&at| step_of(at, STEP)).collect();
        latest.sort_unstable();
        Self {
            expected: Expected::new(&deadlines, STEP),
            deadlines,
            latest,
        }
    }
}

pub(crate) fn measure<Q: Wakes>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    check_wakes::<Q>(input)?;
    let (mut with_queries, mut without) = (Duration::ZERO, Duration::ZERO);

    let mut queue: Q = filled(&input.deadlines);
    let fired = timed(&mut with_queries, || ask_and_advance(&mut queue));
    input.expected.check(fired, Q::NAME)?;

    let mut queue: Q = filled(&input.deadlines);
    let fired = timed(&mut without, || advance(&mut queue));
    input.expected.check(fired, Q::NAME)?;

    let queries = with_queries.saturating_sub(without);
    Ok(vec![
        WAKE_QUERY.sample(ns_each(queries, STEPS as usize)),
        WAKE_QUERY_AND_ADVANCE.sample(ns_each(with_queries, STEPS as usize)),
    ])
}

#[inline(never)]
fn ask_and_advance<Q: Wakes>(queue: &mut Q) -> Digest {
    let mut fired = Digest::new(Q::PROMISE);
    for step in 1..=STEPS {
        black_box(queue.next_wake());
        queue.advance(step * STEP, |_, value| fired.add(step, value));
    }
    fired
}

#[inline(never)]
fn advance<Q: Queue>(queue: &mut Q) -> Digest {
    let mut fired = Digest::new(Q::PROMISE);
    for step in 1..=STEPS {
        queue.advance(step * STEP, |_, value| fired.add(step, value));
    }
    fired
}

/// Whether no wake-up is later than the earliest timer, and there is one just as long as there are
/// timers.
fn check_wakes<Q: Wakes>(input: &Input) -> Result<(), WrongAnswer> {
    let mut queue: Q = filled(&input.deadlines);
    let mut fired = 0;
    for step in 1..=STEPS {
        let is_right = match (queue.next_wake(), input.latest.get(fired)) {
            (Some(wake), Some(&latest)) => wake <= latest * STEP,
            (None, None) => true,
            _ => false,
        };
        if !is_right {
            let fault = format!("names a wrong wake-up before step {step}");
            return Err(WrongAnswer::new(Q::NAME, fault));
        }
        queue.advance(step * STEP, |_, _| fired += 1);
    }
    Ok(())
}
