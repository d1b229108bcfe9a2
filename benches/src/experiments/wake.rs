//! W5 and W5i: ask for the next wake-up, then advance by a tick, for as long as a few timers last; cross an idle hour.

use std::hint::black_box;
use std::time::Duration;

use super::{Answered, Samples, fire_in_steps, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled};
use crate::workload::{HOUR, MILLISECOND, MINUTE, STEP, XorShift64Star};

/// How many timers there are, whatever the size of other experiments.
pub(super) const N: usize = 100;
/// How many there are in W5i, at the end of the hour.
pub(super) const IDLE: usize = 3;
const STEPS: u64 = HOUR.div_ceil(STEP);

pub(super) fn measure<Q: Queue>(_: usize, samples: &mut Samples) -> Answered {
    let deadlines = XorShift64Star::new().uniform(N, MILLISECOND, HOUR);
    check_wakes(filled::<Q>(&deadlines))?;
    let (mut with_queries, mut without) = (Duration::ZERO, Duration::ZERO);
    let mut answer = Answer::default();
    let mut queue: Q = filled(&deadlines);
    timed(&mut with_queries, || ask_and_fire(&mut queue, &mut answer));
    answer.begin();
    let mut queue: Q = filled(&deadlines);
    timed(&mut without, || fire_in_steps(&mut queue, STEPS, STEP, &mut answer));
    let queries = with_queries.saturating_sub(without);
    samples.push(("W5 query", ns_each(queries, STEPS as usize)));
    samples.push(("W5 query and advance", ns_each(with_queries, STEPS as usize)));
    Ok(answer)
}

#[inline(never)]
fn ask_and_fire<Q: Queue>(queue: &mut Q, answer: &mut Answer) {
    for step in 1..=STEPS {
        black_box(queue.wake_at());
        queue.advance(step * STEP, |deadline, value| answer.fire(step, deadline, value));
    }
}

/// Whether no wake-up is later than the earliest timer, and there is one just as long as there are timers.
fn check_wakes<Q: Queue>(mut queue: Q) -> Result<(), String> {
    let mut live = N;
    for step in 1..=STEPS {
        let (wake, before) = (queue.wake_at(), live);
        queue.advance(step * STEP, |_, _| live -= 1);
        let is_late = live < before && wake.is_none_or(|wake| wake > step * STEP);
        if is_late || wake.is_some() != (before > 0) {
            return Err(format!("names a wrong wake-up before step {step}"));
        }
    }
    Ok(())
}

pub(super) fn measure_idle<Q: Queue>(_: usize, samples: &mut Samples) -> Answered {
    let mut answer = Answer::default();
    // A single advance is too short for the clock to tell much.
    for (figure, steps, times) in [("W5i in all, one advance", 1, 200), ("W5i in all, steps of 2^20 ns", STEPS, 1)] {
        let mut elapsed = Duration::ZERO;
        for _ in 0..times {
            let mut queue: Q = filled(&[59 * MINUTE; IDLE]);
            answer.begin();
            timed(&mut elapsed, || fire_in_steps(&mut queue, steps, STEPS / steps * STEP, &mut answer));
        }
        samples.push((figure, ns_each(elapsed, times)));
    }
    Ok(answer)
}
