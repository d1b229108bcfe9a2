//! The result as JSON, for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::replay::{Comparison, Outcome, Spread};
use crate::setup::Setup;
use crate::table::{BASELINE, TAIL, speed_up};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    setup: &'a Setup,
    workload: Workload,
    verdict: Verdict,
    /// The queue that speed-ups are against.
    baseline: &'static str,
    queues: BTreeMap<&'a str, Queue>,
}

/// Hits, misses and writes are all the requests; the entries made are those expired, evicted, deleted and
/// left.
#[derive(Serialize)]
struct Workload {
    requests: u64,
    hits: u64,
    misses: u64,
    writes: u64,
    inserts: u64,
    expired: u64,
    evicted: u64,
    deleted: u64,
    left: u64,
    refreshes: u64,
    most_live: u64,
    advances: u64,
    queue_calls: u64,
}

#[derive(Serialize)]
struct Verdict {
    /// How many queues' expiries were laid side by side.
    queues_compared: usize,
    digests_equal: bool,
    early: u64,
    late: u64,
    miscounted: u64,
}

#[derive(Serialize)]
struct Queue {
    expired: u64,
    digest: String,
    early: u64,
    late: u64,
    miscounted: u64,
    ns_per_request: Rounds,
    ns_per_queue_call: Rounds,
    request_speed_up: Option<f64>,
    queue_call_speed_up: Option<f64>,
    advances: Advances,
}

/// A figure over the rounds.
#[derive(Serialize)]
struct Rounds {
    median: f64,
    least: f64,
    most: f64,
}

/// The calls to advance, each at its least over the rounds.
#[derive(Serialize)]
struct Advances {
    calls: u64,
    p9999_us: f64,
    longest_us: f64,
}

/// Writes the result down.
pub(crate) fn document(setup: &Setup, comparison: &Comparison) -> String {
    let first = &comparison.outcomes[0];
    let (counts, findings) = (first.counts, &first.findings);
    let document = Document {
        setup,
        workload: Workload {
            requests: comparison.requests,
            hits: counts.hits,
            misses: counts.misses,
            writes: counts.writes,
            inserts: counts.inserts,
            expired: counts.expired,
            evicted: counts.evicted,
            deleted: counts.deleted,
            left: counts.left,
            refreshes: counts.refreshes,
            most_live: findings.most_live,
            advances: findings.advances,
            queue_calls: comparison.queue_ops,
        },
        verdict: Verdict {
            queues_compared: comparison.outcomes.len(),
            digests_equal: comparison.digests_equal(),
            early: comparison.early(),
            late: comparison.late(),
            miscounted: comparison.miscounted(),
        },
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
    let us = |ns: u64| ns as f64 / 1e3;
    Queue {
        expired: outcome.counts.expired,
        digest: format!("{:016x}", outcome.findings.digest),
        early: outcome.findings.early,
        late: outcome.findings.late,
        miscounted: outcome.findings.miscounted,
        ns_per_request: outcome.request_ns.into(),
        ns_per_queue_call: outcome.queue_op_ns.into(),
        request_speed_up: speed_up(comparison, outcome, |outcome| outcome.request_ns.median)
            .map(rounded),
        queue_call_speed_up: speed_up(comparison, outcome, |outcome| outcome.queue_op_ns.median)
            .map(rounded),
        advances: Advances {
            calls: outcome.pauses.len(),
            p9999_us: us(outcome.pauses.value_at_quantile(TAIL)),
            longest_us: us(outcome.pauses.max()),
        },
    }
}

impl From<Spread> for Rounds {
    fn from(spread: Spread) -> Self {
        Self {
            median: rounded(spread.median),
            least: rounded(spread.least),
            most: rounded(spread.most),
        }
    }
}

/// A figure to three places, which is more than it is worth.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
