//! W6b: as W6, with a bound on each call and as many calls as it takes.

use std::time::Duration;

use timer_wheel_bench::queue::{Budgeted, filled};
use timer_wheel_bench::workload::STEP;

use super::calls::{Calls, Clock};
use super::longest::{Input, RUNS, STEPS};
use super::{ns_each, timed};
use crate::answer::{Digest, WrongAnswer};
use crate::figure::{
    BUDGETED_LONGEST_CALL, BUDGETED_MOST_ENTRIES, BUDGETED_WHOLE_HOUR, CALM_BUDGETED_LONGEST_CALL,
    Sample,
};

/// The budget of a call.
const BUDGET: usize = 256;
/// A timer is moved down once a level and fires, and as many buckets may have to be opened for it.
const MOST_UNITS_A_TIMER: usize = 12;

pub(crate) fn measure<Q: Budgeted>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let n = input.deadlines.len();
    let mut calls = Calls::with_capacity(STEPS as usize + most_extra_calls(n));
    let mut samples = Vec::new();
    for _ in 0..RUNS {
        let mut queue: Q = filled(&input.deadlines);
        let mut elapsed = Duration::ZERO;
        calls.start_run();
        let (fired, most_entries) = timed(&mut elapsed, || expire_all(&mut queue, n, &mut calls))?;
        input.expected.check(fired, Q::NAME)?;
        let run = calls.end_run();
        samples.extend([
            BUDGETED_LONGEST_CALL.sample(f64::from(run.longest_ns)),
            BUDGETED_MOST_ENTRIES.sample(most_entries as f64),
            BUDGETED_WHOLE_HOUR.sample(ns_each(elapsed, n)),
        ]);
    }
    let calm_longest_ns = f64::from(calls.calm_longest_ns());
    samples.push(CALM_BUDGETED_LONGEST_CALL.sample(calm_longest_ns));
    Ok(samples)
}

#[inline(never)]
fn expire_all<Q: Budgeted>(
    queue: &mut Q,
    n: usize,
    calls: &mut Calls,
) -> Result<(Digest, usize), WrongAnswer> {
    let mut fired = Digest::new(Q::PROMISE);
    let mut most_entries = 0;
    let mut extra_calls_left = most_extra_calls(n);
    for step in 1..=STEPS {
        let entries = advance_fully(
            queue,
            step * STEP,
            &mut extra_calls_left,
            calls,
            |_, value| fired.add(step, value),
        )?;
        most_entries = most_entries.max(entries);
    }
    Ok((fired, most_entries))
}

/// How many calls may be needed beyond the first of each step, if each uses its budget.
pub(super) fn most_extra_calls(n: usize) -> usize {
    (n * MOST_UNITS_A_TIMER).div_ceil(BUDGET)
}

/// Advances to `now` in as many calls as the budget makes of it, and gives the most entries that one
/// of them handled. A queue that has a backlog for longer than its budget explains is refused: it
/// would be an endless row of calls.
#[inline]
pub(super) fn advance_fully<Q: Budgeted>(
    queue: &mut Q,
    now: u64,
    extra_calls_left: &mut usize,
    calls: &mut Calls<impl Clock>,
    mut fire: impl FnMut(u64, u32),
) -> Result<usize, WrongAnswer> {
    let mut most_entries = 0;
    loop {
        let call = queue.advance_with_budget(now, BUDGET, &mut fire);
        calls.end_call();
        most_entries = most_entries.max(call.used);
        if !call.has_backlog {
            return Ok(most_entries);
        }
        if *extra_calls_left == 0 {
            let fault = "has a backlog for longer than the budget explains";
            return Err(WrongAnswer::new(Q::NAME, fault));
        }
        *extra_calls_left -= 1;
    }
}
