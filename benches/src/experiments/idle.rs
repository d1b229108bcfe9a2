//! W23: advances that fire nothing, of a queue whose first timer is some ticks away.

use std::hint::black_box;
use std::time::Duration;

use super::{Measured, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled};
use crate::workload::{MINUTE, STEP, XorShift64Star};

/// The deadlines lie within these.
const STEPS: u64 = MINUTE.div_ceil(STEP);
/// The advances within a tick, each a nanosecond after the one before.
const WITHIN: u64 = 1_000_000;
const _: () = assert!(WITHIN < STEP, "they end before the tick does");
/// Advanced together, so that the readings of the clock around the few ticks between two timers cost little.
const QUEUES: usize = 16;
/// By which the cost of a reading is told.
const READINGS: u32 = 10_000;

pub(super) fn measure<Q: Queue>(n: usize) -> Measured {
    let deadlines = XorShift64Star::new().uniform(n, 0, MINUTE);
    let mut is_idle = vec![true; STEPS as usize + 1];
    is_idle[0] = false;
    deadlines.iter().for_each(|deadline| is_idle[deadline.div_ceil(STEP) as usize] = false);
    let mut answer = Answer::default();
    let next_tick = next_tick::<Q>(&deadlines, &is_idle, &mut answer);
    Ok((answer, vec![next_tick, same_tick::<Q>(&deadlines, &is_idle, &mut answer)]))
}

/// A step is a tick. Of the steps those are timed, in rows, in which nothing is due.
fn next_tick<Q: Queue>(deadlines: &[u64], is_idle: &[bool], answer: &mut Answer) -> f64 {
    let mut queues: Vec<Q> = (0..QUEUES).map(|_| filled(deadlines)).collect();
    let [mut idle, mut busy, mut readings] = [Duration::ZERO; 3];
    (0..READINGS).for_each(|_| timed(&mut readings, || black_box(())));
    let (mut rows, mut steps, mut idle_steps) = (0, 0, 0);
    for row in is_idle.chunk_by(|one, next| one == next) {
        let times = (steps..steps + row.len() as u64).map(|step| step * STEP);
        timed(if row[0] { &mut idle } else { &mut busy }, || {
            for queue in &mut queues {
                answer.begin();
                advance_to_each(queue, times.clone(), answer);
            }
        });
        steps += row.len() as u64;
        if row[0] {
            rows += 1;
            idle_steps += row.len();
        }
    }
    ns_each(idle.saturating_sub(readings * rows / READINGS), idle_steps * QUEUES)
}

/// In a tick a sixth of the way, in which nothing is due, nor in the one after.
fn same_tick<Q: Queue>(deadlines: &[u64], is_idle: &[bool], answer: &mut Answer) -> f64 {
    let sixth = STEPS as usize / 6;
    let found = (sixth..STEPS as usize).find(|&step| is_idle[step] && is_idle[step + 1]);
    let start = found.expect("most ticks are idle") as u64 * STEP;
    let mut queue: Q = filled(deadlines);
    fire_rest(&mut queue, start, answer);
    let mut elapsed = Duration::ZERO;
    timed(&mut elapsed, || advance_to_each(&mut queue, start..start + WITHIN, answer));
    fire_rest(&mut queue, STEPS * STEP, answer);
    ns_each(elapsed, WITHIN as usize)
}

#[inline(never)]
fn advance_to_each<Q: Queue>(queue: &mut Q, times: impl Iterator<Item = u64>, answer: &mut Answer) {
    for now in times {
        queue.advance(black_box(now), |deadline, value| answer.fire(now / STEP, deadline, value));
    }
}
