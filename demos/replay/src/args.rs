//! The command line.

use std::env;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, ValueEnum, value_parser};
use indexmap::IndexSet;

use crate::cache::{Expire, Policy};
use crate::trace::TTL_LIMIT_S;
use crate::trace::profile::{PROFILES, Profile};

/// How many requests a synthetic trace has by default.
pub(crate) const DEFAULT_REQUESTS: u64 = 5_000_000;

/// How many requests, over all rounds, are enough for a median to settle.
const ENOUGH_REQUESTS: usize = 10_000_000;

/// Replays a cache access trace through a cache whose entries expire by a timer wheel, and through the same cache on
/// other queues.
///
/// It shows that all queues expire the same keys at the same times in the same order, and what each costs. The exit
/// status is 0 if they agree and nothing was early or late, 1 if not, 2 for bad input, and 130 after an interrupt.
#[derive(Parser, Debug)]
#[command(name = "replay", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Real trace to replay, plain or .gz [default: a synthetic one]
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Requests to replay [default: 5000000 synthetic ones, or the whole trace]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,

    /// Cluster whose figures the synthetic trace is modelled on
    #[arg(long, value_name = "NAME", default_value = PROFILES[0].name, conflicts_with = "trace",
          value_parser = profiles())]
    pub(crate) profile: &'static Profile,

    /// Seed of the synthetic trace
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "trace")]
    pub(crate) seed: u64,

    /// What starts an entry's TTL anew
    #[arg(long, value_enum, default_value_t = Expire::AfterWrite)]
    pub(crate) expire: Expire,

    /// TTL of every entry, such as 300s, 10m, 4h or 1d [default: the trace's]
    #[arg(long, value_name = "TIME", value_parser = ttl)]
    pub(crate) ttl: Option<Duration>,

    /// Most entries held; beyond that, the least recently used is evicted [default: unbounded]
    #[arg(long, value_name = "ENTRIES")]
    pub(crate) capacity: Option<NonZeroUsize>,

    /// Queues to replay on [default: wheel,btree,textbook, with --ttl also lane]
    #[arg(long, value_name = "QUEUES", value_delimiter = ',')]
    queue: Vec<QueueName>,

    /// Geometry of the wheel, and of the textbook one [default: millis, with --watch caffeine]
    #[arg(long, value_enum)]
    geometry: Option<GeometryName>,

    /// Rounds of measuring; medians are quoted [default: 5, up to 25 for short traces]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..100))]
    rounds: Option<u32>,

    /// Folder for report.html [default: replay, in cargo's target directory]
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// File for the figures as JSON; with -, stdout has them instead of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Print nothing but errors
    #[arg(long)]
    pub(crate) quiet: bool,

    /// Show the wheel turning in this terminal instead of measuring
    #[arg(long, conflicts_with_all = ["queue", "rounds", "report", "json", "quiet"])]
    pub(crate) watch: bool,
}

impl Args {
    /// The folder for the report. Cargo marks its target directory, in which the program lies, with a file.
    pub(crate) fn report(&self) -> PathBuf {
        self.report.clone().unwrap_or_else(|| {
            let program = env::current_exe().unwrap_or_default();
            let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
            target.unwrap_or(Path::new("target")).join("replay")
        })
    }

    /// How many rounds to time on a trace: the shorter it is, the noisier is one round.
    pub(crate) fn rounds(&self, requests: usize) -> u32 {
        let usual = (ENOUGH_REQUESTS / requests.max(1)).clamp(5, 25);
        self.rounds.unwrap_or(usual as u32)
    }

    /// The queues to replay on, each once.
    pub(crate) fn queues(&self) -> IndexSet<QueueName> {
        use QueueName::{Btree, Lane, Textbook, Wheel};
        let wanted = match (&self.queue[..], self.ttl) {
            ([], None) => &[Wheel, Btree, Textbook],
            ([], Some(_)) => &[Wheel, Lane, Btree, Textbook][..],
            (asked, _) => asked,
        };
        wanted.iter().copied().collect()
    }

    /// With `--watch` one whose ticks can be seen.
    pub(crate) fn geometry(&self) -> GeometryName {
        self.geometry.unwrap_or(if self.watch { GeometryName::Caffeine } else { GeometryName::Millis })
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy {
            expire: self.expire,
            // A TTL is at most u32::MAX seconds, which is far below 2^64 ns.
            ttl_ns: self.ttl.map(|ttl| ttl.as_nanos() as u64),
            capacity: self.capacity,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, ValueEnum)]
pub(crate) enum QueueName {
    /// The timer wheel
    Wheel,
    /// The same wheel over the indexes of its caller
    Index,
    /// The same wheel with a lane for all timers, which pays with one TTL
    Lane,
    /// A BTreeMap of deadlines
    Btree,
    /// A wheel of linked lists, as published elsewhere
    Textbook,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GeometryName {
    /// Ticks of 1.05 ms, rotations of 256 buckets
    Millis,
    /// Ticks of 1.07 s, rotations of 64, 64, 32 and 4 buckets, as in Caffeine
    Caffeine,
    /// Ticks of 1.02 us, rotations of 256 buckets
    Micros,
    /// Ticks of 1.05 ms, rotations of 64 buckets
    Compact,
}

pub(crate) fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn profiles() -> impl TypedValueParser<Value = &'static Profile> {
    let value = |profile: &Profile| PossibleValue::new(profile.name).help(profile.character);
    let names = PossibleValuesParser::new(PROFILES.iter().map(value));
    names.map(|name| PROFILES.iter().find(|profile| profile.name == name).expect("clap accepts these names only"))
}

fn ttl(text: &str) -> Result<Duration, String> {
    let longest = Duration::from_secs(TTL_LIMIT_S);
    let ttl = humantime::parse_duration(text).ok().filter(|ttl| !ttl.is_zero() && *ttl <= longest);
    ttl.ok_or_else(|| format!("expected a TTL with its unit, such as 300s, 10m, 4h or 1d, at most {TTL_LIMIT_S}s"))
}
