//! W4: postpone a random timer, the shape of a cache whose entries live while they are used.

use std::time::Duration;

use super::{Answered, Samples, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled_with_keys};
use crate::workload::{MINUTE, STEP, XorShift64Star};

const LIFETIME: u64 = 10 * MINUTE;
/// Iterations between two advances.
const BATCH: usize = 1_000;
const FEWEST_ITERATIONS: usize = 400_000;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let iterations = (4 * n).max(FEWEST_ITERATIONS).next_multiple_of(BATCH);
    let touched = XorShift64Star::new().uniform(iterations, 0, n as u64);
    let (mut queue, mut keys) = filled_with_keys::<Q>(&vec![LIFETIME; n]);
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    let postponed = timed(&mut elapsed, || refresh(&mut queue, &mut keys, &touched));
    let elapsed = elapsed.saturating_sub(queue.clock_cost());
    samples.push(("W4 reschedule to later", ns_each(elapsed, iterations)));
    answer.give(postponed);
    let all_due = ((iterations / BATCH) as u64 * STEP + LIFETIME).next_multiple_of(STEP);
    fire_rest(&mut queue, all_due, &mut answer);
    Ok(answer)
}

/// Gives how many timers were postponed, less those that fired: none is due within the workload.
#[inline(never)]
fn refresh<Q: Queue>(queue: &mut Q, keys: &mut [Q::Key], touched: &[u64]) -> u64 {
    let (mut postponed, mut fired, mut now) = (0, 0, 0);
    for batch in touched.chunks(BATCH) {
        for &timer in batch {
            postponed += u64::from(queue.reschedule(&mut keys[timer as usize], now + LIFETIME));
        }
        now += STEP;
        queue.advance(now, |_, _| fired += 1);
    }
    postponed - fired
}
