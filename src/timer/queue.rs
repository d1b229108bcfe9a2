//! The live jobs of a timer, and when its thread is to look at them: all that its lock guards.

use std::mem;

use super::work::{AnyWork, Work};
use super::{Shutdown, Statistics};
use crate::budget::Budget;
use crate::clock::NEVER;
use crate::key::TimerKey;
use crate::wheel::Wheel;
use crate::wheel::advance::{Progress, Verdict};

/// Invariants:
///
/// - a job is in the wheel exactly as long as it can be cancelled;
/// - one that waits is in the wheel at the time it is to run, any other at [`NEVER`];
/// - while the thread sleeps, it does so until `alarm`, and nothing in the wheel needs it sooner.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) wheel: Wheel<Entry>,
    /// Jobs whose only run has begun: they have left the wheel.
    pub(super) begun: usize,
    pub(super) statistics: Statistics,
    /// A missed run waits until this time at least: see [`Missed::CatchUp`](super::Missed).
    pub(super) missed_from: u64,
    /// The latest time at which the thread is to look at the wheel.
    ///
    /// Once something was due then, it stays, be that cancelled since: so callers that schedule and
    /// cancel one job after the other do not wake the thread for each of them.
    alarm: u64,
    is_asleep: bool,
    /// The calls that wait, or have waited, for the thread to settle, by number.
    pub(super) asked: u64,
    /// The last of those that need wait no more: [`ENDED`] once the thread has.
    pub(super) answered: u64,
    /// How to shut down. Nothing is taken in any more.
    pub(super) ending: Option<Shutdown>,
}

/// No call has this number.
pub(super) const ENDED: u64 = u64::MAX;

/// A job. It must be dropped with nothing locked, as its closure is the user's.
pub(super) struct Entry {
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
    pub(super) fn new() -> Self {
        Self {
            alarm: NEVER,
            ..Self::default()
        }
    }

    /// Lets a job wait for its deadline, or hands it back when the timer is shut down.
    pub(super) fn schedule<W: Work>(&mut self, at: u64, work: Box<W>) -> Result<TimerKey, Box<W>> {
        if self.ending.is_some() {
            return Err(work);
        }
        self.statistics.scheduled += 1;
        let entry = Entry {
            is_periodic: work.period().is_some(),
            work: Some(work),
            deadline: at,
            is_waiting: true,
        };
        Ok(self.wheel.schedule(at, entry))
    }

    /// Takes a job out if that prevents a run.
    #[must_use = "a job must be dropped with nothing locked"]
    pub(super) fn cancel(&mut self, key: TimerKey) -> Option<Entry> {
        let cancelled = self.wheel.cancel(key);
        self.statistics.cancelled += u64::from(cancelled.is_some());
        cancelled
    }

    /// Gives a waiting job a new deadline; `false` to any other.
    pub(super) fn reschedule(&mut self, key: TimerKey, deadline: u64) -> bool {
        match self.wheel.get_mut(key) {
            Some(entry) if entry.is_waiting && self.ending.is_none() => entry.deadline = deadline,
            _ => return false,
        }
        self.statistics.rescheduled += 1;
        self.wheel.reschedule(key, deadline)
    }
}

/// For the timer thread, which hands jobs out.
impl Queue {
    /// Hands out jobs that are due by `now`, in order, as far as the budget goes. Those whose work is
    /// taken and is not to be done again leave.
    pub(super) fn hand_out<F>(&mut self, now: u64, budget: Budget, mut take: F) -> Progress
    where
        F: FnMut(TimerKey, &mut Entry),
    {
        self.wheel.advance_with(now, budget, |key, _, entry| {
            if mem::take(&mut entry.is_waiting) {
                take(key, entry);
                if entry.work.is_none() && !entry.is_periodic {
                    self.begun += 1;
                    return Verdict::Remove;
                }
            }
            Verdict::Rearm(NEVER)
        })
    }
}

/// For whoever runs a job that was handed out.
impl Queue {
    /// Takes the work of a job to do it, or to give it up; `None` if it was cancelled.
    pub(super) fn start(&mut self, key: TimerKey) -> Option<AnyWork> {
        let entry = self.wheel.get_mut(key)?;
        let work = entry.work.take()?;
        if !entry.is_periodic {
            self.begun += 1;
            self.wheel.cancel(key);
        }
        Some(work)
    }

    /// Lets a periodic job that was started wait for its next run. Otherwise it ends here, and what
    /// is left of it is to be dropped with nothing locked.
    pub(super) fn conclude(&mut self, key: TimerKey, work: AnyWork, now: u64) -> Option<AnyWork> {
        let (period, entry) = (work.period(), self.wheel.get_mut(key));
        let (Some(period), Some(entry), None) = (period, entry, self.ending) else {
            self.wheel.cancel(key);
            return Some(work);
        };
        entry.deadline = period.next(entry.deadline, now);
        entry.work = Some(work);
        entry.is_waiting = true;
        let time = entry.deadline.max(self.missed_from);
        self.wheel.reschedule(key, time);
        None
    }
}

/// The sleep of the timer thread.
impl Queue {
    /// Whether the thread must be woken because there is something to do sooner than it thought. To be
    /// asked after every change but a cancel.
    pub(super) fn must_wake(&mut self) -> bool {
        let wake = self.wake();
        if wake >= self.alarm {
            return false;
        }
        self.alarm = wake;
        mem::take(&mut self.is_asleep)
    }

    /// The time until which the wheel has nothing to do.
    fn wake(&self) -> u64 {
        let delay = self.wheel.expiration_delay();
        delay.map_or(NEVER, |delay| self.wheel.now().saturating_add(delay))
    }

    /// Nothing is due by `now`, which the clock showed after `asked` calls had asked for that: answers
    /// them, and says until when to sleep unless something has turned up since.
    pub(super) fn fall_asleep(&mut self, now: u64, asked: u64) -> Option<u64> {
        self.answered = asked;
        if self.alarm <= now {
            self.alarm = NEVER;
        }
        self.alarm = self.alarm.min(self.wake());
        self.is_asleep = self.alarm > now && self.asked == asked && self.ending.is_none();
        self.is_asleep.then_some(self.alarm)
    }

    pub(super) fn wake_up(&mut self) {
        self.is_asleep = false;
        self.statistics.wake_ups += 1;
    }

    /// When the thread wakes up by itself, if it sleeps and does. A clock that panics where it sleeps has
    /// ended that.
    pub(super) fn next_wake(&self) -> Option<u64> {
        (self.is_asleep && self.ending.is_none() && self.alarm != NEVER).then_some(self.alarm)
    }
}
