//! Churn: cancel the oldest timer and schedule a new one, the shape of requests with a timeout.

use criterion::Criterion;
use timer_wheel_bench::queue::filled_with_keys;
use timer_wheel_bench::workload::{SECOND, STEP};

use crate::harness::{Case, Group, Operation, Subject, every_subject, measure, onward};

pub(crate) fn bench(criterion: &mut Criterion) {
    every_subject(criterion, "churn", |n| Churn { n });
}

const TIMEOUT: u64 = 30 * SECOND;

/// Timers replaced between two advances.
const BATCH: usize = 100;

/// Batches in the timed part.
const BATCHES: usize = 10;

struct Churn {
    n: usize,
}

struct Ring<Q: Subject> {
    queue: Q,
    /// The keys of all timers, the oldest at the turn.
    keys: Vec<Q::Key>,
    turn: usize,
    now: u64,
    fired: usize,
}

impl<Q: Subject> Ring<Q> {
    /// `n` timers, as if they had been scheduled at the pace at which they are then replaced.
    fn new(n: usize) -> Self {
        let deadlines: Vec<u64> = (0..n)
            .map(|timer| (timer / BATCH) as u64 * STEP + TIMEOUT)
            .collect();
        let (mut queue, keys) = filled_with_keys::<Q>(&deadlines);
        let now = n.div_ceil(BATCH) as u64 * STEP;
        let mut fired = 0;
        queue.advance(now, |_, _| fired += 1);
        Self {
            queue,
            keys,
            turn: 0,
            now,
            fired,
        }
    }

    /// Gives how many timers were cancelled.
    fn replace_batch(&mut self) -> usize {
        let mut cancelled = 0;
        for _ in 0..BATCH {
            let key = &mut self.keys[self.turn];
            cancelled += usize::from(self.queue.cancel(*key).is_some());
            *key = self.queue.schedule(self.now + TIMEOUT, self.turn as u32);
            self.turn += 1;
            if self.turn == self.keys.len() {
                self.turn = 0;
            }
        }
        self.now += STEP;
        self.queue.advance(self.now, |_, _| self.fired += 1);
        cancelled
    }
}

impl Operation for Churn {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let case = Case {
            subject: Q::NAME,
            n: self.n,
            operations: BATCH * BATCHES,
        };
        let replace = |ring: &mut Ring<Q>| (0..BATCHES).map(|_| ring.replace_batch()).sum();
        let prepare = onward(|| Ring::<Q>::new(self.n));
        measure(group, &case, prepare, replace, |ring, cancelled: usize| {
            // A timer is replaced long before its time comes.
            let answer = (ring.queue.len(), ring.fired, cancelled);
            assert_eq!(answer, (self.n, 0, BATCH * BATCHES), "{}", Q::NAME);
        });
    }
}
