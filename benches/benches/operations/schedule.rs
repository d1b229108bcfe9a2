//! Scheduling: into a new queue, and into one whose memory has been used and freed at random.

use std::hint::black_box;

use criterion::Criterion;
use timer_wheel_bench::queue::filled_with_keys;
use timer_wheel_bench::workload::{HOUR, MILLISECOND, XorShift64Star};

use crate::harness::{Case, Group, Operation, Subject, anew, every_subject, measure};

pub(crate) fn bench(criterion: &mut Criterion) {
    every_subject(criterion, "schedule", Fresh::new);
    every_subject(criterion, "schedule/aged", Aged::new);
}

struct Fresh {
    deadlines: Vec<u64>,
}

impl Fresh {
    fn new(n: usize) -> Self {
        Self {
            deadlines: XorShift64Star::new().uniform(n, MILLISECOND, HOUR),
        }
    }

    fn measure<Q: Subject>(&self, group: &mut Group<'_>, prepare: impl Fn() -> Q) {
        let n = self.deadlines.len();
        let case = Case {
            subject: Q::NAME,
            n,
            operations: n,
        };
        let schedule_all = |queue: &mut Q| {
            for (&deadline, value) in self.deadlines.iter().zip(0..) {
                black_box(queue.schedule(deadline, value));
            }
        };
        measure(group, &case, anew(prepare), schedule_all, |queue, ()| {
            assert_eq!(queue.len(), n, "{}: not all are scheduled", Q::NAME);
        });
    }
}

impl Operation for Fresh {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        self.measure(group, || Q::new(0));
    }
}

struct Aged {
    fresh: Fresh,
    /// The order in which the first timers are cancelled.
    order: Vec<u32>,
}

impl Aged {
    fn new(n: usize) -> Self {
        Self {
            fresh: Fresh::new(n),
            order: XorShift64Star::new().permutation(n as u32),
        }
    }
}

impl Operation for Aged {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        self.fresh.measure(group, || {
            let (mut queue, keys) = filled_with_keys::<Q>(&self.fresh.deadlines);
            for &timer in &self.order {
                queue.cancel(keys[timer as usize]);
            }
            assert_eq!(queue.len(), 0, "{}: not all are cancelled", Q::NAME);
            queue
        });
    }
}
