//! Looking at the entries in the order in which they are due.

use core::fmt;
use core::iter::{FusedIterator, Peekable};

use super::TtlQueue;
use super::drawn;
use super::entry::Timer;
use super::item::ItemIndex;
use crate::geometry::Geometry;
use crate::hierarchy::search::Ascent;

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// All entries in order of deadline, first come first among equals, whatever their phase.
    ///
    /// Lazy as [`Wheel::ascending`](crate::Wheel::ascending): `.take(n)` answers for the next n
    /// without looking at all the rest. O(n log n) for all of them.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<char> = TtlQueue::new(0, TtlConfig::default());
    /// for (ttl_ms, key) in [(30, 'c'), (10, 'a'), (20, 'b')] {
    ///     queue.init(1, key, ttl_ms, Context::default())?;
    /// }
    /// let keys: String = queue.iter().map(|timer| timer.entry.key).collect();
    /// assert_eq!(keys, "abc");
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn iter(&self) -> Iter<'_, K, G, S> {
        Iter {
            queue: self,
            ascent: self.queue.ascent(self.roster.slots()),
            queued: None,
            drawn: self.drawn.iter().peekable(),
            left: self.len(),
        }
    }

    /// The entry with the earliest deadline, whatever its phase. O(1) if one has been drawn and is
    /// the earliest, else as the first step of [`iter`](Self::iter).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// queue.init(2, "sooner", 3, Context::default())?;
    /// assert_eq!(queue.oldest().unwrap().entry.key, "sooner");
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn oldest(&self) -> Option<Timer<'_, K>> {
        self.iter().next()
    }

    pub(super) fn timer(&self, item: ItemIndex) -> Timer<'_, K> {
        let known = self.roster.item(item);
        Timer {
            entry: &known.entry,
            deadline_ns: known.rank.deadline_ns,
            phase: known.phase_in(self.epoch),
            attempts: known.attempts_in(self.epoch),
        }
    }
}

impl<'a, K, G: Geometry, S> IntoIterator for &'a TtlQueue<K, G, S> {
    type Item = Timer<'a, K>;
    type IntoIter = Iter<'a, K, G, S>;

    fn into_iter(self) -> Iter<'a, K, G, S> {
        self.iter()
    }
}

/// All entries in order of deadline, from [`TtlQueue::iter`].
///
/// ```
/// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
/// queue.init(1, "key", 5, Context::default())?; // 5 ms
/// let mut timers = queue.iter();
/// assert_eq!(timers.next().unwrap().entry.key, "key");
/// assert!(timers.next().is_none());
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct Iter<'a, K, G: Geometry, S> {
    queue: &'a TtlQueue<K, G, S>,
    ascent: Ascent,
    /// The first entry of the ascent that has not been handed out.
    queued: Option<ItemIndex>,
    drawn: Peekable<drawn::Iter<'a>>,
    left: usize,
}

impl<'a, K, G: Geometry, S> Iterator for Iter<'a, K, G, S> {
    type Item = Timer<'a, K>;

    fn next(&mut self) -> Option<Timer<'a, K>> {
        let roster = &self.queue.roster;
        if self.queued.is_none() {
            self.queued = self.queue.queue.ascend(roster.slots(), &mut self.ascent);
        }
        let queued = self.queued;
        let drawn = self.drawn.peek().map(|&(rank, item)| (rank, item));
        let item = match (queued, drawn) {
            (Some(queued), Some((rank, drawn))) if roster.item(queued).rank > rank => drawn,
            (None, Some((_, drawn))) => drawn,
            (Some(queued), _) => queued,
            (None, None) => return None,
        };
        if queued == Some(item) {
            self.queued = None;
        } else {
            self.drawn.next();
        }
        self.left -= 1;
        Some(self.queue.timer(item))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, G: Geometry, S> ExactSizeIterator for Iter<'_, K, G, S> {}
impl<K, G: Geometry, S> FusedIterator for Iter<'_, K, G, S> {}

impl<K, G: Geometry, S> fmt::Debug for Iter<'_, K, G, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({} left)", self.left)
    }
}
