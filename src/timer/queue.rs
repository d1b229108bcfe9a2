//! The live jobs of one shard of a timer, and the tasks that sleep: all that the lock of the shard guards.

use super::sleeper::{SharedDeadline, Sleeper};
use super::work::{AnyWork, Work};
use super::{Reason, Refused, Shutdown};
use crate::budget::Budget;
use crate::clock::NEVER;
use crate::key::TimerKey;
use crate::wheel::Wheel;

/// Invariants:
///
/// - a job is in the wheel exactly as long as it can be cancelled;
/// - one that waits is in the wheel at the time it is to run, any other at [`NEVER`];
/// - the wheel holds at most `limit` jobs.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) wheel: Wheel<Entry>,
    /// The shard's part of the limit of its timer.
    pub(super) limit: usize,
    /// Jobs whose only run has begun: they have left the wheel.
    pub(super) begun: usize,
    pub(super) scheduled: u64,
    pub(super) rescheduled: u64,
    pub(super) cancelled: u64,
    /// How to shut down. Nothing is taken in any more.
    pub(super) ending: Option<Shutdown>,
}

/// What a timer of the wheel stands for. It must be dropped with nothing locked, as its closure or waker is the user's.
///
/// A task that sleeps has its waker here and not in a box: most timeouts are armed and dropped, and an allocation would be a
/// fifth of what that costs.
pub(super) enum Entry {
    Job(Waiting),
    Sleep(Sleeper),
}

// With more a timer takes more than 64 bytes in the wheel. With less in one variant it still takes as many.
const _: () = assert!(size_of::<Entry>() <= 4 * size_of::<u64>());

/// A job in the wheel.
pub(super) struct Waiting {
    /// `None` while it runs.
    pub(super) work: Option<AnyWork>,
    /// When the run is due, or was, in nanoseconds.
    pub(super) deadline: u64,
    /// Neither handed out nor running.
    is_waiting: bool,
    is_periodic: bool,
}

/// For callers.
impl Queue {
    /// As `admit`, for a job.
    pub(super) fn schedule<W: Work>(&mut self, deadline: u64, work: Box<W>) -> Result<TimerKey, Refused<Box<W>>> {
        let entry = |work: Box<W>| {
            let is_periodic = work.period().is_some();
            Entry::Job(Waiting { work: Some(work), deadline, is_waiting: true, is_periodic })
        };
        self.admit(deadline, work, entry)
    }

    /// As `schedule`, in place of another job if that is live: then also with no more room.
    pub(super) fn replace<W: Work>(
        &mut self,
        old: Option<TimerKey>,
        deadline: u64,
        work: Box<W>,
    ) -> Result<(TimerKey, Option<Entry>), Refused<Box<W>>> {
        let old = old.filter(|_| self.ending.is_none());
        let replaced = old.and_then(|old| self.cancel(old));
        Ok((self.schedule(deadline, work)?, replaced))
    }

    /// Takes in what becomes an entry, to wait for its deadline, or hands it back.
    pub(super) fn admit<T>(
        &mut self,
        deadline: u64,
        what: T,
        entry: impl FnOnce(T) -> Entry,
    ) -> Result<TimerKey, Refused<T>> {
        if self.ending.is_some() {
            return Err(Refused::new(Reason::ShutDown, what));
        }
        if self.wheel.len() >= self.limit {
            return Err(Refused::new(Reason::Full, what));
        }
        self.scheduled += 1;
        Ok(self.wheel.schedule(deadline, entry(what)))
    }

    /// Takes a job out if that prevents a run.
    #[must_use = "a job must be dropped with nothing locked"]
    pub(super) fn cancel(&mut self, key: TimerKey) -> Option<Entry> {
        let cancelled = self.wheel.cancel(key);
        self.cancelled += u64::from(cancelled.is_some());
        cancelled
    }

    /// Gives a waiting job a new deadline; `false` to any other.
    pub(super) fn reschedule(&mut self, key: TimerKey, deadline: u64) -> bool {
        let is_ending = self.ending.is_some();
        match self.job(key) {
            Some(job) if job.is_waiting && !is_ending => job.deadline = deadline,
            _ => return false,
        }
        self.rescheduled += 1;
        self.wheel.reschedule(key, deadline)
    }

    /// A live job.
    pub(super) fn job(&mut self, key: TimerKey) -> Option<&mut Waiting> {
        match self.wheel.get_mut(key)? {
            Entry::Job(job) => Some(job),
            Entry::Sleep(_) => None,
        }
    }

    /// A task that sleeps; `None` once it has been woken.
    pub(super) fn sleeper(&mut self, key: TimerKey) -> Option<&mut Sleeper> {
        match self.wheel.get_mut(key)? {
            Entry::Sleep(sleeper) => Some(sleeper),
            Entry::Job(_) => None,
        }
    }

    /// Lets a task sleep until another time, and share that with the timer thread; `false` once it has been woken.
    pub(super) fn reset(&mut self, key: TimerKey, deadline: u64, shared: &SharedDeadline) -> bool {
        let Some(sleeper) = self.sleeper(key) else {
            return false;
        };
        shared.set(deadline);
        sleeper.deadline.get_or_insert_with(|| shared.clone());
        self.wheel.reschedule(key, deadline)
    }

    /// Hands out what is due by `now`, in order, as far as the budget goes, until `take` declines an entry.
    ///
    /// A job whose work is taken and is not to be done again leaves, and so does a sleep whose waker is taken.
    pub(super) fn hand_out<F>(&mut self, now: u64, budget: &mut Budget, mut take: F)
    where
        F: FnMut(TimerKey, u64, &mut Entry) -> bool,
    {
        while let Some(mut due) = self.wheel.peek_expired_with_budget(now, budget) {
            let (key, time) = (due.key(), due.deadline());
            let entry = due.get_mut();
            // It was handed out, or runs, and waits for nothing: it is at the end of time.
            if matches!(entry, Entry::Job(job) if !job.is_waiting) {
                due.rearm(NEVER);
                continue;
            }
            if !take(key, time, entry) {
                budget.refund_fire();
                return;
            }
            let stays_until = match entry {
                Entry::Sleep(sleeper) => sleeper.stays_until(),
                Entry::Job(job) => {
                    job.is_waiting = false;
                    let stays = job.work.is_some() || job.is_periodic;
                    self.begun += usize::from(!stays);
                    stays.then_some(NEVER)
                }
            };
            match stays_until {
                Some(time) => due.rearm(time),
                // With its work or waker gone, nothing of the user's is dropped here.
                None => drop(due.remove()),
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
    /// Takes the work of a job to do it, or to give it up; `None` if it was cancelled.
    pub(super) fn start(&mut self, key: TimerKey) -> Option<AnyWork> {
        let job = self.job(key)?;
        let work = job.work.take()?;
        if !job.is_periodic {
            self.begun += 1;
            self.wheel.cancel(key);
        }
        Some(work)
    }

    /// Lets a periodic job that was started wait for its next run, from `earliest` on. Otherwise it ends
    /// here, and what is left of it is to be dropped with nothing locked.
    pub(super) fn conclude(&mut self, key: TimerKey, work: AnyWork, now: u64, earliest: u64) -> Option<AnyWork> {
        let (period, ending) = (work.period(), self.ending);
        let (Some(period), Some(job), None) = (period, self.job(key), ending) else {
            self.wheel.cancel(key);
            return Some(work);
        };
        job.deadline = period.next(job.deadline, now);
        job.work = Some(work);
        job.is_waiting = true;
        let time = job.deadline.max(earliest);
        self.wheel.reschedule(key, time);
        None
    }
}
