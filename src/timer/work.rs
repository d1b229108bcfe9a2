//! The work of a job: a closure, run once or every period.

/// How a periodic job treats runs that it missed.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use timer_wheel::timer::Missed;
/// use timer_wheel::{ManualClock, Timer};
///
/// let runs_in_three_seconds = |missed| -> Result<usize, Box<dyn std::error::Error>> {
///     let clock = ManualClock::new();
///     let timer = Timer::builder().clock(clock.clone()).start()?;
///     let (tick, ticks) = mpsc::channel();
///     timer.every(Duration::from_secs(1), missed, move || _ = tick.send(()))?;
///     clock.advance(Duration::from_secs(3)); // at once
///     timer.settle()?;
///     Ok(ticks.try_iter().count())
/// };
/// assert_eq!(runs_in_three_seconds(Missed::CatchUp)?, 3);
/// assert_eq!(runs_in_three_seconds(Missed::Skip)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missed {
    /// The late run stands for them: the next one is at the next whole period after it has ended.
    Skip,
    /// Each is run late, one after the other, and other jobs do not wait long for them.
    ///
    /// A missed run takes its place among other jobs by the time at which it was due. But once the
    /// timer has used up a [budget](super::Builder::budget) and more jobs are due,
    /// missed runs go behind all jobs that were due by then. So another job waits for at most that
    /// budget, and for one run of each job that is behind.
    CatchUp,
}

/// How often a job runs.
#[derive(Copy, Clone, Debug)]
pub(super) struct Period {
    pub(super) ns: u64,
    pub(super) missed: Missed,
}

impl Period {
    /// When a job is due after a run that was due at `deadline` and has ended at `now`.
    pub(super) fn next(self, deadline: u64, now: u64) -> u64 {
        let periods = match self.missed {
            Missed::CatchUp => 1,
            Missed::Skip => now.saturating_sub(deadline) / self.ns + 1,
        };
        deadline.saturating_add(self.ns.saturating_mul(periods))
    }
}

/// The work of a job. Dropping it drops the closure.
pub(super) trait Work: Send + 'static {
    /// Runs the closure. It may be called again only if there is a period.
    fn run(&mut self);

    /// Only of a periodic job.
    fn period(&self) -> Option<Period> {
        None
    }
}

/// The work of a job, behind a trait object.
pub(super) type AnyWork = Box<dyn Work>;

/// Work that is done once; `None` when it has been.
pub(super) struct Once<F>(pub(super) Option<F>);

impl<F> Once<F> {
    /// The closure of a job that was refused.
    pub(super) fn into_closure(self) -> F {
        self.0.expect("a job that was refused has not run")
    }
}

impl<F: FnOnce() + Send + 'static> Work for Once<F> {
    fn run(&mut self) {
        if let Some(closure) = self.0.take() {
            closure();
        }
    }
}

/// Work that is done every period.
pub(super) struct Repeat<F> {
    pub(super) period: Period,
    pub(super) closure: F,
}

impl<F: FnMut() + Send + 'static> Work for Repeat<F> {
    fn run(&mut self) {
        (self.closure)();
    }

    fn period(&self) -> Option<Period> {
        Some(self.period)
    }
}
