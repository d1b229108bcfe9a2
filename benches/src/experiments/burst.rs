//! W7: every timer at the same nanosecond, and every timer within one tick.

use std::time::Duration;

use cpu_time::ThreadTime;

use super::longest::{advance_fully, most_extra_calls};
use super::{Answered, Samples, fire_in_steps, ns_each, passes};
use crate::answer::Answer;
use crate::clock::{Calls, longest, timed};
use crate::queue::{Need, Queue, filled};
use crate::workload::{SECOND, STEP, XorShift64Star};

/// The end of a tick, so that queues which know no finer time are as exact as the others.
const DEADLINE: u64 = (30 * SECOND).next_multiple_of(STEP);

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let at_once = vec![DEADLINE; n];
    let spread = XorShift64Star::new().uniform(n, DEADLINE - STEP + 1, DEADLINE);
    let mut answer = Answer::default();
    for (figure, deadlines) in [("W7 expire a burst", &at_once), ("W7 expire a burst, spread over its tick", &spread)] {
        let mut elapsed = Duration::ZERO;
        for _ in 0..passes(n) {
            let mut queue: Q = filled(deadlines);
            answer.begin();
            timed(&mut elapsed, || fire_in_steps(&mut queue, 1, DEADLINE, &mut answer));
            elapsed = elapsed.saturating_sub(queue.clock_cost());
        }
        samples.push((figure, ns_each(elapsed, passes(n) * n)));
    }
    if Q::has(Need::Budget) && Q::has(Need::SingleCalls) {
        let most_calls = 1 + most_extra_calls(n);
        let mut calls = Calls::<ThreadTime>::with_capacity(most_calls);
        let (mut queue, mut fired): (Q, _) = (filled(&at_once), 0);
        calls.start_run();
        advance_fully(&mut queue, DEADLINE, most_calls, &mut calls, |_, _| fired += 1)?;
        if fired != n {
            return Err("fires a part of the burst with a budget".to_owned());
        }
        samples.push(("W7 longest call, budget 256", longest(calls.end_run())));
    }
    Ok(answer)
}
