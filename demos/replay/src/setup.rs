//! What a run replays, how and where, for a reader of its figures.

use std::env;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::args::{Args, name_of};
use crate::cache::Policy;
use crate::figure::{NS_PER_S, grouped, span};
use crate::machine;
use crate::trace::Trace;

/// All that the figures depend on.
#[derive(Serialize)]
pub(crate) struct Setup {
    pub(crate) run: Run,
    pub(crate) trace: About,
    pub(crate) cache: Rules,
    pub(crate) wheel: Shape,
    /// How many rounds are timed.
    pub(crate) rounds: u32,
}

/// This very run.
#[derive(Serialize)]
pub(crate) struct Run {
    /// What repeats it, from a checkout.
    pub(crate) command: String,
    pub(crate) version: &'static str,
    pub(crate) machine: String,
    /// When it began, in universal time.
    pub(crate) date: String,
}

/// The trace.
#[derive(Serialize)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) requests: usize,
    pub(crate) keys: u32,
    /// From the first request to the last.
    pub(crate) seconds: f64,
    pub(crate) has_ttls: bool,
    pub(crate) skipped_lines: u64,
}

/// The rules of the cache.
#[derive(Serialize)]
pub(crate) struct Rules {
    pub(crate) expire: String,
    /// The TTL of all entries, if it is not the trace's to say.
    pub(crate) ttl_seconds: Option<f64>,
    pub(crate) capacity: Option<usize>,
}

/// The wheel, as it was asked for.
#[derive(Serialize)]
pub(crate) struct Shape {
    pub(crate) geometry: String,
    /// Units of work a call.
    pub(crate) budget: Option<usize>,
}

/// One line of the description.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    /// What it is about.
    pub(crate) subject: &'static str,
    /// What it says.
    pub(crate) text: String,
}

impl Setup {
    /// What the arguments ask for on a trace.
    pub(crate) fn new(args: &Args, trace: &Trace) -> Self {
        Self {
            run: Run {
                command: command(),
                version: env!("CARGO_PKG_VERSION"),
                machine: machine::describe(),
                date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            },
            trace: About {
                name: trace.name.clone(),
                requests: trace.requests.len(),
                keys: trace.keys,
                seconds: (trace.end_ns() - trace.start_ns()) as f64 / NS_PER_S as f64,
                has_ttls: trace.has_ttls(),
                skipped_lines: trace.skipped.lines,
            },
            cache: Rules {
                expire: name_of(&args.expire),
                ttl_seconds: args.ttl.as_ref().map(Duration::as_secs_f64),
                capacity: args.capacity.map(|capacity| capacity.get()),
            },
            wheel: Shape {
                geometry: name_of(&args.geometry()),
                budget: args.budget.map(|budget| budget.get()),
            },
            rounds: args.rounds(trace.requests.len()),
        }
    }

    /// What is replayed and how.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let fact = |subject, text| Fact { subject, text };
        let trace = &self.trace;
        let mut facts = vec![
            fact("trace", trace.name.clone()),
            fact(
                "requests",
                format!(
                    "{} for {} keys, over {}",
                    grouped(trace.requests as u64),
                    grouped(trace.keys.into()),
                    span((trace.seconds * NS_PER_S as f64) as u64)
                ),
            ),
            fact("expiry", self.expiry()),
            fact("capacity", self.capacity()),
            fact("geometry", self.geometry()),
            fact("rounds", format!("{}, medians quoted", self.rounds)),
        ];
        if trace.skipped_lines > 0 {
            let skipped = format!("{} malformed lines", grouped(trace.skipped_lines));
            facts.push(fact("skipped", skipped));
        }
        facts
    }

    /// What was run, where and when.
    pub(crate) fn run(&self) -> [Fact; 4] {
        let fact = |subject, text: &str| Fact {
            subject,
            text: text.to_owned(),
        };
        [
            fact("command", &self.run.command),
            fact("version", self.run.version),
            fact("machine", &self.run.machine),
            fact("date", &self.run.date),
        ]
    }

    fn expiry(&self) -> String {
        let ttl = match self.cache.ttl_seconds {
            Some(seconds) => {
                let ttl = humantime::format_duration(Duration::from_secs_f64(seconds));
                format!("TTL {ttl} for all")
            }
            None if self.trace.has_ttls => "TTLs of the trace".to_owned(),
            None => "no TTLs in the trace and no --ttl, so nothing expires".to_owned(),
        };
        format!("{}, {ttl}", self.cache.expire)
    }

    fn capacity(&self) -> String {
        match self.cache.capacity {
            Some(capacity) => format!(
                "{} entries, least recently used evicted",
                grouped(capacity as u64)
            ),
            None => "unbounded".to_owned(),
        }
    }

    fn geometry(&self) -> String {
        let budget = match self.wheel.budget {
            Some(budget) => format!(
                "the wheel does at most {} units of work a call",
                grouped(budget as u64)
            ),
            None => "no budget".to_owned(),
        };
        format!("{}, {budget}", self.wheel.geometry)
    }
}

/// The command that gives this program the arguments that it was given.
fn command() -> String {
    let words = env::args_os().skip(1);
    let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    let run = "cargo run --release -p replay";
    if words.is_empty() {
        run.to_owned()
    } else {
        format!("{run} -- {}", words.join(" "))
    }
}

/// A word of a command line, as a shell would read it.
fn quoted(word: &str) -> String {
    let is_plain =
        |character: char| character.is_alphanumeric() || "-_=,./:+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The rules that the arguments lay down for the cache.
pub(crate) fn policy(args: &Args) -> Policy {
    Policy {
        expire: args.expire,
        // A TTL is at most u32::MAX seconds, which is far below 2^64 ns.
        ttl_ns: args
            .ttl
            .as_ref()
            .map(Duration::as_nanos)
            .map(|ns| ns as u64),
        capacity: args.capacity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_are_those_a_shell_would_split_or_change() {
        for (word, shown) in [
            ("--ttl=10m", "--ttl=10m"),
            ("a b", "'a b'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
