//! `ttl`: measures the TTL layer beside the design it replaces, two ordered sets and a map.
//!
//! All take turns within one process, round by round, on the same inputs, and must propose the
//! same entries in the same order at the same times: a subject that answers otherwise is an error,
//! not a figure. Times are those of the processor. What counts is the ratio of the medians; for a longest
//! call that of the least of all rounds.
//!
//! By handle, the store is an array with a handle for each key; for an update it has found its record before.

mod round;
mod subject;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use timer_wheel::ttl::TtlQueue;
use timer_wheel_bench::results::{self, Counts, Sheet};
use timer_wheel_bench::{Spread, TwoSets};

use crate::round::{Input, LATE, Round};
use crate::subject::ByHandle;

/// Measures the TTL layer beside two ordered sets
#[derive(Debug, Parser)]
#[command(name = "ttl", max_term_width = 100)]
struct Options {
    /// How many keys
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u32).range(2_000..=100_000_000))]
    n: u32,

    /// How many times each subject is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
struct Figure {
    name: &'static str,
    unit: Unit,
}

/// What the time of a figure is divided by, and which of the rounds counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Key,
    Late,
    Longest,
}

const fn per_key(name: &'static str) -> Figure {
    Figure { name, unit: Unit::Key }
}

const fn longest(name: &'static str) -> Figure {
    Figure { name, unit: Unit::Longest }
}

/// In the order in which a round takes them.
const FIGURES: [Figure; 13] = [
    per_key("init"),
    per_key("look-up alone"),
    per_key("update to another TTL"),
    per_key("update to 10 min from now"),
    per_key("poll in steps of 2^20 ns, an expiry"),
    per_key("the same, and apply"),
    per_key("the same, but first fail and retry"),
    longest("longest init, with room"),
    longest("longest init, without"),
    longest("longest update"),
    longest("longest poll"),
    longest("longest role change, 4,096 in flight"),
    Figure { name: "late entry among removed ones", unit: Unit::Late },
];

fn report(options: &Options, rounds: &[[Round; 3]], sheet: &mut Sheet) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (n, count) = (options.n, options.rounds);
    writeln!(out, "{n} keys, {count} rounds: ns, median (min-max), and how much faster than two sets\n")?;
    let names = ["TtlSet", "TtlQueue", "two sets"];
    writeln!(out, "{:<50}{:>28}{:>8}{:>28}{:>8}{:>30}", "", names[0], "", names[1], "", names[2])?;
    for (nth, figure) in FIGURES.iter().enumerate() {
        let divisor = match figure.unit {
            Unit::Key => f64::from(n),
            Unit::Late => LATE as f64,
            Unit::Longest => 1.0,
        };
        let spreads = [0, 1, 2].map(|subject: usize| {
            let rounds = rounds.iter().map(|round| &round[subject].times[nth]);
            Spread::of(rounds.map(|time| time.as_nanos() as f64 / divisor))
        });
        let counts = match figure.unit {
            Unit::Longest => Counts::Min,
            Unit::Key | Unit::Late => Counts::Median,
        };
        for (subject, spread) in names.into_iter().zip(spreads) {
            sheet.push(figure.name, n, subject, ("ns", counts), spread);
        }
        let cell = |Spread { min, median, max }: Spread| format!("{median:.0} ({min:.0}-{max:.0})");
        write!(out, "{:<50}", figure.name)?;
        for ours in &spreads[..2] {
            let ratio = counts.of(spreads[2]) / counts.of(*ours);
            write!(out, "{:>28}{ratio:>6.1} x", cell(*ours))?;
        }
        writeln!(out, "{:>30}", cell(spreads[2]))?;
    }
    out.flush()
}

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let mut sheet = Sheet::open(options.json.as_deref(), options.rounds)?;
    let input = Input::new(options.n);
    let run = [Round::run::<ByHandle>, Round::run::<TtlQueue<u64>>, Round::run::<TwoSets<u64>>];
    let mut rounds: Vec<[Round; 3]> = Vec::new();
    for first in 0..options.rounds as usize {
        // None always goes first.
        let mut round = [const { None }; 3];
        for nth in 0..3 {
            let subject = (first + nth) % 3;
            round[subject] = Some(run[subject](&input));
        }
        let round = round.map(|round| round.expect("each had its turn"));
        let answers = round.each_ref().map(Round::answers);
        if answers.iter().any(|it| it != &answers[2]) {
            return Err("the subjects answer differently".to_owned());
        }
        rounds.push(round);
    }
    let cannot_write = |error: io::Error| match error.kind() {
        // The reader has closed the pipe.
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(format!("cannot write the results: {error}")),
    };
    report(options, &rounds, &mut sheet).or_else(cannot_write)?;
    sheet.write("").or_else(cannot_write)
}
