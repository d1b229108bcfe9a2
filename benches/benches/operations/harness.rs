//! The timed part of every benchmark, and what is the same for all groups.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use timer_wheel::Wheel;
use timer_wheel_bench::queue::{Counted, Reschedule, Wakes};
use timer_wheel_bench::{BareSet, LeanBTreeQueue, TextbookWheel};

/// How many timers are live.
const SIZES: [usize; 3] = [1_000, 10_000, 1_000_000];

pub(crate) type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// What holds unless the command line says otherwise. With a million timers a sample is one iteration,
/// whose preparation takes many times as long, so there are few samples.
pub(crate) fn configuration() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .nresamples(10_000)
}

/// Benchmarks an operation with each number of live timers.
pub(crate) fn each_size(
    criterion: &mut Criterion,
    operation: &str,
    bench: impl Fn(&mut Group<'_>, usize),
) {
    let mut group = criterion.benchmark_group(operation);
    // As criterion itself tells a measurement from a test.
    let is_given = |flag| std::env::args().any(|argument| argument == flag);
    let is_measured = is_given("--bench") && !is_given("--test");
    let sizes = if is_measured { &SIZES[..] } else { &SIZES[..1] };
    for &n in sizes {
        bench(&mut group, n);
    }
    group.finish();
}

/// A queue that can do nearly all.
pub(crate) trait Subject: Reschedule + Wakes + Counted {}

impl<Q: Reschedule + Wakes + Counted> Subject for Q {}

/// An operation that every subject has, with its input.
pub(crate) trait Operation {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>);
}

/// Benchmarks an operation of every subject, with each number of live timers.
pub(crate) fn every_subject<O: Operation>(
    criterion: &mut Criterion,
    name: &str,
    input: impl Fn(usize) -> O,
) {
    each_size(criterion, name, |group, n| {
        let operation = input(n);
        operation.bench::<Wheel<u32>>(group);
        operation.bench::<TextbookWheel<u32>>(group);
        operation.bench::<BareSet>(group);
        operation.bench::<LeanBTreeQueue<u32>>(group);
    });
}

/// Who is measured, and with how many timers.
pub(crate) struct Case {
    pub(crate) subject: &'static str,
    pub(crate) n: usize,
    /// How often the timed part does the operation.
    pub(crate) operations: usize,
}

/// Measures the timed part of an operation.
///
/// `prepare` makes the state for an iteration from that which the one before has left, if any. Only
/// `timed` is: not what comes before it, nor `check`, which panics at a wrong answer, nor the drop of the
/// state.
pub(crate) fn measure<State, Answer>(
    group: &mut Group<'_>,
    case: &Case,
    prepare: impl Fn(Option<State>) -> State,
    timed: impl Fn(&mut State) -> Answer,
    check: impl Fn(&State, Answer),
) {
    let mut left = None;
    group.throughput(Throughput::Elements(case.operations as u64));
    group.bench_function(BenchmarkId::new(case.subject, case.n), |bencher| {
        bencher.iter_custom(|iterations| {
            let mut elapsed = Duration::ZERO;
            for _ in 0..iterations {
                let mut state = prepare(left.take());
                let start = Instant::now();
                let answer = black_box(timed(black_box(&mut state)));
                elapsed += start.elapsed();
                check(&state, answer);
                left = Some(state);
            }
            elapsed
        });
    });
}

/// Drops what an iteration has left before the next state is made, so that only one is ever alive.
pub(crate) fn anew<State>(make: impl Fn() -> State) -> impl Fn(Option<State>) -> State {
    move |left| {
        drop(left);
        make()
    }
}

/// Goes on with what the iteration before has left.
pub(crate) fn onward<State>(make: impl Fn() -> State) -> impl Fn(Option<State>) -> State {
    move |left| left.unwrap_or_else(&make)
}
