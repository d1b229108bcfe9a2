//! Rescheduling: to a later deadline, as a cache does at every access, and to an earlier one.

use criterion::Criterion;
use timer_wheel_bench::queue::filled_with_keys;
use timer_wheel_bench::workload::{HOUR, MILLISECOND, MINUTE, STEP, XorShift64Star};

use crate::harness::{Case, Group, Operation, Subject, anew, every_subject, measure};

pub(crate) fn bench(criterion: &mut Criterion) {
    every_subject(criterion, "move later", Later::new);
    every_subject(criterion, "move earlier", Earlier::new);
}

/// How long a timer runs from when it is postponed.
const LIFETIME: u64 = 10 * MINUTE;

/// Timers postponed at one time.
const BATCH: usize = 1_000;

/// Postpones random timers, to deadlines that grow by a tick every batch. The time stands still: what a
/// queue has to do for it when the old deadline comes is in `compare`'s W4.
struct Later {
    n: usize,
    /// Which timers, a whole number of batches.
    touched: Vec<u32>,
}

impl Later {
    fn new(n: usize) -> Self {
        let count = n.max(100 * BATCH).next_multiple_of(BATCH);
        let mut random = XorShift64Star::new();
        Self {
            n,
            touched: (0..count).map(|_| random.below(n as u64) as u32).collect(),
        }
    }
}

struct Refreshed<Q: Subject> {
    queue: Q,
    keys: Vec<Q::Key>,
    batches: usize,
}

impl Operation for Later {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let case = Case {
            subject: Q::NAME,
            n: self.n,
            operations: BATCH,
        };
        let prepare = |left: Option<Refreshed<Q>>| {
            let mut state = left.unwrap_or_else(|| {
                let (queue, keys) = filled_with_keys::<Q>(&vec![LIFETIME; self.n]);
                Refreshed {
                    queue,
                    keys,
                    batches: 0,
                }
            });
            state.batches += 1;
            state
        };
        let postpone = |state: &mut Refreshed<Q>| {
            let deadline = LIFETIME + state.batches as u64 * STEP;
            let start = state.batches * BATCH % self.touched.len();
            self.touched[start..start + BATCH]
                .iter()
                .map(|&timer| {
                    let key = &mut state.keys[timer as usize];
                    usize::from(state.queue.reschedule(key, deadline))
                })
                .sum::<usize>()
        };
        measure(group, &case, prepare, postpone, |state, moved| {
            let answer = (state.queue.len(), moved);
            assert_eq!(
                answer,
                (self.n, BATCH),
                "{}: not all are postponed",
                Q::NAME
            );
        });
    }
}

/// Brings every timer, in a random order, from the second half of an hour into the first.
struct Earlier {
    late: Vec<u64>,
    early: Vec<u64>,
    order: Vec<u32>,
}

impl Earlier {
    fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        Self {
            late: random.uniform(n, HOUR / 2, HOUR),
            early: random.uniform(n, MILLISECOND, HOUR / 2),
            order: random.permutation(n as u32),
        }
    }
}

impl Operation for Earlier {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let n = self.late.len();
        let case = Case {
            subject: Q::NAME,
            n,
            operations: n,
        };
        let prepare = || {
            let (queue, keys) = filled_with_keys::<Q>(&self.late);
            let in_order: Vec<Q::Key> = self
                .order
                .iter()
                .map(|&timer| keys[timer as usize])
                .collect();
            (queue, in_order)
        };
        let bring_forward = |(queue, keys): &mut (Q, Vec<Q::Key>)| {
            keys.iter_mut()
                .zip(&self.early)
                .map(|(key, &deadline)| usize::from(queue.reschedule(key, deadline)))
                .sum::<usize>()
        };
        let earliest = self.early.iter().min().copied();
        measure(
            group,
            &case,
            anew(prepare),
            bring_forward,
            |(queue, _), moved| {
                let answer = (queue.len(), moved);
                assert_eq!(answer, (n, n), "{}: not all are brought forward", Q::NAME);
                assert!(
                    queue.next_wake() <= earliest,
                    "{}: it wakes too late",
                    Q::NAME
                );
            },
        );
    }
}
