//! Queries about the entries, and about the set as a whole.

use super::{Phase, Role, TtlConfig, TtlInfo, TtlKey, TtlSet, TtlStats};
use crate::Geometry;

impl<K, G: Geometry> TtlSet<K, G> {
    /// An entry, its deadline and phase, or `None` if the handle is stale. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Phase, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// let handle = set.init("key", 1, 5, Context::default())?.expect("the TTL is not 0");
    /// let info = set.get(handle).unwrap();
    /// assert_eq!((info.entry.index, info.deadline_ns, info.phase), (1, 5_000_000, Phase::Queued));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    #[inline]
    pub fn get(&self, handle: TtlKey) -> Option<TtlInfo<'_, K>> {
        let (record, deadline_ns) = self.entries.get(handle)?;
        let flight = self.entries.flight(record);
        let (phase, attempts) = flight.map_or((Phase::Queued, 0), |flight| (flight.phase, flight.attempts));
        Some(TtlInfo { handle, entry: &record.entry, deadline_ns, phase, attempts })
    }

    /// How long a key has left at `now`, in nanoseconds: 0 if it is due, `None` if the handle is stale.
    /// O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// let handle = set.init("key", 1, 5, Context::default())?.expect("the TTL is not 0");
    /// assert_eq!(set.remaining(handle, 2_000_000), Some(3_000_000));
    /// assert_eq!(set.remaining(handle, 9_000_000), Some(0), "overdue");
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn remaining(&self, handle: TtlKey, now: u64) -> Option<u64> {
        Some(self.get(handle)?.deadline_ns.saturating_sub(now))
    }

    /// All entries in order of deadline, first in first out among equals, whatever their phase.
    ///
    /// Lazy like [`Wheel::ascending`](crate::Wheel::ascending): `.take(n)` does not read all the other entries. O(m log
    /// m) to begin with, for the m entries in flight; O(n log n) for all n entries.
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
        self.entries.walk().map(|handle| self.get(handle).expect("an entry that is listed is live"))
    }

    /// The absolute time in nanoseconds at which to [`poll`](Self::poll) next; `None` if there is nothing to wait for,
    /// or after [`stop`](Self::stop). O(1).
    ///
    /// It is never before the latest time that was passed to the set, and equals that time while an entry is to be
    /// proposed or has timed out. It is never after the earliest of all deadlines, retries and pending timeouts.
    /// Deadlines do not count while [`max_pending`](TtlConfig::max_pending) entries are in flight.
    ///
    /// On a follower it is the time at which the deadlines of the next minute must be
    /// [prepared](crate::Wheel::prepare), so that nothing is left to move when the replica becomes the leader. It is
    /// the present time if a poll has used up its budget, and otherwise at least a minute after the last poll.
    ///
    /// The time may be early, like that of [`Wheel::wake_at`](crate::Wheel::wake_at): the poll then finds nothing, and
    /// the next time is later. An entry causes at most one early wake-up for each time that the
    /// wheel moves it, and one for each time that it was postponed. A caller that sleeps until then and polls to the
    /// end always makes progress.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// assert_eq!(queue.wake_at(), None, "there is no entry");
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// queue.role_change(Role::Leader, 1_000_000);
    /// assert_eq!(queue.wake_at(), Some(5_000_000));
    /// let clock = 2_000_000; // it has run on since the role changed
    /// let sleep = queue.wake_at().map(|at| at.saturating_sub(clock));
    /// assert_eq!(sleep, Some(3_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn wake_at(&self) -> Option<u64> {
        let earliest = if self.is_stopped {
            None
        } else if self.role != Role::Leader {
            self.entries.prepare_at()
        } else {
            let deadline = (self.room() != 0).then(|| self.entries.deadlines.wake_at());
            self.entries.flights.wake_at().into_iter().chain(deadline.flatten()).min()
        };
        Some(earliest?.max(self.now))
    }

    /// [`wake_at`](Self::wake_at) as a delay, in nanoseconds from the latest time that was passed to the set: for a
    /// caller that asks right after a poll. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.role_change(Role::Leader, 0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.poll(2_000_000).count(), 0);
    /// assert_eq!(queue.expiration_delay(), Some(3_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn expiration_delay(&self) -> Option<u64> {
        Some(self.wake_at()? - self.now)
    }

    /// The number of entries, in any phase. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// set.init("key", 1, 5, Context::default())?; // 5 ms
    /// set.init("other", 2, 9, Context::default())?;
    /// assert_eq!(set.len(), 2);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::TtlSet;
    ///
    /// let set: TtlSet<&str> = TtlSet::new(0);
    /// assert!(set.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of entries whose proposal has no answer yet. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.role_change(Role::Leader, 0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.poll(5_000_000).count(), 1);
    /// assert_eq!((queue.as_set().pending_len(), queue.len()), (1, 1));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn pending_len(&self) -> usize {
        self.entries.flights.len() - self.retrying_len()
    }

    /// The number of entries that wait to be proposed again after a failure. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.role_change(Role::Leader, 0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.poll(5_000_000).count(), 1);
    /// queue.failed("key", 1, 6_000_000);
    /// assert_eq!((queue.as_set().pending_len(), queue.as_set().retrying_len()), (0, 1));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn retrying_len(&self) -> usize {
        self.entries.retrying
    }

    /// The age at `now` of the oldest proposal without an answer, in nanoseconds; `None` if there is none. O(entries in
    /// flight), at most [`max_pending`](super::TtlConfig::max_pending).
    ///
    /// The age cannot grow past the pending timeout, because the next poll then counts the proposal as failed.
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
        let flights = self.entries.flights.iter().map(|timer| timer.value);
        let proposed_ns = flights.filter(|it| it.phase == Phase::Pending).map(|it| it.proposed_ns).min()?;
        Some(now.saturating_sub(proposed_ns))
    }

    /// The settings. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{TtlConfig, TtlSet};
    ///
    /// let set: TtlSet<&str> = TtlSet::new(0);
    /// assert_eq!(set.config(), &TtlConfig::default());
    /// ```
    pub fn config(&self) -> &TtlConfig {
        &self.config
    }

    /// Counts of the work so far, the current lengths, and how long entries and proposals waited. O(1): a copy of 1 kB.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// set.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!(set.stats().scheduled, 1);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn stats(&self) -> TtlStats {
        let [len, pending, retrying] = [self.len(), self.pending_len(), self.retrying_len()];
        TtlStats { len, pending, retrying, ..self.stats }
    }
}
