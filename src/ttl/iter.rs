//! Looking at the entries in the order in which they are due.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use core::fmt;
use core::iter::FusedIterator;

use super::entry::TtlInfo;
use super::set::TtlSet;
use crate::geometry::Geometry;
use crate::header::Sequence;
use crate::heap::Near;
use crate::index::search::Ascent;
use crate::key::SlotIndex;

impl<K, G: Geometry> TtlSet<K, G> {
    /// All entries in order of deadline, first come first among equals, whatever their phase.
    ///
    /// Lazy as [`Wheel::ascending`](crate::Wheel::ascending): `.take(n)` answers for the next n
    /// without looking at all the rest. O(entries in flight) to begin with, O(n log n) for all of them.
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
        let in_flight = self.entries.slots_in_flight();
        let in_flight = in_flight.map(|slot| in_order(&self.entries.rank(slot)));
        Iter {
            set: self,
            ascent: self.entries.ascent(),
            queued: None,
            in_flight: in_flight.collect(),
            left: self.len(),
        }
    }

    /// The entry with the earliest deadline, whatever its phase. As the first step of
    /// [`iter`](Self::iter).
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

/// An entry by its place in the order of deadlines, the first the greatest.
type InOrder = Reverse<(u64, Sequence, SlotIndex)>;

fn in_order(entry: &Near) -> InOrder {
    Reverse((entry.deadline, entry.sequence, entry.slot))
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
    ascent: Ascent,
    /// The first entry of the ascent that has not been handed out.
    queued: Option<InOrder>,
    in_flight: BinaryHeap<InOrder>,
    left: usize,
}

impl<'a, K, G: Geometry> Iterator for Iter<'a, K, G> {
    type Item = TtlInfo<'a, K>;

    fn next(&mut self) -> Option<TtlInfo<'a, K>> {
        let set = self.set;
        if self.queued.is_none() {
            self.queued = set.entries.ascend(&mut self.ascent).as_ref().map(in_order);
        }
        let Reverse((.., slot)) = if self.queued.as_ref() < self.in_flight.peek() {
            self.in_flight.pop()?
        } else {
            self.queued.take()?
        };
        self.left -= 1;
        Some(set.info(slot))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, G: Geometry> ExactSizeIterator for Iter<'_, K, G> {}
impl<K, G: Geometry> FusedIterator for Iter<'_, K, G> {}

impl<K, G: Geometry> fmt::Debug for Iter<'_, K, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({} left)", self.left)
    }
}
