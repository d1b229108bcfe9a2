//! One queue in the comparison: every kind of pass over the trace, on a fresh cache each.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::ProgressBar;
use timer_wheel_bench::clock::Calls;
use timer_wheel_bench::queue::Queue;

use super::script::{Recorder, Script};
use crate::audit::{Audit, Findings};
use crate::cache::{Cache, Counts, Observer, Policy};
use crate::interrupt;
use crate::trace::{KeyId, Trace};

/// A queue, and the name that it has in the results.
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) passes: Box<dyn Passes>,
}

impl Contender {
    /// One that begins each pass with the empty queue that `make` makes at a time.
    pub(crate) fn new<Q: Queue<KeyId>>(name: impl Into<String>, make: impl Fn(u64) -> Q + 'static) -> Self {
        Self { name: name.into(), passes: Box::new(make) }
    }
}

/// What every pass works on.
pub(crate) struct Course<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) policy: Policy,
    /// Where progress is shown, a unit a request.
    pub(crate) bar: ProgressBar,
}

/// What the timed passes of a queue took: a time a round, and the calls to advance.
pub(crate) struct Timings {
    pub(crate) requests: Vec<Duration>,
    pub(crate) calls: Vec<Duration>,
    pub(crate) advances: Calls,
}

/// Notes the time of each advance, with that of reading the clock, some 20 to 50 ns, and of the cache's work on what
/// expired. Every round makes the same advances, and each counts at its fastest: the rest is due to the machine, an
/// interrupt or a neighbour.
impl Observer for Calls {
    fn advance_begins(&mut self) {
        self.start_call();
    }

    fn advanced(&mut self, _now_ns: u64) {
        self.end_call();
    }
}

/// The passes of a queue, of whatever type.
pub(crate) trait Passes {
    fn audit(&self, course: &Course<'_>) -> Result<(Counts, Findings)>;
    fn record(&self, course: &Course<'_>) -> Result<Script>;
    /// Makes one round of the timed passes.
    fn time(&self, course: &Course<'_>, script: &Script, timings: &mut Timings) -> Result<()>;
}

impl<Q: Queue<KeyId>, M: Fn(u64) -> Q> Passes for M {
    fn audit(&self, course: &Course<'_>) -> Result<(Counts, Findings)> {
        let mut cache = course.cache(self);
        let mut audit = Audit::new(course.trace.keys);
        course.serve(&mut cache, &mut audit)?;
        Ok((cache.counts(), audit.finish(cache.queue().len())))
    }

    fn record(&self, course: &Course<'_>) -> Result<Script> {
        let mut recorder = Recorder::new(course.trace);
        course.serve(&mut course.cache(self), &mut recorder)?;
        Ok(recorder.script)
    }

    fn time(&self, course: &Course<'_>, script: &Script, timings: &mut Timings) -> Result<()> {
        let mut cache = course.cache(self);
        let begun = Instant::now();
        course.serve(&mut cache, &mut ())?;
        timings.requests.push(begun.elapsed());
        drop(cache);

        timings.advances.start_run();
        course.serve(&mut course.cache(self), &mut timings.advances)?;

        let (elapsed, _) = script.play(self(course.trace.start_ns()))?;
        timings.calls.push(elapsed);
        course.bar.inc(course.trace.requests.len() as u64);
        Ok(())
    }
}

impl Course<'_> {
    /// A fresh cache on the queue that `make` makes.
    fn cache<Q: Queue<KeyId>>(&self, make: &impl Fn(u64) -> Q) -> Cache<Q> {
        Cache::new(make(self.trace.start_ns()), self.policy, self.trace.keys)
    }

    /// Serves the whole trace.
    fn serve<Q: Queue<KeyId>>(&self, cache: &mut Cache<Q>, observer: &mut impl Observer) -> Result<()> {
        for requests in self.trace.requests.chunks(interrupt::STEPS_BETWEEN_CHECKS) {
            interrupt::check()?;
            for &request in requests {
                cache.serve(request, observer);
            }
            self.bar.inc(requests.len() as u64);
        }
        Ok(())
    }
}
