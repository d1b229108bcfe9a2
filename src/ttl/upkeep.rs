//! The upkeep of the layer: its settings, its room, and its invariants, each checked by name.

use core::hash::{BuildHasher, Hash};

use super::{Phase, Role, TtlConfig, TtlError, TtlQueue, TtlSet};
use crate::Geometry;

impl<K, G: Geometry> TtlSet<K, G> {
    /// Changes the settings from the next call on. Times that have been set already stay. O(1).
    ///
    /// # Errors
    ///
    /// [`TtlError::InvalidConfig`] if a batch or the most in flight is 0, or the batches' sum overflows; if more entries are
    /// in flight than may be; if the budget of a poll, the retry delay or the pending timeout is 0; if the maximum TTL is
    /// less than a millisecond; if the cap of the backoff is below the retry delay; if a duration is more than 2^64
    /// nanoseconds. Nothing has changed then.
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
            return Err(TtlError::InvalidConfig("more entries are in flight than may be"));
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
