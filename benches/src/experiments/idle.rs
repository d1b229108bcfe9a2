//! W23: advances that fire nothing, of a queue whose first timer is some ticks away.

use std::hint::black_box;
use std::time::Duration;

use super::{Answered, Samples, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled};
use crate::workload::{MINUTE, STEP, XorShift64Star};

pub(super) const N: usize = 10_000;
/// The deadlines lie within these.
const STEPS: u64 = MINUTE.div_ceil(STEP);
/// The advances within a tick, each a nanosecond after the one before.
const WITHIN: u64 = 1_000_000;
const _: () = assert!(WITHIN < STEP, "they end before the tick does");
/// Advanced together, so that the readings of the clock around the few ticks between two timers cost little.
const QUEUES: usize = 16;
/// By which the cost of a reading is told.
const READINGS: u32 = 10_000;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let deadlines = XorShift64Star::new().uniform(n, 0, MINUTE);
    let mut is_idle = vec![true; STEPS as usize + 2];
    is_idle[0] = false;
    deadlines.iter().for_each(|deadline| is_idle[deadline.div_ceil(STEP) as usize] = false);
    let mut answer = Answer::default();
    samples.push(("W23 idle advance, next tick", measure_ticks::<Q>(&deadlines, &is_idle, &mut answer)));
    samples.push(("W23 idle advance, same tick", measure_within::<Q>(&deadlines, &is_idle, &mut answer)));
    Ok(answer)
}

/// A step is a tick. Of the steps those are timed, in rows, in which nothing is due.
fn measure_ticks<Q: Queue>(deadlines: &[u64], is_idle: &[bool], answer: &mut Answer) -> f64 {
    let mut queues: Vec<Q> = (0..QUEUES).map(|_| filled(deadlines)).collect();
    let [mut idle, mut busy, mut readings] = [Duration::ZERO; 3];
    (0..READINGS).for_each(|_| timed(&mut readings, || black_box(())));
    let (mut rows, mut steps) = (0, 0);
    for row in is_idle[..=STEPS as usize].chunk_by(|one, next| one == next) {
        let times = (steps..steps + row.len() as u64).map(|step| step * STEP);
        let elapsed = if row[0] { &mut idle } else { &mut busy };
        timed(elapsed, || {
            for queue in &mut queues {
                answer.begin();
                advance_to_each(queue, times.clone(), answer);
            }
        });
        rows += u32::from(row[0]);
        steps += row.len() as u64;
    }
    let idle = idle.saturating_sub(readings * rows / READINGS);
    let idle_steps = is_idle[..=STEPS as usize].iter().filter(|is_idle| **is_idle).count();
    ns_each(idle, idle_steps * QUEUES)
}

/// In a tick a sixth of the way, in which nothing is due, nor in the one after.
fn measure_within<Q: Queue>(deadlines: &[u64], is_idle: &[bool], answer: &mut Answer) -> f64 {
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
