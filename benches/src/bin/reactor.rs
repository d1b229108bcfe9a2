//! Measures the timers of an async runtime, as `examples/reactor.rs` holds them, against the
//! `BTreeMap<(deadline, id), Waker>` of the runtimes: the two take turns at the same input.
//!
//! `cargo run --release -p timer-wheel-bench --bin reactor -- --help`

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Instant;

use clap::Parser;
use timer_wheel::{Budget, TimerKey, Wheel};
use timer_wheel_bench::results::{self, Counts, Sheet};
use timer_wheel_bench::turns::{Samples, column, take_turns};
use timer_wheel_bench::workload::{MINUTE, SECOND, STEP, XorShift64Star};

/// Measures a reactor's timers in a wheel against those in a BTreeMap
#[derive(Debug, Parser)]
#[command(name = "reactor", max_term_width = 100)]
struct Options {
    /// How many tasks with a timer each, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "10,1000,100000,1000000",
          value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    n: Vec<u32>,

    /// How many times each reactor is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The timers that one turn wakes at most.
const FIRES: usize = 64;

/// The work that a wheel does at most for that.
const WORK: usize = 1_000;

/// What a reactor does with its timers. A task keeps the key of its timer.
trait Reactor {
    type Key: Clone;

    fn new() -> Self;
    /// Sees to it that a task is woken at a deadline.
    fn arm(&mut self, timer: &mut Option<Self::Key>, deadline: u64, waker: &Waker);
    fn disarm(&mut self, timer: &mut Option<Self::Key>);
    /// Hands out the wakers of what is due, [`FIRES`] at most, and says when to come again.
    fn turn(&mut self, now: u64, due: &mut Vec<Waker>) -> Option<u64>;
}

struct InWheel(Wheel<Waker>);

impl Reactor for InWheel {
    type Key = TimerKey;

    fn new() -> Self {
        Self(Wheel::new(0))
    }

    #[inline]
    fn arm(&mut self, timer: &mut Option<TimerKey>, deadline: u64, waker: &Waker) {
        let key = self
            .0
            .reschedule_or_insert(timer, deadline, || waker.clone());
        if let Some(known) = self.0.get_mut(key) {
            known.clone_from(waker);
        }
    }

    #[inline]
    fn disarm(&mut self, timer: &mut Option<TimerKey>) {
        if let Some(key) = timer.take() {
            self.0.cancel(key);
        }
    }

    #[inline]
    fn turn(&mut self, now: u64, due: &mut Vec<Waker>) -> Option<u64> {
        let budget = Budget::of_work(WORK).with_fires(FIRES);
        due.extend(
            self.0
                .advance_with_budget(now, budget)
                .map(|timer| timer.value),
        );
        Some(now + self.0.expiration_delay()?)
    }
}

/// As async-io keeps them, but for its turn: that splits the map, which takes time with what is left in
/// it; this one pops.
struct InMap {
    timers: BTreeMap<(u64, usize), Waker>,
    next_id: usize,
}

impl Reactor for InMap {
    type Key = (u64, usize);

    fn new() -> Self {
        Self {
            timers: BTreeMap::new(),
            next_id: 0,
        }
    }

    #[inline]
    fn arm(&mut self, timer: &mut Option<Self::Key>, deadline: u64, waker: &Waker) {
        let known = timer.take().and_then(|key| self.timers.remove(&key));
        let mut known = known.unwrap_or_else(|| waker.clone());
        known.clone_from(waker);
        self.next_id += 1;
        let key = *timer.insert((deadline, self.next_id));
        self.timers.insert(key, known);
    }

    #[inline]
    fn disarm(&mut self, timer: &mut Option<Self::Key>) {
        if let Some(key) = timer.take() {
            self.timers.remove(&key);
        }
    }

    #[inline]
    fn turn(&mut self, now: u64, due: &mut Vec<Waker>) -> Option<u64> {
        while let Some(first) = self.timers.first_entry() {
            let (deadline, _) = *first.key();
            if deadline > now || due.len() == FIRES {
                return Some(deadline.max(now));
            }
            due.push(first.remove());
        }
        None
    }
}

/// A task that counts how often it is woken.
#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The same for both reactors and for every round.
struct Input {
    delays: Vec<u64>,
    /// The tasks that do something, in turn.
    acting: Vec<usize>,
}

impl Input {
    fn new(n: u32) -> Self {
        let mut random = XorShift64Star::new();
        let delays = random.uniform(n as usize, 1_000_000, MINUTE);
        let actions = (4 * n as usize).clamp(400_000, 2_000_000);
        let acting = random.uniform(actions, 0, u64::from(n));
        Self {
            delays,
            acting: acting.into_iter().map(|task| task as usize).collect(),
        }
    }
}

/// The least of the longest turns counts: whatever else the machine did made the others longer.
const FIGURES: [(&str, Counts); 5] = [
    ("re-arm", Counts::Median),
    ("replace", Counts::Median),
    ("turn", Counts::Median),
    ("wake", Counts::Median),
    ("longest turn", Counts::Min),
];

const SUBJECTS: [&str; 2] = ["wheel", "BTreeMap"];

/// Timeouts that are postponed, tasks that end and begin, turns with nothing to do, and all timers fired.
/// The longest is that of the turns while timeouts were postponed and tasks replaced.
fn measure<R: Reactor>(input: &Input) -> Vec<f64> {
    let n = input.delays.len();
    let task = Arc::new(Task::default());
    let waker = Waker::from(Arc::clone(&task));
    let mut reactor = R::new();
    let mut timers: Vec<Option<R::Key>> = vec![None; n];
    let mut due = Vec::with_capacity(FIRES);
    let (mut now, mut longest, mut woken) = (0, 0.0_f64, 0);
    for (timer, &delay) in timers.iter_mut().zip(&input.delays) {
        reactor.arm(timer, MINUTE + delay, &waker);
    }
    let mut figures = Vec::new();
    for is_replaced in [false, true] {
        let start = Instant::now();
        for (nth, &acting) in input.acting.iter().enumerate() {
            let timer = &mut timers[acting];
            if is_replaced {
                reactor.disarm(timer);
            }
            reactor.arm(timer, now + MINUTE + input.delays[acting], &waker);
            if nth % 1_000 == 999 {
                now += STEP;
                let turn = Instant::now();
                black_box(reactor.turn(now, &mut due));
                longest = longest.max(turn.elapsed().as_nanos() as f64);
                woken += due.len();
                due.drain(..).for_each(Waker::wake);
            }
        }
        figures.push(start.elapsed().as_nanos() as f64 / input.acting.len() as f64);
    }

    let turns = 200_000;
    let start = Instant::now();
    for _ in 0..turns {
        now += 1_000;
        black_box(reactor.turn(now, &mut due));
    }
    figures.push(start.elapsed().as_nanos() as f64 / f64::from(turns));
    assert!(due.is_empty() && now < MINUTE, "nothing was due");

    // A driver that sleeps for as long as it is told.
    let start = Instant::now();
    let mut next = Some(now);
    while let Some(time) = next {
        assert!(time >= now, "a moment in the past");
        now = time;
        next = reactor.turn(now, &mut due);
        woken += due.len();
        due.drain(..).for_each(Waker::wake);
    }
    figures.push(start.elapsed().as_nanos() as f64 / n as f64);
    assert_eq!(woken, n, "each task is woken once");
    assert_eq!(task.0.load(Ordering::Relaxed), n);
    assert!(now < 3 * MINUTE + SECOND, "nobody is woken late");
    figures.push(longest);
    figures
}

fn report(sheet: &mut Sheet, n: u32, (wheel, map): &(Samples, Samples)) {
    for (nth, (name, counts)) in FIGURES.into_iter().enumerate() {
        let spreads = [column(wheel, nth), column(map, nth)];
        for (subject, spread) in SUBJECTS.into_iter().zip(spreads) {
            sheet.push(name, n, subject, ("ns", counts), spread);
        }
        let [wheel, map] = spreads.map(|spread| counts.of(spread));
        let ratio = map / wheel;
        println!("{n:>9} {name:12} {wheel:>10.1} {map:>10.1} {ratio:>8.2}");
    }
}

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let mut sheet = Sheet::open(options.json.as_deref(), options.rounds)?;
    println!(
        "nanoseconds for each call or task, medians of {} rounds; of the longest turn the least",
        options.rounds
    );
    println!("        n figure            wheel   BTreeMap    ratio");
    for &n in &options.n {
        let input = Input::new(n);
        let samples = take_turns(
            options.rounds,
            || measure::<InWheel>(&input),
            || measure::<InMap>(&input),
        );
        report(&mut sheet, n, &samples);
    }
    sheet.write("").map_err(|error| error.to_string())
}
