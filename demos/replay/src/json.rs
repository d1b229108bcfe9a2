//! The result as JSON, for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::replay::{Comparison, Outcome, Spread};
use crate::setup::Fact;
use crate::table::{BASELINE, TAIL, speed_up};
use crate::trace::Trace;

#[derive(Serialize)]
struct Document<'a> {
    setup: BTreeMap<&'static str, &'a str>,
    requests: usize,
    keys: u32,
    skipped_lines: u64,
    hits: u64,
    misses: u64,
    inserts: u64,
    refreshes: u64,
    expired: u64,
    evicted: u64,
    deleted: u64,
    most_live: u64,
    advances: u64,
    rounds: u32,
    queue_ops: u64,
    digests_equal: bool,
    early: u64,
    late: u64,
    miscounted: u64,
    baseline: &'static str,
    queues: BTreeMap<&'a str, Queue>,
}

#[derive(Serialize)]
struct Queue {
    expired: u64,
    digest: String,
    early: u64,
    late: u64,
    miscounted: u64,
    ns_per_request: f64,
    ns_per_request_range: [f64; 2],
    ns_per_queue_op: f64,
    ns_per_queue_op_range: [f64; 2],
    advance_calls: u64,
    longest_advance_us: f64,
    p9999_advance_us: f64,
    request_speed_up: Option<f64>,
    queue_op_speed_up: Option<f64>,
}

/// Writes the result down.
pub(crate) fn document(trace: &Trace, facts: &[Fact], comparison: &Comparison) -> String {
    let first = &comparison.outcomes[0];
    let counts = first.counts;
    let document = Document {
        setup: facts
            .iter()
            .map(|fact| (fact.subject, fact.text.as_str()))
            .collect(),
        requests: trace.requests.len(),
        keys: trace.keys,
        skipped_lines: trace.skipped.lines,
        hits: counts.hits,
        misses: counts.misses,
        inserts: counts.inserts,
        refreshes: counts.refreshes,
        expired: counts.expired,
        evicted: counts.evicted,
        deleted: counts.deleted,
        most_live: first.findings.most_live,
        advances: first.findings.advances,
        rounds: comparison.rounds,
        queue_ops: comparison.queue_ops,
        digests_equal: comparison.digests_equal(),
        early: comparison.early(),
        late: comparison.late(),
        miscounted: comparison.miscounted(),
        baseline: BASELINE,
        queues: comparison
            .outcomes
            .iter()
            .map(|outcome| (outcome.name.as_str(), queue(comparison, outcome)))
            .collect(),
    };
    let mut text =
        serde_json::to_string_pretty(&document).expect("figures and names always fit JSON");
    text.push('\n');
    text
}

fn queue(comparison: &Comparison, outcome: &Outcome) -> Queue {
    let range = |spread: Spread| [rounded(spread.least), rounded(spread.most)];
    let us = |ns: u64| ns as f64 / 1e3;
    Queue {
        expired: outcome.counts.expired,
        digest: format!("{:016x}", outcome.findings.digest),
        early: outcome.findings.early,
        late: outcome.findings.late,
        miscounted: outcome.findings.miscounted,
        ns_per_request: rounded(outcome.request_ns.median),
        ns_per_request_range: range(outcome.request_ns),
        ns_per_queue_op: rounded(outcome.queue_op_ns.median),
        ns_per_queue_op_range: range(outcome.queue_op_ns),
        advance_calls: outcome.pauses.len(),
        longest_advance_us: us(outcome.pauses.max()),
        p9999_advance_us: us(outcome.pauses.value_at_quantile(TAIL)),
        request_speed_up: speed_up(comparison, outcome, |outcome| outcome.request_ns.median)
            .map(rounded),
        queue_op_speed_up: speed_up(comparison, outcome, |outcome| outcome.queue_op_ns.median)
            .map(rounded),
    }
}

/// A figure to three places, which is more than it is worth.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
