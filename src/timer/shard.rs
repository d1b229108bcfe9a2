//! A part of a timer with a lock of its own, for the threads that use it.

use std::sync::Arc;

use super::queue::{AnyWork, Places, Queue};
use super::shared::Shared;
use crate::TimerKey;
use crate::clock::NEVER;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, lock, try_lock, wait};

/// A queue, its lock, and when the timer thread is to look at it. No user code runs and no user value is
/// dropped under the lock: no clock, no job, no hook, no waker.
///
/// It lies on cache lines of its own, so that threads with different shards do not slow each other.
#[repr(align(128))]
pub(super) struct Shard {
    queue: Mutex<Queue>,
    /// Threads that have found the lock taken and have not got it yet.
    pub(super) waiting: AtomicUsize,
    /// Signals that the threads that the timer thread waits for have had the lock.
    served: Condvar,
    /// The thread looks at the queue at this time or before. Written under the lock, read without.
    ///
    /// Invariant: whenever the lock is free, no deadline in the wheel needs the thread sooner.
    ///
    /// A cancel does not lower it, although the wheel may then have upkeep to do earlier. So callers that schedule and
    /// cancel in a loop do not wake the thread each time.
    wake: AtomicU64,
    pub(super) shared: Arc<Shared>,
}

impl Shard {
    /// An empty shard, with places for its occupants if they are limited.
    pub(super) fn new(shared: Arc<Shared>, places: Option<Arc<Places>>) -> Self {
        let queue = Queue { places, ..Queue::default() };
        let (waiting, served) = (AtomicUsize::new(0), Condvar::new());
        Self { queue: Mutex::new(queue), waiting, served, wake: AtomicU64::new(NEVER), shared }
    }

    #[inline]
    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        try_lock(&self.queue).unwrap_or_else(|| self.queue_after_waiting())
    }

    #[cold]
    pub(super) fn queue_after_waiting(&self) -> MutexGuard<'_, Queue> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut queue = lock(&self.queue);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        queue.served += 1;
        if queue.served == queue.served_by {
            self.served.notify_one();
        }
        queue
    }

    /// For the timer thread between two pieces of its work: first lets in the threads that already wait for the lock.
    ///
    /// The lock is not fair. The thread unlocks it and locks it again within nanoseconds, and a caller that is being
    /// woken would lose the race again and again.
    pub(super) fn queue_after_others(&self) -> MutexGuard<'_, Queue> {
        let mut queue = self.queue();
        // Each of these threads gets the lock while this one waits, and counts itself. Later callers may get the lock
        // before them, but the thread waits for no larger number.
        queue.served_by = queue.served + self.waiting.load(Ordering::Relaxed) as u64;
        while queue.served < queue.served_by {
            queue = wait(&self.served, queue);
        }
        queue
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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::boxed::Box;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;
    use crate::clock::ManualClock;

    fn shard() -> Shard {
        let shared = Shared::new(Box::new(ManualClock::new()), Box::new(|_| ()), 0, 0);
        Shard::new(Arc::new(shared), None)
    }

    /// Counts pieces, not time: a caller waits at most for the piece in progress.
    #[test]
    fn callers_that_wait_are_let_in_before_the_next_piece() {
        const CALLERS: usize = 3;
        let shard = shard();
        for round in 1..=100 {
            thread::scope(|scope| {
                let piece = shard.queue_after_others();
                (0..CALLERS).for_each(|_| _ = scope.spawn(|| shard.queue().scheduled += 1));
                while shard.waiting.load(Ordering::Relaxed) < CALLERS {
                    thread::yield_now();
                }
                drop(piece);
                assert_eq!(shard.queue_after_others().scheduled, (round * CALLERS) as u64);
            });
        }
    }

    #[test]
    fn callers_that_come_again_and_again_do_not_keep_the_thread_out() {
        let (shard, is_over) = (shard(), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        shard.queue().scheduled += 1;
                    }
                });
            }
            (0..1_000).for_each(|_| drop(shard.queue_after_others()));
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(shard.waiting.load(Ordering::Relaxed), 0);
    }
}
