//! W3: cancel the oldest and schedule a new one, the shape of requests with a timeout.

use std::time::Duration;

use super::{Answered, Samples, Tally, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled_with_keys};
use crate::workload::{SECOND, STEP};

const TIMEOUT: u64 = 30 * SECOND;
/// Iterations between two advances.
const BATCH: usize = 100;
const FEWEST_ITERATIONS: usize = 400_000;
/// With more timers than this some fire before their turn to be cancelled has come.
pub(super) const MOST: usize = 2_500_000;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let (mut queue, mut ring) = filled_with_keys::<Q>(&vec![TIMEOUT; n]);
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    let went_by = timed(&mut elapsed, || churn(&mut queue, &mut ring));
    let elapsed = elapsed.saturating_sub(queue.clock_cost());
    samples.push(("W3 cancel one, schedule one", ns_each(elapsed, batches(n) * BATCH)));
    went_by.into_iter().for_each(|tally| tally.give(&mut answer));
    let all_due = (batches(n) as u64 * STEP + TIMEOUT).next_multiple_of(STEP);
    fire_rest(&mut queue, all_due, &mut answer);
    Ok(answer)
}

fn batches(n: usize) -> usize {
    (4 * n).max(FEWEST_ITERATIONS).div_ceil(BATCH)
}

/// `ring` holds the keys, the oldest at the turn, which is the value. Gives what was cancelled, and what fired.
#[inline(never)]
fn churn<Q: Queue>(queue: &mut Q, ring: &mut [Q::Key]) -> [Tally; 2] {
    let (mut cancelled, mut fired) = (Tally::default(), Tally::default());
    let (mut now, mut turn) = (0, 0);
    for _ in 0..batches(ring.len()) {
        for _ in 0..BATCH {
            if let Some(oldest) = queue.cancel(ring[turn]) {
                cancelled.add(oldest);
            }
            ring[turn] = queue.schedule(now + TIMEOUT, turn as u32);
            turn += 1;
            if turn == ring.len() {
                turn = 0;
            }
        }
        now += STEP;
        queue.advance(now, |_, value| fired.add(value));
    }
    [cancelled, fired]
}
