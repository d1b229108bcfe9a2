//! The earliest timer is taken, due or not. W11: hold, the classic of event queues: take the earliest event, schedule
//! another after it. W13: a full cache evicts the earliest entry for each write, long before it is due.

use std::time::Duration;

use super::{Measured, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::Queue;
use crate::workload::{HOUR, MILLISECOND, MINUTE, STEP, XorShift64Star};

/// How many increments are drawn; then they come again.
const DRAWN: usize = 1 << 16;
const FEWEST_HOLDS: usize = 500_000;

/// Draws a number with a mean of one from numbers in [0, 1).
type Distribution = fn(&mut dyn FnMut() -> f64) -> f64;

/// Exponential and bimodal, of which nine in ten are short: the usual ones of that literature with the most and the
/// least even increments, here with a mean of a millisecond.
const SHAPES: [Distribution; 2] =
    [|unit| -(1.0 - unit()).ln(), |unit| if unit() < 0.9 { 0.1 * unit() } else { 9.5 + 0.1 * unit() }];

pub(super) fn hold<Q: Queue>(n: usize) -> Measured {
    let mut random = XorShift64Star::new();
    // As many bits as a float has.
    let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let (mut answer, mut samples) = (Answer::default(), Vec::new());
    for distribution in SHAPES {
        let drawn = (0..DRAWN).map(|_| (MILLISECOND as f64 * distribution(&mut unit)) as u64);
        let drawn: Vec<u64> = drawn.collect();
        let mut increments = drawn.iter().copied().cycle();
        let mut queue = Q::new(0);
        answer.begin();
        for (deadline, value) in increments.by_ref().zip(0..n as u32) {
            queue.schedule(deadline, value);
        }
        let holds = n.max(FEWEST_HOLDS);
        // A steady distribution of what is scheduled is come to first.
        hold_each(&mut queue, n, &mut increments, &mut answer);
        let mut elapsed = Duration::ZERO;
        timed(&mut elapsed, || hold_each(&mut queue, holds, &mut increments, &mut answer));
        samples.push(ns_each(elapsed, holds));
        while let Some((deadline, _)) = queue.pop_first() {
            answer.fire(1, deadline, 0);
        }
    }
    Ok((answer, samples))
}

/// As nothing is ever scheduled before what was taken last, an exact queue gives its events in ascending order. Which
/// of those of one deadline comes first is its own affair.
#[inline(never)]
fn hold_each<Q: Queue>(queue: &mut Q, holds: usize, increments: &mut impl Iterator<Item = u64>, answer: &mut Answer) {
    for increment in increments.take(holds) {
        let Some((now, value)) = queue.pop_first() else {
            return;
        };
        answer.fire(0, now, 0);
        queue.schedule(now + increment, value);
    }
}

/// Writes between two advances.
const BATCH: usize = 100;
const FEWEST_WRITES: usize = 100_000;

pub(super) fn evict<Q: Queue>(n: usize) -> Measured {
    let writes = n + n.max(FEWEST_WRITES).next_multiple_of(BATCH);
    let ttls = XorShift64Star::new().uniform(writes, 10 * MINUTE, HOUR);
    // A tick goes by with each batch.
    let now_at = |write: usize| (write / BATCH) as u64 * STEP;
    let write = |queue: &mut Q, nth: usize| queue.schedule(now_at(nth) + ttls[nth], nth as u32);
    let (mut queue, mut answer) = (Q::new(0), Answer::default());
    for nth in 0..n {
        write(&mut queue, nth);
    }
    let (mut elapsed, mut expired) = (Duration::ZERO, 0);
    queue.advance(now_at(n), |_, _| expired += 1);
    let mut batch = Vec::with_capacity(BATCH);
    for first in (n..writes).step_by(BATCH) {
        timed(&mut elapsed, || evict_each(&mut queue, &mut batch));
        for (entry, nth) in batch.drain(..).zip(first..) {
            // Of entries with one deadline any may go first.
            let (deadline, _) = entry.unwrap_or_default();
            answer.give(deadline ^ ((nth as u64) << 42));
            write(&mut queue, nth);
        }
        queue.advance(now_at(first + BATCH), |_, _| expired += 1);
    }
    answer.give(expired);
    Ok((answer, vec![ns_each(elapsed, writes - n)]))
}

#[inline(never)]
fn evict_each<Q: Queue>(queue: &mut Q, batch: &mut Vec<Option<(u64, u32)>>) {
    batch.extend((0..BATCH).map(|_| queue.pop_first()));
}
