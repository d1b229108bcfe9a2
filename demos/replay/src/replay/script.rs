//! Everything a cache asked of its queue, recorded, to be asked again of a bare queue.
//!
//! The time in the queue is measured like this, without cache, trace and clock. It includes reading the script and a
//! table of the live timers' keys, as small as the most live timers.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use timer_wheel_bench::queue::Queue;

use crate::cache::Observer;
use crate::interrupt;
use crate::trace::{KeyId, Trace};

/// The place of a live timer's key. It is used again once that timer is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Schedule { place: Place, deadline_ns: u64 },
    Reschedule { place: Place, deadline_ns: u64 },
    Cancel { place: Place },
    Advance { now_ns: u64 },
}

const _: () = assert!(size_of::<Step>() == 16);

#[derive(Debug)]
pub(crate) struct Script {
    steps: Vec<Step>,
    pub(super) places: u32,
}

/// A script being recorded.
///
/// Invariant: a place is either some live key's or in `free`.
pub(crate) struct Recorder {
    pub(super) script: Script,
    /// The place of each key that has a timer; arbitrary for the others.
    place_of: Vec<Place>,
    free: Vec<Place>,
}

impl Recorder {
    pub(crate) fn new(trace: &Trace) -> Self {
        Self {
            script: Script { steps: Vec::with_capacity(trace.requests.len()), places: 0 },
            place_of: vec![Place(0); trace.keys as usize],
            free: Vec::new(),
        }
    }
}

impl Observer for Recorder {
    fn advanced(&mut self, now_ns: u64) {
        self.script.steps.push(Step::Advance { now_ns });
    }

    fn scheduled(&mut self, key: KeyId, deadline_ns: u64) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.script.places += 1;
            Place(self.script.places - 1)
        });
        self.place_of[key.index()] = place;
        self.script.steps.push(Step::Schedule { place, deadline_ns });
    }

    fn rescheduled(&mut self, key: KeyId, deadline_ns: u64) {
        let place = self.place_of[key.index()];
        self.script.steps.push(Step::Reschedule { place, deadline_ns });
    }

    fn cancelled(&mut self, key: KeyId) {
        let place = self.place_of[key.index()];
        self.free.push(place);
        self.script.steps.push(Step::Cancel { place });
    }

    fn expired(&mut self, _now_ns: u64, key: KeyId, _deadline_ns: u64) {
        self.free.push(self.place_of[key.index()]);
    }
}

impl Script {
    pub(crate) fn len(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Asks a queue all of it. Returns how long that took and how many timers fired.
    pub(crate) fn play<Q: Queue<KeyId>>(&self, mut queue: Q) -> Result<(Duration, u64)> {
        let mut timers: Vec<Option<Q::Key>> = vec![None; self.places as usize];
        let mut expired = 0;
        let begun = Instant::now();
        for steps in self.steps.chunks(interrupt::STEPS_BETWEEN_CHECKS) {
            interrupt::check()?;
            for &step in steps {
                expired += step.take(&mut queue, &mut timers);
            }
        }
        Ok((begun.elapsed(), expired))
    }
}

impl Step {
    /// Asks a queue this. Returns how many timers fired.
    fn take<Q: Queue<KeyId>>(self, queue: &mut Q, timers: &mut [Option<Q::Key>]) -> u64 {
        let mut expired = 0;
        match self {
            Self::Schedule { place, deadline_ns } => {
                timers[place.0 as usize] = Some(queue.schedule(deadline_ns, KeyId(place.0)));
            }
            Self::Reschedule { place, deadline_ns } => {
                if let Some(timer) = &mut timers[place.0 as usize] {
                    queue.reschedule(timer, deadline_ns);
                }
            }
            Self::Cancel { place } => {
                if let Some(timer) = timers[place.0 as usize] {
                    queue.cancel(timer);
                }
            }
            Self::Advance { now_ns } => queue.advance(now_ns, |deadline_ns, key| {
                black_box((key, deadline_ns));
                expired += 1;
            }),
        }
        expired
    }
}
