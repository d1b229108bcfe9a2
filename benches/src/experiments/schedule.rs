//! Queues that are filled. W1: schedule into an empty queue, cancel all in a random order, schedule again. W8: what is
//! on the heap then. W15: the longest single calls.

use std::hint::black_box;
use std::time::Duration;

use super::{Measured, Tally, ns_each, passes, room_for_keys};
use crate::answer::Answer;
use crate::clock::{Calls, timed};
use crate::heap::weigh;
use crate::queue::{Need, Queue};
use crate::workload::{HOUR, MILLISECOND, SECOND, STEP, XorShift64Star};

pub(super) fn fill<Q: Queue>(n: usize) -> Measured {
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
    let measured = if Q::has(Need::Cancel) { 3 } else { 1 };
    Ok((answer, elapsed[..measured].iter().map(|&elapsed| ns_each(elapsed, n * passes(n))).collect()))
}

/// The keys are the caller's and lie outside the scale.
pub(super) fn memory<Q: Queue>(n: usize) -> Measured {
    let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, HOUR);
    let mut keys = room_for_keys::<Q>(n);
    let (_queue, bytes) = weigh(|| {
        let mut queue = Q::new(0);
        schedule_all(&mut queue, &deadlines, &mut keys, || ());
        queue
    });
    Ok((Answer::default(), vec![bytes as f64 / n as f64]))
}

/// When the crowd of W15 is due, and over how long, all within a tick.
const CROWD: u64 = 30 * SECOND;
const CROWDED: u64 = 1_000;

pub(super) fn peak<Q: Queue>(n: usize) -> Measured {
    let mut random = XorShift64Star::new();
    let deadlines = random.uniform(n, MILLISECOND, HOUR);
    let order = random.permutation(n as u32);
    let mut answer = Answer::default();
    let mut calls = Calls::of_the_thread(n);
    let mut keys = room_for_keys::<Q>(n);
    let mut queue = Q::new(0);
    calls.start_run();
    schedule_all(&mut queue, &deadlines, &mut keys, || calls.end_call());
    let mut samples = vec![calls.longest_ns()];
    cancel_all(&mut queue, &in_order_of(&order, &keys), || ()).give(&mut answer);

    // Half as many, all in one tick.
    let crowd = random.uniform(n.div_ceil(2), CROWD, CROWD + CROWDED);
    let mut queue = Q::new(0);
    schedule_all(&mut queue, &crowd, &mut keys, || ());
    // One timer fires, and with it a queue that sorts the others of its tick has sorted them.
    let first = if Q::has(Need::First) { queue.pop_expired(CROWD + CROWDED) } else { None };
    let order = random.permutation(crowd.len() as u32);
    let in_order = in_order_of(&order, &keys);
    let mut calls = Calls::of_the_thread(n);
    calls.start_run();
    let mut gone = cancel_all(&mut queue, &in_order, || calls.end_call());
    if let Some((_, first)) = first {
        samples.push(calls.longest_ns());
        gone.add(first);
    }
    gone.give(&mut answer);
    Ok((answer, samples))
}

/// The keys as they will be cancelled, so that looking them up is no part of a cancel.
fn in_order_of<K: Copy>(cancellations: &[u32], keys: &[K]) -> Vec<K> {
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
fn cancel_all<Q: Queue>(queue: &mut Q, keys: &[Q::Key], mut end_call: impl FnMut()) -> Tally {
    let mut cancelled = Tally::default();
    for &key in keys {
        if let Some(value) = queue.cancel(key) {
            cancelled.add(value);
        }
        end_call();
    }
    cancelled
}
