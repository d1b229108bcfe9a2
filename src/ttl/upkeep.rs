//! Snapshots, settings, capacity, and checks of the invariants.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use super::config::NS_PER_MS;
use super::{Entry, Phase, Role, TtlConfig, TtlError, TtlKey, TtlQueue, TtlSet, trace};
use crate::Geometry;

impl<K, G: Geometry> TtlSet<K, G> {
    /// All entries in order of key, and of index if two share a key. The snapshot is the same on every replica
    /// that applied the same log, whatever its role, its clock and its handles. O(n log n).
    ///
    /// It contains nothing local: no deadlines, phases, attempts or handles. With the feature `serde` it
    /// can be serialized, and read back as a `Vec` of entries.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// set.init("b", 1, 900, Context::default())?;
    /// set.init("a", 2, 900, Context::default())?;
    /// let keys: Vec<&str> = set.snapshot().iter().map(|entry| entry.key).collect();
    /// assert_eq!(keys, ["a", "b"]);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn snapshot(&self) -> Vec<&Entry<K>>
    where
        K: Ord,
    {
        let mut entries: Vec<&Entry<K>> = Vec::with_capacity(self.len());
        entries.extend(self.entries.iter());
        entries.sort_unstable_by(|a, b| a.key.cmp(&b.key).then(a.index.cmp(&b.index)));
        entries
    }

    /// Replaces **all** entries with these, and returns their handles in the same order. O(n), or O(n log n) if many of
    /// them are overdue.
    ///
    /// Each is due when the rest of its TTL is over: at `now + ttl - max(0, wall_now -
    /// leader_start)`, in the past if it is overdue. `now` is this replica's monotonic clock in
    /// nanoseconds, `wall_now_ms` its wall clock in milliseconds. So a TTL does not begin anew. A wall clock behind
    /// that of the leader lengthens it, at most to the whole TTL. Indexes are kept. No entry is pending or waits for a
    /// retry afterwards, and all earlier handles are stale. The role, the stats and whether the set is stopped stay as
    /// they are.
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`], [`TtlError::ZeroTtl`] or [`TtlError::Full`]. The set is unchanged then.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut leader: TtlSet<&str> = TtlSet::new(0);
    /// let ctx = Context::new(0).with_leader_start_ms(10_000);
    /// leader.init("key", 1, 900, ctx)?;
    ///
    /// // 400 ms later, on a replica whose monotonic clock began elsewhere.
    /// let now = 77_000_000_000;
    /// let mut replica: TtlSet<&str> = TtlSet::new(now);
    /// let handles = replica.restore(leader.snapshot().into_iter().cloned(), now, 10_400)?;
    /// assert_eq!(replica.remaining(handles[0], now), Some(500_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn restore(
        &mut self,
        entries: impl IntoIterator<Item = Entry<K>>,
        now: u64,
        wall_now_ms: u64,
    ) -> Result<Vec<TtlKey>, TtlError> {
        let restored = self.replace_all(entries.into_iter().collect(), now, wall_now_ms)?;
        trace::restored(restored.len());
        Ok(restored)
    }

    /// Like [`restore`](Self::restore), without the event.
    pub(super) fn replace_all(
        &mut self,
        entries: Vec<Entry<K>>,
        now: u64,
        wall_now_ms: u64,
    ) -> Result<Vec<TtlKey>, TtlError> {
        self.check_restore(&entries)?;
        self.tick(now);
        self.clear();
        self.reserve(entries.len());
        let restored = entries.into_iter().map(|entry| {
            let elapsed_ms = wall_now_ms.saturating_sub(entry.leader_start_ms);
            let deadline_ns = restored_deadline_ns(self.now, entry.ttl_ms, elapsed_ms);
            self.entries.insert(entry, deadline_ns)
        });
        Ok(restored.collect())
    }

    /// Refuses entries that cannot be restored.
    pub(super) fn check_restore(&self, entries: &[Entry<K>]) -> Result<(), TtlError> {
        for entry in entries {
            if entry.ttl_ms == 0 {
                return Err(TtlError::ZeroTtl);
            }
            self.config.check_ttl(entry.ttl_ms)?;
        }
        let more = entries.len().saturating_sub(self.len());
        self.entries.has_room(more).then_some(()).ok_or(TtlError::Full)
    }

    /// Changes the settings from the next call on. Times that have been set already stay. O(1).
    ///
    /// # Errors
    ///
    /// [`TtlError::InvalidConfig`], with nothing changed, if:
    ///
    /// - a batch or `max_pending` is 0, or the batches' sum overflows;
    /// - `max_pending` is below the number of entries in flight;
    /// - the budget of a poll, the retry delay or the pending timeout is 0;
    /// - the maximum TTL is less than a millisecond;
    /// - the cap of the backoff is below the retry delay;
    /// - a duration is more than 2^64 nanoseconds.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::{TtlConfig, TtlError, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// let mut config = TtlConfig::default();
    /// config.pending_timeout = Duration::from_secs(3);
    /// assert!(set.set_config(config.clone()).is_ok());
    /// config.pending_timeout = Duration::ZERO;
    /// assert!(matches!(set.set_config(config), Err(TtlError::InvalidConfig(_))));
    /// assert_eq!(set.config().pending_timeout, Duration::from_secs(3));
    /// ```
    pub fn set_config(&mut self, config: TtlConfig) -> Result<(), TtlError> {
        config.check()?;
        if self.entries.flights.len() > config.max_pending {
            return Err(TtlError::InvalidConfig("max_pending is below the number of entries in flight"));
        }
        self.config = config;
        Ok(())
    }

    /// Makes room for `additional` more entries. O(additional).
    ///
    /// # Panics
    ///
    /// If the set could never hold that many.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlSet;
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// set.reserve(1_000);
    /// assert!(set.is_empty());
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        let has_room = self.entries.has_room(additional);
        assert!(has_room, "there cannot be that many entries");
        self.entries.reserve(additional);
    }

    /// Drops all entries and gives their memory back. The clock, the role and the stats stay, and all
    /// handles become stale. O(n) for the n entries that there is memory for.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// let handle = set.init("key", 1, 5, Context::default())?.expect("the TTL is not 0");
    /// set.clear();
    /// assert!(set.is_empty() && set.get(handle).is_none());
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn clear(&mut self) {
        self.entries.clear(self.now);
    }

    /// Checks every invariant of the structure. O(n log n). For tests and fuzzing.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlSet;
    ///
    /// TtlSet::<u32>::new(0).check_invariants();
    /// ```
    pub fn check_invariants(&self) {
        self.entries.check();
        let in_flight = self.entries.flights.len();
        assert!(self.role == Role::Leader || in_flight == 0, "only a leader has proposals out");
        assert!(in_flight <= self.config.max_pending, "no more is in flight than may be");
        for info in self.iter().filter(|info| info.phase != Phase::Queued) {
            assert!(info.deadline_ns <= self.now, "only what is due is in flight");
        }
    }
}

impl<K: Hash + Eq, G: Geometry, S: BuildHasher> TtlQueue<K, G, S> {
    /// Checks every invariant of the structure. O(n log n). For tests and fuzzing.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlQueue;
    ///
    /// TtlQueue::<u32>::new(0).check_invariants();
    /// ```
    pub fn check_invariants(&self) {
        self.set.check_invariants();
        let listed: usize = self.tables.iter().map(|table| table.len()).sum();
        assert_eq!(listed, self.len(), "each entry is listed once");
        for info in self.set.iter() {
            assert_eq!(self.find(&info.entry.key), Some(info.handle), "an entry is listed under the hash of its key");
        }
    }
}

/// The end of a TTL of which `elapsed_ms` have passed, clamped to the range of a `u64`.
fn restored_deadline_ns(now: u64, ttl_ms: u64, elapsed_ms: u64) -> u64 {
    let ns = |ms| u128::from(ms) * u128::from(NS_PER_MS);
    let end = u128::from(now) + ns(ttl_ms);
    u64::try_from(end.saturating_sub(ns(elapsed_ms))).unwrap_or(u64::MAX)
}
