//! The command line.

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, ValueEnum};

use crate::cache::Expire;
use crate::trace::profile::{self, PROFILES, Profile};
use crate::trace::{Format, TTL_LIMIT_S};

/// How many requests a synthetic trace has unless told otherwise.
const DEFAULT_REQUESTS: u64 = 5_000_000;

/// How many rounds are timed unless told otherwise, of long traces and of short ones.
const USUAL_ROUNDS: RangeInclusive<usize> = 5..=25;

/// How many requests, over all rounds, are enough for a median to settle.
const ENOUGH_REQUESTS: usize = 10_000_000;

/// Replays a cache access trace through a cache whose entries expire by a timer wheel, and through the
/// same cache on other queues; shows that all expire the same keys at the same times in the same order,
/// and what each costs.
///
/// Exits with 0 when all agree and nothing was early or late, with 1 when not, with 2 for bad input and
/// with 130 when interrupted.
#[derive(Parser, Debug)]
#[command(name = "replay", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Real trace to replay, plain or .gz [default: a synthetic one]
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Layout of the trace's lines [default: guessed from its first line]
    #[arg(long, requires = "trace")]
    pub(crate) format: Option<Format>,

    /// Leave malformed lines of the trace out and report them, instead of stopping
    #[arg(long, requires = "trace")]
    pub(crate) skip_bad_lines: bool,

    /// Requests to replay [default: 5000000 synthetic ones, or the whole trace]
    #[arg(long, value_name = "N", value_parser = requests)]
    requests: Option<u64>,

    /// Cluster whose figures the synthetic trace is modelled on
    #[arg(long, value_name = "NAME", default_value = profile::DEFAULT, conflicts_with = "trace",
          value_parser = profile_names())]
    pub(crate) profile: String,

    /// Seed of the synthetic trace
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "trace", value_parser = seed)]
    pub(crate) seed: u64,

    /// What starts an entry's TTL anew
    #[arg(long, value_enum, default_value_t = Expire::AfterWrite)]
    pub(crate) expire: Expire,

    /// TTL of every entry, such as 300s, 10m, 4h or 1d [default: the trace's]
    #[arg(long, value_name = "TIME", value_parser = ttl)]
    pub(crate) ttl: Option<Duration>,

    /// Most entries held; past it, the least recently used is evicted [default: unbounded]
    #[arg(long, value_name = "ENTRIES", value_parser = entries)]
    pub(crate) capacity: Option<NonZeroUsize>,

    /// Queues to replay on
    #[arg(
        long,
        value_name = "QUEUES",
        value_delimiter = ',',
        default_value = "wheel,btree,textbook"
    )]
    queue: Vec<QueueName>,

    /// Work units the wheel may spend in one call before it is called again [default: unbounded]
    #[arg(long, value_name = "UNITS", value_parser = units)]
    pub(crate) budget: Option<NonZeroUsize>,

    /// Geometry of the wheel, and of the textbook one [default: millis, with --watch caffeine]
    #[arg(long, value_enum)]
    geometry: Option<GeometryName>,

    /// Rounds of measuring; medians are quoted [default: 5, up to 25 for short traces]
    #[arg(long, value_name = "N", value_parser = rounds)]
    rounds: Option<u32>,

    /// Folder for report.html
    #[arg(long, value_name = "DIR", default_value = "target/replay")]
    pub(crate) report: PathBuf,

    /// File for the figures as JSON, or - for stdout, without the table then
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
    /// How many requests to make up.
    pub(crate) fn synthetic_requests(&self) -> u64 {
        self.requests.unwrap_or(DEFAULT_REQUESTS)
    }

    /// How many requests to read at most.
    pub(crate) fn request_limit(&self) -> u64 {
        self.requests.unwrap_or(u64::MAX)
    }

    /// How many rounds to time on so many requests: the shorter the trace, the noisier one round.
    pub(crate) fn rounds(&self, requests: usize) -> u32 {
        let enough = ENOUGH_REQUESTS / requests.max(1);
        let usual = enough.clamp(*USUAL_ROUNDS.start(), *USUAL_ROUNDS.end());
        self.rounds.unwrap_or(usual as u32)
    }

    /// The geometry. To be watched it is one whose finest level covers minutes, as TTLs do: with ticks of a
    /// millisecond few buckets are so crowded that their timers are moved down to it.
    pub(crate) fn geometry(&self) -> GeometryName {
        let usual = if self.watch {
            GeometryName::Caffeine
        } else {
            GeometryName::Millis
        };
        self.geometry.unwrap_or(usual)
    }

    /// The queues to replay on, each once, in the order given.
    pub(crate) fn queues(&self) -> Vec<QueueName> {
        let mut queues = Vec::new();
        for &queue in &self.queue {
            if !queues.contains(&queue) {
                queues.push(queue);
            }
        }
        queues
    }
}

/// A queue to replay on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum QueueName {
    /// The timer wheel
    Wheel,
    /// The same wheel over the indexes of its caller
    Index,
    /// A BTreeSet of deadlines beside a slab
    Btree,
    /// The wheel as published elsewhere: one list node a timer
    Textbook,
}

/// A geometry of the wheel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GeometryName {
    /// Ticks of 1.05 ms, 256 buckets a level
    Millis,
    /// Ticks of 1.07 s, Caffeine's buckets
    Caffeine,
    /// Ticks of 1.02 us, 256 buckets a level
    Micros,
    /// Ticks of 1.05 ms, 64 buckets a level
    Compact,
}

/// A value's name on the command line.
pub(crate) fn name_of(value: &impl ValueEnum) -> String {
    value
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The names of the profiles, each with what it is like.
fn profile_names() -> PossibleValuesParser {
    let named = |profile: &Profile| PossibleValue::new(profile.name).help(profile.character);
    PROFILES.iter().map(named).collect::<Vec<_>>().into()
}

/// Reads a TTL as people write it.
fn ttl(text: &str) -> Result<Duration, String> {
    let longest = Duration::from_secs(TTL_LIMIT_S);
    humantime::parse_duration(text)
        .ok()
        .filter(|ttl| !ttl.is_zero() && *ttl <= longest)
        .ok_or_else(|| {
            format!(
                "expected a TTL with its unit, such as 300s, 10m, 4h or 1d, at most {TTL_LIMIT_S}s"
            )
        })
}

fn requests(text: &str) -> Result<u64, String> {
    number(text, "a number of requests", 1, u64::MAX)
}

fn seed(text: &str) -> Result<u64, String> {
    number(text, "a number", 0, u64::MAX)
}

fn entries(text: &str) -> Result<NonZeroUsize, String> {
    number(
        text,
        "a number of entries",
        NonZeroUsize::MIN,
        NonZeroUsize::MAX,
    )
}

fn units(text: &str) -> Result<NonZeroUsize, String> {
    number(
        text,
        "a number of units",
        NonZeroUsize::MIN,
        NonZeroUsize::MAX,
    )
}

fn rounds(text: &str) -> Result<u32, String> {
    number(text, "a number of rounds", 1, 99)
}

/// Reads a number, or says what was expected.
fn number<N: FromStr + PartialOrd + Display>(
    text: &str,
    what: &str,
    least: N,
    most: N,
) -> Result<N, String> {
    match text.parse() {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => Err(format!(
            "expected {what} from {least} to {most}, in digits only"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn watch_with_what_only_measuring_uses_is_refused() {
        for other in [
            "--queue=btree",
            "--rounds=3",
            "--report=r",
            "--json=-",
            "--quiet",
        ] {
            let parsed = Args::try_parse_from(["replay", "--watch", other]);
            assert!(parsed.is_err(), "{other}");
        }
        assert!(Args::try_parse_from(["replay", "--watch", "--ttl=5s"]).is_ok_and(|it| it.watch));
    }

    #[test]
    fn geometry_is_millis_to_measure_and_caffeine_to_watch_unless_told() {
        let geometry = |arguments: &[&str]| {
            let words = ["replay"].iter().chain(arguments);
            Args::try_parse_from(words).map(|args| args.geometry()).ok()
        };
        assert_eq!(geometry(&[]), Some(GeometryName::Millis));
        assert_eq!(geometry(&["--watch"]), Some(GeometryName::Caffeine));
        let told = geometry(&["--watch", "--geometry=compact"]);
        assert_eq!(told, Some(GeometryName::Compact));
    }

    #[test]
    fn ttl_takes_units_and_refuses_what_is_out_of_range() {
        for (text, seconds) in [("10m", 600), ("300s", 300), ("4h", 14_400), ("1d", 86_400)] {
            assert_eq!(ttl(text), Ok(Duration::from_secs(seconds)));
        }
        for text in [
            "",
            "10",
            "-1s",
            "0s",
            "137y",
            "4294967296s",
            "1x",
            "abc",
            "99999999999999999999d",
        ] {
            let refusal = ttl(text).unwrap_err();
            assert!(refusal.starts_with("expected a TTL"), "{text}");
        }
    }
}
