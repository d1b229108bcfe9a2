//! What a job does when it runs: the closure of whatever type, once or every period.

use crate::sync::{Mutex, lock};

/// What to do about runs of a periodic job that fell due while it could not run.
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
///     timer.every_with(Duration::from_secs(1), missed, move || _ = tick.send(()))?;
///     clock.advance(Duration::from_secs(3)); // at once
///     timer.settle()?;
///     Ok(ticks.try_iter().count())
/// };
/// assert_eq!(runs_in_three_seconds(Missed::CatchUp)?, 3);
/// assert_eq!(runs_in_three_seconds(Missed::Skip)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Missed {
    /// The late run stands for them: the next one is at the next whole period after it has ended.
    Skip,
    /// They are made up for, one after the other.
    CatchUp,
}

/// The closure of a job, whatever its type.
pub(super) trait Work: Send + Sync + 'static {
    /// Runs it. Only whoever has taken the job into [`Phase::Running`] may.
    fn run(&self);

    /// Drops it.
    fn discard(&self);

    /// Whether it runs more than once.
    fn is_periodic(&self) -> bool;

    /// When it is due after a run that was due at `deadline` and has ended at `now`.
    fn next(&self, deadline: u64, now: u64) -> Option<u64>;
}

/// Work whose closure can be had back.
pub(super) trait Reclaim: Work {
    type Closure;

    /// The closure, which must not have been run or dropped.
    fn reclaim(&self) -> Self::Closure;
}

/// Work that is done once.
pub(super) struct Once<F> {
    closure: Mutex<Option<F>>,
}

impl<F: FnOnce() + Send + 'static> Once<F> {
    pub(super) fn new(closure: F) -> Self {
        Self {
            closure: Mutex::new(Some(closure)),
        }
    }
}

impl<F: FnOnce() + Send + 'static> Work for Once<F> {
    fn run(&self) {
        let closure = lock(&self.closure).take();
        if let Some(closure) = closure {
            closure();
        }
    }

    fn discard(&self) {
        let closure = lock(&self.closure).take();
        drop(closure);
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn next(&self, _: u64, _: u64) -> Option<u64> {
        None
    }
}

impl<F: FnOnce() + Send + 'static> Reclaim for Once<F> {
    type Closure = F;

    fn reclaim(&self) -> F {
        lock(&self.closure).take().expect(CLOSURE)
    }
}

/// Work that is done every period.
pub(super) struct Repeat<F> {
    closure: Mutex<Option<F>>,
    period_ns: u64,
    missed: Missed,
}

impl<F: FnMut() + Send + 'static> Repeat<F> {
    pub(super) fn new(period_ns: u64, missed: Missed, closure: F) -> Self {
        debug_assert!(period_ns > 0, "a period of zero is refused");
        Self {
            closure: Mutex::new(Some(closure)),
            period_ns,
            missed,
        }
    }
}

/// Puts a closure back where it came from, also when it panics.
struct Borrowed<'a, F> {
    closure: Option<F>,
    home: &'a Mutex<Option<F>>,
}

impl<F> Drop for Borrowed<'_, F> {
    fn drop(&mut self) {
        *lock(self.home) = self.closure.take();
    }
}

impl<F: FnMut() + Send + 'static> Work for Repeat<F> {
    fn run(&self) {
        // Not run under the lock, so that nobody can be kept waiting by it.
        let closure = lock(&self.closure).take();
        let mut borrowed = Borrowed {
            closure,
            home: &self.closure,
        };
        if let Some(closure) = &mut borrowed.closure {
            closure();
        }
    }

    fn discard(&self) {
        let closure = lock(&self.closure).take();
        drop(closure);
    }

    fn is_periodic(&self) -> bool {
        true
    }

    fn next(&self, deadline: u64, now: u64) -> Option<u64> {
        let periods = match self.missed {
            Missed::CatchUp => 1,
            Missed::Skip => now.saturating_sub(deadline) / self.period_ns + 1,
        };
        Some(deadline.saturating_add(self.period_ns.saturating_mul(periods)))
    }
}

impl<F: FnMut() + Send + 'static> Reclaim for Repeat<F> {
    type Closure = F;

    fn reclaim(&self) -> F {
        lock(&self.closure).take().expect(CLOSURE)
    }
}

/// The law that lets a closure be handed back.
const CLOSURE: &str = "a job that was refused has its closure";
