//! The data under the lock of one shard: its live jobs with their work, and the tasks that sleep.

use std::sync::Arc;
use std::task::Waker;

use super::refused::{Reason, Refused, Shutdown};
use crate::clock::{NEVER, next_tick};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::{Budget, TimerKey, Wheel};

/// Invariants:
///
/// - a job is in the wheel exactly as long as it can be cancelled;
/// - a waiting job is in the wheel at the time of its run, any other job at [`NEVER`];
/// - each occupant in the wheel has a place, if there is a limit.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) wheel: Wheel<Occupant>,
    /// The free places for the occupants of all shards; `None` without a limit.
    pub(super) places: Option<Arc<Places>>,
    /// Jobs whose only run has begun: they have left the wheel. Modulo 2^32 where a `usize` has 32 bits.
    pub(super) begun: usize,
    pub(super) scheduled: u64,
    pub(super) rescheduled: u64,
    pub(super) cancelled: u64,
    /// How to shut down. Once it is set, no job is admitted.
    pub(super) ending: Option<Shutdown>,
    /// The number of threads that had to wait for the lock and have got it.
    pub(super) served: u64,
    /// The value of `served` that the timer thread waits for, if it waits.
    pub(super) served_by: u64,
}

/// The number of free places: how many more jobs and sleeps a timer with a limit may hold, in all its shards.
///
/// Invariant: free places and the occupants of all wheels together are never more than the limit. So a place is taken
/// before an occupant comes into a wheel, and freed after it has left. An occupant that replaces another takes over its
/// place.
pub(super) struct Places(AtomicUsize);

impl Places {
    pub(super) fn new(limit: usize) -> Self {
        Self(AtomicUsize::new(limit))
    }

    /// Takes a place. Returns `false` if there is none. The caller that takes a freed place sees that its occupant has
    /// left.
    fn take(&self) -> bool {
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    fn free(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// A job or a sleep in the wheel: the value of its timer. It must be dropped without a lock, because its closure or
/// waker is the user's.
///
/// A task that sleeps has its waker here and not in a box: most timeouts are armed and dropped, and an allocation would
/// be a fifth of the cost.
pub(super) enum Occupant {
    /// A job that was neither handed out nor runs.
    Waiting(Planned),
    /// A job that was handed out or runs.
    Taken(Planned),
    Sleep(Sleeper),
}

impl Occupant {
    /// A job that is due at `deadline`.
    pub(super) fn job(work: AnyWork, deadline: u64) -> Self {
        Self::Waiting(Planned { work: Some(work), deadline })
    }
}

// A larger one would take more than 64 bytes in the wheel. Each variant has whole words: with a flag in the padding a
// cancel takes 10 ns longer, because the copy of the occupant then waits for a byte that was just written.
const _: () = assert!(size_of::<Occupant>() <= 4 * size_of::<u64>());

/// A job in the wheel.
pub(super) struct Planned {
    /// `None` while it runs.
    pub(super) work: Option<AnyWork>,
    /// When the run is due, or was, in nanoseconds.
    pub(super) deadline: u64,
}

/// For callers.
impl Queue {
    /// Admits a value, which becomes an occupant that waits for its deadline, or hands it back.
    ///
    /// If the occupant of `old` is live, the new one replaces it and takes over its place. The place is never free in
    /// between, else another shard might take it.
    #[inline]
    pub(super) fn admit<T>(
        &mut self,
        old: Option<TimerKey>,
        deadline: u64,
        what: T,
        occupant: impl FnOnce(T) -> Occupant,
    ) -> Result<(TimerKey, Option<Occupant>), Refused<T>> {
        if self.ending.is_some() {
            return Err(Refused::new(Reason::ShutDown, what));
        }
        let replaced = old.and_then(|old| self.wheel.cancel(old));
        if replaced.is_none() && self.places.as_ref().is_some_and(|places| !places.take()) {
            return Err(Refused::new(Reason::Full, what));
        }
        self.cancelled += u64::from(replaced.is_some());
        self.scheduled += 1;
        // Made in place: a copy would wait for the writes before it.
        Ok((self.wheel.schedule_with(deadline, |_| occupant(what)), replaced))
    }

    /// Removes an occupant, and frees its place.
    #[inline]
    fn remove(&mut self, key: TimerKey) -> Option<Occupant> {
        let removed = self.wheel.cancel(key);
        if let (Some(_), Some(places)) = (&removed, &self.places) {
            places.free();
        }
        removed
    }

    /// Takes a job out if that prevents a run.
    #[must_use = "a job must be dropped with nothing locked"]
    pub(super) fn cancel(&mut self, key: TimerKey) -> Option<Occupant> {
        let cancelled = self.remove(key);
        self.cancelled += u64::from(cancelled.is_some());
        cancelled
    }

    /// Gives a waiting job a new deadline. Returns `false` for any other job.
    pub(super) fn reschedule(&mut self, key: TimerKey, deadline: u64) -> bool {
        match self.wheel.get_mut(key) {
            Some(Occupant::Waiting(job)) if self.ending.is_none() => job.deadline = deadline,
            _ => return false,
        }
        self.rescheduled += 1;
        self.wheel.reschedule(key, deadline)
    }

    /// A live job.
    pub(super) fn job(&mut self, key: TimerKey) -> Option<&mut Planned> {
        match self.wheel.get_mut(key)? {
            Occupant::Waiting(job) | Occupant::Taken(job) => Some(job),
            Occupant::Sleep(_) => None,
        }
    }

    /// A task that sleeps; `None` once it has been woken.
    pub(super) fn sleeper(&mut self, key: TimerKey) -> Option<&mut Sleeper> {
        match self.wheel.get_mut(key)? {
            Occupant::Sleep(sleeper) => Some(sleeper),
            _ => None,
        }
    }

    /// Moves the deadline of a task that sleeps, and shares it with the timer thread. Returns `false` once the task has
    /// been woken, or is about to be because the timer ends.
    pub(super) fn reset(&mut self, key: TimerKey, deadline: u64, shared: &SharedDeadline) -> bool {
        let is_ending = self.ending.is_some();
        let Some(sleeper) = self.sleeper(key).filter(|_| !is_ending) else {
            return false;
        };
        shared.set(deadline);
        sleeper.deadline.get_or_insert_with(|| shared.clone());
        self.wheel.reschedule(key, deadline)
    }

    /// Hands out the occupants that are due by `now`, in order and within the budget, until `take` declines one.
    ///
    /// A job that runs once leaves when its work is taken, and a sleep when its waker is taken.
    pub(super) fn hand_out<F>(&mut self, now: u64, budget: &mut Budget, mut take: F)
    where
        F: FnMut(TimerKey, u64, &mut Occupant) -> bool,
    {
        while let Some(mut due) = self.wheel.peek_expired_with_budget(now, budget) {
            let (key, time) = (due.key(), due.deadline());
            let occupant = due.get_mut();
            let is_periodic = match occupant {
                // A handed-out job: it is in the wheel at the end of time.
                Occupant::Taken(_) => {
                    due.rearm(NEVER);
                    continue;
                }
                Occupant::Waiting(job) => job.work.as_ref().is_some_and(|work| work.period().is_some()),
                Occupant::Sleep(_) => false,
            };
            if !take(key, time, occupant) {
                // A refund: the peek charged it as a timer that fires.
                (budget.work, budget.fires) = (budget.work + 1, budget.fires + 1);
                return;
            }
            let stays_until = match occupant {
                Occupant::Sleep(sleeper) => sleeper.stays_until(),
                Occupant::Waiting(job) | Occupant::Taken(job) => {
                    let (work, deadline) = (job.work.take(), job.deadline);
                    let stays = work.is_some() || is_periodic;
                    *occupant = Occupant::Taken(Planned { work, deadline });
                    self.begun = self.begun.wrapping_add(usize::from(!stays));
                    stays.then_some(NEVER)
                }
            };
            match stays_until {
                Some(time) => due.rearm(time),
                // Its work or waker has been taken, so no user value is dropped here.
                None => {
                    drop(due.remove());
                    _ = self.places.as_ref().map(|places| places.free());
                }
            }
        }
    }

    /// The time until which the wheel has nothing to do.
    pub(super) fn wake(&self) -> u64 {
        self.wheel.wake_at().unwrap_or(NEVER)
    }
}

/// For the thread or executor that runs a job.
impl Queue {
    /// Takes the work of a job, to run or abandon it; `None` if it was cancelled.
    pub(super) fn start(&mut self, key: TimerKey) -> Option<AnyWork> {
        let work = self.job(key)?.work.take()?;
        if work.period().is_none() {
            self.begun = self.begun.wrapping_add(1);
            self.remove(key);
        }
        Some(work)
    }

    /// Schedules the next run of a periodic job that was started, from `earliest` on. Any other job ends here, and the
    /// caller must drop the returned work without a lock.
    pub(super) fn conclude(&mut self, key: TimerKey, work: AnyWork, now: u64, earliest: u64) -> Option<AnyWork> {
        let (period, occupant) = (work.period(), self.wheel.get_mut(key));
        let (Some(period), Some(occupant @ &mut Occupant::Taken(Planned { deadline, .. })), None) =
            (period, occupant, self.ending)
        else {
            self.remove(key);
            return Some(work);
        };
        let deadline = period.next(deadline, now);
        *occupant = Occupant::job(work, deadline);
        self.wheel.reschedule(key, deadline.max(earliest));
        None
    }
}

/// The waker of a task that sleeps.
///
/// Invariant: the deadline, if there is one, is not before the sleeper's time in the wheel.
pub(super) struct Sleeper {
    /// `None` once it has been taken.
    pub(super) waker: Option<Waker>,
    /// `None` until the sleep is reset while it waits.
    pub(super) deadline: Option<SharedDeadline>,
}

impl Sleeper {
    /// Takes the waker at `time`, the sleeper's time in the wheel, unless the sleep was postponed.
    pub(super) fn fire(&mut self, time: u64) -> Option<Waker> {
        let is_due = self.deadline.as_ref().is_none_or(|deadline| deadline.replace(time, NEVER));
        is_due.then(|| self.waker.take())?
    }

    /// Takes the waker, whatever the deadline.
    pub(super) fn end(&mut self) -> Option<Waker> {
        _ = self.deadline.as_ref().map(|deadline| deadline.set(NEVER));
        self.waker.take()
    }

    /// The time that it was postponed to; `None` if its waker has been taken.
    pub(super) fn stays_until(&self) -> Option<u64> {
        self.waker.as_ref()?;
        Some(self.deadline.as_ref()?.0.load(Ordering::Relaxed))
    }
}

/// The deadline of a sleep that has been reset, or [`NEVER`] once it has fired; no sleep is due at [`NEVER`].
///
/// A connection resets its idle timeout with each message, so a reset to a later time only writes this atomic. The
/// wheel keeps the sleep at the old time. When that time comes, the timer thread tries to swap it here for [`NEVER`].
/// If it succeeds, the sleep fires. If it fails, a reset came first, and the thread postpones the sleep to the deadline
/// that it finds. A reset swaps the deadline that it knows in the same way; if that fails, the sleep has fired. Only
/// one of the two can succeed. No other memory depends on the deadline, so the order is relaxed.
///
/// A deadline is made earlier only with the shard locked, because the wheel must be changed as well.
///
/// The first reset of a waiting sleep allocates the atomic, because most sleeps are dropped without a reset. In a field
/// of the sleep itself, the thread could not read it without `unsafe`.
#[derive(Clone, Default)]
pub(super) struct SharedDeadline(Arc<AtomicU64>);

impl SharedDeadline {
    /// Call it only for a sleep that is not in the wheel, or with the shard locked.
    pub(super) fn set(&self, deadline: u64) {
        self.0.store(deadline, Ordering::Relaxed);
    }

    /// Replaces the deadline `old` by one that is not before it. Returns `false` if it was replaced already.
    pub(super) fn replace(&self, old: u64, new: u64) -> bool {
        self.0.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

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
    /// Missed runs are skipped. After a late run has ended, the next one is at the next whole period.
    Skip,
    /// Missed runs run late, one after the other, and other jobs do not wait long for them.
    ///
    /// A missed run is ordered among other jobs by the time at which it was due. But once the
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
        match self.missed {
            Missed::CatchUp => deadline.saturating_add(self.ns),
            Missed::Skip => next_tick(deadline, self.ns, now),
        }
    }
}

/// The work of a job. Dropping it drops the closure.
pub(super) trait Work: Send + 'static {
    /// Runs the closure. It may be called again only if there is a period.
    fn run(&mut self);

    /// The period of a periodic job.
    fn period(&self) -> Option<Period> {
        None
    }
}

/// The work of a job, behind a trait object.
pub(super) type AnyWork = Box<dyn Work>;

/// Work that runs once; `None` once it has run.
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

/// Work that runs every period.
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
