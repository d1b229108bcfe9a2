//! `drivers`: measures `Timer` beside three other ways to run jobs when they are due.
//!
//! - *pairs*: producers schedule jobs 30 s ahead and cancel them, at once or the oldest of many.
//! - *W17*: as many producers as threads, with one timer for all of them or one each.
//! - *W18*: `timeout` around a future that is ready, or pending once.
//! - *lateness*: jobs fire at a given rate, and each notes how late it was.
//!
//! The drivers take turns within one process, round by round. All that fires and all that is
//! cancelled is counted: a driver that loses a job is an error, not a figure.

mod cli;
mod driver;
mod goals;
mod lateness;
mod many;
mod pairs;
mod timeouts;

use std::process::ExitCode;

use clap::Parser;
use timer_wheel_bench::Spread;
use timer_wheel_bench::results::{self, Counts, Sheet};

use cli::Options;
use driver::{BTreeTimer, Driver, HashWheelTimer, TokioTimer, WheelTimer};
use goals::{Goals, ratio};
use lateness::Lateness;
use pairs::Pairs;

/// So many pairs a second are wanted of two producers on two cores.
const WANTED_PAIRS: f64 = 1_000_000.0;

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let mut sheet = Sheet::open(options.json.as_deref(), options.rounds)?;
    let mut goals = Goals::default();
    measure_pairs(options, &mut sheet, &mut goals)?;
    many::measure(options, &mut sheet, &mut goals)?;
    timeouts::measure(options, &mut sheet, &mut goals);
    measure_lateness(options, &mut sheet)?;
    let verdict = goals.verdict();
    println!("\n{verdict}");
    sheet.write(&verdict).map_err(|error| error.to_string())
}

/// One row of a table: a driver, and how to measure it.
type Subject<T> = (&'static str, fn(&Options, u64) -> Result<T, String>);

fn measure_pairs(options: &Options, sheet: &mut Sheet, goals: &mut Goals) -> Result<(), String> {
    let subjects: [Subject<Pairs>; 4] = [
        (WheelTimer::NAME, pairs::measure::<WheelTimer>),
        (BTreeTimer::NAME, pairs::measure::<BTreeTimer>),
        (TokioTimer::NAME, pairs::measure::<TokioTimer>),
        (HashWheelTimer::NAME, pairs::measure::<HashWheelTimer>),
    ];
    let windows = [0].into_iter().chain(options.window.iter().copied());
    for window in windows {
        println!(
            "\nschedule + cancel, {} producers, {} pairs each, {}",
            options.producers,
            options.pairs,
            if window == 0 {
                "cancelled at once".to_owned()
            } else {
                format!("the oldest of {window} under way cancelled")
            }
        );
        println!("  {:<28}{:>14}{:>22}", "", "pairs a second", "CPU time a pair, ns");
        let mut rounds = vec![Vec::new(); subjects.len()];
        for _ in 0..options.rounds {
            for (row, (name, measure)) in rounds.iter_mut().zip(subjects) {
                if options.wants(name) {
                    row.push(measure(options, window)?);
                }
            }
        }
        for (row, (name, _)) in rounds.iter().zip(subjects) {
            if row.is_empty() {
                continue;
            }
            let rate = Spread::of(row.iter().map(|pairs| pairs.a_second));
            let cpu = Spread::of(row.iter().map(|pairs| pairs.cpu_ns));
            let counts = Counts::Median;
            sheet.push("pairs a second", window, name, ("pairs", counts), rate);
            sheet.push("CPU time of a pair", window, name, ("ns", counts), cpu);
            println!("  {name:<28}{:>14.0}{:>22.0}", rate.median, cpu.median);
        }
        if let [timer, tree, ..] = &rounds[..] {
            judge(goals, timer, tree, window);
        }
    }
    Ok(())
}

/// Holds `Timer` to so many pairs a second, and to those of the locked map in the same round, the more so the
/// more jobs are under way.
fn judge(goals: &mut Goals, timer: &[Pairs], tree: &[Pairs], window: u64) {
    if timer.is_empty() {
        return;
    }
    let rate = Spread::of(timer.iter().map(|pairs| pairs.a_second)).median;
    let wanted = format!("{WANTED_PAIRS} pairs a second with {window} under way");
    goals.hold(rate >= WANTED_PAIRS, wanted);
    let ratio = |of: fn(&Pairs) -> f64| {
        let of = |all: &[Pairs]| all.iter().map(of).collect::<Vec<_>>();
        ratio(&of(timer), &of(tree))
    };
    let ratios = (ratio(|pairs| pairs.a_second), ratio(|pairs| pairs.cpu_ns));
    let (Some(rate), Some(cpu)) = ratios else {
        return;
    };
    let wanted = if window >= 100_000 { 1.4 } else { 1.0 };
    println!("  of the locked map's, median of rounds: {rate:.2} x its rate, {cpu:.2} x its CPU time");
    let of = format!("the locked map's with {window} under way");
    goals.hold(rate >= wanted, format!("{wanted} x the rate of {of}"));
    goals.hold(cpu <= 1.0, format!("no more than the CPU time of {of}"));
}

fn measure_lateness(options: &Options, sheet: &mut Sheet) -> Result<(), String> {
    let subjects: [Subject<Lateness>; 4] = [
        (WheelTimer::NAME, lateness::measure::<WheelTimer>),
        (BTreeTimer::NAME, lateness::measure::<BTreeTimer>),
        (TokioTimer::NAME, lateness::measure::<TokioTimer>),
        (HashWheelTimer::NAME, lateness::measure::<HashWheelTimer>),
    ];
    for &rate in &options.rates {
        println!("\nlateness at {rate} firings a second for {} s, in us", options.seconds);
        println!("  {:<28}{:>10}{:>10}{:>10}{:>10}{:>8}{:>8}", "", "p50", "p99", "p99.9", "max", "early", "CPU");
        for (name, measure) in subjects {
            if !options.wants(name) {
                continue;
            }
            let lateness = measure(options, rate)?;
            let ns = |part: f64| lateness.quantile_ns(part) as f64;
            let us = |part: f64| ns(part) / 1_000.0;
            println!(
                "  {name:<28}{:>10.0}{:>10.0}{:>10.0}{:>10.0}{:>8}{:>7.0}%",
                us(0.5),
                us(0.99),
                us(0.999),
                us(1.0),
                lateness.early,
                lateness.cpu * 100.0
            );
            let mut push = |figure: &str, unit, value| {
                let counts = (unit, Counts::Median);
                sheet.push(figure, rate, name, counts, Spread::of([value]));
            };
            push("lateness p50", "ns", ns(0.5));
            push("lateness p99", "ns", ns(0.99));
            push("lateness p99.9", "ns", ns(0.999));
            push("jobs run early", "jobs", lateness.early as f64);
        }
    }
    Ok(())
}
