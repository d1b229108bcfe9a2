//! The state that all clones of a timer share: the shards, and the thread, which ends with the last clone.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::job::Job;
use super::queue::Places;
use super::refused::Shutdown;
use super::shard::Shard;
use super::shared::{ENDED, Shared};
use super::stats::TimerStats;
use crate::sync::atomic::Ordering;
use crate::sync::{JoinHandle, Mutex, lock, thread_number};

/// The owner of a timer thread. Dropping it ends the thread.
pub(super) struct Owner {
    pub(super) shards: Shards,
    pub(super) thread: Mutex<Option<JoinHandle<Vec<Job>>>>,
}

impl Owner {
    /// Ends the thread from outside of it, and returns the jobs that were not run.
    pub(super) fn shut_down(&self, how: Shutdown) -> Vec<Job> {
        let thread = lock(&self.thread).take();
        let Some(thread) = thread else {
            self.shards.shared.wait_for(ENDED);
            return Vec::new();
        };
        self.shards.end(how);
        // Not a panic of a job or of the clock: the thread catches those.
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(thread) = lock(&self.thread).take() else {
            return;
        };
        self.shards.end(Shutdown::Discard);
        // Inside a job, a join would wait for its own end. The thread ends by itself.
        if !self.shards.shared.is_inside_job() {
            drop(thread.join());
        }
    }
}

/// The shards of a timer: a power of two. Clones are the same shards.
#[derive(Clone)]
pub(super) struct Shards {
    pub(super) all: Arc<[Arc<Shard>]>,
    pub(super) shared: Arc<Shared>,
}

impl Shards {
    /// Makes `count` shards, which hold `limit` jobs together.
    pub(super) fn new(shared: Shared, count: usize, limit: Option<usize>) -> Self {
        let (shared, places) = (Arc::new(shared), limit.map(|limit| Arc::new(Places::new(limit))));
        let shard = |_| Arc::new(Shard::new(Arc::clone(&shared), places.clone()));
        Self { all: (0..count).map(shard).collect(), shared }
    }

    /// The shard of the calling thread, which keeps it.
    pub(super) fn own(&self) -> &Arc<Shard> {
        // The remainder, because the number of shards is a power of two.
        &self.all[thread_number() & (self.all.len() - 1)]
    }

    /// The time at which the thread must look at one of them.
    pub(super) fn wake(&self) -> u64 {
        self.all.iter().map(|shard| shard.wake()).fold(u64::MAX, u64::min)
    }

    /// Closes all shards to new jobs. The first call decides how the timer ends.
    ///
    /// A job that is admitted before all shards are closed is scheduled before the thread learns of the shutdown, so a
    /// drain runs it if it is due.
    pub(super) fn end(&self, how: Shutdown) {
        let mut calls = lock(&self.shared.calls);
        if calls.ending.is_none() {
            for shard in self.all.iter() {
                shard.queue().ending = Some(how);
            }
            calls.ending = Some(how);
        }
        drop(calls);
        self.shared.unpark();
    }

    /// The number of live jobs. A job that is live during the whole call is counted once.
    pub(super) fn live(&self) -> usize {
        let ended = self.shared.runs.ended.load(Ordering::Acquire);
        let live = |shard: &Arc<Shard>| {
            let queue = shard.queue();
            queue.wheel.len().wrapping_add(queue.begun)
        };
        self.all.iter().map(live).fold(0, usize::wrapping_add).wrapping_sub(ended)
    }

    pub(super) fn stats(&self) -> TimerStats {
        let mut stats = lock(&self.shared.runs.stats).clone();
        for shard in self.all.iter() {
            let queue = shard.queue();
            stats.scheduled += queue.scheduled;
            stats.rescheduled += queue.rescheduled;
            stats.cancelled += queue.cancelled;
        }
        (stats.len, stats.expiration_delay) = (self.live(), self.shared.expiration_delay());
        stats
    }
}
