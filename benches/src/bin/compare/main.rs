//! `compare`: measures timer queues side by side, or timers with a thread, and holds ours to their goals.
//!
//! The subjects take turns within one process, round by round, on the same inputs, so that a noisy machine disturbs
//! them alike; what counts is the ratio of the medians. Every answer is held against those of the other subjects: a
//! difference is an error, not a figure.
//!
//! `schedule` and `cancel` of the wheels are measured out of line, as a program gets them that calls them in several
//! places: see `OutOfLine`. What they take in line is counted in `benches/instructions`.

mod goals;
mod turns;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use timer_wheel_bench::drivers;
use timer_wheel_bench::experiments::Kind;
use timer_wheel_bench::heap::Weighed;
use timer_wheel_bench::results::{Counts, Results, Row};
use timer_wheel_bench::subject::{self, Subject};

#[global_allocator]
static ALLOCATOR: Weighed = Weighed;

/// Beyond this the inputs alone take gigabytes.
const MOST_TIMERS: u64 = 100_000_000;

/// Measures timer queues side by side, or timers with a thread, and holds ours to their goals
#[derive(Debug, Parser)]
#[command(name = "compare", max_term_width = 100)]
struct Options {
    /// How many timers, separated by commas; W9, W11, W12, W17 to W18-local, W22 and W23 have sizes of their own, and a
    /// thread of W17, W18 and W18-local makes half as many calls
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_TIMERS),
          default_value = "10000,30000,100000,300000,1000000")]
    n: Vec<usize>,

    /// How many times each subject is measured [default: 5, from 300,000 timers on 3, beyond a million 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,

    /// Only these workloads, separated by commas [default: all of queues: W1 to W15, W19, W20, W22, W23]
    #[arg(long, value_delimiter = ',', ignore_case = true, value_parser = PossibleValuesParser::new(workloads()))]
    workloads: Vec<String>,

    /// Only these subjects, separated by commas [default: all but btree-queue and those of TTLs]
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(subjects()))]
    subjects: Vec<String>,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Measure one subject once, and print samples and answer
    #[arg(long = "child", hide = true)]
    is_child: bool,
}

fn workloads() -> Vec<&'static str> {
    let of_queues = Kind::ALL.iter().flat_map(|kind| kind.workloads());
    let mut names: Vec<_> = of_queues.chain(drivers::ALL.map(|it| it.name)).collect();
    names.dedup();
    names
}

fn subjects() -> Vec<&'static str> {
    let of_drivers = drivers::ALL.iter().flat_map(|workload| workload.subjects).map(|(name, _)| *name);
    let mut names: Vec<_> = subject::ALL.iter().map(|subject| subject.name).chain(of_drivers).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Options {
    fn asks_for(&self, workload: &str) -> bool {
        self.workloads.iter().any(|wanted| wanted.eq_ignore_ascii_case(workload))
    }

    fn wants(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.asks_for(workload)
    }

    /// The rounds on so many timers.
    fn rounds(&self, n: usize) -> u32 {
        let default = match n {
            0..300_000 => 5,
            300_000..=1_000_000 => 3,
            _ => 1,
        };
        self.rounds.unwrap_or(default)
    }

    /// The subjects asked for, in the order of the register.
    fn subjects(&self) -> Vec<&'static Subject> {
        let is_wanted = |subject: &&Subject| match &self.subjects[..] {
            [] => !subject::ON_REQUEST.contains(&subject.name),
            wanted => wanted.iter().any(|wanted| wanted == subject.name),
        };
        subject::ALL.iter().filter(is_wanted).collect()
    }
}

fn main() -> Result<()> {
    run(&Options::parse())
}

fn run(options: &Options) -> Result<()> {
    if options.is_child {
        return turns::be_child(options);
    }
    if let Some(path) = &options.json {
        // Before the work. What the file holds stays until there are results.
        File::options().create(true).append(true).open(path).with_context(|| cannot_write(path))?;
    }
    let mut results = Results::new(options.rounds(options.n[0]));
    let mut add = |rows: Vec<Row>| {
        rows.iter().try_for_each(|row| say(&table(row)))?;
        results.rows.extend(rows);
        anyhow::Ok(())
    };
    for &kind in Kind::ALL.iter().filter(|kind| kind.workloads().iter().any(|it| options.wants(it))) {
        for n in kind.sizes(&options.n) {
            add(turns::compare(options, kind, n)?)?;
        }
    }
    for workload in drivers::ALL.into_iter().filter(|workload| options.asks_for(workload.name)) {
        let is_wanted = |name: &str| options.subjects.is_empty() || options.subjects.iter().any(|it| it == name);
        let wanted = workload.subjects.iter().filter(|(name, _)| is_wanted(name));
        let (names, calls): (Vec<&str>, Vec<_>) = wanted.copied().unzip();
        let (effort, sizes) = workload.plan(options.n.iter().copied().max().unwrap_or_default());
        for n in sizes {
            let measure = |turn: usize| calls[turn](n, effort).map_err(|fault| anyhow!("{}: {fault}", names[turn]));
            add(turns::take_turns(options.rounds(options.n[0]), n, workload.figures, &names, measure)?)?;
        }
    }
    let is_any = !results.rows.is_empty();
    ensure!(is_any, "these workloads have none of these subjects, or those lack the operation");
    let (verdicts, summary) = goals::judge(&results.rows);
    say(&format!("{verdicts}\n{summary}\n"))?;
    results.verdict = summary;
    if let Some(path) = &options.json {
        fs::write(path, results.to_text()).with_context(|| cannot_write(path))?;
    }
    Ok(())
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write '{}'", path.display())
}

/// A line a subject. The last column is the value that counts (the median, unless another is named) as a multiple of
/// the first subject's.
fn table(row: &Row) -> String {
    let counts = if row.counts == Counts::Min { ", min" } else { "" };
    let title = format!("{} [{}{counts}] n = {}", row.figure, row.unit, row.n);
    let (first, base) = &row.subjects[0];
    let (base, heading) = (row.counts.of(*base), format!("/ {first}"));
    let mut text = format!("\n  {title:<46}{:>12}{:>12}{:>12}{heading:>11}\n", "min", "median", "max");
    for (name, spread) in &row.subjects {
        let ratio = if base > 0.0 { format!("{:.2}", row.counts.of(*spread) / base) } else { String::new() };
        let [min, median, max] = [spread.min, spread.median, spread.max];
        text += &format!("    {name:<44}{min:>12.1}{median:>12.1}{max:>12.1}{ratio:>11}\n");
    }
    text
}

/// Prints a text. A reader who has closed the pipe has seen enough.
fn say(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_arguments_are_refused() {
        for arguments in
            [["--n", "0"], ["--n", "many"], ["--rounds", "0"], ["--workloads", "W99"], ["--subjects", "sundial"]]
        {
            let refused = Options::try_parse_from(["compare"].iter().chain(&arguments));
            assert_eq!(refused.map_err(|error| error.exit_code()).err(), Some(2));
        }
        for arguments in [["--workloads", "W17", "--subjects", "heap"], ["--n", "1", "--json", "/nonexistent/results"]]
        {
            assert!(run(&Options::parse_from(["compare"].iter().chain(&arguments))).is_err());
        }
    }
}
