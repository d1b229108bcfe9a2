//! W3: cancel the oldest and schedule a new one, the shape of requests with a timeout.

use std::time::Duration;

use timer_wheel_bench::queue::{Cancel, Promise};
use timer_wheel_bench::workload::{SECOND, STEP};

use super::{ns_each, room_for_keys, timed};
use crate::answer::{Tally, WrongAnswer, check_rest};
use crate::figure::{CHURN, Sample};

const TIMEOUT: u64 = 30 * SECOND;
/// Iterations between two advances.
const BATCH: usize = 100;
const FEWEST_ITERATIONS: usize = 400_000;

pub(crate) struct Input {
    n: usize,
    batches: usize,
    /// What is cancelled, and what has fired before its turn came, in a queue that fires.
    cancelled: Tally,
    fired: Tally,
    /// The values left at the end, oldest first.
    rest: Vec<u32>,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let batches = (4 * n).max(FEWEST_ITERATIONS).div_ceil(BATCH);
        let iterations = batches * BATCH;
        let mut cancelled = Tally::default();
        for timer in 0..iterations {
            if deadline_of(timer, n) > now_at(timer) {
                cancelled.add(timer as u32);
            }
        }
        let mut fired = Tally::default();
        let mut rest = Vec::with_capacity(n);
        for timer in 0..iterations + n {
            // Cancelled in the iteration of its own number, unless it has fired by then.
            let last_seen = now_at(timer.min(iterations));
            if deadline_of(timer, n) <= last_seen {
                fired.add(timer as u32);
            } else if timer >= iterations {
                rest.push(timer as u32);
            }
        }
        Self {
            n,
            batches,
            cancelled,
            fired,
            rest,
        }
    }

    /// Whether a queue can run this. One that takes a stale key for another timer's cannot, once
    /// timers fire before their turn to be cancelled has come.
    pub(super) fn suits<Q: Cancel>(&self) -> bool {
        Q::REFUSES_STALE_KEYS || self.fired.count == 0
    }

    pub(super) fn fill<Q: Cancel>(&self, ring: &mut [Q::Key]) -> Q {
        let mut queue = Q::new(0);
        for (key, value) in ring.iter_mut().zip(0..) {
            *key = queue.schedule(TIMEOUT, value);
        }
        queue
    }

    pub(super) fn churn<Q: Cancel>(&self, queue: &mut Q, ring: &mut [Q::Key]) -> Churned {
        churn(queue, ring, self.batches)
    }

    pub(super) fn check<Q: Cancel>(
        &self,
        mut queue: Q,
        churned: Churned,
    ) -> Result<(), WrongAnswer> {
        let iterations = self.batches * BATCH;
        let Churned {
            cancelled,
            mut fired,
        } = churned;
        if Q::PROMISE == Promise::NothingExpires {
            return cancelled.check(Tally::of_all_below(iterations), Q::NAME, "cancelled");
        }
        cancelled.check(self.cancelled, Q::NAME, "cancelled")?;
        queue.advance(now_at(iterations), |_, value| fired.add(value));
        fired.check(self.fired, Q::NAME, "fired")?;
        let mut rest = Vec::with_capacity(self.n);
        let all_due = (now_at(iterations) + TIMEOUT).next_multiple_of(STEP);
        queue.advance(all_due, |_, value| rest.push(value));
        let deadline_of = |value: u32| deadline_of(value as usize, self.n);
        check_rest(&rest, &self.rest, deadline_of, Q::PROMISE, Q::NAME)
    }
}

/// What went by in the loop.
pub(super) struct Churned {
    cancelled: Tally,
    fired: Tally,
}

/// The time at which an iteration runs.
fn now_at(iteration: usize) -> u64 {
    (iteration / BATCH) as u64 * STEP
}

/// Timers are numbered in the order in which they are scheduled: `n` at the start, then one an
/// iteration.
fn deadline_of(timer: usize, n: usize) -> u64 {
    now_at(timer.saturating_sub(n)) + TIMEOUT
}

pub(crate) fn measure<Q: Cancel>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    if !input.suits::<Q>() {
        return Ok(Vec::new());
    }
    let mut elapsed = Duration::ZERO;
    let mut ring = room_for_keys::<Q>(input.n);
    let mut queue = input.fill::<Q>(&mut ring);
    let churned = timed(&mut elapsed, || input.churn(&mut queue, &mut ring));
    let elapsed = elapsed.saturating_sub(queue.clock_cost());
    input.check(queue, churned)?;
    Ok(vec![CHURN.sample(ns_each(elapsed, input.batches * BATCH))])
}

/// `ring` holds the keys, the oldest at the turn.
#[inline(never)]
fn churn<Q: Cancel>(queue: &mut Q, ring: &mut [Q::Key], batches: usize) -> Churned {
    let (mut cancelled, mut fired) = (Tally::default(), Tally::default());
    let (mut now, mut turn, mut value) = (0, 0, ring.len() as u32);
    for _ in 0..batches {
        for _ in 0..BATCH {
            if let Some(oldest) = queue.cancel(ring[turn]) {
                cancelled.add(oldest);
            }
            ring[turn] = queue.schedule(now + TIMEOUT, value);
            value = value.wrapping_add(1);
            turn += 1;
            if turn == ring.len() {
                turn = 0;
            }
        }
        now += STEP;
        queue.advance(now, |_, value| fired.add(value));
    }
    Churned { cancelled, fired }
}
