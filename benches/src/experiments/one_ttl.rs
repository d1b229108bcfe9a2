//! W19: one TTL. Entries of a cache come one after the other; they expire, or are evicted, or are renewed first.

use std::slice::Chunks;
use std::time::Duration;

use super::{Measured, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled_with_keys};
use crate::workload::{SECOND, STEP, XorShift64Star};

/// Of every timer of the workload, for a queue that has to know it from the beginning.
pub const TTL: u64 = 30 * SECOND;
const FEWEST_ITERATIONS: usize = 400_000;

/// How many iterations there are with so many timers.
fn iterations(n: usize) -> usize {
    (4 * n).max(FEWEST_ITERATIONS)
}

/// A value for the timer of an iteration that no other has at the time.
fn value(n: usize, iteration: usize) -> u32 {
    (iteration % (2 * n)) as u32
}

/// The clock of an iteration: a TTL goes by in `n` of them.
fn clock(n: usize, iteration: usize) -> u64 {
    (u128::from(TTL) * iteration as u128 / n as u128) as u64
}

/// A queue with N under way, and their keys, where a TTL goes by in `per_ttl` of them.
fn under_way<Q: Queue>(n: usize, per_ttl: usize) -> (Q, Vec<Q::Key>) {
    let deadlines: Vec<u64> = (0..n).map(|iteration| clock(per_ttl, iteration) + TTL).collect();
    filled_with_keys(&deadlines)
}

/// Each begins, and expires after the TTL.
pub(super) fn full_life<Q: Queue>(n: usize) -> Measured {
    lives::<Q>(n, n, |_, _| ())
}

/// With each that begins the earliest is evicted, half its TTL before it is due.
pub(super) fn eviction<Q: Queue>(n: usize) -> Measured {
    lives::<Q>(n, 2 * n, |queue, answer| {
        let (deadline, first) = queue.pop_first().unwrap_or_default();
        answer.fire(0, deadline, first);
    })
}

fn lives<Q: Queue>(n: usize, per_ttl: usize, evict: impl Fn(&mut Q, &mut Answer)) -> Measured {
    let (mut queue, _) = under_way::<Q>(n, per_ttl);
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    timed(&mut elapsed, || live(&mut queue, n, per_ttl, &mut answer, evict));
    fire_rest(&mut queue, clock(n, n + iterations(n)) + 2 * TTL, &mut answer);
    Ok((answer, vec![ns_each(elapsed, iterations(n))]))
}

#[inline(never)]
fn live<Q: Queue>(queue: &mut Q, n: usize, per_ttl: usize, answer: &mut Answer, evict: impl Fn(&mut Q, &mut Answer)) {
    let mut step = 0;
    for iteration in n..n + iterations(n) {
        let now = clock(per_ttl, iteration);
        evict(queue, answer);
        queue.schedule(now + TTL, value(n, iteration));
        if now / STEP > step {
            step = now / STEP;
            queue.advance(step * STEP, |deadline, value| answer.fire(step, deadline, value));
        }
    }
}

/// One of N is renewed at random, so each once a TTL; what expires begins again.
pub(super) fn renewal<Q: Queue>(n: usize) -> Measured {
    renewals::<Q>(n, 1)
}

/// The same, four times a TTL.
pub(super) fn four_renewals<Q: Queue>(n: usize) -> Measured {
    renewals::<Q>(n, 4)
}

fn renewals<Q: Queue>(n: usize, times: usize) -> Measured {
    // In the first half the slots come into the order of their renewals, out of that in which they were filled.
    let renewed = XorShift64Star::new().uniform(2 * iterations(n) * times, 0, n as u64);
    let (before, renewed) = renewed.split_at(iterations(n) * times);
    let (mut queue, mut keys) = under_way::<Q>(n, n);
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    renew(&mut queue, &mut keys, n, before.chunks(times), &mut answer);
    let start = n + iterations(n);
    timed(&mut elapsed, || renew(&mut queue, &mut keys, start, renewed.chunks(times), &mut answer));
    Ok((answer, vec![ns_each(elapsed, iterations(n))]))
}

#[inline(never)]
fn renew<Q: Queue>(queue: &mut Q, keys: &mut [Q::Key], start: usize, renewed: Chunks<'_, u64>, answer: &mut Answer) {
    let n = keys.len();
    let (mut step, mut fired) = (clock(n, start) / STEP, Vec::new());
    for (iteration, renewed) in (start..).zip(renewed) {
        let now = clock(n, iteration);
        for &slot in renewed {
            queue.reschedule(&mut keys[slot as usize], now + TTL);
        }
        if now / STEP > step {
            step = now / STEP;
            queue.advance(step * STEP, |deadline, value| fired.push((deadline, value)));
            for (deadline, value) in fired.drain(..) {
                answer.fire(step, deadline, value);
                keys[value as usize] = queue.schedule(now + TTL, value);
            }
        }
    }
}
