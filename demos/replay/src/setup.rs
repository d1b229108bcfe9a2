//! What a run replays and how, in words, for whoever reads its figures.

use std::time::Duration;

use crate::args::{Args, name_of};
use crate::cache::Policy;
use crate::figure::{grouped, span};
use crate::trace::Trace;

/// One line of the description.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    /// What it is about.
    pub(crate) subject: &'static str,
    /// What it says.
    pub(crate) text: String,
}

/// Describes a run.
pub(crate) fn describe(args: &Args, trace: &Trace) -> Vec<Fact> {
    let fact = |subject, text| Fact { subject, text };
    let mut facts = vec![
        fact("trace", trace.name.clone()),
        fact(
            "requests",
            format!(
                "{} to {} keys, over {}",
                grouped(trace.requests.len() as u64),
                grouped(trace.keys.into()),
                span(trace.end_ns() - trace.start_ns())
            ),
        ),
        fact("expiry", expiry(args, trace)),
        fact(
            "capacity",
            match args.capacity {
                Some(capacity) => format!(
                    "{} entries, least recently used evicted",
                    grouped(capacity.get() as u64)
                ),
                None => "unbounded".to_owned(),
            },
        ),
        fact("geometry", geometry(args)),
        fact(
            "rounds",
            format!("{}, medians quoted", args.rounds(trace.requests.len())),
        ),
    ];
    if trace.skipped.lines > 0 {
        facts.push(fact(
            "skipped",
            format!("{} malformed lines", grouped(trace.skipped.lines)),
        ));
    }
    facts
}

fn expiry(args: &Args, trace: &Trace) -> String {
    let ttl = match args.ttl {
        Some(ttl) => format!("TTL {} for all", humantime::format_duration(ttl)),
        None if trace.has_ttls() => "TTLs of the trace".to_owned(),
        None => "no TTLs in the trace and no --ttl, so nothing expires".to_owned(),
    };
    format!("{}, {ttl}", name_of(&args.expire))
}

fn geometry(args: &Args) -> String {
    let budget = match args.budget {
        Some(budget) => format!(
            "the wheel does at most {} units of work a call",
            grouped(budget.get() as u64)
        ),
        None => "no budget".to_owned(),
    };
    format!("{}, {budget}", name_of(&args.geometry))
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
