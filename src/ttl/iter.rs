//! Looking at the entries: in the order in which they are due, and how long the oldest proposal has had no answer.

use super::{Phase, TtlInfo, TtlSet};
use crate::geometry::Geometry;

impl<K, G: Geometry> TtlSet<K, G> {
    /// All entries in order of deadline, first come first among equals, whatever their phase.
    ///
    /// Lazy as [`Wheel::ascending`](crate::Wheel::ascending): `.take(n)` answers for the next n without reading all
    /// the others. O(m log m) to begin with, for the m entries in flight; O(n log n) for all n entries.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut set: TtlSet<char> = TtlSet::new(0);
    /// for (ttl_ms, key) in [(30, 'c'), (10, 'a'), (20, 'b')] {
    ///     set.init(key, 1, ttl_ms, Context::default())?;
    /// }
    /// let keys: String = set.iter().map(|info| info.entry.key).collect();
    /// assert_eq!(keys, "abc");
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = TtlInfo<'_, K>> + '_ {
        self.entries.walk().map(|slot| self.info(slot))
    }

    /// How many nanoseconds before `now` the oldest proposal was made that still has no answer; `None` if none is out.
    /// O(entries in flight), of which there are at most [`max_pending`](super::TtlConfig::max_pending).
    ///
    /// The age cannot grow past the pending timeout, because such a proposal counts as failed with the next poll.
    /// An age that stays near the timeout means that the log gives no answers.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// set.role_change(Role::Leader, 0);
    /// set.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!(set.oldest_pending(5_000_000), None);
    /// assert_eq!(set.poll(5_000_000).count(), 1);
    /// assert_eq!(set.oldest_pending(7_000_000), Some(2_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn oldest_pending(&self, now: u64) -> Option<u64> {
        let pending = self.entries.flights().filter(|it| it.phase == Phase::Pending);
        let proposed_ns = pending.map(|flight| flight.proposed_ns).min()?;
        Some(now.saturating_sub(proposed_ns))
    }
}
