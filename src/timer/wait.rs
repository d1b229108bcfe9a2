//! A wait for a deadline, polled by a task.

use std::mem;
use std::ops::Deref;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::Reason;
use super::queue::{Occupant, SharedDeadline, Sleeper};
use super::shard::Shard;
use crate::TimerKey;
use crate::clock::after;

/// The common part of `Sleep` and `Timeout`. Dropping it frees its place in the timer.
///
/// `S` is a shard, owned or borrowed: a `Timeout` is made and dropped too often to count references.
pub(super) struct Wait<S: Deref<Target = Shard>> {
    pub(super) shard: S,
    pub(super) deadline: u64,
    stage: Stage,
    /// `Some` once the wait has been reset while it was armed.
    shared: Option<SharedDeadline>,
}

#[derive(Copy, Clone)]
enum Stage {
    New,
    /// The wait was in the wheel when it was last polled or reset.
    Armed(TimerKey),
    Over(Result<(), Reason>),
}

impl<S: Deref<Target = Shard>> Wait<S> {
    pub(super) fn new(shard: S, deadline: u64) -> Self {
        Self { shard, deadline, stage: Stage::New, shared: None }
    }

    pub(super) fn poll(&mut self, waker: &Waker) -> Poll<Result<(), Reason>> {
        match self.stage {
            Stage::New => self.arm(self.shard.shared.now(), waker),
            Stage::Armed(key) if self.set_waker(key, waker) => Poll::Pending,
            Stage::Armed(_) => self.end(self.result()),
            Stage::Over(result) => Poll::Ready(result),
        }
    }

    /// Like `poll`, for a wait whose delay counts from its first poll.
    pub(super) fn poll_within(&mut self, delay: Duration, waker: &Waker) -> Poll<Result<(), Reason>> {
        let Stage::New = self.stage else {
            return self.poll(waker);
        };
        let now = self.shard.shared.now();
        self.deadline = after(now, delay);
        self.arm(now, waker)
    }

    /// Polls the wait for the first time: it takes a place in the timer, unless it is due by `now`.
    pub(super) fn arm(&mut self, now: u64, waker: &Waker) -> Poll<Result<(), Reason>> {
        if self.deadline <= now {
            return self.end(Ok(()));
        }
        _ = self.shared.as_ref().map(|shared| shared.set(self.deadline));
        // Cloned with nothing locked: a waker is the executor's.
        let sleeper = Sleeper { waker: Some(waker.clone()), deadline: self.shared.clone() };
        let deadline = self.deadline;
        match self.shard.change(|queue| queue.admit(None, deadline, sleeper, Occupant::Sleep)) {
            Ok((key, _)) => self.stage = Stage::Armed(key),
            Err(refused) => return self.end(Err(refused.reason)),
        }
        Poll::Pending
    }

    fn end(&mut self, result: Result<(), Reason>) -> Poll<Result<(), Reason>> {
        self.stage = Stage::Over(result);
        Poll::Ready(result)
    }

    /// Stores the waker for the timer thread to wake; `false` if the thread has woken one already.
    fn set_waker(&self, key: TimerKey, waker: &Waker) -> bool {
        let is_other = |sleeper: &mut Sleeper| !sleeper.waker.as_ref().is_some_and(|own| own.will_wake(waker));
        let is_other = self.shard.queue().sleeper(key).map(is_other);
        if is_other != Some(true) {
            return is_other.is_some();
        }
        let mut waker = Some(waker.clone());
        let replaced = self.shard.queue().sleeper(key).map(|sleeper| mem::swap(&mut sleeper.waker, &mut waker));
        // The old waker is dropped here, with nothing locked.
        replaced.is_some()
    }

    /// Whether the timer ends or has ended.
    pub(super) fn is_ending(&self) -> bool {
        self.shard.queue().ending.is_some()
    }

    /// How the wait has ended, now that it is no longer in the wheel.
    fn result(&self) -> Result<(), Reason> {
        match self.is_ending() && self.shard.shared.now() < self.deadline {
            true => Err(Reason::ShutDown),
            false => Ok(()),
        }
    }

    /// Frees the wait's place in the timer, if it has one.
    pub(super) fn leave(&mut self) {
        if let Stage::Armed(key) = self.stage {
            self.stage = Stage::New;
            let cancelled = self.shard.queue().cancel(key);
            // The waker is dropped with nothing locked.
            drop(cancelled);
        }
    }

    /// Moves the deadline. The wait keeps its place in the timer if it still has one; otherwise it starts anew.
    pub(super) fn reset(&mut self, deadline: u64) {
        let old = mem::replace(&mut self.deadline, deadline);
        let is_armed = match (self.stage, &self.shared) {
            (Stage::Armed(_), Some(shared)) if deadline >= old => shared.replace(old, deadline),
            (Stage::Armed(key), shared) => {
                let shared = shared.clone().unwrap_or_default();
                let is_armed = self.shard.change(|queue| queue.reset(key, deadline, &shared));
                self.shared = Some(shared);
                is_armed
            }
            _ => false,
        };
        if !is_armed {
            self.stage = Stage::New;
        }
    }
}

impl<S: Deref<Target = Shard>> Drop for Wait<S> {
    fn drop(&mut self) {
        self.leave();
    }
}
