//! The command line: what to measure, how often, and where to put the results.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;

use crate::figure::Workload;
use crate::subject::{self, Subject};

const DEFAULT_ROUNDS: u32 = 3;
/// Beyond this a round takes minutes.
const MANY: usize = 1_000_000;
/// Beyond this the inputs alone take gigabytes.
const MOST_TIMERS: u64 = 100_000_000;

/// Measures timer queues side by side and holds the wheel to its goals
#[derive(Debug, Parser)]
#[command(name = "compare", max_term_width = 100)]
pub(crate) struct Options {
    /// How many timers, separated by commas; W11, W12 and W16 have sizes of their own, of which those run
    /// that are no larger
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "10000,1000000",
          value_parser = parse_count)]
    n: Vec<usize>,

    /// How many times each subject is measured [default: 3, or once on more than a million timers]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,

    /// Only these workloads, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', ignore_case = true, value_enum)]
    workloads: Vec<Workload>,

    /// Only these subjects, separated by commas [default: all but btree-queue]
    #[arg(long, value_delimiter = ',',
          value_parser = PossibleValuesParser::new(subject::ALL.iter().map(|subject| subject.name)))]
    subjects: Vec<String>,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Be the process of one measurement: nothing but the results
    #[arg(long = "child", hide = true)]
    pub(crate) is_child: bool,
}

impl Options {
    /// The sizes asked for, each once.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes = Vec::new();
        for &n in &self.n {
            if !sizes.contains(&n) {
                sizes.push(n);
            }
        }
        sizes
    }

    /// The rounds on so many timers.
    pub(crate) fn rounds(&self, n: usize) -> u32 {
        self.rounds
            .unwrap_or(if n > MANY { 1 } else { DEFAULT_ROUNDS })
    }

    pub(crate) fn wants(&self, workload: Workload) -> bool {
        self.workloads.is_empty() || self.workloads.contains(&workload)
    }

    fn wants_subject(&self, name: &str) -> bool {
        if self.subjects.is_empty() {
            return name != subject::ON_REQUEST;
        }
        self.subjects.iter().any(|wanted| wanted == name)
    }

    /// The subjects asked for, in the order of the register.
    pub(crate) fn subjects(&self) -> Vec<&'static Subject> {
        subject::ALL
            .iter()
            .filter(|subject| self.wants_subject(subject.name))
            .collect()
    }
}

fn parse_count(text: &str) -> Result<usize, String> {
    let count: u64 = text
        .replace('_', "")
        .parse()
        .map_err(|error| format!("{error}"))?;
    if !(1..=MOST_TIMERS).contains(&count) {
        return Err(format!("not between 1 and {MOST_TIMERS}"));
    }
    usize::try_from(count).map_err(|error| format!("{error}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_definition_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn bad_arguments_are_refused() {
        for arguments in [
            ["--n", "0"],
            ["--n", "many"],
            ["--n", ""],
            ["--n", "99999999999999999999"],
            ["--rounds", "0"],
            ["--workloads", "W99"],
            ["--subjects", "sundial"],
        ] {
            let refused = Options::try_parse_from(["compare"].iter().chain(&arguments));
            assert_eq!(refused.map_err(|error| error.exit_code()).err(), Some(2));
        }
    }
}
