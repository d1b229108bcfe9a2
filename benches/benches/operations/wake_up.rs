//! Asking when to wake up: for the whole queue, and for each level of a wheel.

use std::hint::black_box;

use criterion::Criterion;
use timer_wheel::Wheel;
use timer_wheel_bench::queue::{Queue, filled};
use timer_wheel_bench::workload::{HOUR, MILLISECOND, XorShift64Star};

use crate::harness::{Case, Group, Operation, Subject, each_size, every_subject, measure, onward};

pub(crate) fn bench(criterion: &mut Criterion) {
    every_subject(criterion, "expiration delay", ExpirationDelay::new);
    // The wheel alone has two answers: when to wake up, and when the earliest timer is due.
    each_size(criterion, "next deadline", bench_next_deadline);
    // Neither an ordered set nor the textbook wheel answers for a level.
    each_size(criterion, "peek ahead", bench_peek_ahead);
}

const QUERIES: usize = 1_000;

struct ExpirationDelay {
    deadlines: Vec<u64>,
}

impl ExpirationDelay {
    fn new(n: usize) -> Self {
        Self {
            deadlines: XorShift64Star::new().uniform(n, MILLISECOND, HOUR),
        }
    }
}

impl Operation for ExpirationDelay {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let case = Case {
            subject: Q::NAME,
            n: self.deadlines.len(),
            operations: QUERIES,
        };
        let ask = |queue: &mut Q| {
            (0..QUERIES)
                .filter_map(|_| black_box(&*queue).next_wake())
                .sum::<u64>()
        };
        let earliest = self.deadlines.iter().min().copied();
        let prepare = onward(|| filled::<Q>(&self.deadlines));
        measure(group, &case, prepare, ask, |queue, sum| {
            let wake = queue.next_wake();
            assert!(
                wake.is_some() && wake <= earliest,
                "{}: it wakes too late",
                Q::NAME
            );
            assert_eq!(
                Some(sum),
                wake.map(|wake| wake * QUERIES as u64),
                "{}",
                Q::NAME
            );
        });
    }
}

fn bench_next_deadline(group: &mut Group<'_>, n: usize) {
    let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, HOUR);
    let earliest = deadlines.iter().min().copied().unwrap_or_default();
    let case = Case {
        subject: <Wheel<u32> as Queue>::NAME,
        n,
        operations: QUERIES,
    };
    let prepare = onward(|| filled::<Wheel<u32>>(&deadlines));
    let ask = |wheel: &mut Wheel<u32>| {
        (0..QUERIES)
            .filter_map(|_| black_box(&*wheel).next_deadline())
            .sum::<u64>()
    };
    measure(group, &case, prepare, ask, |_, sum| {
        assert_eq!(sum, earliest * QUERIES as u64, "it is not the earliest");
    });
}

const LEVELS: usize = 5;

fn bench_peek_ahead(group: &mut Group<'_>, n: usize) {
    let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, HOUR);
    let case = Case {
        subject: <Wheel<u32> as Queue>::NAME,
        n,
        operations: QUERIES,
    };
    let ask = |wheel: &mut Wheel<u32>| {
        let mut earliest = u64::MAX;
        for query in 0..QUERIES {
            let delay = black_box(&*wheel).peek_ahead(query % LEVELS);
            earliest = earliest.min(delay.unwrap_or(u64::MAX));
        }
        earliest
    };
    let prepare = onward(|| filled::<Wheel<u32>>(&deadlines));
    measure(group, &case, prepare, ask, |wheel, earliest| {
        assert_eq!(
            Some(earliest),
            wheel.expiration_delay(),
            "a level is missed"
        );
    });
}
