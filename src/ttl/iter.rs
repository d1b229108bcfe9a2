//! Looking at the entries in the order in which they are due.

use super::entries::Walk;
use super::{TtlInfo, TtlSet};
use crate::geometry::Geometry;
use crate::wheel::iter::counted;

impl<K, G: Geometry> TtlSet<K, G> {
    /// All entries in order of deadline, first come first among equals, whatever their phase.
    ///
    /// Lazy as [`Wheel::ascending`](crate::Wheel::ascending): `.take(n)` answers for the next n without reading all
    /// the others. O(m log m) to begin with, for the m entries in flight; O(n log n) for all n entries.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlSet};
    ///
    /// let mut set: TtlSet<char> = TtlSet::new(0, TtlConfig::default());
    /// for (ttl_ms, key) in [(30, 'c'), (10, 'a'), (20, 'b')] {
    ///     set.init(1, key, ttl_ms, Context::default())?;
    /// }
    /// let keys: String = set.iter().map(|info| info.entry.key).collect();
    /// assert_eq!(keys, "abc");
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn iter(&self) -> Iter<'_, K, G> {
        Iter {
            set: self,
            walk: self.entries.walk(),
            left: self.len(),
        }
    }

    /// The entry with the earliest deadline, whatever its phase. As the first step of [`iter`](Self::iter), which reads
    /// a whole bucket of the wheel; [`next_wake`](Self::next_wake) is O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0, TtlConfig::default());
    /// set.init(1, "key", 5, Context::default())?; // 5 ms
    /// set.init(2, "sooner", 3, Context::default())?;
    /// assert_eq!(set.oldest().unwrap().entry.key, "sooner");
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn oldest(&self) -> Option<TtlInfo<'_, K>> {
        self.iter().next()
    }
}

impl<'a, K, G: Geometry> IntoIterator for &'a TtlSet<K, G> {
    type Item = TtlInfo<'a, K>;
    type IntoIter = Iter<'a, K, G>;

    fn into_iter(self) -> Iter<'a, K, G> {
        self.iter()
    }
}

/// All entries in order of deadline, from [`TtlSet::iter`] or [`TtlQueue::iter`](super::TtlQueue::iter).
///
/// ```
/// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
/// queue.init(1, "key", 5, Context::default())?; // 5 ms
/// let mut infos = queue.iter();
/// assert_eq!(infos.next().unwrap().entry.key, "key");
/// assert!(infos.next().is_none());
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct Iter<'a, K, G: Geometry> {
    set: &'a TtlSet<K, G>,
    walk: Walk<'a, G>,
    left: usize,
}

impl<'a, K, G: Geometry> Iterator for Iter<'a, K, G> {
    type Item = TtlInfo<'a, K>;

    fn next(&mut self) -> Option<TtlInfo<'a, K>> {
        let slot = self.walk.next()?;
        self.left -= 1;
        Some(self.set.info(slot))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

counted!("Iter", Iter<'_, K, G>, K, G: Geometry);
