//! The live jobs of a timer, and when its thread is to look at them: all that its lock guards.

use std::mem;

use super::shutdown::Shutdown;
use super::statistics::Statistics;
use super::work::Work;
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
pub(super) struct Queue {
    wheel: Wheel<Entry>,
    /// Jobs that run for the only time, and so cannot be cancelled.
    running: usize,
    statistics: Statistics,
    /// A missed run waits until this time at least: see [`Missed::CatchUp`](super::Missed).
    missed_from: u64,
    /// The latest time at which the thread is to look at the wheel.
    ///
    /// Once something was due then, it stays, be that cancelled since: so callers that schedule and
    /// cancel one job after the other do not wake the thread for each of them.
    alarm: u64,
    is_asleep: bool,
    /// Calls that wait, or have waited, for the thread to settle, and those that need wait no more.
    asked: u64,
    answered: u64,
    ending: Option<Shutdown>,
    has_ended: bool,
}

struct Entry {
    /// `None` while it runs.
    work: Option<Box<dyn Work>>,
    /// When the run is due, or was, in nanoseconds.
    deadline: u64,
    /// Neither handed out nor running.
    is_waiting: bool,
}

/// For callers.
impl Queue {
    pub(super) fn new(now: u64) -> Self {
        Self {
            wheel: Wheel::new(now),
            running: 0,
            statistics: Statistics::new(),
            missed_from: 0,
            alarm: NEVER,
            is_asleep: false,
            asked: 0,
            answered: 0,
            ending: None,
            has_ended: false,
        }
    }

    /// Lets a job wait for its deadline, or hands it back when the timer is shut down.
    pub(super) fn schedule<W: Work>(
        &mut self,
        deadline: u64,
        work: Box<W>,
    ) -> Result<TimerKey, Box<W>> {
        if self.ending.is_some() {
            return Err(work);
        }
        self.statistics.scheduled += 1;
        let entry = Entry {
            work: Some(work),
            deadline,
            is_waiting: true,
        };
        Ok(self.wheel.schedule(deadline, entry))
    }

    /// Takes a job out if that prevents a run: to be dropped with nothing locked.
    pub(super) fn cancel(&mut self, key: TimerKey) -> Option<Cancelled> {
        let entry = self.wheel.cancel(key)?;
        self.statistics.cancelled += 1;
        Some(Cancelled { _work: entry.work })
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

    pub(super) fn is_live(&self, key: TimerKey) -> bool {
        self.wheel.contains(key)
    }

    pub(super) fn deadline(&self, key: TimerKey) -> Option<u64> {
        self.wheel.get(key).map(|entry| entry.deadline)
    }

    pub(super) fn len(&self) -> usize {
        self.wheel.len() + self.running
    }

    pub(super) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub(super) fn statistics_mut(&mut self) -> &mut Statistics {
        &mut self.statistics
    }
}

/// A job that was cancelled. Dropping it drops the closure, unless that is running.
#[must_use = "the closure must be dropped with nothing locked"]
pub(super) struct Cancelled {
    _work: Option<Box<dyn Work>>,
}

/// For the timer thread, which hands jobs out.
impl Queue {
    /// Hands out jobs that are due by `now`, in order, as far as the budget goes.
    pub(super) fn hand_out(
        &mut self,
        now: u64,
        budget: Budget,
        mut take: impl FnMut(TimerKey, u64),
    ) -> Progress {
        self.wheel.advance_with(now, budget, |key, _, entry| {
            if mem::take(&mut entry.is_waiting) {
                take(key, entry.deadline);
            }
            Verdict::Rearm(NEVER)
        })
    }

    /// The number of jobs that can still be cancelled.
    pub(super) fn cancellable(&self) -> usize {
        self.wheel.len()
    }

    pub(super) fn set_missed_from(&mut self, time: u64) {
        self.missed_from = time;
    }
}

/// For whoever runs a job that was handed out.
impl Queue {
    /// Takes the work of a job to do it, or to give it up; `None` if it was cancelled.
    pub(super) fn start(&mut self, key: TimerKey) -> Option<Box<dyn Work>> {
        let work = self.wheel.get_mut(key)?.work.take()?;
        if work.period().is_none() {
            self.wheel.cancel(key);
            self.running += 1;
        }
        Some(work)
    }

    /// Lets a periodic job that was started wait for its next run. Otherwise it ends here, and what
    /// is left of it is to be dropped with nothing locked.
    pub(super) fn conclude(
        &mut self,
        key: TimerKey,
        work: Box<dyn Work>,
        now: u64,
    ) -> Option<Box<dyn Work>> {
        let Some(period) = work.period() else {
            self.running -= 1;
            return Some(work);
        };
        if self.ending.is_some() {
            self.wheel.cancel(key);
            return Some(work);
        }
        let Some(entry) = self.wheel.get_mut(key) else {
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

/// The sleep of the timer thread, and its end.
impl Queue {
    /// Whether the thread must be woken because there is something to do sooner than it thought. To be
    /// asked after every change.
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
        match self.wheel.expiration_delay() {
            Some(delay) => self.wheel.now().saturating_add(delay),
            None => NEVER,
        }
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

    /// When the thread wakes up by itself, if it sleeps and does.
    pub(super) fn next_wake(&self) -> Option<u64> {
        (self.is_asleep && self.alarm != NEVER).then_some(self.alarm)
    }

    /// Asks the thread to tell when nothing is due, and returns the number of this call.
    pub(super) fn ask_to_settle(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    pub(super) fn asked(&self) -> u64 {
        self.asked
    }

    pub(super) fn has_settled(&self, call: u64) -> bool {
        self.answered >= call || self.has_ended
    }

    /// Refuses whatever comes from now on. Who says so first says how.
    pub(super) fn end(&mut self, how: Shutdown) {
        self.ending.get_or_insert(how);
    }

    pub(super) fn ending(&self) -> Option<Shutdown> {
        self.ending
    }

    pub(super) fn set_ended(&mut self) {
        self.has_ended = true;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }
}
