//! All shards of a timer.

use std::sync::Arc;

use super::queue::Places;
use super::shard::Shard;
use super::shared::Shared;
use super::{Shutdown, TimerStats};
use crate::sync::atomic::Ordering;
use crate::sync::{lock, thread_number};

/// The shards of a timer: a power of two. Clones are the same shards.
#[derive(Clone)]
pub(super) struct Shards {
    all: Arc<[Arc<Shard>]>,
    pub(super) shared: Arc<Shared>,
}

impl Shards {
    /// Makes `count` shards, which hold `limit` jobs together.
    pub(super) fn new(shared: Shared, count: usize, limit: Option<usize>) -> Self {
        let (shared, places) = (Arc::new(shared), limit.map(|limit| Arc::new(Places::new(limit))));
        let shard = |_| Arc::new(Shard::new(Arc::clone(&shared), places.clone()));
        Self { all: (0..count).map(shard).collect(), shared }
    }

    pub(super) fn all(&self) -> &[Arc<Shard>] {
        &self.all
    }

    /// The shard of the calling thread, which keeps it.
    pub(super) fn own(&self) -> &Arc<Shard> {
        // The remainder, as there are a power of two.
        &self.all[thread_number() & (self.all.len() - 1)]
    }

    /// The time at which the thread must look at one of them.
    pub(super) fn wake(&self) -> u64 {
        let wakes = self.all.iter().map(|shard| shard.wake());
        wakes.fold(u64::MAX, u64::min)
    }

    /// Closes all shards to new jobs. The first call decides how the timer ends.
    ///
    /// A job that is admitted before all shards are closed is scheduled before the thread learns of the shutdown, so a drain
    /// runs it if it is due.
    pub(super) fn end(&self, how: Shutdown) {
        let mut calls = lock(&self.shared.calls);
        if calls.ending.is_none() {
            for shard in self.all() {
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
        for shard in self.all() {
            let queue = shard.queue();
            stats.scheduled += queue.scheduled;
            stats.rescheduled += queue.rescheduled;
            stats.cancelled += queue.cancelled;
        }
        (stats.len, stats.expiration_delay) = (self.live(), self.shared.expiration_delay());
        stats
    }
}
