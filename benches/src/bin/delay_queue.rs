//! Measures the delay queue against tokio-util's, side by side: the two take turns at the same
//! input, and what counts is the ratio of their medians.
//!
//! `cargo run --release -p timer-wheel-bench --bin delay_queue -- --help`

use std::future::poll_fn;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::task::{Context, Poll};
use std::time::{Duration, Instant as StdInstant};

use clap::Parser;
use timer_wheel_bench::results::{self, Counts, Sheet};
use timer_wheel_bench::turns::{Samples, column, take_turns};
use timer_wheel_bench::workload::XorShift64Star;
use tokio::runtime::Builder;
use tokio::task::unconstrained;
use tokio::time::{advance, pause, sleep};

/// Measures the delay queue against tokio-util's
#[derive(Debug, Parser)]
#[command(name = "delay_queue", max_term_width = 100)]
struct Options {
    /// How many items, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "10000,1000000",
          value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    n: Vec<u32>,

    /// How many times each queue is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What a workload needs of a queue. Values number the items.
trait Queue {
    type Key: Copy;

    fn new() -> Self;
    fn insert(&mut self, value: u32, timeout: Duration) -> Self::Key;
    fn remove(&mut self, key: &Self::Key) -> u32;
    fn reset(&mut self, key: &Self::Key, timeout: Duration);
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<u32>>;
}

macro_rules! queue {
    ($path:ident $(:: $segment:ident)*) => {
        impl Queue for $path $(:: $segment)* ::DelayQueue<u32> {
            type Key = $path $(:: $segment)* ::delay_queue::Key;

            fn new() -> Self {
                Self::new()
            }

            #[inline]
            fn insert(&mut self, value: u32, timeout: Duration) -> Self::Key {
                self.insert(value, timeout)
            }

            #[inline]
            fn remove(&mut self, key: &Self::Key) -> u32 {
                self.remove(key).into_inner()
            }

            #[inline]
            fn reset(&mut self, key: &Self::Key, timeout: Duration) {
                self.reset(key, timeout);
            }

            #[inline]
            fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<u32>> {
                let expired = self.poll_expired(cx);
                expired.map(|expired| expired.map(|expired| expired.into_inner()))
            }
        }
    };
}

queue!(timer_wheel);
queue!(tokio_util::time);

type Ours = timer_wheel::DelayQueue<u32>;
type Theirs = tokio_util::time::DelayQueue<u32>;

/// The same for both queues and for every round.
struct Input {
    timeouts: Vec<Duration>,
    resets: Vec<Duration>,
    order: Vec<usize>,
}

/// Timeouts are whole milliseconds of one minute, for a second at least: nothing is due while the
/// calls are measured.
const SHORTEST: u64 = 1_000;
const LONGEST: u64 = 60_000;

impl Input {
    fn new(n: u32) -> Self {
        let mut random = XorShift64Star::new();
        let mut timeouts = || {
            let milliseconds = random.uniform(n as usize, SHORTEST, LONGEST);
            milliseconds.into_iter().map(Duration::from_millis)
        };
        Self {
            timeouts: timeouts().collect(),
            resets: timeouts().collect(),
            order: XorShift64Star::with_seed(1)
                .permutation(n)
                .into_iter()
                .map(|at| at as usize)
                .collect(),
        }
    }
}

/// The calls that are measured, in the order in which they are reported.
const CALLS: [&str; 5] = [
    "insert",
    "reset, to any time",
    "refresh: reset to a later time",
    "remove",
    "poll that has nothing to deliver",
];

const SUBJECTS: [&str; 2] = ["timer-wheel", "tokio-util"];

/// What a task that waits for every item does, on a paused clock.
const EXPIRE: [&str; 2] = [
    "expire: await each item, sleeping in between",
    "burst: all items overdue",
];

/// Nanoseconds for each of `n` operations.
fn ns_each(start: StdInstant, n: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / n as f64
}

/// Fills a queue, resets every item, puts every item off, and removes every item: one call of each
/// kind for each item, in random order. A task waits for the queue all the while, and polls again
/// between two kinds.
async fn measure_calls<Q: Queue>(input: &Input) -> Vec<f64> {
    let n = input.timeouts.len();
    let mut keys = Vec::with_capacity(n);
    let mut queue = Q::new();
    let mut samples = Vec::new();

    let first = queue.insert(u32::MAX, Duration::from_millis(SHORTEST) / 2);
    assert!(poll_once(&mut queue).await.is_pending());
    let start = StdInstant::now();
    for (value, &timeout) in (0..).zip(&input.timeouts) {
        keys.push(queue.insert(value, timeout));
    }
    samples.push(ns_each(start, n));

    assert!(poll_once(&mut queue).await.is_pending());
    let start = StdInstant::now();
    for &at in &input.order {
        queue.reset(&keys[at], input.resets[at]);
    }
    samples.push(ns_each(start, n));

    assert!(poll_once(&mut queue).await.is_pending());
    let start = StdInstant::now();
    for &at in &input.order {
        queue.reset(&keys[at], Duration::from_millis(2 * LONGEST));
    }
    samples.push(ns_each(start, n));

    // The waiting task is woken for some other reason, and nothing is due.
    let start = StdInstant::now();
    for _ in 0..n.min(100_000) {
        assert!(black_box(poll_once(&mut queue).await).is_pending());
    }
    let poll = ns_each(start, n.min(100_000));

    let start = StdInstant::now();
    let mut sum = 0;
    for &at in &input.order {
        sum += u64::from(queue.remove(&keys[at]));
    }
    samples.push(ns_each(start, n));
    samples.push(poll);
    assert_eq!(sum, sum_of_values(n));
    assert_eq!(queue.remove(&first), u32::MAX);
    samples
}

/// Awaits every item as a task does, on a clock that jumps to whatever is next: the sleeping and
/// the waking are part of it. Then the same again when all items are overdue.
async fn measure_expire<Q: Queue>(input: &Input) -> Vec<f64> {
    let n = input.timeouts.len();
    let mut samples = Vec::new();
    for stall in [0, 2 * LONGEST] {
        let mut queue = Q::new();
        for (&timeout, value) in input.timeouts.iter().zip(0..) {
            queue.insert(value, timeout);
        }
        assert!(poll_once(&mut queue).await.is_pending());
        advance(Duration::from_millis(stall)).await;
        let start = StdInstant::now();
        let (mut count, mut sum) = (0, 0);
        while let Some(value) = poll_fn(|cx| queue.poll(cx)).await {
            count += 1;
            sum += u64::from(value);
        }
        samples.push(ns_each(start, n));
        assert_eq!((count, sum), (n, sum_of_values(n)));
    }
    samples
}

async fn poll_once<Q: Queue>(queue: &mut Q) -> Poll<Option<u32>> {
    poll_fn(|cx| Poll::Ready(queue.poll(cx))).await
}

fn sum_of_values(n: usize) -> u64 {
    let n = n as u64;
    n * (n - 1) / 2
}

/// Runs on a runtime of its own, outside of any task's budget.
fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime needs nothing from the system")
        .block_on(unconstrained(work))
}

fn report(sheet: &mut Sheet, n: u32, names: &[&str], (ours, theirs): &(Samples, Samples)) {
    for (nth, name) in names.iter().enumerate() {
        let spreads = [column(ours, nth), column(theirs, nth)];
        for (subject, spread) in SUBJECTS.into_iter().zip(spreads) {
            sheet.push(name, n, subject, ("ns", Counts::Median), spread);
        }
        let [ours, theirs] = spreads.map(|spread| spread.median);
        let ratio = theirs / ours;
        println!("{n:>9} {name:46} {ours:>10.1} {theirs:>12.1} {ratio:>8.2}");
    }
}

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let mut sheet = Sheet::open(options.json.as_deref(), options.rounds)?;
    println!(
        "nanoseconds for each item, medians of {} rounds",
        options.rounds
    );
    println!(
        "{:>9} {:46} {:>10} {:>12} {:>8}",
        "n", "workload", SUBJECTS[0], SUBJECTS[1], "ratio"
    );
    // Before any clock is paused: from then on tokio takes a lock to read it.
    for &n in &options.n {
        let input = Input::new(n);
        let samples = take_turns(
            options.rounds,
            || on_runtime(measure_calls::<Ours>(&input)),
            || on_runtime(measure_calls::<Theirs>(&input)),
        );
        report(&mut sheet, n, &CALLS, &samples);
    }
    for &n in &options.n {
        let input = Input::new(n);
        let samples = take_turns(
            options.rounds,
            || on_runtime(paused(measure_expire::<Ours>(&input))),
            || on_runtime(paused(measure_expire::<Theirs>(&input))),
        );
        report(&mut sheet, n, &EXPIRE, &samples);
    }
    sheet.write("").map_err(|error| error.to_string())
}

async fn paused<T>(work: impl Future<Output = T>) -> T {
    pause();
    // So that the clock stands at the beginning of one of its milliseconds.
    sleep(Duration::from_millis(1)).await;
    work.await
}
