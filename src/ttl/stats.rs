//! Counts of the layer's work.

use super::Phase;
use super::entries::Flight;

/// Counts of the work of a [`TtlSet`](super::TtlSet) or a [`TtlQueue`](super::TtlQueue) since it was made.
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// queue.role_change(Role::Leader, 0);
/// queue.init("key", 1, 5, Context::default())?; // 5 ms
/// assert_eq!(queue.poll(5_000_000).count(), 1);
/// queue.failed("key", 1, 6_000_000);
/// let stats = queue.as_set().stats();
/// assert_eq!((stats.scheduled, stats.expired, stats.failed), (1, 1, 1));
/// assert_eq!(stats.longest_pending_ns, 1_000_000);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TtlStats {
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
    /// The longest time that any proposal was pending, in nanoseconds: until it was answered, counted as
    /// failed, overtaken or put back. By the times that the calls were told.
    pub longest_pending_ns: u64,
}

impl TtlStats {
    /// Counts how long an entry was pending, if it was in flight until `now`.
    pub(super) fn count_wait(&mut self, flight: Option<Flight>, now: u64) {
        if let Some(flight) = flight.filter(|flight| flight.phase == Phase::Pending) {
            let pending_ns = now - flight.proposed_ns;
            self.longest_pending_ns = self.longest_pending_ns.max(pending_ns);
        }
    }
}
