//! The result in words and in a table, for a terminal of 80 columns and for the report.

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};
use textwrap::Options;
use timer_wheel_bench::results::Spread;

use crate::figure::{grouped, pause, three_digits};
use crate::replay::{Comparison, Outcome};
use crate::setup::Fact;

/// The queue that others are compared with.
const BASELINE: &str = "btree";

const WIDTH: usize = 80;

/// The columns of a subject, left of what is said of it.
const SUBJECT: usize = 10;

/// Facts, a subject and a text each, for a terminal.
pub(crate) fn lines(facts: &[Fact]) -> String {
    let line = |(subject, text): &Fact| {
        let subject = format!("{subject:<SUBJECT$}");
        let indent = " ".repeat(SUBJECT);
        let options = Options::new(WIDTH).initial_indent(&subject);
        textwrap::fill(text, options.subsequent_indent(&indent)) + "\n"
    };
    facts.iter().map(line).collect()
}

pub(crate) fn result(comparison: &Comparison) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).add_rows(figures(comparison));
    table.set_header(HEADINGS);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
        if column.index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(11)));
        }
    }
    let mut text = format!("{}\n{}\n\n", lines(&sums(comparison)), table.trim_fmt());
    for paragraph in [note(comparison), verdict(comparison)] {
        text += &textwrap::fill(&paragraph, WIDTH);
        text += "\n\n";
    }
    text
}

/// What the rows and columns of [`figures`] mean.
pub(crate) fn note(comparison: &Comparison) -> String {
    let queues = comparison.outcomes.iter().map(|outcome| format!("{}: {}. ", outcome.name, title(outcome)));
    queues.collect::<String>()
        + "Speed-up: the time with btree divided by the time with this queue. A queue call is any call of the queue; \
           it is timed without the cache. The longest advance of this wheel is longer than a tree's, because an advance \
           also moves timers that are due later, a bounded share of them each time. It does not grow into a pause with \
           more timers; that of the textbook wheel, which moves a whole bucket, does."
}

/// The main finding: each queue's time a request, those after the first as a ratio to it, and its longest advance.
pub(crate) fn finding(comparison: &Comparison) -> Vec<String> {
    let first_ns = comparison.outcomes[0].request_ns.median;
    let line = |(place, outcome): (usize, &Outcome)| {
        let (ns, longest) = (outcome.request_ns.median, pause(outcome.longest_ns));
        let time = match place {
            0 => format!("{} a request", pause(ns)),
            _ => format!("{} x the time of a request", three_digits(ns / first_ns)),
        };
        let (initial, rest) = title(outcome).split_at(1);
        let why = if is_wheel(outcome) { ", in which it moves its share of the timers due later" } else { "" };
        format!("{}{rest}: {time}, longest advance {longest}{why}", initial.to_uppercase())
    };
    comparison.outcomes.iter().enumerate().map(line).collect()
}

/// Whether it is this crate's wheel, in whatever form.
fn is_wheel(outcome: &Outcome) -> bool {
    matches!(outcome.name.as_str(), "wheel" | "index" | "lane")
}

fn title(outcome: &Outcome) -> &str {
    match outcome.name.as_str() {
        "wheel" => "timer wheel",
        "index" => "timer wheel over its caller's indexes",
        "lane" => "timer wheel with one lane",
        "btree" => "BTreeMap",
        "textbook" => "textbook wheel of linked lists",
        other => other,
    }
}

/// Whether the queues agree, and how much was compared.
pub(crate) fn verdict(comparison: &Comparison) -> String {
    let outcomes = &comparison.outcomes;
    let expired = grouped(outcomes[0].counts.expired);
    let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.name.as_str()).collect();
    let names = names.join(", ");
    let agreement = if !comparison.digests_equal() {
        "DIGESTS DIFFER: the queues did not expire the same entries at the same times in the same order.".to_owned()
    } else if expired == "0" {
        "Nothing expired, so there was nothing to compare. Give --ttl or more requests.".to_owned()
    } else if outcomes.len() == 1 {
        format!("Only {names} ran, so its {expired} expiries were not compared.")
    } else {
        format!("All queues agree: {names} expired the same {expired} entries at the same times in the same order.")
    };
    let [early, late, _] = comparison.faults().map(grouped);
    let mut verdict = format!("{agreement} Early: {early}, late: {late}.");
    if !comparison.is_clean() {
        verdict.extend(outcomes.iter().map(fault));
    }
    verdict
}

fn fault(outcome: &Outcome) -> String {
    let findings = &outcome.findings;
    let expired = grouped(outcome.counts.expired);
    let [early, late, miscounted] = [findings.early, findings.late, findings.miscounted].map(grouped);
    format!(
        " {}: {expired} expired, {early} early, {late} late, {miscounted} timers lost or never removed, digest {:016x}.",
        outcome.name, findings.digest
    )
}

/// The workload's counts, as sums, and the digest.
pub(crate) fn sums(comparison: &Comparison) -> Vec<Fact> {
    let (counts, findings) = (comparison.outcomes[0].counts, &comparison.outcomes[0].findings);
    let [hits, misses, writes] = [counts.hits, counts.misses, counts.writes].map(grouped);
    let requests = grouped(comparison.requests);
    let [made, expired, evicted] = [counts.inserts, counts.expired, counts.evicted].map(grouped);
    let [deleted, left] = [counts.deleted, counts.left].map(grouped);
    let [most, refreshes] = [findings.most_live, counts.refreshes].map(grouped);
    let served = format!("{hits} hits + {misses} misses + {writes} writes = {requests} requests");
    let fates = format!("{expired} expired + {evicted} evicted + {deleted} deleted + {left} left");
    let timers = format!("at most {most} at once; {refreshes} entries were given a new deadline");
    let digest = format!("{:016x} over all expiries in order", findings.digest);
    let entries = format!("{made} made = {fates}");
    vec![("served", served), ("entries", entries), ("timers", timers), ("digest", digest)]
}

/// The headings of [`figures`], of two lines.
#[rustfmt::skip]
pub(crate) const HEADINGS: [&str; 7] = [
    "\nqueue", "ns a\nrequest", "request\nspeed-up", "ns a\nqueue call", "call\nspeed-up", "longest\nadvance",
    "p99.99\nadvance",
];

pub(crate) fn figures(comparison: &Comparison) -> Vec<[String; 7]> {
    let baseline = comparison.named(BASELINE);
    let speed_up = |outcome: &Outcome, time_of: fn(&Outcome) -> Spread| match baseline {
        Some(baseline) => format!("{} x", three_digits(time_of(baseline).median / time_of(outcome).median)),
        None => "-".to_owned(),
    };
    let row = |outcome: &Outcome| {
        [
            outcome.name.clone(),
            three_digits(outcome.request_ns.median),
            speed_up(outcome, |outcome| outcome.request_ns),
            three_digits(outcome.call_ns.median),
            speed_up(outcome, |outcome| outcome.call_ns),
            pause(outcome.longest_ns),
            pause(outcome.tail_ns),
        ]
    };
    comparison.outcomes.iter().map(row).collect()
}
