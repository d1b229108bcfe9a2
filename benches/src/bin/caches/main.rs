//! Measures what a cache gains by a wheel of its own indexes: the same cache on `Wheel<Key>` and on
//! `IndexWheel`, which take turns at the same calls. What counts is the ratio of their medians.
//!
//! `cargo run --release -p timer-wheel-bench --bin caches -- --help`

mod cache;

use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use cache::{Cache, Deadlines, OfIndexes, OfKeys};
use clap::Parser;
use timer_wheel_bench::Spread;
use timer_wheel_bench::results::{self, Counts, Sheet};
use timer_wheel_bench::workload::{MINUTE, STEP, XorShift64Star};

/// Measures a cache on a wheel of its keys and on a wheel of its indexes
#[derive(Debug, Parser)]
#[command(name = "caches", max_term_width = 100)]
struct Options {
    /// How many entries the cache holds
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    n: u32,

    /// How many times each cache is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is measured, and the goal: how many times as fast the index wheel is to be.
const CALLS: [(&str, f64); 7] = [
    ("fill", 1.0),
    ("get and renew", 1.3),
    ("replace", 1.3),
    ("insert and evict", 1.3),
    ("remove", 1.3),
    ("expire", 1.8),
    // The index wheel moves the timers here, which the other wheel has postponed with the renewals.
    ("expire renewed", 0.6),
];

/// At most so many of the bytes an entry.
const BYTES_GOAL: f64 = 0.75;

/// A measured round: nanoseconds a call, bytes an entry, and a sum that is the same for both caches.
struct Round {
    ns: [f64; CALLS.len()],
    bytes: f64,
    sum: u64,
}

/// The time to live, within which the clock moves by a hundredth of a second every thousand calls.
const TTL: u64 = 10 * MINUTE;

fn round<D: Deadlines>(n: u32, orders: &[Vec<u32>; 5]) -> Round {
    let mut cache = Cache::<D>::new(n as usize, TTL);
    let (mut now, mut sum) = (0, 0_u64);
    let mut ns = Vec::new();
    let mut timed = |cache: &mut Cache<D>, call: &mut dyn FnMut(&mut Cache<D>, u32, u64) -> u64| {
        // Each time another, so that neither records nor slots are met in the order of their making.
        let order = &orders[ns.len()];
        let start = Instant::now();
        for (nth, &key) in order.iter().enumerate() {
            if nth % 1_000 == 0 {
                now += 10 * STEP;
                sum = sum.wrapping_add(cache.expire(now));
            }
            sum = sum.wrapping_add(call(cache, key, now));
        }
        ns.push(start.elapsed().as_nanos() as f64 / order.len() as f64);
    };
    let other = |key: u32| u64::from(key) + u64::from(n);
    timed(&mut cache, &mut |cache, key, now| {
        cache.insert(key.into(), 1, now);
        0
    });
    let bytes = cache.bytes() as f64 / cache.len() as f64;
    timed(&mut cache, &mut |cache, key, now| {
        cache.get(key.into(), now).expect("nothing has expired")
    });
    timed(&mut cache, &mut |cache, key, now| {
        cache.insert(key.into(), 2, now);
        0
    });
    timed(&mut cache, &mut |cache, key, now| {
        cache.insert(other(key), 3, now);
        0
    });
    let half = n as usize / 2;
    let start = Instant::now();
    for &key in &orders[4][..half] {
        sum = sum.wrapping_add(cache.remove(other(key)).expect("nothing has expired"));
    }
    let remove = start.elapsed().as_nanos() as f64 / half as f64;
    let expire = ns_to_expire(&mut cache, now, &mut sum);
    // Each half of a life makes and renews all entries, so that every timer is too early once.
    let (begin, pace) = (now + TTL, TTL / 2 / u64::from(n));
    for (at, &key) in (begin..).step_by(pace as usize).zip(&orders[0]) {
        cache.insert(key.into(), 4, at);
    }
    for (at, &key) in (begin + TTL / 2..).step_by(pace as usize).zip(&orders[1]) {
        let value = cache.get(key.into(), at);
        sum = sum.wrapping_add(value.expect("nothing has expired"));
    }
    let expire_renewed = ns_to_expire(&mut cache, begin + TTL, &mut sum);
    let [fill, get, replace, evict] = ns[..] else {
        unreachable!("four calls were timed")
    };
    Round {
        ns: [fill, get, replace, evict, remove, expire, expire_renewed],
        bytes,
        sum,
    }
}

/// Lets all entries of a cache expire in steps of a second: nanoseconds an entry.
fn ns_to_expire<D: Deadlines>(cache: &mut Cache<D>, now: u64, sum: &mut u64) -> f64 {
    let count = cache.len();
    let start = Instant::now();
    for step in 1..=600 {
        *sum = sum.wrapping_add(black_box(cache.expire(now + TTL / 600 * step)));
    }
    let ns = start.elapsed().as_nanos() as f64;
    assert_eq!(cache.len(), 0, "everything has expired");
    ns / count as f64
}

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let mut sheet = Sheet::open(options.json.as_deref(), options.rounds)?;
    let orders = [1, 2, 3, 4, 5].map(|seed| XorShift64Star::with_seed(seed).permutation(options.n));
    let mut rounds: [Vec<Round>; 2] = [Vec::new(), Vec::new()];
    for nth in 0..options.rounds {
        // The cache that goes first finds other memory.
        for which in [nth % 2, (nth + 1) % 2] {
            rounds[which as usize].push(match which {
                0 => round::<OfKeys>(options.n, &orders),
                _ => round::<OfIndexes>(options.n, &orders),
            });
        }
        let sums = rounds.each_ref().map(|of| of[of.len() - 1].sum);
        assert_eq!(sums[0], sums[1], "the two caches differ in what they do");
    }
    println!(
        "a cache of {} entries, u64 keys and values, least recently used out first; {} rounds\n",
        options.n, options.rounds
    );
    println!(
        "{:<18} {:>11} {:>11} {:>7}  goal",
        "ns a call",
        OfKeys::name(),
        OfIndexes::name(),
        "ratio"
    );
    let mut missed = Vec::new();
    let mut report = |name, unit, figure: &dyn Fn(&Round) -> f64, is_met: &dyn Fn(f64) -> bool| {
        let spreads = rounds
            .each_ref()
            .map(|of| Spread::of(of.iter().map(figure)));
        for (subject, spread) in [OfKeys::name(), OfIndexes::name()].into_iter().zip(spreads) {
            sheet.push(name, options.n, subject, (unit, Counts::Median), spread);
        }
        let [keys, entries] = spreads.map(|spread| spread.median);
        let ratio = keys / entries;
        let verdict = if is_met(ratio) { "met" } else { "missed" };
        if !is_met(ratio) {
            missed.push(name);
        }
        println!("{name:<18} {keys:>11.1} {entries:>11.1} {ratio:>6.2}x  {verdict}");
    };
    for (call, (name, goal)) in CALLS.into_iter().enumerate() {
        report(name, "ns", &|round| round.ns[call], &|ratio| ratio >= goal);
    }
    let of_bytes = |ratio| ratio >= 1.0 / BYTES_GOAL;
    report("an entry", "bytes", &|round| round.bytes, &of_bytes);
    let goals = CALLS.len() + 1;
    let verdict = results::verdict(goals - missed.len(), goals, &missed);
    println!("{verdict}");
    sheet.write(&verdict).map_err(|error| error.to_string())
}
