//! Timers that rarely fire. W3: cancel the oldest and schedule a new one, the shape of requests with a timeout. W4:
//! postpone a random timer, the shape of a cache whose entries live while they are used.

use std::time::Duration;

use super::{Measured, Tally, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled_with_keys};
use crate::workload::{MINUTE, SECOND, STEP, XorShift64Star};

const TIMEOUT: u64 = 30 * SECOND;
const LIFETIME: u64 = 10 * MINUTE;
/// Iterations between two advances, of W3 and of W4.
const TURNS: usize = 100;
const POSTPONED: usize = 1_000;

fn iterations(n: usize) -> usize {
    (4 * n).max(400_000).next_multiple_of(POSTPONED)
}

pub(super) fn churn<Q: Queue>(n: usize) -> Measured {
    let batches = iterations(n) / TURNS;
    measure::<Q, 2>(n, TIMEOUT, batches, |queue, ring| cancel_and_schedule(queue, ring, batches))
}

pub(super) fn refresh<Q: Queue>(n: usize) -> Measured {
    let touched = XorShift64Star::new().uniform(iterations(n), 0, n as u64);
    measure::<Q, 1>(n, LIFETIME, iterations(n) / POSTPONED, |queue, keys| postpone(queue, keys, &touched))
}

/// Measures so many batches on a full queue; all timers are due `delay` later.
fn measure<Q: Queue, const TALLIES: usize>(
    n: usize,
    delay: u64,
    batches: usize,
    work: impl FnOnce(&mut Q, &mut [Q::Key]) -> [Tally; TALLIES],
) -> Measured {
    let (mut queue, mut keys) = filled_with_keys::<Q>(&vec![delay; n]);
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    let tallies = timed(&mut elapsed, || work(&mut queue, &mut keys));
    let elapsed = elapsed.saturating_sub(queue.clock_cost());
    tallies.into_iter().for_each(|tally| tally.give(&mut answer));
    fire_rest(&mut queue, (batches as u64 * STEP + delay).next_multiple_of(STEP), &mut answer);
    Ok((answer, vec![ns_each(elapsed, iterations(n))]))
}

/// `ring` holds the keys, the oldest at the turn, which is the value. Gives what was cancelled, and what fired.
#[inline(never)]
fn cancel_and_schedule<Q: Queue>(queue: &mut Q, ring: &mut [Q::Key], batches: usize) -> [Tally; 2] {
    let (mut cancelled, mut fired) = (Tally::default(), Tally::default());
    let (mut now, mut turn) = (0, 0);
    for _ in 0..batches {
        for _ in 0..TURNS {
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

/// Gives how many timers were postponed, with what fired as the sum: none is due within the workload.
#[inline(never)]
fn postpone<Q: Queue>(queue: &mut Q, keys: &mut [Q::Key], touched: &[u64]) -> [Tally; 1] {
    let (mut postponed, mut now) = (Tally::default(), 0);
    for batch in touched.chunks(POSTPONED) {
        for &timer in batch {
            postponed.count += u64::from(queue.reschedule(&mut keys[timer as usize], now + LIFETIME));
        }
        now += STEP;
        queue.advance(now, |_, _| postponed.sum += 1);
    }
    [postponed]
}
