//! W6 and W6b: fire everything within an hour and time every single call, without a budget and with one.

use std::time::Instant;

use timer_wheel::Budget;

use super::{Answered, Samples};
use crate::answer::Answer;
use crate::clock::{Calls, Clock};
use crate::queue::{Queue, filled};
use crate::workload::{HOUR, STEP, XorShift64Star};

const STEPS: u64 = HOUR.div_ceil(STEP);
/// How often the same calls are run within one measurement.
const RUNS: usize = 3;
/// The budget of a call.
const BUDGET: usize = 256;
/// A timer is moved down once a level and fires, and as many buckets may have to be opened for it.
const MOST_UNITS_A_TIMER: usize = 12;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    measure_calls::<Q>(n, "W6 calm longest call", samples, |queue, now, calls, fire| {
        queue.advance(now, fire);
        calls.end_call();
        Ok(())
    })
}

pub(super) fn measure_budgeted<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    measure_calls::<Q>(n, "W6b calm longest call", samples, |queue, now, calls, fire| {
        advance_fully(queue, now, 1 + most_extra_calls(n), calls, fire)
    })
}

/// What fires a timer: a deadline and a value.
type Fire<'a> = &'a mut dyn FnMut(u64, u32);

/// Advances in each step, and gives the calm longest call of all runs.
fn measure_calls<Q: Queue>(
    n: usize,
    figure: &'static str,
    samples: &mut Samples,
    advance: impl Fn(&mut Q, u64, &mut Calls, Fire<'_>) -> Result<(), String>,
) -> Answered {
    let deadlines = XorShift64Star::new().uniform(n, 0, HOUR);
    let mut calls = Calls::<Instant>::with_capacity(STEPS as usize + most_extra_calls(n));
    let mut answer = Answer::default();
    for _ in 0..RUNS {
        let mut queue: Q = filled(&deadlines);
        answer.begin();
        calls.start_run();
        for step in 1..=STEPS {
            let fire = &mut |deadline, value| answer.fire(step, deadline, value);
            advance(&mut queue, step * STEP, &mut calls, fire)?;
        }
        calls.end_run();
    }
    samples.push((figure, calls.calm_longest_ns()));
    Ok(answer)
}

/// How many calls may be needed beyond the first of each step, if each uses its budget.
pub(super) fn most_extra_calls(n: usize) -> usize {
    (n * MOST_UNITS_A_TIMER).div_ceil(BUDGET)
}

/// Advances to `now` in as many calls as the budget makes of it. A queue that has a backlog for longer than its budget
/// explains is refused: it would be an endless row of calls.
pub(super) fn advance_fully<Q: Queue>(
    queue: &mut Q,
    now: u64,
    most_calls: usize,
    calls: &mut Calls<impl Clock>,
    mut fire: impl FnMut(u64, u32),
) -> Result<(), String> {
    for _ in 0..most_calls {
        let has_backlog = queue.advance_with_budget(now, &mut Budget::of_work(BUDGET), &mut fire);
        calls.end_call();
        if !has_backlog {
            return Ok(());
        }
    }
    Err("has a backlog for longer than the budget explains".to_owned())
}
