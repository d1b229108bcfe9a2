//! The comparison: every queue through every pass, and the results.
//!
//! A queue replays the whole trace several times, on a fresh cache each time, in passes of four kinds:
//!
//! 1. The **audit**, once: counts, digest, early and late expiries. Not timed.
//! 2. **Requests**: the replay as a whole is timed, nothing is observed.
//! 3. **Advances**: each call to advance is timed.
//! 4. **Queue**: what was asked of the queue, recorded beforehand, is asked again of the bare queue.
//!
//! The timed passes take turns over all queues, round by round, so that a slow minute of the machine affects all of
//! them. The median of the rounds is quoted, with the least and the greatest. The first queue's script is played on all:
//! where the digests agree, each would have been asked the same.

mod contender;
mod script;

use std::time::Duration;

use anyhow::Result;
use timer_wheel_bench::clock::Calls;
use timer_wheel_bench::results::Spread;

use crate::audit::Findings;
use crate::cache::{Counts, Policy};
use crate::progress::Progress;
use crate::trace::Trace;

pub(crate) use contender::Contender;

use contender::{Course, Timings};

/// The times of all rounds, in ns, each divided into a number of shares.
fn spread(rounds: &[Duration], shares: u64) -> Spread {
    Spread::of(rounds.iter().map(|round| round.as_nanos() as f64 / shares as f64))
}

pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) counts: Counts,
    pub(crate) findings: Findings,
    pub(crate) request_ns: Spread,
    pub(crate) call_ns: Spread,
    pub(crate) advances: usize,
    /// The longest advance, and that which all but one in ten thousand do not exceed.
    pub(crate) longest_ns: f64,
    pub(crate) tail_ns: f64,
}

pub(crate) struct Comparison {
    /// In the order of the queues given; at least one.
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) requests: u64,
    /// How many calls of the queue that takes.
    pub(crate) calls: u64,
}

impl Comparison {
    /// Whether all queues expired the same keys at the same times in the same order.
    pub(crate) fn digests_equal(&self) -> bool {
        let digest = |outcome: &Outcome| (outcome.findings.digest, outcome.counts);
        self.outcomes.windows(2).all(|pair| digest(&pair[0]) == digest(&pair[1]))
    }

    /// How many expiries were early and late and timers miscounted, over all queues.
    pub(crate) fn faults(&self) -> [u64; 3] {
        let sum = |of: fn(&Findings) -> u64| self.outcomes.iter().map(|it| of(&it.findings)).sum();
        [sum(|found| found.early), sum(|found| found.late), sum(|found| found.miscounted)]
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.digests_equal() && self.faults() == [0; 3]
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.name == name)
    }
}

pub(crate) fn compare(
    trace: &Trace,
    policy: Policy,
    contenders: &[Contender],
    rounds: u32,
    progress: Progress,
) -> Result<Comparison> {
    let passes = contenders.len() as u64 * (1 + 3 * u64::from(rounds)) + 1;
    let requests = trace.requests.len() as u64;
    let bar = progress.stage("replaying", passes * requests);
    let course = Course { trace, policy, bar };
    let audits = contenders.iter().map(|contender| contender.passes.audit(&course)).collect::<Result<Vec<_>>>()?;
    let script = contenders[0].passes.record(&course)?;
    // Before a request is served the queue is advanced.
    let advances = || Calls::on_the_wall(trace.requests.len());
    let timings = |_| Timings { requests: Vec::new(), calls: Vec::new(), advances: advances() };
    let mut timings: Vec<Timings> = contenders.iter().map(timings).collect();
    for _ in 0..rounds {
        for (contender, timings) in contenders.iter().zip(&mut timings) {
            contender.passes.time(&course, &script, timings)?;
        }
    }
    course.bar.finish_and_clear();
    let results = contenders.iter().zip(audits).zip(timings);
    let outcomes = results.map(|((contender, (counts, findings)), timings)| Outcome {
        name: contender.name.clone(),
        counts,
        findings,
        request_ns: spread(&timings.requests, requests),
        call_ns: spread(&timings.calls, script.len()),
        advances: timings.advances.count(),
        longest_ns: timings.advances.longest_ns(),
        tail_ns: timings.advances.quantile_ns(0.9999),
    });
    Ok(Comparison { outcomes: outcomes.collect(), requests, calls: script.len() })
}

#[cfg(test)]
mod tests;
