//! Why a timer refuses a job, and how it is shut down.

use std::error::Error;
use std::fmt;

/// The error of a timer that did not take a job. It hands the job back.
///
/// It is `Sync` only if the job is. `map_err(Reason::from)?` passes on the [`Reason`] and drops the job.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::{Shutdown, Timer};
/// use timer_wheel::timer::Reason;
///
/// let timer = Timer::new()?;
/// timer.shutdown(Shutdown::Discard)?;
/// let refused = timer.schedule_after(Duration::ZERO, || ()).unwrap_err();
/// assert_eq!(refused.reason, Reason::ShutDown);
/// (refused.job)(); // here and now, say
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused<F> {
    /// Why the job was not taken.
    pub reason: Reason,
    /// The job, to be run or scheduled elsewhere.
    pub job: F,
}

/// Why a timer did not take a job, or why a future or a call did not wait.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::Timer;
/// use timer_wheel::timer::{Missed, Reason};
///
/// let refused = Timer::new()?.every(Duration::ZERO, Missed::Skip, || ()).unwrap_err();
/// assert_eq!(refused.reason, Reason::ZeroPeriod);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The timer has been shut down.
    ShutDown,
    /// The period of a job or an interval is zero.
    ZeroPeriod,
    /// The timer holds as many jobs as [`Builder::limit`](super::Builder::limit) allows.
    Full,
    /// A job, or the panic hook, called [`Timer::settle`](super::Timer::settle) or
    /// [`Timer::shutdown`](super::Timer::shutdown) on the timer that runs it. It would wait for itself.
    InsideJob,
}

impl<F> Refused<F> {
    pub(super) fn new(reason: Reason, job: F) -> Self {
        Self { reason, job }
    }

    /// The same reason, with the job mapped.
    pub(super) fn map<G>(self, to: impl FnOnce(F) -> G) -> Refused<G> {
        Refused::new(self.reason, to(self.job))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShutDown => "the timer is shut down",
            Self::ZeroPeriod => "the period of a job must be longer than zero",
            Self::Full => "the timer holds as many jobs as its limit allows",
            Self::InsideJob => "a job cannot wait for the timer that runs it",
        })
    }
}

impl Error for Reason {}

impl<F> fmt::Display for Refused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<F> fmt::Debug for Refused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<F> Error for Refused<F> {}

/// Drops the job and keeps the reason, so that `?` works whatever the job holds.
impl<F> From<Refused<F>> for Reason {
    fn from(refused: Refused<F>) -> Self {
        refused.reason
    }
}

/// How [`Timer::shutdown`](super::Timer::shutdown) ends a timer.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::{ManualClock, Shutdown, Timer};
///
/// let clock = ManualClock::new();
/// let timer = Timer::builder().clock(clock.clone()).start()?;
/// timer.schedule_after(Duration::from_secs(1), || println!("runs"))?;
/// timer.schedule_after(Duration::from_secs(2), || println!("does not"))?;
/// clock.advance(Duration::from_secs(1));
/// let unrun = timer.shutdown(Shutdown::Drain)?;
/// assert_eq!((unrun.len(), timer.stats().fired), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// Jobs that are due by now still run, in order; a periodic job once.
    Drain,
    /// No job starts any more, even if it is due.
    Discard,
}
