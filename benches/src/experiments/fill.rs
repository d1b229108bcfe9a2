//! W1: schedule into an empty queue, cancel all in a random order, schedule again.

use std::hint::black_box;
use std::time::Duration;

use super::{Answered, Samples, Tally, ns_each, passes, room_for_keys};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Need, Queue};
use crate::workload::{HOUR, MILLISECOND, STEP, XorShift64Star};

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let mut random = XorShift64Star::new();
    let first = random.uniform(n, MILLISECOND, HOUR);
    let cancellations = random.permutation(n as u32);
    let again = random.uniform(n, MILLISECOND, HOUR);
    let mut keys = room_for_keys::<Q>(n);
    let mut elapsed = [Duration::ZERO; 3];
    let mut answer = Answer::default();
    for _ in 0..passes(n) {
        let [fresh, cancel, aged] = &mut elapsed;
        let mut queue = Q::new(0);
        timed(fresh, || schedule_all(&mut queue, &first, &mut keys, || ()));
        if !Q::has(Need::Cancel) {
            let mut fired = Tally::default();
            queue.advance(HOUR.next_multiple_of(STEP), |_, value| fired.add(value));
            fired.give(&mut answer);
            continue;
        }
        let in_order = in_order_of(&cancellations, &keys);
        let cancelled = timed(cancel, || cancel_all(&mut queue, &in_order, || ()));
        cancelled.give(&mut answer);
        timed(aged, || schedule_all(&mut queue, &again, &mut keys, || ()));
        // Not timed: whether the aged queue holds what it was given.
        if cancel_all(&mut queue, &in_order_of(&cancellations, &keys), || ()) != cancelled {
            return Err("cancels other timers the second time".to_owned());
        }
    }
    let figures = ["W1a schedule", "W1b cancel", "W1c schedule, aged"];
    let measured = if Q::has(Need::Cancel) { 3 } else { 1 };
    let ns = elapsed.map(|elapsed| ns_each(elapsed, n * passes(n)));
    samples.extend(figures.into_iter().zip(ns).take(measured));
    Ok(answer)
}

/// The keys as they will be cancelled, so that looking them up is no part of a cancel.
pub(super) fn in_order_of<K: Copy>(cancellations: &[u32], keys: &[K]) -> Vec<K> {
    cancellations.iter().map(|&timer| keys[timer as usize]).collect()
}

#[inline(never)]
pub(super) fn schedule_all<Q: Queue>(
    queue: &mut Q,
    deadlines: &[u64],
    keys: &mut [Q::Key],
    mut end_call: impl FnMut(),
) {
    for ((key, &deadline), value) in keys.iter_mut().zip(deadlines).zip(0..) {
        *key = queue.schedule(deadline, value);
        end_call();
    }
    black_box(keys);
}

#[inline(never)]
pub(super) fn cancel_all<Q: Queue>(queue: &mut Q, keys: &[Q::Key], mut end_call: impl FnMut()) -> Tally {
    let mut cancelled = Tally::default();
    for &key in keys {
        if let Some(value) = queue.cancel(key) {
            cancelled.add(value);
        }
        end_call();
    }
    cancelled
}
