//! `compare`: measures timer queues side by side, or timers with a thread, and holds ours to their goals.
//!
//! The subjects take turns within one process, round by round, on the same inputs, so that a noisy machine disturbs them
//! alike; what counts is the ratio of the medians. Every answer is held against those of the other subjects: a difference
//! is an error, not a figure.
//!
//! `schedule` and `cancel` of the wheels are measured out of line, as a program gets them that calls them in several
//! places: see `OutOfLine`. What they take in line is counted in `benches/instructions`.

mod goals;
mod report;
mod turns;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use timer_wheel_bench::drivers;
use timer_wheel_bench::experiments::Kind;
use timer_wheel_bench::heap::Weighed;
use timer_wheel_bench::results::{self, Results};
use timer_wheel_bench::subject::{self, Subject};

use goals::judge;
use report::{say, table};
use turns::take_turns;

#[global_allocator]
static ALLOCATOR: Weighed = Weighed;

/// Beyond this a round takes minutes.
const MANY: usize = 1_000_000;
/// Beyond this the inputs alone take gigabytes.
const MOST_TIMERS: u64 = 100_000_000;

/// Measures timer queues side by side, or timers with a thread, and holds ours to their goals
#[derive(Debug, Parser)]
#[command(name = "compare", max_term_width = 100)]
struct Options {
    /// How many timers, separated by commas; W9, W11, W12, W16 to W18-local, W22 and W23 have sizes of their own, and a
    /// thread of W17, W18 and W18-local makes half as many calls
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_TIMERS),
          default_value = "10000,30000,100000,300000,1000000")]
    n: Vec<usize>,

    /// Also W1, W2, W10 and W15 with ten million timers, and W10 with four
    #[arg(long)]
    full: bool,

    /// How many times each subject is measured [default: 5, from 300,000 timers on 3, beyond a million 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,

    /// Only these workloads, separated by commas [default: all of queues: W1 to W16, W19, W20, W22, W23]
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

/// Of all workloads.
fn workloads() -> Vec<&'static str> {
    let of_queues = Kind::ALL.iter().flat_map(|kind| kind.workloads());
    let mut names: Vec<_> = of_queues.chain(drivers::ALL.map(|it| it.name)).collect();
    names.dedup();
    names
}

/// Of all subjects.
fn subjects() -> Vec<&'static str> {
    let of_drivers = drivers::ALL.iter().flat_map(|workload| workload.subjects());
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
            300_000..=MANY => 3,
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

    /// What is to be run, in order, and on how many timers: by size, those with sizes of their own last.
    fn agenda(&self) -> Vec<(Kind, usize)> {
        let mut sizes = self.n.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let mut agenda = Vec::new();
        for (nth, &kind) in Kind::ALL.iter().enumerate() {
            if !kind.workloads().iter().any(|it| self.wants(it)) {
                continue;
            }
            let large = if self.full { kind.large_sizes() } else { &[] };
            for n in [&kind.sizes(&sizes), large].concat() {
                let is_asked = sizes.contains(&n);
                agenda.push((!is_asked, if is_asked { n } else { nth }, kind, n));
            }
        }
        agenda.sort_by_key(|&(is_own, rank, ..)| (is_own, rank));
        agenda.into_iter().map(|(.., kind, n)| (kind, n)).collect()
    }
}

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    if options.is_child {
        return turns::be_child(options);
    }
    results::try_to_write(options.json.as_ref())?;
    let mut results = Results::new(options.rounds(options.n[0]));
    for (kind, n) in options.agenda() {
        let rows = turns::compare(options, kind, n)?;
        rows.iter().try_for_each(|row| say(&table(row)))?;
        results.rows.extend(rows);
    }
    for workload in drivers::ALL.into_iter().filter(|workload| options.asks_for(workload.name)) {
        let is_wanted = |name: &&str| options.subjects.is_empty() || options.subjects.iter().any(|it| it == name);
        let names: Vec<&str> = workload.subjects().filter(is_wanted).collect();
        let (effort, sizes) = workload.plan(options.n.iter().copied().max().unwrap_or_default());
        for n in sizes {
            let measure = |turn: usize| workload.measure(names[turn], n, effort);
            let rows = take_turns(results.rounds, n, workload.figures, &names, measure)?;
            rows.iter().try_for_each(|row| say(&table(row)))?;
            results.rows.extend(rows);
        }
    }
    if results.rows.is_empty() {
        return Err("these workloads have none of these subjects, or those lack the operation".to_owned());
    }
    let (verdicts, summary) = judge(&results.rows);
    say(&format!("{verdicts}\n{summary}\n"))?;
    results.verdict = summary;
    options.json.as_ref().map_or(Ok(()), |path| results.write(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_arguments_are_refused() {
        for arguments in [
            ["--n", "0"],
            ["--n", "many"],
            ["--n", "99999999999999999999"],
            ["--rounds", "0"],
            ["--workloads", "W99"],
            ["--subjects", "sundial"],
        ] {
            let refused = Options::try_parse_from(["compare"].iter().chain(&arguments));
            assert_eq!(refused.map_err(|error| error.exit_code()).err(), Some(2));
        }
        assert!(run(&Options::parse_from(["compare", "--workloads", "W17", "--subjects", "heap"])).is_err());
    }

    #[test]
    fn agenda_of_a_full_run_has_ten_million_and_the_sizes_of_a_definition() {
        let options = Options::parse_from(["compare", "--full"]);
        let agenda = options.agenda();
        let sizes = |wanted| {
            let of_kind = agenda.iter().filter(|(kind, _)| *kind == wanted);
            of_kind.map(|&(_, n)| n).collect::<Vec<_>>()
        };
        let each = [10_000, 30_000, 100_000, 300_000, 1_000_000];
        assert_eq!(sizes(Kind::Churn), each);
        let with_large = [&each[..], &[10_000_000]].concat();
        assert_eq!(sizes(Kind::Expire), with_large);
        assert_eq!(sizes(Kind::Caffeine), [32_768]);
        let quick = Options::parse_from(["compare", "--n", "2000"]).agenda();
        assert!(quick.iter().all(|&(_, n)| n <= 2_000 || n == 32_768));
    }
}
