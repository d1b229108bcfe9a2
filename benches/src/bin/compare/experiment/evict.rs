//! W13: a full cache. For each write the earliest entry is evicted, long before it is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use timer_wheel_bench::queue::Pop;
use timer_wheel_bench::workload::{HOUR, MINUTE, STEP, XorShift64Star};

use super::{ns_each, timed};
use crate::answer::WrongAnswer;
use crate::figure::{EVICTION, EVICTION_OF_MANY_TTLS, Figure, Sample};

const LONGEST_TTL: u64 = HOUR;
/// Writes between two advances.
const BATCH: usize = 100;
const FEWEST_WRITES: usize = 100_000;

pub(crate) struct Input {
    shapes: [Shape; 2],
}

/// A cache, and what it is filled with.
struct Shape {
    figure: Figure,
    /// Of every write, those that fill the cache first.
    ttls: Vec<u64>,
    n: usize,
    /// What an exact queue evicts.
    evicted: Evicted,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let writes = n + n.max(FEWEST_WRITES).next_multiple_of(BATCH);
        let mut random = XorShift64Star::new();
        let many = random.uniform(writes, 10 * MINUTE, LONGEST_TTL);
        Self {
            shapes: [
                Shape::new(EVICTION, n, vec![LONGEST_TTL; writes]),
                Shape::new(EVICTION_OF_MANY_TTLS, n, many),
            ],
        }
    }
}

impl Shape {
    fn new(figure: Figure, n: usize, ttls: Vec<u64>) -> Self {
        let mut shape = Self {
            figure,
            ttls,
            n,
            evicted: Evicted::default(),
        };
        let mut oracle = BinaryHeap::new();
        for write in 0..n {
            oracle.push(Reverse(shape.deadline_of(write)));
        }
        for first in (n..shape.ttls.len()).step_by(BATCH) {
            for _ in 0..BATCH {
                shape
                    .evicted
                    .add(oracle.pop().map(|Reverse(deadline)| deadline));
            }
            for write in first..first + BATCH {
                oracle.push(Reverse(shape.deadline_of(write)));
            }
        }
        shape
    }

    fn deadline_of(&self, write: usize) -> u64 {
        now_at(write) + self.ttls[write]
    }

    fn measure<Q: Pop>(&self) -> Result<Sample, WrongAnswer> {
        let mut queue = Q::new(0);
        for write in 0..self.n {
            queue.schedule(self.deadline_of(write), write as u32);
        }
        let mut expired = 0;
        queue.advance(now_at(self.n), |_, _| expired += 1);
        let mut evicted = Evicted::default();
        let mut batch = Vec::with_capacity(BATCH);
        let mut elapsed = Duration::ZERO;
        for first in (self.n..self.ttls.len()).step_by(BATCH) {
            timed(&mut elapsed, || evict(&mut queue, &mut batch));
            for (entry, write) in batch.drain(..).zip(first..) {
                evicted.add(entry.map(|(deadline, _)| deadline));
                queue.schedule(self.deadline_of(write), write as u32);
            }
            queue.advance(now_at(first + BATCH), |_, _| expired += 1);
        }
        if expired > 0 || evicted != self.evicted {
            let fault = "evicts other entries than the earliest, or lets some expire";
            return Err(WrongAnswer::new(Q::NAME, fault));
        }
        let evictions = self.ttls.len() - self.n;
        Ok(self.figure.sample(ns_each(elapsed, evictions)))
    }
}

/// The time of a write: a tick goes by with each batch.
fn now_at(write: usize) -> u64 {
    (write / BATCH) as u64 * STEP
}

/// The deadlines evicted, in order; of entries with one deadline any may go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Evicted(u64);

impl Evicted {
    fn add(&mut self, deadline: Option<u64>) {
        const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
        self.0 = self.0.wrapping_mul(MULTIPLIER);
        self.0 = self.0.wrapping_add(deadline.unwrap_or_default());
    }
}

pub(crate) fn measure<Q: Pop>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    input.shapes.iter().map(Shape::measure::<Q>).collect()
}

#[inline(never)]
fn evict<Q: Pop>(queue: &mut Q, batch: &mut Vec<Option<(u64, u32)>>) {
    batch.extend((0..BATCH).map(|_| queue.pop_first()));
}
