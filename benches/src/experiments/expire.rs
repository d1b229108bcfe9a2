//! Queues that are emptied. W2: all within a minute, in steps of a tick. W6b: all within an hour, with a budget. W7:
//! all at one nanosecond. W9: as Caffeine's own benchmark of its wheel. W14: each in another rotation. W22: bursts.
//!
//! Size and span of W9 are those of `TimerWheelBenchmark` in Caffeine's repository; there time goes back before every
//! expiry, here it runs on until all have fired.

use std::time::Duration;

use timer_wheel::{Budget, Geometry, Micros};

use super::schedule::schedule_all;
use super::{Measured, Tally, ns_each, passes, room_for_keys};
use crate::answer::Answer;
use crate::clock::{Calls, timed};
use crate::queue::{Queue, filled};
use crate::rivals::COARSE;
use crate::workload::{HOUR, MILLISECOND, MINUTE, SECOND, STEP, XorShift64Star};

/// How many timers Caffeine has, whatever the size of other experiments.
pub(super) const CAFFEINE: usize = 32_768;

pub(super) fn minute<Q: Queue>(n: usize) -> Measured {
    in_steps::<Q>(passes(n), &XorShift64Star::new().uniform(n, MILLISECOND, MINUTE), STEP)
}

/// At the end of a tick, so that queues which know no finer time are as exact as the others.
pub(super) fn at_once<Q: Queue>(n: usize) -> Measured {
    let deadline = (30 * SECOND).next_multiple_of(STEP);
    in_steps::<Q>(passes(n), &vec![deadline; n], deadline)
}

/// Five days in steps of five minutes, both in whole ticks of Caffeine's geometry.
pub(super) fn caffeine<Q: Queue>(_: usize) -> Measured {
    let span = (5 * 24 * HOUR).next_multiple_of(COARSE);
    let deadlines = XorShift64Star::new().uniform(CAFFEINE, SECOND, span);
    in_steps::<Q>(8, &deadlines, (5 * MINUTE).next_multiple_of(COARSE))
}

fn in_steps<Q: Queue>(passes: usize, deadlines: &[u64], step_ns: u64) -> Measured {
    let steps = deadlines.iter().max().map_or(0, |last| last.div_ceil(step_ns));
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    for _ in 0..passes {
        let mut queue: Q = filled(deadlines);
        answer.begin();
        timed(&mut elapsed, || advance_to_each(&mut queue, (1..=steps).map(|step| step * step_ns), &mut answer));
        elapsed = elapsed.saturating_sub(queue.clock_cost());
    }
    Ok((answer, vec![ns_each(elapsed, deadlines.len() * passes)]))
}

#[inline(never)]
fn advance_to_each<Q: Queue>(queue: &mut Q, times: impl Iterator<Item = u64>, answer: &mut Answer) {
    for (step, now) in (1..).zip(times) {
        queue.advance(now, |deadline, value| answer.fire(step, deadline, value));
    }
}

/// A rotation of the highest level of `Micros`: those of the others are too long for many.
const ROTATION_BITS: u32 = Micros::TICK_BITS + {
    let [first, second, third, fourth] = Micros::LEVEL_BITS;
    first + second + third + fourth
};

/// At most as many as time has rotations, with some to spare, and a stop at each of them.
pub(super) fn far<Q: Queue>(n: usize) -> Measured {
    let n = n.min(1 << (u64::BITS - ROTATION_BITS - 1));
    let mut random = XorShift64Star::new();
    let rotations = 2..2 + n as u64;
    let deadlines = rotations.map(|rotation| (rotation << ROTATION_BITS) + random.below(1 << ROTATION_BITS));
    let deadlines: Vec<u64> = deadlines.collect();
    let mut queue = Q::new(0);
    for timer in random.permutation(n as u32) {
        queue.schedule(deadlines[timer as usize], timer);
    }
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    timed(&mut elapsed, || advance_to_each(&mut queue, deadlines.iter().copied(), &mut answer));
    Ok((answer, vec![ns_each(elapsed, n)]))
}

/// How often the calls of W6b are run within one measurement.
const RUNS: usize = 3;
/// The budget of a call.
const BUDGET: usize = 256;
/// A timer is moved down once a level and fires, and as many buckets may have to be opened for it.
const MOST_UNITS_A_TIMER: usize = 12;

/// Advances to each step in as many calls as the budget makes of it. A queue that has a backlog for longer than its
/// budget explains is refused: it would be an endless row of calls.
pub(super) fn budgeted<Q: Queue>(n: usize) -> Measured {
    let deadlines = XorShift64Star::new().uniform(n, 0, HOUR);
    let steps = HOUR.div_ceil(STEP);
    let most_extra = (n * MOST_UNITS_A_TIMER).div_ceil(BUDGET);
    let mut calls = Calls::on_the_wall(steps as usize + most_extra);
    let mut answer = Answer::default();
    for _ in 0..RUNS {
        let (mut queue, mut extra): (Q, _) = (filled(&deadlines), 0);
        answer.begin();
        calls.start_run();
        for step in 1..=steps {
            let mut advance = || {
                let mut budget = Budget::of_work(BUDGET);
                let fire = |deadline, value| answer.fire(step, deadline, value);
                let has_backlog = queue.advance_with_budget(step * STEP, &mut budget, fire);
                calls.end_call();
                has_backlog
            };
            while advance() {
                extra += 1;
                if extra > most_extra {
                    return Err("has a backlog for longer than the budget explains".to_owned());
                }
            }
        }
    }
    Ok((answer, vec![calls.longest_ns()]))
}

/// The burst comes after the tick in which it is armed, and within a rotation of the finest level: no timer is moved on
/// its way.
const EARLIEST: u64 = 10 * MILLISECOND;
const LATEST: u64 = EARLIEST + 4 * MILLISECOND;
const ALL_DUE: u64 = LATEST.next_multiple_of(STEP);
/// The fewest timers that are timed: a hundred alone would be over before the clock tells much.
const FEWEST_TIMERS: usize = 200_000;

/// Timers are armed in an empty queue, and one advance fires all of them. The queue is kept for the next burst, as a
/// runtime keeps its own.
pub(super) fn burst<Q: Queue>(n: usize) -> Measured {
    let mut deadlines = XorShift64Star::new().uniform(n, EARLIEST, LATEST);
    let mut keys = room_for_keys::<Q>(n);
    let (mut queue, mut now, mut answer): (Q, _, _) = (filled(&deadlines), ALL_DUE, Answer::default());
    advance_to_each(&mut queue, [ALL_DUE].into_iter(), &mut answer);
    queue.clock_cost();
    let [mut arm, mut expire] = [Duration::ZERO; 2];
    let passes = FEWEST_TIMERS.div_ceil(n);
    for _ in 0..passes {
        now += ALL_DUE;
        deadlines.iter_mut().for_each(|deadline| *deadline += ALL_DUE);
        timed(&mut arm, || schedule_all(&mut queue, &deadlines, &mut keys, || ()));
        let fired = timed(&mut expire, || fire_all(&mut queue, now));
        expire = expire.saturating_sub(queue.clock_cost());
        fired.give(&mut answer);
    }
    let [arm, expire] = [arm, expire].map(|elapsed| ns_each(elapsed, passes * n));
    Ok((answer, vec![arm, expire, arm + expire]))
}

/// Without the digest of an answer, which takes longer than a walk through a tree.
#[inline(never)]
fn fire_all<Q: Queue>(queue: &mut Q, now: u64) -> Tally {
    let mut fired = Tally::default();
    queue.advance(now, |_, value| fired.add(value));
    fired
}
