//! The invariants of the layer as a whole, each checked by name.

use core::hash::{BuildHasher, Hash};

use super::{Phase, Role, TtlQueue, TtlSet};
use crate::geometry::Geometry;

impl<K, G: Geometry> TtlSet<K, G> {
    /// Checks every invariant of the structure. O(n log n). For tests and fuzzing.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    ///
    /// ```
    /// use timer_wheel::ttl::{TtlConfig, TtlSet};
    ///
    /// TtlSet::<u32>::new(0, TtlConfig::default()).check_invariants();
    /// ```
    pub fn check_invariants(&self) {
        self.entries.check();
        let in_flight = self.entries.in_flight_len();
        assert!(self.role == Role::Leader || in_flight == 0, "only a leader has proposals out");
        assert!(in_flight <= self.config.max_pending(), "no more is in flight than may be");
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
    /// use timer_wheel::ttl::{TtlConfig, TtlQueue};
    ///
    /// TtlQueue::<u32>::new(0, TtlConfig::default()).check_invariants();
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
