//! W6b: as W6, with a bound on each call and as many calls as it takes.

use std::time::{Duration, Instant};

use timer_wheel_bench::workload::STEP;

use super::longest::{Input, STEPS};
use super::ns_each;
use crate::answer::{Digest, WrongAnswer};
use crate::figure::{BUDGETED_LONGEST_CALL, BUDGETED_MOST_ENTRIES, BUDGETED_WHOLE_HOUR, Sample};
use crate::subject::{Budgeted, Queue};

/// The budget of a call.
const BUDGET: usize = 256;

pub(crate) fn measure<Q: Budgeted>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut queue: Q = input.fill();
    let mut fired = Digest::default();
    let mut calls = Calls::start();
    let start = Instant::now();
    for step in 1..=STEPS {
        calls.advance(&mut queue, step * STEP, |value| fired.add(step, value))?;
    }
    let elapsed = start.elapsed();
    fired.check(input.expected, Q::NAME)?;
    Ok(vec![
        BUDGETED_LONGEST_CALL.sample(calls.longest.as_nanos() as f64),
        BUDGETED_MOST_ENTRIES.sample(calls.most_entries as f64),
        BUDGETED_WHOLE_HOUR.sample(ns_each(elapsed, input.deadlines.len())),
    ])
}

/// Calls with a budget, each timed.
pub(super) struct Calls {
    last: Instant,
    pub(super) longest: Duration,
    pub(super) most_entries: usize,
}

impl Calls {
    pub(super) fn start() -> Self {
        Self {
            last: Instant::now(),
            longest: Duration::ZERO,
            most_entries: 0,
        }
    }

    /// Advances to `now` in as many calls as the budget makes of it. A call that uses nothing and
    /// still has a backlog would be the first of an endless row, and is refused.
    #[inline]
    pub(super) fn advance<Q: Budgeted>(
        &mut self,
        queue: &mut Q,
        now: u64,
        mut fire: impl FnMut(u32),
    ) -> Result<(), WrongAnswer> {
        loop {
            let call = queue.advance_with_budget(now, BUDGET, &mut fire);
            let end = Instant::now();
            self.longest = self.longest.max(end - self.last);
            self.last = end;
            self.most_entries = self.most_entries.max(call.used);
            if !call.has_backlog {
                return Ok(());
            }
            if call.used == 0 {
                return Err(no_progress::<Q>());
            }
        }
    }
}

#[cold]
fn no_progress<Q: Queue>() -> WrongAnswer {
    WrongAnswer::new(Q::NAME, "has a backlog but does not work on it")
}
