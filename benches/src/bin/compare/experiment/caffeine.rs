//! W9: the shapes of Caffeine's own benchmark of its timer wheel, in its geometry.
//!
//! Its sizes and spans are those of `TimerWheelBenchmark` in Caffeine's repository; there time goes
//! back before every expiry, here it runs on until all have fired.

use std::hint::black_box;
use std::time::Duration;

use timer_wheel::{Caffeine, Geometry};
use timer_wheel_bench::queue::{Ordered, Promise, Queue, Reschedule, Wakes, filled};
use timer_wheel_bench::workload::{HOUR, MINUTE, SECOND, XorShift64Star};

use super::{ns_each, room_for_keys, timed};
use crate::answer::{Digest, Expected, WrongAnswer, check_rest};
use crate::figure::{
    ASCENDING, CAFFEINE_EXPIRE, CAFFEINE_RESCHEDULE, CAFFEINE_WAKE, DESCENDING, Sample,
};

/// How many timers there are, whatever the size of other experiments.
pub(crate) const N: usize = 32_768;
const TICK: u64 = 1 << Caffeine::TICK_BITS;
const SPAN: u64 = (5 * 24 * HOUR).next_multiple_of(TICK);
/// Five minutes, in whole ticks.
const STEP: u64 = (5 * MINUTE).next_multiple_of(TICK);
/// A quarter of a million, so that one measurement takes milliseconds.
const OPERATIONS: usize = 8 * N;
const PASSES: usize = 8;

pub(crate) struct Input {
    deadlines: Vec<u64>,
    /// The values in exact order.
    order: Vec<u32>,
    /// What is rescheduled, and for when.
    moves: Vec<(u32, u64)>,
    /// The deadlines after that, and the values in exact order.
    moved: Vec<u64>,
    moved_order: Vec<u32>,
    expected: Expected,
}

impl Input {
    pub(crate) fn new() -> Self {
        let mut random = XorShift64Star::new();
        let deadlines = random.uniform(N, SECOND, SPAN);
        let moves: Vec<(u32, u64)> = random
            .uniform(OPERATIONS, SECOND, SPAN)
            .into_iter()
            .map(|deadline| (random.below(N as u64) as u32, deadline))
            .collect();
        let mut moved = deadlines.clone();
        let mut last_moved = vec![0; N];
        for (&(timer, deadline), turn) in moves.iter().zip(1..) {
            moved[timer as usize] = deadline;
            last_moved[timer as usize] = turn;
        }
        Self {
            order: in_order(|timer| deadlines[timer as usize]),
            moved_order: in_order(|timer| (moved[timer as usize], last_moved[timer as usize])),
            expected: Expected::new(&deadlines, STEP),
            deadlines,
            moves,
            moved,
        }
    }
}

fn in_order<K: Ord>(key_of: impl Fn(u32) -> K) -> Vec<u32> {
    let mut order: Vec<u32> = (0..N as u32).collect();
    order.sort_by_key(|&timer| key_of(timer));
    order
}

pub(crate) fn measure_reschedule<Q: Reschedule>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut queue = Q::new(0);
    let mut keys = room_for_keys::<Q>(N);
    for ((key, &deadline), value) in keys.iter_mut().zip(&input.deadlines).zip(0..) {
        *key = queue.schedule(deadline, value);
    }
    let mut elapsed = Duration::ZERO;
    let moved = timed(&mut elapsed, || reschedule(&mut queue, &mut keys, input));
    if moved != OPERATIONS {
        let fault = format!("moved {moved} timers, not {OPERATIONS}");
        return Err(WrongAnswer::new(Q::NAME, fault));
    }
    if Q::PROMISE != Promise::NothingExpires {
        let mut fired = Vec::with_capacity(N);
        queue.advance(SPAN, |_, value| fired.push(value));
        let deadline_of = |value: u32| input.moved[value as usize];
        check_rest(&fired, &input.moved_order, deadline_of, Q::PROMISE, Q::NAME)?;
    }
    Ok(vec![
        CAFFEINE_RESCHEDULE.sample(ns_each(elapsed, OPERATIONS)),
    ])
}

#[inline(never)]
fn reschedule<Q: Reschedule>(queue: &mut Q, keys: &mut [Q::Key], input: &Input) -> usize {
    let mut moved = 0;
    for &(timer, deadline) in &input.moves {
        moved += usize::from(queue.reschedule(&mut keys[timer as usize], deadline));
    }
    moved
}

pub(crate) fn measure_expire<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut elapsed = Duration::ZERO;
    for _ in 0..PASSES {
        let mut queue: Q = filled(&input.deadlines);
        let fired = timed(&mut elapsed, || expire(&mut queue));
        elapsed = elapsed.saturating_sub(queue.clock_cost());
        input.expected.check(fired, Q::NAME)?;
    }
    Ok(vec![CAFFEINE_EXPIRE.sample(ns_each(elapsed, PASSES * N))])
}

#[inline(never)]
fn expire<Q: Queue>(queue: &mut Q) -> Digest {
    let mut fired = Digest::new(Q::PROMISE);
    for step in 1..=SPAN.div_ceil(STEP) {
        queue.advance(step * STEP, |_, value| fired.add(step, value));
    }
    fired
}

pub(crate) fn measure_wake<Q: Wakes>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let queue: Q = filled(&input.deadlines);
    let earliest = input.deadlines[input.order[0] as usize].next_multiple_of(TICK);
    if queue.next_wake().is_none_or(|wake| wake > earliest) {
        return Err(WrongAnswer::new(Q::NAME, "names a wrong wake-up"));
    }
    let mut elapsed = Duration::ZERO;
    timed(&mut elapsed, || {
        for _ in 0..OPERATIONS {
            black_box(black_box(&queue).next_wake());
        }
    });
    Ok(vec![CAFFEINE_WAKE.sample(ns_each(elapsed, OPERATIONS))])
}

pub(crate) fn measure_order<Q: Ordered>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let queue: Q = filled(&input.deadlines);
    let (mut up, mut down) = (Duration::ZERO, Duration::ZERO);
    let mut visited = Vec::with_capacity(N);
    for _ in 0..PASSES {
        visited.clear();
        timed(&mut up, || visited.extend(queue.ascending()));
        check_order(&visited, input.order.iter(), Q::NAME)?;
        visited.clear();
        timed(&mut down, || visited.extend(queue.descending()));
        check_order(&visited, input.order.iter().rev(), Q::NAME)?;
    }
    Ok(vec![
        ASCENDING.sample(ns_each(up, PASSES * N)),
        DESCENDING.sample(ns_each(down, PASSES * N)),
    ])
}

fn check_order<'a>(
    visited: &[u32],
    exact: impl Iterator<Item = &'a u32>,
    subject: &'static str,
) -> Result<(), WrongAnswer> {
    if visited.iter().eq(exact) {
        return Ok(());
    }
    Err(WrongAnswer::new(subject, "lists its timers out of order"))
}
