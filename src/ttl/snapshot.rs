//! The replicated part of a queue: taken out whole, and put in whole.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;

use super::TtlQueue;
use super::config::NS_PER_MS;
use super::entry::Entry;
use super::error::TtlError;
use crate::geometry::Geometry;

impl<K: Ord, G: Geometry, S> TtlQueue<K, G, S> {
    /// All entries in order of key: the same on every replica that applied the same log, whatever
    /// its role, its clock and its hasher. O(n log n).
    ///
    /// What is local stays out of it: deadlines, phases, attempts. With the feature `serde` it can
    /// be serialized, and read back as a `Vec` of entries; [`encode`](Self::encode) needs no
    /// feature.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "b", 900, Context { leader_start_ms: 5_000, ..Context::default() })?;
    /// queue.init(2, "a", 900, Context { leader_start_ms: 5_400, ..Context::default() })?;
    /// let entries: Vec<_> = queue.snapshot().cloned().collect();
    /// assert_eq!((entries[0].key, entries[1].key), ("a", "b"));
    ///
    /// // A second after the first was set, elsewhere.
    /// let mut other: TtlQueue<&str> = TtlQueue::new(70_000_000_000, TtlConfig::default());
    /// other.restore(entries, 70_000_000_000, 6_000)?;
    /// assert_eq!(other.remaining("a", 70_000_000_000), Some(300_000_000));
    /// assert_eq!(other.remaining("b", 70_000_000_000), Some(0));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn snapshot(&self) -> Snapshot<'_, K> {
        let mut entries: Vec<&Entry<K>> = Vec::with_capacity(self.len());
        entries.extend(self.roster.items().map(|(_, item)| &item.entry));
        entries.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Snapshot {
            entries: entries.into_iter(),
        }
    }
}

impl<K: Hash + Ord, G: Geometry, S: BuildHasher> TtlQueue<K, G, S> {
    /// Replaces **everything** by these entries, which may be in any order. O(n), or O(n log n) if
    /// they are not in order of key.
    ///
    /// Each is due when the rest of its TTL is over: at `now + ttl - max(0, wall_now -
    /// leader_start)`, in the past if it is overdue. `now` is this replica's monotonic clock in
    /// nanoseconds, `wall_now_ms` its wall clock in milliseconds. So a TTL does not begin anew, and
    /// a wall clock behind that of the leader only lengthens it, to the whole TTL at most. Indexes
    /// are kept; what was pending or waiting for a retry is forgotten, and old answers are stale.
    /// The role, the counters and whether the queue is stopped stay as they are.
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`], [`TtlError::ZeroTtl`], [`TtlError::DuplicateKey`] or
    /// [`TtlError::Full`]. The queue is as it was then.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut leader: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// let ctx = Context { leader_start_ms: 10_000, ..Context::default() };
    /// leader.init(1, "key", 900, ctx)?;
    ///
    /// // 400 ms later, on a replica whose monotonic clock began elsewhere.
    /// let now = 77_000_000_000;
    /// let mut replica: TtlQueue<&str> = TtlQueue::new(now, TtlConfig::default());
    /// replica.restore(leader.snapshot().cloned(), now, 10_400)?;
    /// assert_eq!(replica.remaining("key", now), Some(500_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn restore(
        &mut self,
        entries: impl IntoIterator<Item = Entry<K>>,
        now: u64,
        wall_now_ms: u64,
    ) -> Result<(), TtlError> {
        let entries: Vec<Entry<K>> = entries.into_iter().collect();
        for entry in &entries {
            if entry.ttl_ms == 0 {
                return Err(TtlError::ZeroTtl);
            }
            self.config.check_ttl(entry.ttl_ms)?;
        }
        if has_duplicates(&entries) {
            return Err(TtlError::DuplicateKey);
        }
        if !self
            .roster
            .has_room(entries.len().saturating_sub(self.len()))
        {
            return Err(TtlError::Full);
        }
        self.tick(now);
        self.clear();
        self.reserve(entries.len());
        for entry in entries {
            let hash = self.roster.hash(&entry.key);
            let elapsed_ms = wall_now_ms.saturating_sub(entry.leader_start_ms);
            let deadline_ns = restored_deadline_ns(self.now, entry.ttl_ms, elapsed_ms);
            self.insert(hash, entry, deadline_ns);
        }
        Ok(())
    }
}

/// Whether two entries have the same key. O(n) if they are in order of key.
fn has_duplicates<K: Ord>(entries: &[Entry<K>]) -> bool {
    if entries.is_sorted_by(|one, next| one.key < next.key) {
        return false;
    }
    let mut keys: Vec<&K> = entries.iter().map(|entry| &entry.key).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

/// When a TTL is over of which this much has elapsed; both ends of time are bounds.
fn restored_deadline_ns(now: u64, ttl_ms: u64, elapsed_ms: u64) -> u64 {
    let ns = |ms| u128::from(ms) * u128::from(NS_PER_MS);
    let end = u128::from(now) + ns(ttl_ms);
    u64::try_from(end.saturating_sub(ns(elapsed_ms))).unwrap_or(u64::MAX)
}

/// All entries in order of key, from [`TtlQueue::snapshot`].
///
/// ```
/// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
/// queue.init(1, "key", 5, Context::default())?; // 5 ms
/// let mut entries = queue.snapshot();
/// assert_eq!(entries.len(), 1);
/// assert_eq!(entries.next().unwrap().key, "key");
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct Snapshot<'a, K> {
    entries: vec::IntoIter<&'a Entry<K>>,
}

impl<K> Clone for Snapshot<'_, K> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
        }
    }
}

impl<'a, K> Iterator for Snapshot<'a, K> {
    type Item = &'a Entry<K>;

    fn next(&mut self) -> Option<&'a Entry<K>> {
        self.entries.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<K> ExactSizeIterator for Snapshot<'_, K> {}
impl<K> FusedIterator for Snapshot<'_, K> {}

#[cfg(feature = "serde")]
impl<K: serde::Serialize> serde::Serialize for Snapshot<'_, K> {
    /// Stores the entries as a sequence, to be read back as a `Vec<Entry<K>>`.
    fn serialize<Z: serde::Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        serializer.collect_seq(self.clone())
    }
}

impl<K> fmt::Debug for Snapshot<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({} left)", self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::cmp::Ordering;

    use super::*;

    /// A key that counts how often it is compared.
    #[derive(Eq)]
    struct Counting<'a>(u32, &'a Cell<usize>);

    impl PartialEq for Counting<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl PartialOrd for Counting<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Counting<'_> {
        fn cmp(&self, other: &Self) -> Ordering {
            self.1.set(self.1.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    fn entries(keys: impl Iterator<Item = u32>, count: &Cell<usize>) -> Vec<Entry<Counting<'_>>> {
        let entry = |key| Entry {
            key: Counting(key, count),
            index: 1,
            owner: 0,
            leader_start_ms: 0,
            ttl_ms: 1,
        };
        keys.map(entry).collect()
    }

    #[test]
    fn duplicates_are_found_wherever_they_are_and_without_sorting_what_is_sorted() {
        let compared = Cell::new(0);
        assert!(!has_duplicates(&entries(0..1_000, &compared)));
        assert_eq!(compared.get(), 999, "each with the next");
        assert!(!has_duplicates(&entries((0..1_000).rev(), &compared)));
        for duplicate in [0, 500, 999] {
            assert!(has_duplicates(&entries(
                (0..1_000).chain([duplicate]),
                &compared
            )));
        }
    }
}
