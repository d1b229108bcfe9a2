//! What a run replays, how and where, for a reader of its figures.

use std::env;
use std::time::SystemTime;

use timer_wheel_bench::results;

use crate::args::{Args, name_of};
use crate::figure::{grouped, span};
use crate::trace::Trace;

/// A subject and what is said of it.
pub(crate) type Fact = (&'static str, String);

/// What the figures depend on.
pub(crate) struct Setup<'a> {
    pub(crate) args: &'a Args,
    pub(crate) trace: &'a Trace,
    pub(crate) rounds: u32,
    /// What repeats this run, from a checkout.
    pub(crate) command: String,
    pub(crate) commit: String,
    pub(crate) machine: String,
    /// When it began, in universal time.
    pub(crate) date: String,
}

impl<'a> Setup<'a> {
    /// What the arguments ask for on a trace, on this machine.
    pub(crate) fn new(args: &'a Args, trace: &'a Trace) -> Self {
        let own: Vec<String> = env::args().skip(1).collect();
        let separator = (!own.is_empty()).then(|| "--".to_owned());
        let words = ["cargo", "run", "--release", "-p", "replay"].map(str::to_owned);
        Self {
            args,
            trace,
            rounds: args.rounds(trace.requests.len()),
            command: shell_words::join(words.into_iter().chain(separator).chain(own)),
            commit: results::version(),
            machine: results::machine(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        }
    }

    pub(crate) fn facts(&self) -> Vec<Fact> {
        let (args, trace) = (self.args, self.trace);
        let ttl = match args.ttl {
            Some(ttl) => format!("TTL {} for all", humantime::format_duration(ttl)),
            None if trace.has_ttls() => "TTLs of the trace".to_owned(),
            None => "no TTLs in the trace and no --ttl, so nothing expires".to_owned(),
        };
        let (requests, keys) = (grouped(trace.requests.len() as u64), grouped(trace.keys.into()));
        let capacity = args.capacity.map(|most| grouped(most.get() as u64));
        let capacity = capacity.map(|most| format!("{most} entries, least recently used evicted"));
        vec![
            ("trace", trace.name.clone()),
            ("requests", format!("{requests} for {keys} keys, over {}", span(trace.length_ns()))),
            ("expiry", format!("{}, {ttl}", name_of(&args.expire))),
            ("capacity", capacity.unwrap_or_else(|| "unbounded".to_owned())),
            ("geometry", name_of(&args.geometry())),
            ("rounds", format!("{}, medians quoted", self.rounds)),
        ]
    }

    /// What was run, where and when.
    pub(crate) fn repeat(&self) -> Vec<Fact> {
        let commit = format!("{}, version {}", self.commit, env!("CARGO_PKG_VERSION"));
        vec![
            ("command", self.command.clone()),
            ("commit", commit),
            ("machine", self.machine.clone()),
            ("date", self.date.clone()),
        ]
    }
}
