//! Cancelling all timers in a random order.

use criterion::Criterion;
use timer_wheel_bench::queue::filled_with_keys;
use timer_wheel_bench::workload::{HOUR, MILLISECOND, XorShift64Star};

use crate::harness::{Case, Group, Operation, Subject, anew, every_subject, measure};

pub(crate) fn bench(criterion: &mut Criterion) {
    every_subject(criterion, "cancel", Cancel::new);
}

struct Cancel {
    deadlines: Vec<u64>,
    order: Vec<u32>,
}

impl Cancel {
    fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        Self {
            deadlines: random.uniform(n, MILLISECOND, HOUR),
            order: random.permutation(n as u32),
        }
    }
}

impl Operation for Cancel {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let n = self.deadlines.len();
        let case = Case {
            subject: Q::NAME,
            n,
            operations: n,
        };
        let prepare = || {
            let (queue, keys) = filled_with_keys::<Q>(&self.deadlines);
            let in_order: Vec<Q::Key> = self
                .order
                .iter()
                .map(|&timer| keys[timer as usize])
                .collect();
            (queue, in_order)
        };
        let cancel_all = |(queue, keys): &mut (Q, Vec<Q::Key>)| {
            keys.iter()
                .filter_map(|&key| queue.cancel(key))
                .map(u64::from)
                .sum::<u64>()
        };
        let sum_of_all = (0..n as u64).sum();
        measure(
            group,
            &case,
            anew(prepare),
            cancel_all,
            |(queue, _), sum: u64| {
                let answer = (queue.len(), sum);
                assert_eq!(
                    answer,
                    (0, sum_of_all),
                    "{}: not all are cancelled",
                    Q::NAME
                );
            },
        );
    }
}
