//! What a timer counts as it runs jobs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hdrhistogram::Histogram;

/// The longest lateness that is told apart: a day, in nanoseconds.
const LONGEST: u64 = 86_400_000_000_000;

/// Lateness is recorded to a hundredth of itself.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Counters that whoever runs jobs bumps.
///
/// They decide nothing, so they are the atomics and the lock of `std` also in a model.
pub(super) struct Counters {
    /// Runs that have begun.
    pub(super) fired: Counter,
    pub(super) panicked: Counter,
    /// Runs given up by an executor, or by whoever dropped what a shutdown returned.
    pub(super) abandoned: Counter,
    /// Jobs that are no more, other than by being cancelled.
    ended: Counter,
    pub(super) late: Counter,
    pub(super) wake_ups: Counter,
    lateness_ns: Mutex<Histogram<u64>>,
}

#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn bump(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, SIGNIFICANT_DIGITS).expect("the bounds are sound")
}

impl Counters {
    pub(super) fn new() -> Self {
        Self {
            fired: Counter::default(),
            panicked: Counter::default(),
            abandoned: Counter::default(),
            ended: Counter::default(),
            late: Counter::default(),
            wake_ups: Counter::default(),
            lateness_ns: Mutex::new(histogram()),
        }
    }

    /// Counts a job that is no more. Release, and acquired by [`ended`](Counters::ended): whoever
    /// counts this end finds it scheduled too.
    pub(super) fn end(&self) {
        self.ended.0.fetch_add(1, Ordering::Release);
    }

    pub(super) fn ended(&self) -> u64 {
        self.ended.0.load(Ordering::Acquire)
    }

    pub(super) fn record_lateness(&self, lateness_ns: u64) {
        self.fired.bump();
        let mut histogram = self.histogram();
        histogram.saturating_record(lateness_ns);
    }

    pub(super) fn lateness(&self) -> Histogram<u64> {
        self.histogram().clone()
    }

    fn histogram(&self) -> std::sync::MutexGuard<'_, Histogram<u64>> {
        self.lateness_ns
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
