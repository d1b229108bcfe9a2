//! W9: the shapes of Caffeine's own benchmark of its timer wheel, in its geometry.
//!
//! Its sizes and spans are those of `TimerWheelBenchmark` in Caffeine's repository; there time goes back before every
//! expiry, here it runs on until all have fired.

use std::hint::black_box;
use std::time::Duration;

use super::{Answered, Samples, fire_in_steps, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Need, Queue, filled, filled_with_keys};
use crate::rivals::COARSE as TICK;
use crate::workload::{HOUR, MINUTE, SECOND, XorShift64Star};

/// How many timers there are, whatever the size of other experiments.
pub(super) const N: usize = 32_768;
const SPAN: u64 = (5 * 24 * HOUR).next_multiple_of(TICK);
/// Five minutes, in whole ticks.
const STEP: u64 = (5 * MINUTE).next_multiple_of(TICK);
/// A quarter of a million, so that one measurement takes milliseconds.
const OPERATIONS: usize = 8 * N;
const PASSES: usize = 8;

pub(super) fn measure<Q: Queue>(_: usize, samples: &mut Samples) -> Answered {
    let mut random = XorShift64Star::new();
    let deadlines = random.uniform(N, SECOND, SPAN);
    if Q::has(Need::Move) {
        measure_moves::<Q>(&deadlines, random, samples)?;
    }
    let mut in_order = deadlines.clone();
    in_order.sort_unstable();
    let queue: Q = filled(&deadlines);
    if Q::has(Need::Wake) {
        measure_wakes(&queue, in_order[0].next_multiple_of(TICK), samples)?;
    }
    if Q::has(Need::List) {
        measure_order(&queue, &deadlines, &in_order, samples)?;
    }
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    for _ in 0..PASSES {
        let mut queue: Q = filled(&deadlines);
        answer.begin();
        timed(&mut elapsed, || fire_in_steps(&mut queue, SPAN.div_ceil(STEP), STEP, &mut answer));
        elapsed = elapsed.saturating_sub(queue.clock_cost());
    }
    samples.push(("W9 expire in 5 min steps", ns_each(elapsed, PASSES * N)));
    Ok(answer)
}

fn measure_moves<Q: Queue>(deadlines: &[u64], mut random: XorShift64Star, samples: &mut Samples) -> Result<(), String> {
    let moves = random.uniform(OPERATIONS, SECOND, SPAN).into_iter();
    let moves: Vec<(u64, u64)> = moves.map(|deadline| (random.below(N as u64), deadline)).collect();
    let (mut queue, mut keys) = filled_with_keys::<Q>(deadlines);
    let (mut elapsed, mut moved, mut fired) = (Duration::ZERO, 0, 0);
    timed(&mut elapsed, || {
        for &(timer, deadline) in &moves {
            moved += usize::from(queue.reschedule(&mut keys[timer as usize], deadline));
        }
    });
    queue.advance(SPAN, |_, _| fired += 1);
    samples.push(("W9 reschedule", ns_each(elapsed, OPERATIONS)));
    match (moved, fired) {
        (OPERATIONS, N) => Ok(()),
        _ => Err(format!("moves {moved} timers and fires {fired}")),
    }
}

fn measure_wakes<Q: Queue>(queue: &Q, earliest: u64, samples: &mut Samples) -> Result<(), String> {
    if queue.wake_at().is_none_or(|wake| wake > earliest) {
        return Err("names a wrong wake-up".to_owned());
    }
    let mut elapsed = Duration::ZERO;
    timed(&mut elapsed, || {
        for _ in 0..OPERATIONS {
            black_box(black_box(queue).wake_at());
        }
    });
    samples.push(("W9 query of the expiration delay", ns_each(elapsed, OPERATIONS)));
    Ok(())
}

fn measure_order<Q: Queue>(
    queue: &Q,
    deadlines: &[u64],
    in_order: &[u64],
    samples: &mut Samples,
) -> Result<(), String> {
    let (mut up, mut down) = (Duration::ZERO, Duration::ZERO);
    let mut visited = Vec::with_capacity(N);
    let deadline_of = |&value: &u32| deadlines[value as usize];
    for _ in 0..PASSES {
        visited.clear();
        timed(&mut up, || queue.ascending(|&value| visited.push(value)));
        let is_ascending = visited.iter().map(deadline_of).eq(in_order.iter().copied());
        visited.clear();
        timed(&mut down, || queue.descending(|&value| visited.push(value)));
        if !is_ascending || !visited.iter().rev().map(deadline_of).eq(in_order.iter().copied()) {
            return Err("lists its timers out of order".to_owned());
        }
    }
    samples.push(("W9 timer, in ascending order", ns_each(up, PASSES * N)));
    samples.push(("W9 timer, in descending order", ns_each(down, PASSES * N)));
    Ok(())
}
