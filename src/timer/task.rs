//! A job and what has become of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::stripe::Stripe;
use super::work::{Reclaim, Work};
use crate::key::TimerKey;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::wheel::Wheel;

/// What has become of a job. It only ever moves down this list, but for a periodic one, which
/// goes back to waiting.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Its time has not come.
    Waiting,
    /// The executor has it, or whoever shut the timer down.
    Handed,
    Running,
    Done,
    /// Somebody cancelled it, and told that it does not run, or not again.
    Cancelled,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// When it is due, in nanoseconds. The wheel may still have an older answer.
    deadline: u64,
    /// Its timer in the wheel. Written by the timer thread only.
    key: Option<TimerKey>,
}

/// A job: its closure, what has become of it, and where it is.
///
/// Invariants:
///
/// - the closure is touched by whoever moved the job to `Running`, `Done` or `Cancelled`, and by
///   nobody else;
/// - a waiting job is in its stripe's list, or in the list that the timer thread has taken and not
///   gone through, or in the wheel and has a `key`;
/// - a job that has a `key` is in the wheel, and one in the wheel that is neither waiting nor in a
///   list is about to be fired.
pub(super) struct Task<W: ?Sized> {
    home: Arc<Stripe>,
    /// Where the job is in its stripe's list, if it is there. Under the stripe's lock.
    place: AtomicUsize,
    state: Mutex<State>,
    work: W,
}

/// A job with whatever closure.
pub(super) type AnyTask = Task<dyn Work>;

/// What the timer thread is to do with a job whose timer has fired.
pub(super) enum Due {
    /// Hand it to the executor.
    Hand,
    /// File it again: it was put off.
    Later,
    /// Nothing: it was cancelled.
    Gone,
}

impl<W: Work> Task<W> {
    pub(super) fn new(home: Arc<Stripe>, deadline: u64, work: W) -> Self {
        Self {
            home,
            place: AtomicUsize::new(0),
            state: Mutex::new(State {
                phase: Phase::Waiting,
                deadline,
                key: None,
            }),
            work,
        }
    }
}

impl<W: Reclaim> Task<W> {
    /// The closure of a job that was refused.
    pub(super) fn reclaim(&self) -> W::Closure {
        self.work.reclaim()
    }
}

/// For everybody.
impl AnyTask {
    pub(super) fn home(&self) -> &Stripe {
        &self.home
    }

    pub(super) fn place(&self) -> usize {
        self.place.load(Ordering::Relaxed)
    }

    /// Under the lock of the stripe.
    pub(super) fn set_place(&self, place: usize) {
        self.place.store(place, Ordering::Relaxed);
    }

    pub(super) fn deadline(&self) -> u64 {
        self.state().deadline
    }

    pub(super) fn is_periodic(&self) -> bool {
        self.work.is_periodic()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// For callers.
impl AnyTask {
    /// Whether the job may still run, or run again.
    pub(super) fn is_live(&self) -> bool {
        match self.state().phase {
            Phase::Waiting | Phase::Handed => true,
            Phase::Running => self.is_periodic(),
            Phase::Done | Phase::Cancelled => false,
        }
    }

    /// Cancels the job, if that prevents a run, and leaves its closure to be discarded with nothing
    /// locked.
    pub(super) fn claim(self: &Arc<Self>) -> Option<Claimed<'_>> {
        let mut state = self.state();
        let phase = state.phase;
        let wake = match phase {
            Phase::Waiting => self.home.withdraw(self, state.key.is_some()),
            Phase::Handed => self.home.count_cancelled(),
            Phase::Running if self.is_periodic() => self.home.count_cancelled(),
            Phase::Running | Phase::Done | Phase::Cancelled => return None,
        };
        state.phase = Phase::Cancelled;
        drop(state);
        self.home.wake(wake);
        Some(Claimed {
            task: self,
            is_running: phase == Phase::Running,
        })
    }

    /// Gives a waiting job a new deadline; `false` to any other.
    pub(super) fn reschedule(self: &Arc<Self>, deadline: u64) -> bool {
        let mut state = self.state();
        if state.phase != Phase::Waiting {
            return false;
        }
        let Ok(wake) = self.home.reschedule(self, deadline) else {
            return false;
        };
        state.deadline = deadline;
        drop(state);
        self.home.wake(wake);
        true
    }
}

/// A job that was cancelled and still has its closure.
#[must_use = "the closure must be dropped"]
pub(super) struct Claimed<'a> {
    task: &'a AnyTask,
    /// Then whoever runs it drops the closure afterwards.
    is_running: bool,
}

impl Claimed<'_> {
    /// Drops the closure.
    pub(super) fn discard(self) {
        if !self.is_running {
            self.task.work.discard();
        }
    }
}

/// For the timer thread.
impl AnyTask {
    /// Makes the wheel agree with the job's state.
    pub(super) fn attend(self: Arc<Self>, wheel: &mut Wheel<Arc<Self>>) {
        let mut state = self.state();
        match (state.phase, state.key) {
            (Phase::Waiting, None) => {
                let key = wheel.schedule(state.deadline, Arc::clone(&self));
                state.key = Some(key);
            }
            (Phase::Waiting, Some(key)) => {
                let is_filed = wheel.reschedule(key, state.deadline);
                debug_assert!(is_filed, "a job with a key is in the wheel");
            }
            (_, Some(key)) => {
                state.key = None;
                // Not the last one: this job is in our hands.
                wheel.cancel(key);
            }
            (_, None) => {}
        }
    }

    /// Takes a job out of the wheel, which has fired its timer.
    pub(super) fn fall_due(&self, now: u64) -> Due {
        let mut state = self.state();
        state.key = None;
        match state.phase {
            Phase::Waiting if state.deadline > now => Due::Later,
            Phase::Waiting => {
                state.phase = Phase::Handed;
                Due::Hand
            }
            _ => Due::Gone,
        }
    }

    /// Takes a waiting job out of the wheel for good, whenever it is due.
    pub(super) fn hand_back(&self) -> bool {
        matches!(self.fall_due(u64::MAX), Due::Hand)
    }
}

/// For whoever runs the job.
impl AnyTask {
    /// Claims the job for a run, and says when it was due; `None` if it was cancelled.
    pub(super) fn start(&self) -> Option<u64> {
        let mut state = self.state();
        if state.phase != Phase::Handed {
            return None;
        }
        state.phase = Phase::Running;
        Some(state.deadline)
    }

    pub(super) fn run(&self) {
        self.work.run();
    }

    /// After a run that ended at `now`, or that was given up: lets a periodic job wait for the next
    /// one. Otherwise it ends here: `true`, and what is left of the closure must be
    /// [discarded](Task::discard).
    pub(super) fn conclude(self: &Arc<Self>, now: u64) -> bool {
        let mut state = self.state();
        if !matches!(state.phase, Phase::Handed | Phase::Running) {
            return true;
        }
        if let Some(deadline) = self.work.next(state.deadline, now) {
            if let Ok(wake) = self.home.rearm(self, deadline) {
                state.phase = Phase::Waiting;
                state.deadline = deadline;
                drop(state);
                self.home.wake(wake);
                return false;
            }
        }
        state.phase = Phase::Done;
        self.home.hub().counters().end();
        true
    }

    /// Drops what is left of the closure.
    pub(super) fn discard(&self) {
        self.work.discard();
    }
}
