//! Counts of a timer's work.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest lateness that is recorded: a day, in nanoseconds.
const LONGEST: u64 = 86_400_000_000_000;

/// Lateness is recorded with a precision of 1 %.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Counts of a timer's work since its start, from [`Timer::stats`](super::Timer::stats).
///
/// Each count is exact. While other threads use the timer, two counts may be of different moments. A task that sleeps,
/// or is in a timeout that was pending, is counted as a job. Without periodic jobs, `scheduled` is `fired + cancelled +
/// abandoned + len` while no job runs and no task is being woken, and after `shutdown` has returned.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::{ManualClock, Timer};
///
/// let clock = ManualClock::new();
/// let timer = Timer::builder().clock(clock.clone()).start()?;
/// timer.schedule_after(Duration::from_secs(1), || ())?;
/// timer.schedule_after(Duration::from_secs(9), || ())?.cancel();
/// clock.advance(Duration::from_secs(1));
/// timer.settle()?;
/// let stats = timer.stats();
/// assert_eq!((stats.scheduled, stats.cancelled, stats.fired), (2, 1, 1));
/// assert_eq!(stats.len, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TimerStats {
    /// Live jobs, as in [`Timer::len`](super::Timer::len): waiting, taken by an executor, or running.
    pub len: usize,
    /// The time until the thread wakes up next by itself. `None` if it is awake, or sleeps until it is called.
    pub expiration_delay: Option<Duration>,
    /// Jobs that were scheduled, a periodic one counted once.
    pub scheduled: u64,
    /// Jobs that were given a new deadline, counted each time. Resets of a [`Sleep`](super::Sleep) are not counted.
    pub rescheduled: u64,
    /// Jobs that were cancelled, and sleeps and timeouts that ended before they fired.
    pub cancelled: u64,
    /// Runs that have begun.
    pub fired: u64,
    /// Panics of runs and of executors, and of the clock if that ended the timer.
    pub panicked: u64,
    /// Runs that were given up: an executor dropped the job, or it was not run after a shutdown, or the shutdown
    /// ended a sleep.
    pub abandoned: u64,
    /// Runs that began more than [`Builder::late_after`](super::Builder::late_after) after their deadline.
    pub late: u64,
    /// How often the timer thread woke up: for jobs, for callers that need an earlier time, and to open or move a
    /// bucket ahead of time.
    pub wake_ups: u64,
    pub(super) lateness: Lateness,
}

impl TimerStats {
    /// An upper bound on how late this fraction of the runs began: `0.99` for the 99th percentile, and 1 for all of
    /// them. `part` is clamped to 0 to 1. Zero if there was no run.
    ///
    /// Exact to 1 %, up to a day. One pass over some thousands of counts, whatever the number of runs.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// timer.schedule_after(Duration::from_secs(1), || ())?;
    /// clock.advance(Duration::from_secs(3));
    /// timer.settle()?;
    /// let stats = timer.stats();
    /// assert!(stats.lateness(0.5).abs_diff(Duration::from_secs(2)) < Duration::from_millis(20));
    /// assert!(stats.lateness(1.0) >= stats.lateness(0.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lateness(&self, part: f64) -> Duration {
        Duration::from_nanos(self.lateness.0.value_at_quantile(part.clamp(0.0, 1.0)))
    }
}

/// How late runs began, in nanoseconds: a histogram.
#[derive(Clone)]
pub(super) struct Lateness(Histogram<u64>);

impl Lateness {
    pub(super) fn record(&mut self, late_ns: u64) {
        self.0.saturating_record(late_ns);
    }
}

impl Default for Lateness {
    /// The lateness of no runs.
    fn default() -> Self {
        let nanoseconds = Histogram::new_with_bounds(1, LONGEST, SIGNIFICANT_DIGITS);
        Self(nanoseconds.expect("the bounds are sound"))
    }
}

impl fmt::Debug for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantile = |part| Duration::from_nanos(self.0.value_at_quantile(part));
        f.debug_struct("Lateness")
            .field("p50", &quantile(0.5))
            .field("p99", &quantile(0.99))
            .field("max", &Duration::from_nanos(self.0.max()))
            .finish()
    }
}
