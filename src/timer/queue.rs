//! The live jobs of one shard of a timer: all that the lock of the shard guards.

use std::mem;
use std::task::Waker;

use super::work::AnyWork;
use super::{Reason, Refused, Shutdown};
use crate::budget::Budget;
use crate::clock::NEVER;
use crate::key::TimerKey;
use crate::wheel::Wheel;
use crate::wheel::advance::{Progress, Verdict};

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

/// A job. It must be dropped with nothing locked, as what it holds is the user's.
pub(super) struct Entry {
    pub(super) state: State,
    /// When the run is due, or was, in nanoseconds.
    pub(super) deadline: u64,
}

/// How far a job has come.
pub(super) enum State {
    Waiting(AnyWork),
    /// A task waits to be woken: see [`Sleep`](super::Sleep).
    Sleeping(Waker),
    /// Given to an executor, or returned by a shutdown, and not started.
    HandedOut(AnyWork),
    /// Only a periodic job is in the wheel while it runs.
    Running,
}

/// What the timer thread is to do with a job that is due.
pub(super) enum Due {
    Run(AnyWork),
    Wake(Waker),
    HandOut,
}

/// For a job that waits, and is due.
impl Entry {
    /// Takes its work, to do it at once.
    pub(super) fn begin(&mut self) -> Due {
        match mem::replace(&mut self.state, State::Running) {
            State::Waiting(work) => Due::Run(work),
            State::Sleeping(waker) => Due::Wake(waker),
            State::HandedOut(_) | State::Running => unreachable!("it waits"),
        }
    }

    /// Lets it wait for an executor, unless it is a task to be woken.
    pub(super) fn hand_out(&mut self) -> Due {
        match self.begin() {
            Due::Run(work) => {
                self.state = State::HandedOut(work);
                Due::HandOut
            }
            due => due,
        }
    }
}

impl Due {
    pub(super) fn begins_only_run(&self) -> bool {
        matches!(self, Self::Run(work) if work.period().is_none())
    }

    /// Whether the job leaves the wheel, or stays at the end of time.
    pub(super) fn verdict(&self) -> Verdict {
        match self.begins_only_run() || matches!(self, Self::Wake(_)) {
            true => Verdict::Remove,
            false => Verdict::Rearm(NEVER),
        }
    }
}

/// For callers.
impl Queue {
    /// Lets a job wait for its deadline, or hands it back.
    pub(super) fn schedule<T>(
        &mut self,
        deadline: u64,
        job: T,
        state: fn(T) -> State,
    ) -> Result<TimerKey, Refused<T>> {
        if self.ending.is_some() {
            return Err(Refused::new(Reason::ShutDown, job));
        }
        if self.wheel.len() >= self.limit {
            return Err(Refused::new(Reason::Full, job));
        }
        self.scheduled += 1;
        let state = state(job);
        Ok(self.wheel.schedule(deadline, Entry { state, deadline }))
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
            Some(Entry {
                state: State::Waiting(_),
                deadline: old,
            }) if self.ending.is_none() => *old = deadline,
            _ => return false,
        }
        self.rescheduled += 1;
        self.wheel.reschedule(key, deadline)
    }

    /// The waker of a task that sleeps; `None` once it has been woken.
    pub(super) fn waker(&mut self, key: TimerKey) -> Option<&mut Waker> {
        match &mut self.wheel.get_mut(key)?.state {
            State::Sleeping(waker) => Some(waker),
            _ => None,
        }
    }

    /// Hands each job that waits and is due by `now` to `f`, in order, as far as the budget goes.
    pub(super) fn hand_out<F>(&mut self, now: u64, budget: Budget, mut f: F) -> Progress
    where
        F: FnMut(TimerKey, u64, &mut Entry) -> Verdict,
    {
        self.wheel
            .advance_with(now, budget, |key, time, entry| match entry.state {
                State::Waiting(_) | State::Sleeping(_) => f(key, time, entry),
                // At the end of time.
                State::HandedOut(_) | State::Running => Verdict::Rearm(NEVER),
            })
    }

    /// The time until which the wheel has nothing to do.
    pub(super) fn wake(&self) -> u64 {
        let delay = self.wheel.expiration_delay();
        delay.map_or(NEVER, |delay| self.wheel.now().saturating_add(delay))
    }
}

/// For whoever runs a job that was handed out.
impl Queue {
    /// Takes the work of a job to do it, or to give it up; `None` if it was cancelled.
    pub(super) fn start(&mut self, key: TimerKey) -> Option<AnyWork> {
        let entry = self.wheel.get_mut(key)?;
        match mem::replace(&mut entry.state, State::Running) {
            State::HandedOut(work) => {
                if work.period().is_none() {
                    self.begun += 1;
                    self.wheel.cancel(key);
                }
                Some(work)
            }
            state => {
                entry.state = state;
                None
            }
        }
    }

    /// Lets a periodic job that was started wait for its next run, from `earliest` on. Otherwise it ends
    /// here, and what is left of it is to be dropped with nothing locked.
    pub(super) fn conclude(
        &mut self,
        key: TimerKey,
        work: AnyWork,
        now: u64,
        earliest: u64,
    ) -> Option<AnyWork> {
        let (period, entry) = (work.period(), self.wheel.get_mut(key));
        let (Some(period), Some(entry), None) = (period, entry, self.ending) else {
            self.wheel.cancel(key);
            return Some(work);
        };
        entry.deadline = period.next(entry.deadline, now);
        entry.state = State::Waiting(work);
        let time = entry.deadline.max(earliest);
        self.wheel.reschedule(key, time);
        None
    }
}
