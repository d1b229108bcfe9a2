//! A part of a timer with a lock of its own, for the threads that use it.

use std::sync::Arc;

use super::queue::Queue;
use super::shared::Shared;
use super::work::AnyWork;
use super::{Reason, Refused};
use crate::clock::NEVER;
use crate::key::TimerKey;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, lock};

/// A queue, its lock, and when the timer thread is to look at it. No value of the user runs or is
/// dropped under the lock: no clock, no job, no hook, no waker.
///
/// It lies on cache lines of its own, so that threads with different shards do not slow each other.
#[repr(align(128))]
pub(super) struct Shard {
    queue: Mutex<Queue>,
    /// The thread looks at the queue at this time or before. Written under the lock, read without.
    ///
    /// Invariant: whenever the lock is free, no deadline in the wheel needs the thread sooner.
    ///
    /// A cancel leaves it, although the wheel may then ask for some work earlier than it did: callers that schedule and cancel one job after the other do not wake the thread
    /// for each of them.
    wake: AtomicU64,
    pub(super) shared: Arc<Shared>,
}

impl Shard {
    /// An empty shard that may hold `limit` jobs.
    pub(super) fn new(shared: Arc<Shared>, limit: usize) -> Self {
        let queue = Queue { limit, ..Queue::default() };
        Self { queue: Mutex::new(queue), wake: AtomicU64::new(NEVER), shared }
    }

    #[inline]
    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// Changes the queue, and wakes the thread if it must look at the queue sooner than planned.
    #[inline]
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = self.queue();
        let answer = change(&mut queue);
        let wake = queue.wake();
        let is_sooner = wake < self.wake.load(Ordering::Relaxed);
        if is_sooner {
            self.wake.store(wake, Ordering::Relaxed);
        }
        drop(queue);
        if is_sooner {
            self.shared.wake_before(wake);
        }
        answer
    }

    /// Calls `admit`, which takes `what` or refuses it. If there is no room, borrows room from other shards and calls it again.
    #[inline]
    pub(super) fn admit<T, R>(
        &self,
        mut what: T,
        admit: impl Fn(&mut Queue, T) -> Result<R, Refused<T>>,
    ) -> Result<R, Refused<T>> {
        loop {
            match self.change(|queue| admit(queue, what)) {
                // The loop ends: borrowed room is used up only if another thread has scheduled.
                Err(refused) if refused.reason == Reason::Full && self.shared.borrow(self) => {
                    what = refused.job;
                }
                answer => return answer,
            }
        }
    }

    /// When the thread is to look at the queue.
    pub(super) fn wake(&self) -> u64 {
        self.wake.load(Ordering::Relaxed)
    }

    /// Sets the time of the next look, if nothing in the queue is due by `now`.
    pub(super) fn rest(&self, queue: &Queue, now: u64) {
        let wake = Some(self.wake()).filter(|wake| *wake > now);
        let wake = wake.unwrap_or(NEVER).min(queue.wake());
        self.wake.store(wake, Ordering::Relaxed);
    }

    pub(super) fn run(&self, key: TimerKey, mut work: AnyWork) {
        self.shared.guard(|| work.run());
        self.conclude(key, work);
    }

    /// Schedules the next run of a job that was started, or ends the job.
    pub(super) fn conclude(&self, key: TimerKey, work: AnyWork) {
        let left = if work.period().is_some() {
            let earliest = self.shared.times.missed_from.load(Ordering::Relaxed);
            let now = self.shared.last_now();
            self.change(|queue| queue.conclude(key, work, now, earliest))
        } else {
            self.shared.runs.ended.fetch_add(1, Ordering::Release);
            Some(work)
        };
        self.shared.guard(|| drop(left));
    }
}
