//! The live jobs of one shard of a timer: all that the lock of the shard guards.

use std::task::Waker;

use super::work::{AnyWork, Kind, Work};
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

/// A job. It must be dropped with nothing locked, as its closure or waker is the user's.
pub(super) struct Entry {
    /// `None` while it runs.
    pub(super) work: Option<AnyWork>,
    /// When the run is due, or was, in nanoseconds.
    pub(super) deadline: u64,
    /// Neither handed out nor running.
    is_waiting: bool,
    pub(super) kind: Kind,
}

/// For callers.
impl Queue {
    /// Lets a job wait for its deadline, or hands it back.
    pub(super) fn schedule<W: Work>(&mut self, deadline: u64, work: Box<W>) -> Result<TimerKey, Refused<Box<W>>> {
        if self.ending.is_some() {
            return Err(Refused::new(Reason::ShutDown, work));
        }
        if self.wheel.len() >= self.limit {
            return Err(Refused::new(Reason::Full, work));
        }
        self.scheduled += 1;
        let entry = Entry { kind: work.kind(), work: Some(work), deadline, is_waiting: true };
        Ok(self.wheel.schedule(deadline, entry))
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
        match self.wheel.get_mut(key) {
            Some(entry) if entry.is_waiting && self.ending.is_none() => entry.deadline = deadline,
            _ => return false,
        }
        self.rescheduled += 1;
        self.wheel.reschedule(key, deadline)
    }

    /// The waker of a task that sleeps; `None` once it has been woken.
    pub(super) fn waker(&mut self, key: TimerKey) -> Option<&mut Waker> {
        self.wheel.get_mut(key)?.work.as_mut()?.waker()
    }

    /// Hands out jobs that are due by `now`, in order, as far as the budget goes, until `take` declines one.
    /// Those whose work is taken and is not to be done again leave.
    pub(super) fn hand_out<F>(&mut self, now: u64, budget: &mut Budget, mut take: F)
    where
        F: FnMut(TimerKey, u64, &mut Entry) -> bool,
    {
        while let Some(mut due) = self.wheel.peek_expired_with_budget(now, budget) {
            let (key, time) = (due.key(), due.deadline());
            let entry = due.get_mut();
            // The others are at the end of time.
            if entry.is_waiting {
                if !take(key, time, entry) {
                    budget.refund_fire();
                    return;
                }
                entry.is_waiting = false;
                if entry.work.is_none() && entry.kind != Kind::Periodic {
                    self.begun += usize::from(entry.kind == Kind::Once);
                    // With its work gone, nothing of the user's is dropped here.
                    drop(due.remove());
                    continue;
                }
            }
            due.rearm(NEVER);
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
        let entry = self.wheel.get_mut(key)?;
        let work = entry.work.take()?;
        if entry.kind != Kind::Periodic {
            self.begun += 1;
            self.wheel.cancel(key);
        }
        Some(work)
    }

    /// Lets a periodic job that was started wait for its next run, from `earliest` on. Otherwise it ends
    /// here, and what is left of it is to be dropped with nothing locked.
    pub(super) fn conclude(&mut self, key: TimerKey, work: AnyWork, now: u64, earliest: u64) -> Option<AnyWork> {
        let (period, entry) = (work.period(), self.wheel.get_mut(key));
        let (Some(period), Some(entry), None) = (period, entry, self.ending) else {
            self.wheel.cancel(key);
            return Some(work);
        };
        entry.deadline = period.next(entry.deadline, now);
        entry.work = Some(work);
        entry.is_waiting = true;
        let time = entry.deadline.max(earliest);
        self.wheel.reschedule(key, time);
        None
    }
}
