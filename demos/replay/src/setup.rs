//! What a run replays, how and where, for a reader of its figures.

use std::env;
use std::fs;
use std::num::NonZeroUsize;
use std::process::Command;
use std::thread;
use std::time::SystemTime;

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
        Self {
            args,
            trace,
            rounds: args.rounds(trace.requests.len()),
            command: command(env::args().skip(1)),
            commit: commit(),
            machine: machine(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        }
    }

    /// What is replayed and how.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let (args, trace) = (self.args, self.trace);
        let ttl = match args.ttl {
            Some(ttl) => format!("TTL {} for all", humantime::format_duration(ttl)),
            None if trace.has_ttls() => "TTLs of the trace".to_owned(),
            None => "no TTLs in the trace and no --ttl, so nothing expires".to_owned(),
        };
        let (requests, keys) = (grouped(trace.requests.len() as u64), grouped(trace.keys.into()));
        let requests = format!("{requests} for {keys} keys, over {}", span(trace.length_ns()));
        let many = |number: NonZeroUsize| grouped(number.get() as u64);
        let capacity = args
            .capacity
            .map_or("unbounded".to_owned(), |most| format!("{} entries, least recently used evicted", many(most)));
        let budget = args.budget.map_or("no budget".to_owned(), |most| {
            format!("the wheel does at most {} units of work a call", many(most))
        });
        let mut facts = vec![
            ("trace", trace.name.clone()),
            ("requests", requests),
            ("expiry", format!("{}, {ttl}", name_of(&args.expire))),
            ("capacity", capacity),
            ("geometry", format!("{}, {budget}", name_of(&args.geometry()))),
            ("rounds", format!("{}, medians quoted", self.rounds)),
        ];
        if trace.skipped_lines > 0 {
            let skipped = grouped(trace.skipped_lines);
            facts.push(("skipped", format!("{skipped} malformed lines")));
        }
        facts
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

/// The command that gives this program its arguments.
fn command(arguments: impl Iterator<Item = String>) -> String {
    let mut command = "cargo run --release -p replay".to_owned();
    for (place, word) in arguments.enumerate() {
        command += if place == 0 { " -- " } else { " " };
        let is_plain = |it: char| it.is_alphanumeric() || "-_=,./:+@%".contains(it);
        if !word.is_empty() && word.chars().all(is_plain) {
            command += &word;
        } else {
            command += &format!("'{}'", word.replace('\'', r"'\''"));
        }
    }
    command
}

/// The commit of the checkout, with `-dirty` if it has changes.
fn commit() -> String {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let described = git.output().ok().filter(|output| output.status.success());
    let commit = described.and_then(|output| String::from_utf8(output.stdout).ok());
    commit.map_or("unknown".to_owned(), |commit| commit.trim().to_owned())
}

/// The processor, as far as Linux tells, the usable cores, and the system.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown", |it| it.1);
    let cores = thread::available_parallelism().map_or(0, |cores| cores.get());
    format!("{model}, {cores} cores, {} {}", env::consts::OS, env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_quotes_words_that_a_shell_would_split_or_change() {
        let words = ["--ttl=10m", "a b", "", "it's", "$HOME"].map(str::to_owned);
        let shown = r"cargo run --release -p replay -- --ttl=10m 'a b' '' 'it'\''s' '$HOME'";
        assert_eq!(command(words.into_iter()), shown);
        assert_eq!(command([].into_iter()), "cargo run --release -p replay");
    }
}
