//! `drivers`: measures `Timer` beside three other ways to run jobs when they are due.
//!
//! - *pairs*: producers schedule jobs 30 s ahead and cancel them, at once or the oldest of many.
//! - *lateness*: jobs fire at a given rate, and each notes how late it was.
//!
//! The drivers take turns within one process, round by round. All that fires and all that is
//! cancelled is counted: a driver that loses a job is an error, not a figure.

mod cli;
mod driver;
mod lateness;
mod pairs;

use std::process::ExitCode;

use clap::Parser;

use cli::Options;
use driver::{BTreeTimer, Driver, HashWheelTimer, TokioTimer, WheelTimer};
use lateness::Lateness;
use pairs::Pairs;

/// So many pairs a second are wanted of two producers on two cores.
const WANTED_PAIRS: f64 = 1_000_000.0;

fn main() -> ExitCode {
    let options = Options::parse();
    let result = measure_pairs(&options).and_then(|()| measure_lateness(&options));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            ExitCode::FAILURE
        }
    }
}

/// One row of a table: a driver, and how to measure it.
type Subject<T> = (&'static str, fn(&Options, u64) -> Result<T, String>);

fn measure_pairs(options: &Options) -> Result<(), String> {
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
        println!(
            "  {:<28}{:>14}{:>22}",
            "", "pairs a second", "CPU time a pair, ns"
        );
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
            let rate = median(row.iter().map(|pairs| pairs.a_second));
            let cpu = median(row.iter().map(|pairs| pairs.cpu_ns));
            println!("  {name:<28}{rate:>14.0}{cpu:>22.0}");
        }
        if let [timer, tree, ..] = &rounds[..] {
            judge(timer, tree, window);
        }
    }
    Ok(())
}

/// Holds `Timer` to its goals: so many pairs a second, and those of the locked map in the same round, the
/// more so the more jobs are under way.
fn judge(timer: &[Pairs], tree: &[Pairs], window: u64) {
    if timer.is_empty() {
        return;
    }
    let rate = median(timer.iter().map(|pairs| pairs.a_second));
    println!(
        "  goal of {WANTED_PAIRS} pairs a second: {}",
        verdict(rate >= WANTED_PAIRS)
    );
    if tree.is_empty() {
        return;
    }
    let ratio = |of: fn(&Pairs) -> f64| {
        let rounds = timer.iter().zip(tree);
        median(rounds.map(|(timer, tree)| of(timer) / of(tree)))
    };
    let wanted = if window >= 100_000 { 1.4 } else { 1.0 };
    let (rate, cpu) = (ratio(|pairs| pairs.a_second), ratio(|pairs| pairs.cpu_ns));
    println!(
        "  of the locked map's, median of rounds: {rate:.2} x its rate, at least {wanted}: {}; \
         {cpu:.2} x its CPU time, at most 1: {}",
        verdict(rate >= wanted),
        verdict(cpu <= 1.0)
    );
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

fn measure_lateness(options: &Options) -> Result<(), String> {
    let subjects: [Subject<Lateness>; 4] = [
        (WheelTimer::NAME, lateness::measure::<WheelTimer>),
        (BTreeTimer::NAME, lateness::measure::<BTreeTimer>),
        (TokioTimer::NAME, lateness::measure::<TokioTimer>),
        (HashWheelTimer::NAME, lateness::measure::<HashWheelTimer>),
    ];
    for &rate in &options.rates {
        println!(
            "\nlateness at {rate} firings a second for {} s, in us",
            options.seconds
        );
        println!(
            "  {:<28}{:>10}{:>10}{:>10}{:>10}{:>8}{:>8}",
            "", "p50", "p99", "p99.9", "max", "early", "CPU"
        );
        for (name, measure) in subjects {
            if options.wants(name) {
                let lateness = measure(options, rate)?;
                let us = |part: f64| lateness.quantile_ns(part) as f64 / 1_000.0;
                println!(
                    "  {name:<28}{:>10.0}{:>10.0}{:>10.0}{:>10.0}{:>8}{:>7.0}%",
                    us(0.5),
                    us(0.99),
                    us(0.999),
                    us(1.0),
                    lateness.early,
                    lateness.cpu * 100.0
                );
            }
        }
    }
    Ok(())
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}
