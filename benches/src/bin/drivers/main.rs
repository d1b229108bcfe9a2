//! `drivers`: measures `Timer` beside other ways to run jobs when they are due.
//!
//! - *W17*: producers schedule jobs and cancel the oldest, with one timer for all of them or one each.
//! - *W18*: `timeout` around a future that is ready, or pending once.
//! - *lateness*: jobs fire at a given rate, and each notes how late it was.
//!
//! The drivers take turns within one process, round by round. All that fires and all that is
//! cancelled is counted: a driver that loses a job is an error, not a figure.

mod driver;
mod lateness;
mod pairs;
mod timeouts;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use timer_wheel_bench::figure::Figure;
use timer_wheel_bench::goals::{Goal, judge};
use timer_wheel_bench::report::{say, tables};
use timer_wheel_bench::results::{self, Sheet};
use timer_wheel_bench::turns::take_turns;

/// Measures thread drivers side by side: pairs of schedule and cancel, timeouts, and lateness
#[derive(Debug, Parser)]
#[command(name = "drivers", max_term_width = 100)]
struct Options {
    /// How many threads schedule and cancel, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8",
          value_parser = clap::value_parser!(u64).range(1..=256))]
    threads: Vec<u64>,

    /// How many pairs of schedule and cancel, or calls of a timeout, each of them makes
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
    pairs: u64,

    /// Firings a second, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000",
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rates: Vec<u64>,

    /// How long jobs fire at each rate
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,

    /// How many times each driver is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Only drivers whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A driver, and how to measure it once at a size: a number for each figure.
type Subject = (&'static str, fn(&Options, u64) -> Result<Vec<f64>, String>);

/// What is measured, of what, and what the first subject is held to.
struct Workload {
    figures: &'static [Figure],
    subjects: &'static [Subject],
    goals: &'static [Goal],
}

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let mut sheet = Sheet::open(options.json.as_deref(), options.rounds)?;
    let workloads =
        [(&pairs::W17, &options.threads[..]), (&timeouts::W18, &[1, 2]), (&lateness::LATENESS, &options.rates)];
    let (mut all_figures, mut all_names, mut all_goals) = (Vec::new(), Vec::new(), Vec::new());
    for (Workload { figures, subjects, goals }, sizes) in workloads {
        let is_wanted = |(name, _): &&Subject| name.contains(&options.only);
        let wanted: Vec<&Subject> = subjects.iter().filter(is_wanted).collect();
        let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).collect();
        let rows: Vec<_> = names.iter().map(|&name| (name, &[][..])).collect();
        for &n in sizes {
            let measured = take_turns(options.rounds, n, figures, &names, |turn| {
                let values = wanted[turn].1(options, n)?;
                Ok(figures.iter().map(|figure| figure.name).zip(values).collect())
            })?;
            say(&tables(n, figures, &rows, &measured))?;
            sheet.extend(measured);
        }
        all_figures.extend_from_slice(figures);
        all_names.extend(subjects.iter().map(|(name, _)| *name));
        all_goals.extend_from_slice(goals);
    }
    let (verdicts, summary) = judge(sheet.figures(), &all_goals, &all_figures, &all_names)?;
    say(&format!("{verdicts}\n{summary}\n"))?;
    sheet.write(&summary)
}
