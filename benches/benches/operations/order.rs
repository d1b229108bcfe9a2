//! Walking the timers in order of deadline, from either end, without disturbing them.

use criterion::Criterion;
use timer_wheel::Wheel;
use timer_wheel_bench::queue::{Ordered, filled};
use timer_wheel_bench::workload::{HOUR, MILLISECOND, XorShift64Star};
use timer_wheel_bench::{BareSet, LeanBTreeQueue};

use crate::harness::{Case, Group, each_size, measure, onward};

/// How many timers are looked at where not all are.
const FEW: usize = 100;

pub(crate) fn bench(criterion: &mut Criterion) {
    bench_walk::<Ascending>(criterion, "ascending", usize::MAX);
    bench_walk::<Ascending>(criterion, "ascending/first 100", FEW);
    bench_walk::<Descending>(criterion, "descending", usize::MAX);
    bench_walk::<Descending>(criterion, "descending/first 100", FEW);
}

/// The textbook wheel has no order before it fires.
fn bench_walk<D: Direction>(criterion: &mut Criterion, name: &str, most: usize) {
    each_size(criterion, name, |group, n| {
        let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, HOUR);
        let length = most.min(n);
        walk::<Wheel<u32>, D>(group, &deadlines, length);
        walk::<BareSet, D>(group, &deadlines, length);
        walk::<LeanBTreeQueue<u32>, D>(group, &deadlines, length);
    });
}

trait Direction {
    fn values<Q: Ordered>(queue: &Q) -> impl Iterator<Item = u32>;

    fn sort(deadlines: &mut [u64]);
}

struct Ascending;

impl Direction for Ascending {
    #[inline]
    fn values<Q: Ordered>(queue: &Q) -> impl Iterator<Item = u32> {
        queue.ascending()
    }

    fn sort(deadlines: &mut [u64]) {
        deadlines.sort_unstable();
    }
}

struct Descending;

impl Direction for Descending {
    #[inline]
    fn values<Q: Ordered>(queue: &Q) -> impl Iterator<Item = u32> {
        queue.descending()
    }

    fn sort(deadlines: &mut [u64]) {
        deadlines.sort_unstable_by(|one, other| other.cmp(one));
    }
}

fn walk<Q: Ordered, D: Direction>(group: &mut Group<'_>, deadlines: &[u64], length: usize) {
    let case = Case {
        subject: Q::NAME,
        n: deadlines.len(),
        operations: length,
    };
    // The order is checked once, in full: the queue stays as it is.
    let prepare = onward(|| {
        let queue = filled::<Q>(deadlines);
        let mut expected = deadlines.to_vec();
        D::sort(&mut expected);
        let walked = D::values(&queue).map(|value| deadlines[value as usize]);
        assert!(walked.eq(expected), "{}: not in order of deadline", Q::NAME);
        let sum: u64 = D::values(&queue).take(length).map(u64::from).sum();
        (queue, sum)
    });
    let look = |(queue, _): &mut (Q, u64)| {
        D::values(queue)
            .take(length)
            .fold((0, 0), |(count, sum), value| {
                (count + 1, sum + u64::from(value))
            })
    };
    measure(group, &case, prepare, look, |(_, sum), answer| {
        assert_eq!(answer, (length, *sum), "{}: another walk", Q::NAME);
    });
}
