//! Looking at the timers of a wheel: in any order, in the order of time or its reverse; and taking
//! them all out.

use alloc::collections::BinaryHeap;

use crate::geometry::Geometry;
use crate::hierarchy::search::Ascent;
use crate::node::{NodeIndex, Ordered};
use crate::slots::Slot;
use crate::wheel::Wheel;
use crate::wheel::advance::LIVE;
use crate::wheel::timer::{Expired, TimerRef};

/// An iterator that knows how many are left, ends once and for all, and prints how many are left.
macro_rules! counted {
    ($name:literal, $iterator:ty, $($generics:tt)*) => {
        impl<$($generics)*> ExactSizeIterator for $iterator {}

        impl<$($generics)*> core::iter::FusedIterator for $iterator {}

        impl<$($generics)*> core::fmt::Debug for $iterator {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!($name, "({} left)"), self.len())
            }
        }
    };
}

pub(crate) use counted;

impl<T, G: Geometry> Wheel<T, G> {
    /// All live timers, in no particular order. O(slots) in all.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// wheel.schedule(20, 2);
    /// wheel.schedule(10, 1);
    /// assert_eq!(wheel.iter().map(|timer| timer.value).sum::<u32>(), 3);
    /// ```
    pub fn iter(&self) -> Iter<'_, T, G> {
        Iter { wheel: self, next: 0, left: self.len() }
    }

    /// All live timers in the order in which they will fire, without disturbing the wheel.
    ///
    /// Lazy: a bucket is read when those before it are used up, so that `.take(n)` answers for the
    /// next n without looking at the rest. O(n log n) for all of them.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<char>::new(0);
    /// for (deadline, value) in [(30, 'c'), (10, 'a'), (20, 'b')] {
    ///     wheel.schedule(deadline, value);
    /// }
    /// let oldest: String = wheel.ascending().take(2).map(|timer| timer.value).collect();
    /// assert_eq!(oldest, "ab");
    /// ```
    pub fn ascending(&self) -> Ascending<'_, T, G> {
        Ascending { wheel: self, ascent: self.hierarchy.ascent(self.len()) }
    }

    /// All live timers in the reverse of the order in which they will fire, without disturbing the
    /// wheel.
    ///
    /// O(n) for the first, because a postponed timer may be later than its bucket says, and O(log n) for
    /// each further one.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<char>::new(0);
    /// for (deadline, value) in [(30, 'c'), (10, 'a'), (20, 'b')] {
    ///     wheel.schedule(deadline, value);
    /// }
    /// let youngest: String = wheel.descending().take(2).map(|timer| timer.value).collect();
    /// assert_eq!(youngest, "cb");
    /// ```
    pub fn descending(&self) -> Descending<'_, T, G> {
        Descending { wheel: self, left: self.hierarchy.latest_first() }
    }

    /// Takes all timers out, due or not, in no particular order. O(n) in all.
    ///
    /// Dropping the iterator removes the rest.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// wheel.schedule(10, 1);
    /// wheel.schedule(20, 2);
    /// assert_eq!(wheel.drain().map(|timer| timer.value).sum::<u32>(), 3);
    /// assert!(wheel.is_empty());
    /// ```
    pub fn drain(&mut self) -> Drain<'_, T, G> {
        Drain { wheel: self }
    }

    /// The timer of a node that is scheduled.
    pub(super) fn timer_in(&self, index: NodeIndex) -> TimerRef<'_, T> {
        let node = self.hierarchy.node(index);
        let (key, value) = node.value.timer(index).expect(LIVE);
        TimerRef { key, deadline: node.deadline, value }
    }
}

impl<'a, T, G: Geometry> IntoIterator for &'a Wheel<T, G> {
    type Item = TimerRef<'a, T>;
    type IntoIter = Iter<'a, T, G>;

    fn into_iter(self) -> Iter<'a, T, G> {
        self.iter()
    }
}

/// All timers in no particular order, from [`Wheel::iter`].
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<u32>::new(0);
/// wheel.schedule(10, 1);
/// let mut timers = wheel.iter();
/// assert_eq!(timers.len(), 1);
/// assert_eq!(timers.next().map(|timer| *timer.value), Some(1));
/// ```
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct Iter<'a, T, G: Geometry> {
    wheel: &'a Wheel<T, G>,
    next: usize,
    left: usize,
}

/// All timers in the order in which they fire, from [`Wheel::ascending`].
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<u32>::new(0);
/// wheel.schedule(10, 1);
/// let mut timers = wheel.ascending();
/// assert_eq!(timers.len(), 1);
/// assert_eq!(timers.next().map(|timer| *timer.value), Some(1));
/// ```
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct Ascending<'a, T, G: Geometry> {
    wheel: &'a Wheel<T, G>,
    ascent: Ascent<'a, Slot<T>, G>,
}

/// All timers in the reverse of the order in which they fire, from [`Wheel::descending`].
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<u32>::new(0);
/// wheel.schedule(10, 1);
/// let mut timers = wheel.descending();
/// assert_eq!(timers.len(), 1);
/// assert_eq!(timers.next().map(|timer| *timer.value), Some(1));
/// ```
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct Descending<'a, T, G: Geometry> {
    wheel: &'a Wheel<T, G>,
    left: BinaryHeap<Ordered>,
}

/// All timers, taken out, from [`Wheel::drain`].
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<u32>::new(0);
/// wheel.schedule(10, 1);
/// wheel.schedule(20, 2);
/// assert_eq!(wheel.drain().len(), 2);
/// assert!(wheel.is_empty(), "dropping it removes the rest");
/// ```
pub struct Drain<'a, T, G: Geometry> {
    wheel: &'a mut Wheel<T, G>,
}

impl<'a, T, G: Geometry> Iterator for Iter<'a, T, G> {
    type Item = TimerRef<'a, T>;

    fn next(&mut self) -> Option<TimerRef<'a, T>> {
        // Spares the free slots behind the last timer.
        self.left = self.left.checked_sub(1)?;
        let is_scheduled = |&index: &NodeIndex| self.wheel.hierarchy.node(index).is_scheduled();
        let nodes = self.next..self.wheel.hierarchy.nodes.len();
        let index = nodes.map(NodeIndex::new).find(is_scheduled)?;
        self.next = index.get() + 1;
        Some(self.wheel.timer_in(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T, G: Geometry> Iterator for Ascending<'a, T, G> {
    type Item = TimerRef<'a, T>;

    fn next(&mut self) -> Option<TimerRef<'a, T>> {
        Some(self.wheel.timer_in(self.ascent.next()?.node))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ascent.size_hint()
    }
}

impl<'a, T, G: Geometry> Iterator for Descending<'a, T, G> {
    type Item = TimerRef<'a, T>;

    fn next(&mut self) -> Option<TimerRef<'a, T>> {
        Some(self.wheel.timer_in(self.left.pop()?.node))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.len(), Some(self.left.len()))
    }
}

impl<T, G: Geometry> Iterator for Drain<'_, T, G> {
    type Item = Expired<T>;

    fn next(&mut self) -> Option<Expired<T>> {
        self.wheel.take_any()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.wheel.len(), Some(self.wheel.len()))
    }
}

impl<T, G: Geometry> Drop for Drain<'_, T, G> {
    fn drop(&mut self) {
        self.wheel.clear();
    }
}

impl<T, G: Geometry> Clone for Iter<'_, T, G> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<T, G: Geometry> Clone for Ascending<'_, T, G> {
    fn clone(&self) -> Self {
        Self { ascent: self.ascent.clone(), ..*self }
    }
}

impl<T, G: Geometry> Clone for Descending<'_, T, G> {
    fn clone(&self) -> Self {
        Self { wheel: self.wheel, left: self.left.clone() }
    }
}

counted!("Iter", Iter<'_, T, G>, T, G: Geometry);
counted!("Ascending", Ascending<'_, T, G>, T, G: Geometry);
counted!("Descending", Descending<'_, T, G>, T, G: Geometry);
counted!("Drain", Drain<'_, T, G>, T, G: Geometry);
