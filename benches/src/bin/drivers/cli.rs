//! The command line: what to measure, and for how long.

use std::path::PathBuf;

use clap::Parser;

/// Measures thread drivers side by side: pairs of schedule and cancel, lateness, and timeouts
#[derive(Debug, Parser)]
#[command(name = "drivers", max_term_width = 100)]
pub(crate) struct Options {
    /// How many threads schedule and cancel
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub(crate) producers: u64,

    /// How many pairs of schedule and cancel, or calls of a timeout, each of them makes
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pairs: u64,

    /// How many jobs each of them has under way after the first measurement, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "10000,100000",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) window: Vec<u64>,

    /// How many threads schedule and cancel in W17, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8",
          value_parser = clap::value_parser!(u64).range(1..=256))]
    pub(crate) threads: Vec<u64>,

    /// How many times pairs and timeouts are measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Firings a second, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000",
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) rates: Vec<u64>,

    /// How long jobs fire at each rate
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(crate) seconds: u64,

    /// Only drivers whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    pub(crate) fn wants(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}
