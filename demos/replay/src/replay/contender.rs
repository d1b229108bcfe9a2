//! One queue in the comparison: every kind of pass over the trace, on a fresh cache each.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::ProgressBar;
use timer_wheel_bench::queue::Queue;

use super::pauses::Pauses;
use super::script::{Recorder, Script};
use crate::audit::{Audit, Findings};
use crate::cache::{Cache, Counts, Policy};
use crate::interrupt;
use crate::observer::Observer;
use crate::trace::{KeyId, Trace};

/// What every pass works on.
pub(crate) struct Course<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) policy: Policy,
    /// Where progress is shown, a unit a request.
    pub(crate) bar: ProgressBar,
}

/// A queue that can be put through all passes. Replays take a fresh cache each.
pub(crate) trait Contender {
    fn name(&self) -> &str;
    fn audit(&self, course: &Course<'_>) -> Result<(Counts, Findings)>;
    fn record(&self, course: &Course<'_>) -> Result<Script>;
    fn time_requests(&self, course: &Course<'_>) -> Result<Duration>;
    fn time_pauses(&self, course: &Course<'_>, pauses: &mut Pauses) -> Result<()>;
    fn time_queue(&self, course: &Course<'_>, script: &Script) -> Result<Duration>;
}

/// A contender made of a name and a way to make an empty queue at a time.
pub(crate) struct Named<M> {
    name: String,
    make: M,
}

impl<Q: Queue<KeyId>, M: Fn(u64) -> Q> Named<M> {
    pub(crate) fn new(name: impl Into<String>, make: M) -> Self {
        Self { name: name.into(), make }
    }

    fn new_cache(&self, course: &Course<'_>) -> Cache<Q> {
        let queue = (self.make)(course.trace.start_ns());
        Cache::new(queue, course.policy, course.trace.keys)
    }
}

impl<Q: Queue<KeyId>, M: Fn(u64) -> Q> Contender for Named<M> {
    fn name(&self) -> &str {
        &self.name
    }

    fn audit(&self, course: &Course<'_>) -> Result<(Counts, Findings)> {
        let mut cache = self.new_cache(course);
        let mut audit = Audit::new(course.trace.keys);
        serve_all(&mut cache, course, &mut audit)?;
        Ok((cache.counts(), audit.finish(cache.queue().len())))
    }

    fn record(&self, course: &Course<'_>) -> Result<Script> {
        let mut recorder = Recorder::new(course.trace);
        serve_all(&mut self.new_cache(course), course, &mut recorder)?;
        Ok(recorder.script)
    }

    fn time_requests(&self, course: &Course<'_>) -> Result<Duration> {
        let mut cache = self.new_cache(course);
        let begun = Instant::now();
        serve_all(&mut cache, course, &mut ())?;
        Ok(begun.elapsed())
    }

    fn time_pauses(&self, course: &Course<'_>, pauses: &mut Pauses) -> Result<()> {
        pauses.begin_round();
        serve_all(&mut self.new_cache(course), course, pauses)
    }

    fn time_queue(&self, course: &Course<'_>, script: &Script) -> Result<Duration> {
        let (elapsed, _) = script.play((self.make)(course.trace.start_ns()))?;
        course.bar.inc(course.trace.requests.len() as u64);
        Ok(elapsed)
    }
}

/// Serves a whole trace.
fn serve_all<Q: Queue<KeyId>>(cache: &mut Cache<Q>, course: &Course<'_>, observer: &mut impl Observer) -> Result<()> {
    for requests in course.trace.requests.chunks(interrupt::STEPS_BETWEEN_CHECKS) {
        interrupt::check()?;
        for &request in requests {
            cache.serve(request, observer);
        }
        course.bar.inc(requests.len() as u64);
    }
    Ok(())
}
