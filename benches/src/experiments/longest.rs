//! W6 and W6b: fire everything within an hour and time every single call, without a budget and with one.

use std::time::{Duration, Instant};

use timer_wheel::Budget;

use super::{Answered, Samples, ns_each};
use crate::answer::Answer;
use crate::clock::{Calls, Clock, exceeded_by_one_in, longest, timed};
use crate::queue::{Need, Queue, filled};
use crate::workload::{HOUR, STEP, XorShift64Star};

const STEPS: u64 = HOUR.div_ceil(STEP);
/// How often the same calls are run within one measurement.
const RUNS: usize = 3;
/// The budget of a call.
const BUDGET: usize = 256;
/// A timer is moved down once a level and fires, and as many buckets may have to be opened for it.
const MOST_UNITS_A_TIMER: usize = 12;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let figures = [
        "W6 longest call",
        "W6 expire, in all",
        "W6 p99.99 of calls",
        "W6 most entries in one call",
        "W6 calm longest call",
    ];
    measure_calls::<Q>(n, figures, samples, |queue, now, calls, fire| {
        let entries = match Q::has(Need::Budget) {
            true => {
                let mut budget = Budget::unlimited();
                queue.advance_with_budget(now, &mut budget, fire);
                usize::MAX - budget.work
            }
            false => {
                queue.advance(now, fire);
                0
            }
        };
        calls.end_call();
        Ok(entries)
    })
}

pub(super) fn measure_budgeted<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let figures = [
        "W6b longest call",
        "W6b expire, in all",
        "W6b p99.99 of calls",
        "W6b most entries in one call",
        "W6b calm longest call",
    ];
    measure_calls::<Q>(n, figures, samples, |queue, now, calls, fire| {
        advance_fully(queue, now, 1 + most_extra_calls(n), calls, fire)
    })
}

/// What fires a timer: a deadline and a value.
type Fire<'a> = &'a mut dyn FnMut(u64, u32);

/// Advances in each step, and gives the figures: of each run the longest call, the time of all, the tail and the most
/// entries of one call; of all runs the calm longest call.
fn measure_calls<Q: Queue>(
    n: usize,
    figures: [&'static str; 5],
    samples: &mut Samples,
    advance: impl Fn(&mut Q, u64, &mut Calls, Fire<'_>) -> Result<usize, String>,
) -> Answered {
    let deadlines = XorShift64Star::new().uniform(n, 0, HOUR);
    let mut calls = Calls::<Instant>::with_capacity(STEPS as usize + most_extra_calls(n));
    let mut answer = Answer::default();
    for _ in 0..RUNS {
        let mut queue: Q = filled(&deadlines);
        answer.begin();
        let (mut elapsed, mut most_entries) = (Duration::ZERO, 0);
        calls.start_run();
        timed(&mut elapsed, || {
            for step in 1..=STEPS {
                let fire = &mut |deadline, value| answer.fire(step, deadline, value);
                most_entries = most_entries.max(advance(&mut queue, step * STEP, &mut calls, fire)?);
            }
            Ok::<_, String>(())
        })?;
        let run_ns = calls.end_run();
        samples.push((figures[0], longest(run_ns)));
        samples.push((figures[1], ns_each(elapsed, n)));
        samples.push((figures[2], exceeded_by_one_in(10_000, run_ns)));
        if Q::has(Need::Budget) {
            samples.push((figures[3], most_entries as f64));
        }
    }
    samples.push((figures[4], calls.calm_longest_ns()));
    Ok(answer)
}

/// How many calls may be needed beyond the first of each step, if each uses its budget.
pub(super) fn most_extra_calls(n: usize) -> usize {
    (n * MOST_UNITS_A_TIMER).div_ceil(BUDGET)
}

/// Advances to `now` in as many calls as the budget makes of it, and gives the most entries that one of them handled.
/// A queue that has a backlog for longer than its budget explains is refused: it would be an endless row of calls.
pub(super) fn advance_fully<Q: Queue>(
    queue: &mut Q,
    now: u64,
    most_calls: usize,
    calls: &mut Calls<impl Clock>,
    mut fire: impl FnMut(u64, u32),
) -> Result<usize, String> {
    let mut most_entries = 0;
    for _ in 0..most_calls {
        let mut budget = Budget::of_work(BUDGET);
        let has_backlog = queue.advance_with_budget(now, &mut budget, &mut fire);
        calls.end_call();
        most_entries = most_entries.max(BUDGET - budget.work);
        if !has_backlog {
            return Ok(most_entries);
        }
    }
    Err("has a backlog for longer than the budget explains".to_owned())
}
