//! Counts of a timer's work.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest lateness that is recorded: a day, in nanoseconds.
const LONGEST: u64 = 86_400_000_000_000;

/// Lateness is recorded to a hundredth of itself.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Counts of a timer's work since its start, from [`Timer::stats`](super::Timer::stats).
///
/// Each count is right. While other threads use the timer, two counts may be of different moments.
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
    /// Live jobs: waiting, taken by an executor, or running.
    pub len: usize,
    /// The time until the thread wakes up next by itself, if it sleeps and does.
    pub next_wake: Option<Duration>,
    /// Jobs that were scheduled, a periodic one counted once.
    pub scheduled: u64,
    /// Jobs that were given a new deadline, counted each time.
    pub rescheduled: u64,
    /// Jobs that were cancelled.
    pub cancelled: u64,
    /// Runs that have begun.
    pub fired: u64,
    /// Panics of runs and of executors, and of the clock if that ended the timer.
    pub panicked: u64,
    /// Runs that were given up: an executor dropped the job, or it was not run after a shutdown.
    pub abandoned: u64,
    /// Runs that began later after their deadline than
    /// [`Builder::late_after`](super::Builder::late_after).
    pub late: u64,
    /// How often the timer thread woke up.
    pub wake_ups: u64,
    /// How late runs began.
    pub lateness: Lateness,
}

/// How long after their deadlines runs began: a histogram, exact to one part in a hundred, up to a
/// day. Its questions are answered in O(1) or in one pass over some thousands of counts, whatever the
/// number of runs.
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
/// let lateness = timer.stats().lateness;
/// assert_eq!(lateness.count(), 1);
/// assert!(lateness.quantile(0.5).abs_diff(Duration::from_secs(2)) < Duration::from_millis(20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Lateness {
    pub(super) nanoseconds: Histogram<u64>,
}

impl Default for Lateness {
    /// The lateness of no runs.
    fn default() -> Self {
        let nanoseconds = Histogram::new_with_bounds(1, LONGEST, SIGNIFICANT_DIGITS);
        Self { nanoseconds: nanoseconds.expect("the bounds are sound") }
    }
}

impl Lateness {
    /// The number of runs. O(1).
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
    /// let lateness = timer.stats().lateness;
    /// assert_eq!(lateness.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count(&self) -> u64 {
        self.nanoseconds.len()
    }

    /// The lateness of the run that was latest; zero without any run.
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
    /// let lateness = timer.stats().lateness;
    /// assert!(lateness.max().abs_diff(Duration::from_secs(2)) < Duration::from_millis(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.max())
    }

    /// The mean lateness of all runs; zero without any run.
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
    /// let lateness = timer.stats().lateness;
    /// assert!(lateness.mean().abs_diff(Duration::from_secs(2)) < Duration::from_millis(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.mean() as u64)
    }

    /// The lateness that this part of the runs did not exceed: `0.99` for the 99th percentile. A
    /// part below 0 is taken for 0, and one above 1 for 1.
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
    /// let lateness = timer.stats().lateness;
    /// assert!(lateness.quantile(0.99) >= lateness.quantile(0.5));
    /// assert!(lateness.quantile(1.0) <= lateness.max());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn quantile(&self, part: f64) -> Duration {
        Duration::from_nanos(self.nanoseconds.value_at_quantile(part.clamp(0.0, 1.0)))
    }
}

impl fmt::Debug for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lateness")
            .field("count", &self.count())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max())
            .finish()
    }
}
