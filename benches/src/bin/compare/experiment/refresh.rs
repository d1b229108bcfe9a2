//! W4: postpone a random timer, the shape of a cache whose entries live while they are used.

use std::time::Duration;

use timer_wheel_bench::queue::{Promise, Reschedule};
use timer_wheel_bench::workload::{MINUTE, STEP, XorShift64Star};

use super::{ns_each, room_for_keys, timed};
use crate::answer::{WrongAnswer, check_rest};
use crate::figure::{REFRESH, Sample};

const LIFETIME: u64 = 10 * MINUTE;
/// Iterations between two advances.
const BATCH: usize = 1_000;
const FEWEST_ITERATIONS: usize = 400_000;

pub(crate) struct Input {
    n: usize,
    /// The timer that each iteration postpones; a whole number of batches.
    touched: Vec<u32>,
    deadlines: Vec<u64>,
    /// The values at the end, in exact order.
    rest: Vec<u32>,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let iterations = (4 * n).max(FEWEST_ITERATIONS).next_multiple_of(BATCH);
        let mut random = XorShift64Star::new();
        let touched: Vec<u32> = (0..iterations)
            .map(|_| random.below(n as u64) as u32)
            .collect();
        let mut deadlines = vec![LIFETIME; n];
        let mut last_touched = vec![0; n];
        for (iteration, &timer) in touched.iter().enumerate() {
            deadlines[timer as usize] = (iteration / BATCH) as u64 * STEP + LIFETIME;
            last_touched[timer as usize] = iteration + 1;
        }
        let mut rest: Vec<u32> = (0..n as u32).collect();
        // Deadlines only grow with the iterations, so the last touch alone gives the order; the
        // untouched keep theirs, before all others, because the sort is stable.
        rest.sort_by_key(|&timer| last_touched[timer as usize]);
        Self {
            n,
            touched,
            deadlines,
            rest,
        }
    }
}

pub(crate) fn measure<Q: Reschedule>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut queue = Q::new(0);
    let mut keys = room_for_keys::<Q>(input.n);
    for (key, value) in keys.iter_mut().zip(0..) {
        *key = queue.schedule(LIFETIME, value);
    }
    let mut elapsed = Duration::ZERO;
    let postponed = timed(&mut elapsed, || refresh(&mut queue, &mut keys, input));
    let elapsed = elapsed.saturating_sub(queue.clock_cost());
    if postponed != input.touched.len() {
        let fault = format!("postponed {postponed} times, not {}", input.touched.len());
        return Err(WrongAnswer::new(Q::NAME, fault));
    }
    if Q::PROMISE != Promise::NothingExpires {
        let mut rest = Vec::with_capacity(input.n);
        let batches = (input.touched.len() / BATCH) as u64;
        let all_due = (batches * STEP + LIFETIME).next_multiple_of(STEP);
        queue.advance(all_due, |_, value| rest.push(value));
        let deadline_of = |value: u32| input.deadlines[value as usize];
        check_rest(&rest, &input.rest, deadline_of, Q::PROMISE, Q::NAME)?;
    }
    Ok(vec![REFRESH.sample(ns_each(elapsed, input.touched.len()))])
}

/// Gives how many timers were postponed, less those that fired: none is due within the workload.
#[inline(never)]
fn refresh<Q: Reschedule>(queue: &mut Q, keys: &mut [Q::Key], input: &Input) -> usize {
    let mut postponed = 0;
    let mut fired = 0;
    let mut now = 0;
    for batch in input.touched.chunks(BATCH) {
        for &timer in batch {
            postponed += usize::from(queue.reschedule(&mut keys[timer as usize], now + LIFETIME));
        }
        now += STEP;
        queue.advance(now, |_, _| fired += 1);
    }
    postponed - fired
}
