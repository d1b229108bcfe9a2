//! When to poll again.

use super::TtlQueue;
use super::item::Wait;
use crate::geometry::Geometry;

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// How long the caller may sleep before the next [`poll`](Self::poll), in nanoseconds from
    /// `now`; `None` when there is nothing to wait for, when the role is not leader, or after
    /// [`stop`](Self::stop).
    ///
    /// It is 0 while something is due; else it leads to the earliest of all deadlines, retries and
    /// pending timeouts. Never after it, and exactly to it with one exception: where the earliest
    /// deadline has left, and 256 others or more may be the next because they share a bucket of the
    /// wheel, it leads to the beginning of that bucket. A poll then finds nothing and spreads them over
    /// smaller buckets, so that a handful of such wake-ups, one for each level, ends at the time.
    ///
    /// O(levels), and a look at 256 entries at the most.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.next_wake(0), None, "a follower waits for nothing");
    /// queue.role_change(Role::Leader, 0);
    /// assert_eq!(queue.next_wake(2_000_000), Some(3_000_000));
    /// assert_eq!(queue.next_wake(9_000_000), Some(0));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn next_wake(&self, now: u64) -> Option<u64> {
        if !self.is_proposing() {
            return None;
        }
        if self.drawn.put_back().is_some() {
            return Some(0); // what has been drawn once is due
        }
        let deadline = self.queue.soonest(self.roster.slots());
        self.wait_for(sooner(deadline, self.retries.soonest()), now)
    }

    /// A time in nanoseconds from `now` that is never after that of
    /// [`next_wake`](Self::next_wake), and before it only if the earliest entry has left or was put
    /// off since the last poll. O(1), without a look at any entry.
    ///
    /// For a caller that wants to know after each `init` or `update` whether it must wake up
    /// earlier: waking up too early is harmless, and the poll finds out the exact time.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// queue.update(2, "key", 50, Context::default())?;
    /// assert_eq!(queue.next_wake(0), Some(50_000_000));
    /// assert!(queue.wake_bound(0) <= Some(50_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn wake_bound(&self, now: u64) -> Option<u64> {
        if !self.is_proposing() {
            return None;
        }
        if self.drawn.put_back().is_some() {
            return Some(0);
        }
        self.wait_for(sooner(self.queue.bound(), self.retries.bound()), now)
    }

    /// How long it is from `now` to that time, or to the earliest pending timeout.
    #[inline]
    fn wait_for(&self, time: Option<u64>, now: u64) -> Option<u64> {
        let earliest = sooner(time, self.timeout())?;
        Some(earliest.saturating_sub(now.max(self.now)))
    }

    /// When the entry that has been pending for longest counts as failed.
    pub(super) fn timeout(&self) -> Option<u64> {
        match self.roster.item(self.pending.first()?).wait_in(self.epoch) {
            Wait::Answer(link) => Some(self.timeout_of(link.proposed_ns())),
            Wait::Turn | Wait::Retry(_) => None,
        }
    }

    #[inline]
    fn timeout_of(&self, proposed_ns: u64) -> u64 {
        proposed_ns.saturating_add(self.config.pending_timeout_ns())
    }
}

/// The earlier of two times, as far as there are two.
#[inline]
fn sooner(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
