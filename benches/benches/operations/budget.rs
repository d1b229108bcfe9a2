//! Advancing with a budget: a minute at once, in calls that each do a bounded amount of work.

use criterion::Criterion;
use timer_wheel::Wheel;
use timer_wheel_bench::queue::{Budgeted, Counted, filled};
use timer_wheel_bench::workload::{MILLISECOND, MINUTE, XorShift64Star};
use timer_wheel_bench::{BareSet, LeanBTreeQueue};

use crate::harness::{Case, Group, anew, each_size, measure};

/// Units of work a call. The wheel counts what it moves as well, an ordered set only what it fires.
const BUDGET: usize = 256;

/// The textbook wheel cannot stop in the middle of a bucket.
pub(crate) fn bench(criterion: &mut Criterion) {
    each_size(criterion, "budgeted advance", |group, n| {
        let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, MINUTE);
        fire_all::<Wheel<u32>>(group, &deadlines);
        fire_all::<BareSet>(group, &deadlines);
        fire_all::<LeanBTreeQueue<u32>>(group, &deadlines);
    });
}

fn fire_all<Q: Budgeted + Counted>(group: &mut Group<'_>, deadlines: &[u64]) {
    let n = deadlines.len();
    let case = Case {
        subject: Q::NAME,
        n,
        operations: n,
    };
    let fire = |queue: &mut Q| {
        let (mut sum, mut calls, mut has_backlog) = (0, 0, true);
        while has_backlog {
            has_backlog = queue
                .advance_with_budget(MINUTE, BUDGET, |_, value| sum += u64::from(value))
                .has_backlog;
            calls += 1;
        }
        (sum, calls)
    };
    let sum_of_all = (0..n as u64).sum();
    let prepare = anew(|| filled::<Q>(deadlines));
    measure(
        group,
        &case,
        prepare,
        fire,
        |queue, (sum, calls): (u64, usize)| {
            let answer = (queue.len(), sum);
            assert_eq!(answer, (0, sum_of_all), "{}: not all have fired", Q::NAME);
            assert!(
                calls >= n.div_ceil(BUDGET),
                "{}: a call did too much",
                Q::NAME
            );
        },
    );
}
