//! What each operation costs, one criterion group an operation: `cargo bench -p timer-wheel-bench`.
//!
//! Every group measures the wheel and, beside it, the textbook wheel and an ordered set, each with a thousand, ten
//! thousand and a million live timers: `schedule/wheel/1000000`. Most groups are figures of the workloads of `compare`, which
//! checks every answer; those of the wheel alone are below. Criterion measures one subject after the other. That shows what
//! a change did to an operation; to hold the subjects against each other, use `compare`.
//!
//! With `-- --test` each benchmark runs once and with a thousand timers, for the sake of its checks.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use timer_wheel::Wheel;
use timer_wheel_bench::experiments::{Kind, Samples};
use timer_wheel_bench::queue::filled_with_keys;
use timer_wheel_bench::subject;
use timer_wheel_bench::workload::{HOUR, MILLISECOND, XorShift64Star};

/// How many timers are live.
const SIZES: [usize; 3] = [1_000, 10_000, 1_000_000];

/// What criterion is told to be one iteration: about as long as a measurement lasts, by which it decides how many to make.
const FEWEST_OPERATIONS: usize = 100_000;

/// A duration has whole nanoseconds, and an operation may take one or two: a duration is that of this many operations.
const SCALE: u32 = 1_000;

const SUBJECTS: [&str; 3] = ["wheel", "textbook", "btree+slab"];

/// The groups, with the experiment and the figure that each measures.
const GROUPS: [(&str, Kind, &str); 9] = [
    ("schedule", Kind::Fill, "W1a schedule"),
    ("schedule/aged", Kind::Fill, "W1c schedule, aged"),
    ("cancel", Kind::Fill, "W1b cancel"),
    ("move later", Kind::Refresh, "W4 reschedule to later"),
    ("churn", Kind::Churn, "W3 cancel one, schedule one"),
    ("advance/expire", Kind::Expire, "W2 expire"),
    ("advance/burst", Kind::Burst, "W7 expire a burst"),
    ("hold", Kind::Hold, "W11 hold exponential"),
    ("pop first", Kind::Evict, "W13 eviction many TTLs"),
];

/// Makes some calls of the wheel.
type Calls = fn(&mut State) -> u64;

/// What only the wheel has: each makes a number of calls and returns something that depends on all of them.
const OF_THE_WHEEL: [(&str, Calls); 4] = [
    ("move earlier", |state| {
        let moves = state.keys.iter().zip(&state.earlier);
        moves.map(|(&key, &deadline)| u64::from(state.wheel.reschedule(key, deadline))).sum()
    }),
    ("next deadline", |state| (0..state.keys.len()).filter_map(|_| black_box(&state.wheel).next_deadline()).sum()),
    ("peek ahead", |state| (0..state.keys.len()).filter_map(|nth| black_box(&state.wheel).peek_ahead(nth % 5)).sum()),
    ("ascending/first 100", |state| state.wheel.ascending().take(100).map(|timer| u64::from(*timer.value)).sum()),
];

/// A wheel that was just filled, the keys of its timers, and an earlier deadline for each.
struct State {
    wheel: Wheel<u32>,
    keys: Vec<timer_wheel::TimerKey>,
    earlier: Vec<u64>,
}

impl State {
    fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        let (wheel, keys) = filled_with_keys(&random.uniform(n, HOUR / 2, HOUR));
        Self { wheel, keys, earlier: random.uniform(n, MILLISECOND, HOUR / 2) }
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .nresamples(10_000)
        .configure_from_args();
    // As criterion itself tells a measurement from a test.
    let is_given = |flag| std::env::args().any(|argument| argument == flag);
    let is_measured = is_given("--bench") && !is_given("--test");
    let sizes = if is_measured { &SIZES[..] } else { &SIZES[..1] };
    for (name, kind, figure) in GROUPS {
        let mut group = criterion.benchmark_group(name);
        for n in kind.sizes(sizes).into_iter().filter(|n| sizes.contains(n)) {
            let operations = n.max(FEWEST_OPERATIONS);
            group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(operations as u64));
            for subject in subject::ALL.iter().filter(|subject| SUBJECTS.contains(&subject.name)) {
                if kind.figure(figure).is_beyond(subject.lacks) {
                    continue;
                }
                group.bench_function(BenchmarkId::new(subject.name, n), |bencher| {
                    bencher.iter_custom(|iterations| {
                        (0..iterations).map(|_| measure(subject, kind, n, figure)).sum::<Duration>() * operations as u32
                            / SCALE
                    });
                });
            }
        }
        group.finish();
    }
    for (name, calls) in OF_THE_WHEEL {
        let mut group = criterion.benchmark_group(name);
        for &n in sizes {
            group.bench_function(BenchmarkId::new("wheel", n), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut elapsed = Duration::ZERO;
                    for _ in 0..iterations {
                        let mut state = State::new(n);
                        let start = Instant::now();
                        let sum = black_box(calls(black_box(&mut state)));
                        elapsed += start.elapsed();
                        assert!(sum > 0, "the calls do nothing");
                    }
                    elapsed
                });
            });
        }
        group.finish();
    }
    criterion.final_summary();
}

/// The figure of one measurement, whose answer is the business of `compare`.
fn measure(subject: &subject::Subject, kind: Kind, n: usize, figure: &str) -> Duration {
    let mut samples = Samples::new();
    (subject.measure)(kind, n, &mut samples).expect("a right answer");
    let found = samples.into_iter().find(|(name, _)| *name == figure);
    let (_, ns) = found.expect("the experiment gives the figure");
    Duration::from_secs_f64(ns * f64::from(SCALE) / 1e9)
}
