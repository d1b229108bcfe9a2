//! What a queue has done so far, in numbers.

use super::TtlQueue;
use super::item::Wait;
use crate::geometry::Geometry;

/// What a [`TtlQueue`] has done since it was made, from [`TtlQueue::counters`].
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
/// queue.role_change(Role::Leader, 0);
/// queue.init(1, "key", 5, Context::default())?; // 5 ms
/// assert_eq!(queue.poll(5_000_000).count(), 1);
/// queue.failed("key", 1, 6_000_000);
/// let counters = queue.counters();
/// assert_eq!((counters.scheduled, counters.expired, counters.failed), (1, 1, 1));
/// assert_eq!(counters.longest_pending_ns, 1_000_000);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// TTLs set on keys that had none. Restored entries do not count.
    pub scheduled: u64,
    /// TTLs that replaced another.
    pub updated: u64,
    /// Calls that were answered with [`Outcome::Stale`](super::Outcome::Stale).
    pub stale: u64,
    /// Expiries proposed for the first time since a change of role.
    pub expired: u64,
    /// Expiries that came back through the log and ended an entry.
    pub applied: u64,
    /// Proposals that were refused.
    pub failed: u64,
    /// Proposals that had no answer in time.
    pub timed_out: u64,
    /// Expiries proposed again after a failure or a timeout.
    pub retried: u64,
    /// Entries that a change of role took from pending, or from waiting for a retry, back to due.
    pub requeued: u64,
    /// The longest time that any proposal was, or is, pending, in nanoseconds: until it was
    /// answered, counted as failed, overtaken or put back. By the times that the queue was told.
    pub longest_pending_ns: u64,
}

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// What the queue has done so far. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.counters().scheduled, 1);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        if let Some(first) = self.pending.first() {
            if let Wait::Answer(link) = self.roster.item(first).wait_in(self.epoch) {
                let pending_ns = self.now - link.proposed_ns();
                counters.longest_pending_ns = counters.longest_pending_ns.max(pending_ns);
            }
        }
        counters
    }
}
