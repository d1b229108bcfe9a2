//! When to poll again.

use super::TtlQueue;
use super::item::Wait;
use crate::geometry::Geometry;

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// How long the caller may sleep before the next [`poll`](Self::poll), in nanoseconds from
    /// `now`, exactly; `None` when there is nothing to wait for, when the role is not leader, or
    /// after [`stop`](Self::stop).
    ///
    /// It is 0 while something is due; else it leads to the earliest of all deadlines, retries and
    /// pending timeouts.
    ///
    /// O(1) as long as the earliest deadline and the earliest retry are known: after a poll that
    /// came to its end they are, and remain so unless the very entry that is earliest leaves, or is
    /// put off, outside of a poll. Then each call searches, up to the next poll:
    /// [`Wheel::next_deadline`](crate::Wheel::next_deadline) says what that costs, O(n) at worst.
    /// [`wake_bound`](Self::wake_bound) never does.
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
        let times = [
            self.queue.earliest(self.roster.slots()),
            self.retries.earliest(),
            self.timeout(),
        ];
        let earliest = times.into_iter().flatten().min()?;
        Some(earliest.saturating_sub(now.max(self.now)))
    }

    /// A time in nanoseconds from `now` that is never after that of
    /// [`next_wake`](Self::next_wake), and before it only if the earliest entry has left or was put
    /// off since the last poll. O(1).
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
        let times = [self.queue.bound(), self.retries.bound(), self.timeout()];
        let earliest = times.into_iter().flatten().min()?;
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
