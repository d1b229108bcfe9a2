//! The comparison: every queue through every pass, and what came of it.
//!
//! A queue replays the whole trace several times, on a fresh cache each time, in passes of four kinds:
//!
//! 1. The **audit**, once: counts, digest, early and late expiries, the timeline. Not timed.
//! 2. **Requests**: the replay as a whole between two looks at the clock, nothing watched.
//! 3. **Pauses**: the replay with each call to advance timed.
//! 4. **Queue**: what was asked of the queue, written down beforehand, asked again of the bare queue.
//!
//! The timed passes take turns over all queues, round by round, so that a machine's slow minute strikes
//! all of them; the median of the rounds is quoted, with the least and the most. The first queue's
//! transcript is played on all: where the digests agree, each would have been asked the same.

mod contender;
mod pauses;
mod script;
pub(crate) mod timeline;

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::audit::Findings;
use crate::cache::{Counts, Policy};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::trace::Trace;

pub(crate) use contender::{Contender, Named};

use contender::Course;
use pauses::Pauses;
use script::Script;

/// The exit status of a run whose queues disagree, or that saw an early or late expiry.
const DISAGREEMENT: u8 = 1;

/// A figure over the rounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    /// The round in the middle.
    pub(crate) median: f64,
    /// The best round.
    pub(crate) least: f64,
    /// The worst round.
    pub(crate) most: f64,
}

impl Spread {
    /// The times of all rounds, in ns, shared out among as many.
    fn of(rounds: &[Duration], shares: u64) -> Self {
        let mut ns: Vec<f64> = rounds
            .iter()
            .map(|round| round.as_nanos() as f64 / shares as f64)
            .collect();
        ns.sort_by(f64::total_cmp);
        Self {
            median: ns[ns.len() / 2],
            least: ns[0],
            most: ns[ns.len() - 1],
        }
    }
}

/// What came of one queue.
pub(crate) struct Outcome {
    /// The queue's name.
    pub(crate) name: String,
    /// What became of the requests.
    pub(crate) counts: Counts,
    /// What the audit found.
    pub(crate) findings: Findings,
    /// Time of the replay, in ns a request.
    pub(crate) request_ns: Spread,
    /// Time in the bare queue, in ns a call.
    pub(crate) queue_op_ns: Spread,
    /// The calls to advance, in ns.
    pub(crate) pauses: Histogram<u64>,
}

/// What came of all queues.
pub(crate) struct Comparison {
    /// One for each queue, in the order given; at least one.
    pub(crate) outcomes: Vec<Outcome>,
    /// How many requests were replayed.
    pub(crate) requests: u64,
    /// How many calls of the queue that takes.
    pub(crate) queue_ops: u64,
}

impl Comparison {
    /// Whether all queues expired the same keys at the same times in the same order.
    pub(crate) fn digests_equal(&self) -> bool {
        let digests = |outcome: &Outcome| (outcome.findings.digest, outcome.counts);
        self.outcomes
            .windows(2)
            .all(|pair| digests(&pair[0]) == digests(&pair[1]))
    }

    /// Expiries that were early, over all queues.
    pub(crate) fn early(&self) -> u64 {
        self.outcomes
            .iter()
            .map(|outcome| outcome.findings.early)
            .sum()
    }

    /// Expiries that were late, over all queues.
    pub(crate) fn late(&self) -> u64 {
        self.outcomes
            .iter()
            .map(|outcome| outcome.findings.late)
            .sum()
    }

    /// Timers that were lost or kept too many, over all queues.
    pub(crate) fn miscounted(&self) -> u64 {
        self.outcomes
            .iter()
            .map(|outcome| outcome.findings.miscounted)
            .sum()
    }

    /// The exit status this deserves.
    pub(crate) fn exit_status(&self) -> u8 {
        if self.is_clean() { 0 } else { DISAGREEMENT }
    }

    /// Whether every queue did what it should.
    pub(crate) fn is_clean(&self) -> bool {
        self.digests_equal() && self.early() == 0 && self.late() == 0 && self.miscounted() == 0
    }

    /// The outcome of the queue of that name.
    pub(crate) fn named(&self, name: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.name == name)
    }
}

/// The timed passes of one queue.
struct Timings {
    requests: Vec<Duration>,
    queue: Vec<Duration>,
    pauses: Pauses,
}

/// Puts all contenders through all passes.
pub(crate) fn compare(
    trace: &Trace,
    policy: Policy,
    contenders: &[Box<dyn Contender + '_>],
    rounds: u32,
    progress: Progress,
) -> Result<Comparison, Failure> {
    let passes = contenders.len() as u64 * (1 + 3 * u64::from(rounds)) + 1;
    let length = passes * trace.requests.len() as u64;
    let course = Course {
        trace,
        policy,
        bar: progress.stage("replaying", length),
    };
    let audits = contenders
        .iter()
        .map(|contender| contender.audit(&course))
        .collect::<Result<Vec<_>, _>>()?;
    let script = contenders[0].transcribe(&course)?;
    let mut timings: Vec<Timings> = contenders
        .iter()
        .map(|_| Timings {
            requests: Vec::new(),
            queue: Vec::new(),
            pauses: Pauses::new(),
        })
        .collect();
    let mut log = progress.log(&course.bar);
    for round in 1..=rounds {
        for (contender, timings) in contenders.iter().zip(&mut timings) {
            time_round(contender.as_ref(), &course, &script, timings)?;
        }
        log.note(round, rounds);
    }
    course.bar.finish_and_clear();
    let outcomes =
        contenders
            .iter()
            .zip(audits)
            .zip(timings)
            .map(|((contender, audit), timings)| {
                let (counts, findings) = audit;
                Outcome {
                    name: contender.name().to_owned(),
                    counts,
                    findings,
                    request_ns: Spread::of(&timings.requests, trace.requests.len() as u64),
                    queue_op_ns: Spread::of(&timings.queue, script.len()),
                    pauses: timings.pauses.distribution(),
                }
            });
    Ok(Comparison {
        outcomes: outcomes.collect(),
        requests: trace.requests.len() as u64,
        queue_ops: script.len(),
    })
}

/// One round of one queue.
fn time_round(
    contender: &dyn Contender,
    course: &Course<'_>,
    script: &Script,
    timings: &mut Timings,
) -> Result<(), Failure> {
    timings.requests.push(contender.time_requests(course)?);
    contender.time_pauses(course, &mut timings.pauses)?;
    timings.queue.push(contender.time_queue(course, script)?);
    Ok(())
}

#[cfg(test)]
mod tests;
