//! Counts of the work, and waiting times.

use core::fmt;

use super::Phase;
use super::entries::Flight;

/// Counts of the work of a [`TtlSet`](super::TtlSet) or a [`TtlQueue`](super::TtlQueue) since it was made, and its
/// current lengths.
///
/// There were `expired + retried` proposals, of which `failed + timed_out` failed.
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// queue.role_change(Role::Leader, 0);
/// queue.init("key", 1, 5, Context::default())?; // 5 ms
/// assert_eq!(queue.poll(7_000_000).count(), 1); // 2 ms late
/// queue.failed("key", 1, 8_000_000);
/// let stats = queue.as_set().stats();
/// assert_eq!((stats.scheduled, stats.expired, stats.failed), (1, 1, 1));
/// assert_eq!((stats.len, stats.pending, stats.retrying), (1, 0, 1));
/// assert_eq!(stats.first_waits.longest_ns(), 2_000_000);
/// assert_eq!(stats.pending_times.longest_ns(), 1_000_000);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TtlStats {
    /// Entries, in any phase.
    pub len: usize,
    /// Entries whose proposal has no answer yet.
    pub pending: usize,
    /// Entries that wait to be proposed again.
    pub retrying: usize,
    /// TTLs set on keys that had none. Restored entries do not count.
    pub scheduled: u64,
    /// TTLs that replaced another.
    pub updated: u64,
    /// Calls that returned [`Outcome::Stale`](super::Outcome::Stale).
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
    /// Entries in flight that a change of role made due again.
    pub requeued: u64,
    /// From the deadline of an entry to its first proposal since a change of role: one for each of `expired`.
    pub first_waits: Waits,
    /// From a proposal of an entry to its next one: one for each of `retried`.
    pub retry_waits: Waits,
    /// How long proposals were pending: until they were answered, counted as failed, overtaken or put back.
    pub pending_times: Waits,
}

impl TtlStats {
    /// Counts how long an entry was pending, if it was in flight until `now`.
    pub(super) fn end_pending(&mut self, flight: Option<Flight>, now: u64) {
        if let Some(flight) = flight.filter(|flight| flight.phase == Phase::Pending) {
            self.pending_times.record(now - flight.proposed_ns);
        }
    }
}

/// The waits up to 2^10 ns, a microsecond, are in the first bucket, those up to twice that in the second, and so on.
/// The last bucket has all above 2^40 ns, 18 minutes.
const FIRST_BITS: u32 = 10;

/// The number of buckets.
const BUCKETS: usize = 32;

/// A histogram of waiting times in nanoseconds, measured by the times that were passed to the calls. Each bucket is
/// twice as wide as the one before.
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlSet};
///
/// let mut set: TtlSet<u32> = TtlSet::new(0);
/// set.role_change(Role::Leader, 0);
/// for ttl_ms in [1, 3, 4] {
///     set.init(7, 1, ttl_ms, Context::default())?;
/// }
/// assert_eq!(set.poll(5_000_000).count(), 3);
/// let waits = set.stats().first_waits;
/// assert_eq!((waits.count(), waits.mean_ns(), waits.longest_ns()), (3, 2_333_333, 4_000_000));
/// // Half of them waited for 2^21 ns at most.
/// assert_eq!(waits.at_most_ns(0.5), 1 << 21);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Waits {
    counts: [u64; BUCKETS],
    total_ns: u64,
    longest_ns: u64,
}

impl Waits {
    pub(super) fn record(&mut self, wait_ns: u64) {
        let bits = u64::BITS - wait_ns.saturating_sub(1).leading_zeros();
        let bucket = bits.saturating_sub(FIRST_BITS) as usize;
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.total_ns = self.total_ns.saturating_add(wait_ns);
        self.longest_ns = self.longest_ns.max(wait_ns);
    }

    /// The number of waits. O(1). See [`Waits`].
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// The mean wait in nanoseconds, rounded down; 0 if there is none. Too short once all waits together exceed 584
    /// years. O(1). See [`Waits`].
    pub fn mean_ns(&self) -> u64 {
        self.total_ns.checked_div(self.count()).unwrap_or(0)
    }

    /// The longest wait in nanoseconds, exactly; 0 if there is none. O(1). See [`Waits`].
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// An upper bound in nanoseconds on this fraction of the waits: `0.99` for the 99th percentile, and 1 for all of
    /// them. It is less than twice the exact value, or a microsecond. `part` is clamped to 0 to 1. Zero if there is no
    /// wait. O(1). See [`Waits`].
    pub fn at_most_ns(&self, part: f64) -> u64 {
        let least = self.count() as f64 * part.clamp(0.0, 1.0);
        let mut waits: u64 = 0;
        let bucket = self.buckets().find(|&(_, count)| {
            waits = waits.saturating_add(count);
            waits != 0 && waits as f64 >= least
        });
        bucket.map_or(self.longest_ns, |(up_to_ns, _)| up_to_ns.min(self.longest_ns))
    }

    /// The buckets in order: the longest wait in nanoseconds that the bucket covers, and the number of waits in that
    /// bucket alone. For a Prometheus histogram, accumulate the numbers. O(1).
    ///
    /// ```
    /// let buckets: Vec<_> = timer_wheel::ttl::Waits::default().buckets().collect();
    /// assert_eq!((buckets[0], buckets[1]), ((1_024, 0), (2_048, 0)));
    /// assert_eq!(buckets[31], (u64::MAX, 0));
    /// ```
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let up_to_ns = |bucket| match bucket {
            0..31 => 1 << (FIRST_BITS + bucket),
            _ => u64::MAX,
        };
        (0..).map(up_to_ns).zip(self.counts.iter().copied())
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits")
            .field("count", &self.count())
            .field("mean_ns", &self.mean_ns())
            .field("longest_ns", &self.longest_ns)
            .finish_non_exhaustive()
    }
}
