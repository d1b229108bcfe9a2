//! W1: schedule into an empty queue, cancel all in a random order, schedule again.

use std::hint::black_box;
use std::time::Duration;

use timer_wheel_bench::queue::{Cancel, Queue};
use timer_wheel_bench::workload::{HOUR, MILLISECOND, STEP, XorShift64Star};

use super::{ns_each, passes, room_for_keys, timed};
use crate::answer::{Tally, WrongAnswer};
use crate::figure::{AGED_SCHEDULE, FRESH_SCHEDULE, RANDOM_CANCEL, Sample};

pub(crate) struct Input {
    pub(super) first: Vec<u64>,
    again: Vec<u64>,
    cancellations: Vec<u32>,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        Self {
            first: random.uniform(n, MILLISECOND, HOUR),
            cancellations: random.permutation(n as u32),
            again: random.uniform(n, MILLISECOND, HOUR),
        }
    }

    /// The keys as they will be cancelled, so that looking them up is no part of a cancel.
    pub(super) fn in_order_of_cancellation<Q: Cancel>(&self, keys: &[Q::Key]) -> Vec<Q::Key> {
        self.cancellations
            .iter()
            .map(|&timer| keys[timer as usize])
            .collect()
    }
}

/// For a queue whose timers cannot be cancelled: the first filling only.
pub(crate) fn measure_fresh<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let n = input.first.len();
    let mut fresh = Duration::ZERO;
    for _ in 0..passes(n) {
        let mut queue = Q::new(0);
        timed(&mut fresh, || {
            for (&deadline, value) in input.first.iter().zip(0..) {
                queue.schedule(deadline, value);
            }
            black_box(&mut queue);
        });
        let mut fired = Tally::default();
        queue.advance(HOUR.next_multiple_of(STEP), |_, value| fired.add(value));
        fired.check(Tally::of_all_below(n), Q::NAME, "fired")?;
    }
    Ok(vec![FRESH_SCHEDULE.sample(ns_each(fresh, n * passes(n)))])
}

pub(crate) fn measure<Q: Cancel>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let n = input.first.len();
    let expected = Tally::of_all_below(n);
    let mut keys = room_for_keys::<Q>(n);
    let (mut fresh, mut cancel, mut aged) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for _ in 0..passes(n) {
        let mut queue = Q::new(0);
        timed(&mut fresh, || {
            schedule_all(&mut queue, &input.first, &mut keys)
        });
        let in_order = input.in_order_of_cancellation::<Q>(&keys);
        let cancelled = timed(&mut cancel, || cancel_all(&mut queue, &in_order));
        cancelled.check(expected, Q::NAME, "cancelled")?;
        timed(&mut aged, || {
            schedule_all(&mut queue, &input.again, &mut keys)
        });
        // Not timed: whether the aged queue holds what it was given.
        let in_order = input.in_order_of_cancellation::<Q>(&keys);
        let cancelled = cancel_all(&mut queue, &in_order);
        cancelled.check(expected, Q::NAME, "cancelled, the second time,")?;
    }
    let operations = n * passes(n);
    Ok(vec![
        FRESH_SCHEDULE.sample(ns_each(fresh, operations)),
        RANDOM_CANCEL.sample(ns_each(cancel, operations)),
        AGED_SCHEDULE.sample(ns_each(aged, operations)),
    ])
}

#[inline(never)]
pub(super) fn schedule_all<Q: Cancel>(queue: &mut Q, deadlines: &[u64], keys: &mut [Q::Key]) {
    for ((key, &deadline), value) in keys.iter_mut().zip(deadlines).zip(0..) {
        *key = queue.schedule(deadline, value);
    }
    black_box(keys);
}

#[inline(never)]
pub(super) fn cancel_all<Q: Cancel>(queue: &mut Q, keys: &[Q::Key]) -> Tally {
    let mut cancelled = Tally::default();
    for &key in keys {
        if let Some(value) = queue.cancel(key) {
            cancelled.add(value);
        }
    }
    cancelled
}
