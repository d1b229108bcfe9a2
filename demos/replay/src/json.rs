//! The result as JSON, for programs.

use serde_json::{Map, Value, json};

use crate::args::name_of;
use crate::figure::NS_PER_S;
use crate::replay::{Comparison, Outcome};
use crate::setup::Setup;

/// Hits, misses and writes add up to the requests; entries expired, evicted, deleted and left add up to the inserts.
pub(crate) fn document(setup: &Setup<'_>, comparison: &Comparison) -> String {
    let (args, trace) = (setup.args, setup.trace);
    let first = &comparison.outcomes[0];
    let [early, late, miscounted] = comparison.faults();
    let mut workload = json!(first.counts);
    workload["requests"] = json!(comparison.requests);
    workload["most_live"] = json!(first.findings.most_live);
    workload["queue_calls"] = json!(comparison.calls);
    let queues = comparison.outcomes.iter();
    let queues: Map<String, Value> = queues.map(|outcome| (outcome.name.clone(), queue(outcome))).collect();
    let document = json!({
        "run": {
            "command": setup.command, "version": env!("CARGO_PKG_VERSION"), "commit": setup.commit,
            "machine": setup.machine, "date": setup.date,
        },
        "trace": {
            "name": trace.name, "requests": trace.requests.len(), "keys": trace.keys,
            "seconds": trace.length_ns() as f64 / NS_PER_S as f64, "has_ttls": trace.has_ttls(),
        },
        "cache": {
            "expire": name_of(&args.expire), "capacity": args.capacity,
            "ttl_seconds": args.ttl.map(|ttl| ttl.as_secs_f64()),
        },
        "wheel": { "geometry": name_of(&args.geometry()) },
        "rounds": setup.rounds,
        "workload": workload,
        "verdict": {
            "queues_compared": comparison.outcomes.len(),
            "digests_equal": comparison.digests_equal(),
            "early": early, "late": late, "miscounted": miscounted,
        },
        "queues": queues,
    });
    format!("{document:#}\n")
}

fn queue(outcome: &Outcome) -> Value {
    let findings = &outcome.findings;
    json!({
        "expired": outcome.counts.expired,
        "digest": format!("{:016x}", findings.digest),
        "early": findings.early, "late": findings.late, "miscounted": findings.miscounted,
        "ns_per_request": outcome.request_ns,
        "ns_per_queue_call": outcome.call_ns,
        "advances": {
            "calls": outcome.advances,
            "p9999_us": outcome.tail_ns / 1e3,
            "longest_us": outcome.longest_ns / 1e3,
        },
    })
}
