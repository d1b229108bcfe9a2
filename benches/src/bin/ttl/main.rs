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

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use timer_wheel::ttl::TtlQueue;
use timer_wheel_bench::TwoSets;
use timer_wheel_bench::figure::Figure;
use timer_wheel_bench::report::{say, tables};
use timer_wheel_bench::results::{self, Counts, Sheet};
use timer_wheel_bench::turns::take_turns;

use crate::round::{Input, Round};
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

const fn each(name: &'static str) -> Figure {
    Figure::new(name, "ns", Counts::Median)
}

const fn longest(name: &'static str) -> Figure {
    Figure::new(name, "ns", Counts::Min)
}

/// In the order in which a round takes them.
const FIGURES: [Figure; 13] = [
    each("init"),
    each("look-up alone"),
    each("update to another TTL"),
    each("update to 10 min from now"),
    each("poll in steps of 2^20 ns, an expiry"),
    each("the same, and apply"),
    each("the same, but first fail and retry"),
    longest("longest init, with room"),
    longest("longest init, without"),
    longest("longest update"),
    longest("longest poll"),
    longest("longest role change, 4,096 in flight"),
    each("late entry among removed ones"),
];

/// A subject, and how to measure it once.
type Subject = (&'static str, fn(&Input) -> Round);

const SUBJECTS: [Subject; 3] = [
    ("TtlSet", Round::run::<ByHandle>),
    ("TtlQueue", Round::run::<TtlQueue<u64>>),
    ("two sets", Round::run::<TwoSets<u64>>),
];

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let mut sheet = Sheet::open(options.json.as_deref(), options.rounds)?;
    let (n, input, mut known) = (options.n.into(), Input::new(options.n), None);
    let measured = take_turns(options.rounds, n, &FIGURES, &SUBJECTS.map(|(name, _)| name), |turn| {
        let round = SUBJECTS[turn].1(&input);
        match *known.get_or_insert(round.answers()) == round.answers() {
            true => Ok(FIGURES.iter().map(|figure| figure.name).zip(round.times_ns).collect()),
            false => Err("the subjects answer differently".to_owned()),
        }
    })?;
    say(&tables(n, &FIGURES, &SUBJECTS.map(|(name, _)| (name, &[][..])), &measured))?;
    sheet.extend(measured);
    sheet.write("")
}
