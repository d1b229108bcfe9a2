//! One queue in the comparison: every kind of pass over the trace, on a fresh cache each.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::pauses::Pauses;
use super::script::{Scribe, Script};
use crate::audit::{Audit, Findings};
use crate::cache::{Cache, Counts, Policy};
use crate::failure::Failure;
use crate::interrupt;
use crate::observer::{Nobody, Observer};
use crate::queue::Queue;
use crate::trace::Trace;

/// What every pass works on.
pub(crate) struct Course<'a> {
    /// The requests.
    pub(crate) trace: &'a Trace,
    /// The rules of the cache.
    pub(crate) policy: Policy,
    /// Where progress is shown, a unit a request.
    pub(crate) bar: ProgressBar,
}

/// A queue that can be put through all passes.
pub(crate) trait Contender {
    /// The queue's name.
    fn name(&self) -> &str;

    /// Replays all under the eyes of the audit.
    fn audit(&self, course: &Course<'_>) -> Result<(Counts, Findings), Failure>;

    /// Replays all and writes down what was asked of the queue.
    fn transcribe(&self, course: &Course<'_>) -> Result<Script, Failure>;

    /// Replays all, timed as a whole.
    fn time_requests(&self, course: &Course<'_>) -> Result<Duration, Failure>;

    /// Replays all, each advance timed.
    fn time_pauses(&self, course: &Course<'_>, pauses: &mut Pauses) -> Result<(), Failure>;

    /// Plays a script on the bare queue, timed as a whole.
    fn time_queue(&self, course: &Course<'_>, script: &Script) -> Result<Duration, Failure>;
}

/// A contender made of a name and a way to make an empty queue at a time.
pub(crate) struct Named<M> {
    name: String,
    make: M,
}

impl<M> Named<M> {
    /// Names a queue.
    pub(crate) fn new(name: impl Into<String>, make: M) -> Self {
        Self {
            name: name.into(),
            make,
        }
    }
}

impl<Q: Queue, M: Fn(u64) -> Q> Named<M> {
    fn new_queue(&self, course: &Course<'_>) -> Q {
        (self.make)(course.trace.start_ns())
    }

    fn new_cache(&self, course: &Course<'_>) -> Cache<Q> {
        Cache::new(self.new_queue(course), course.policy, course.trace.keys)
    }
}

impl<Q: Queue, M: Fn(u64) -> Q> Contender for Named<M> {
    fn name(&self) -> &str {
        &self.name
    }

    fn audit(&self, course: &Course<'_>) -> Result<(Counts, Findings), Failure> {
        let mut cache = self.new_cache(course);
        let mut audit = Audit::new(course.trace);
        serve_all(&mut cache, course, &mut audit)?;
        Ok((cache.counts(), audit.finish(cache.queue().len())))
    }

    fn transcribe(&self, course: &Course<'_>) -> Result<Script, Failure> {
        let mut scribe = Scribe::new(course.trace);
        serve_all(&mut self.new_cache(course), course, &mut scribe)?;
        Ok(scribe.finish())
    }

    fn time_requests(&self, course: &Course<'_>) -> Result<Duration, Failure> {
        let mut cache = self.new_cache(course);
        let begun = Instant::now();
        serve_all(&mut cache, course, &mut Nobody)?;
        Ok(begun.elapsed())
    }

    fn time_pauses(&self, course: &Course<'_>, pauses: &mut Pauses) -> Result<(), Failure> {
        pauses.begin_round();
        serve_all(&mut self.new_cache(course), course, pauses)
    }

    fn time_queue(&self, course: &Course<'_>, script: &Script) -> Result<Duration, Failure> {
        let (elapsed, _) = script.run(self.new_queue(course))?;
        course.bar.inc(course.trace.requests.len() as u64);
        Ok(elapsed)
    }
}

/// Serves a whole trace.
fn serve_all<Q: Queue>(
    cache: &mut Cache<Q>,
    course: &Course<'_>,
    observer: &mut impl Observer,
) -> Result<(), Failure> {
    for requests in course
        .trace
        .requests
        .chunks(interrupt::STEPS_BETWEEN_CHECKS)
    {
        interrupt::check()?;
        for &request in requests {
            cache.serve(request, observer);
        }
        course.bar.inc(requests.len() as u64);
    }
    Ok(())
}
