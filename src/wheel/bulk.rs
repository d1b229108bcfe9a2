//! All timers at once: changing them, sorting them out, taking them over and adding many.

use core::iter::Enumerate;

use crate::geometry::Geometry;
use crate::key::TimerKey;
use crate::node::{Node, NodeIndex, PAGE};
use crate::pages;
use crate::slots::Slot;
use crate::wheel::Wheel;
use crate::wheel::iter::counted;
use crate::wheel::timer::Expired;

/// A live timer whose value may be changed, from [`Wheel::iter_mut`].
///
/// ```
/// use timer_wheel::{TimerMut, Wheel};
///
/// let mut wheel = Wheel::new(0);
/// let key = wheel.schedule(10, 7);
/// let timer = wheel.iter_mut().next();
/// assert_eq!(timer, Some(TimerMut::new(key, 10, &mut 7)));
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimerMut<'a, T> {
    /// The timer's key.
    pub key: TimerKey,
    /// When the timer is due, in nanoseconds.
    pub deadline: u64,
    /// The value that was scheduled.
    pub value: &'a mut T,
}

impl<'a, T> TimerMut<'a, T> {
    /// Makes one, for tests. O(1).
    ///
    /// ```
    /// use timer_wheel::{TimerMut, Wheel};
    ///
    /// let key = Wheel::new(0).schedule(10, 7);
    /// assert_eq!(TimerMut::new(key, 10, &mut 7).deadline, 10);
    /// ```
    pub fn new(key: TimerKey, deadline: u64, value: &'a mut T) -> Self {
        Self { key, deadline, value }
    }
}

impl<T, G: Geometry> Wheel<T, G> {
    /// All live timers with their values to be changed, in no particular order. O(slots) in all.
    ///
    /// A deadline is changed by [`reschedule`](Wheel::reschedule), with the keys that this shows.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// let key = wheel.schedule(10, 1);
    /// wheel.schedule(20, 2);
    /// for timer in wheel.iter_mut() {
    ///     *timer.value *= 10;
    /// }
    /// assert_eq!(wheel.get(key), Some(&10));
    /// ```
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut { left: self.len(), nodes: self.hierarchy.nodes.iter_mut().enumerate() }
    }

    /// Cancels every timer that `f` answers `false` for, given its key, deadline and value, in no
    /// particular order. O(slots).
    ///
    /// # Panics
    ///
    /// If `f` does, and then the timer it was called for is kept, as are those it was not called for.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut sessions = Wheel::new(0);
    /// for (deadline, user) in [(10, "ann"), (20, "bob"), (30, "ann")] {
    ///     sessions.schedule(deadline, user);
    /// }
    /// sessions.retain(|_, _, user| *user != "ann"); // logged out everywhere
    /// assert_eq!((sessions.len(), sessions.next_deadline()), (1, Some(20)));
    /// ```
    pub fn retain(&mut self, mut f: impl FnMut(TimerKey, u64, &mut T) -> bool) {
        for index in 0..self.hierarchy.nodes.len() {
            let node = self.hierarchy.nodes.at_mut(index);
            let Some(TimerMut { key, deadline, value }) = timer_mut((index, node)) else {
                continue;
            };
            if !f(key, deadline, value) {
                drop(self.cancel(key));
            }
        }
    }

    /// Takes a timer out, due or not, whichever is at hand. O(1), O(log k) from the near heap.
    pub(super) fn take_any(&mut self) -> Option<Expired<T>> {
        let index = self.hierarchy.any()?;
        let deadline = self.hierarchy.node(index).deadline;
        let (key, value) = self.hierarchy.cancel(index, |slot| slot.vacate(index))?;
        self.slots.freed(key);
        Some(Expired { key, deadline, value })
    }
}

impl<T, G: Geometry> Extend<(u64, T)> for Wheel<T, G> {
    /// Schedules each value at its deadline in nanoseconds. O(1) each, as [`Wheel::schedule`].
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.extend([(20, 'b'), (10, 'a')]);
    /// assert_eq!(wheel.pop_first().map(|timer| timer.value), Some('a'));
    /// ```
    fn extend<I: IntoIterator<Item = (u64, T)>>(&mut self, timers: I) {
        for (deadline, value) in timers {
            self.schedule(deadline, value);
        }
    }
}

impl<T, G: Geometry> FromIterator<(u64, T)> for Wheel<T, G> {
    /// Makes a wheel at time 0 and schedules each value at its deadline in nanoseconds. O(n).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel: Wheel<char> = [(20, 'b'), (10, 'a')].into_iter().collect();
    /// assert_eq!(wheel.pop_first().map(|timer| timer.value), Some('a'));
    /// ```
    fn from_iter<I: IntoIterator<Item = (u64, T)>>(timers: I) -> Self {
        let mut wheel = Self::with_geometry(0);
        wheel.extend(timers);
        wheel
    }
}

impl<T, G: Geometry> IntoIterator for Wheel<T, G> {
    type Item = Expired<T>;
    type IntoIter = IntoIter<T, G>;

    /// Takes all timers out, due or not, in no particular order. O(n) in all.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(10, "value");
    /// let left: Vec<_> = wheel.into_iter().map(|timer| (timer.deadline, timer.value)).collect();
    /// assert_eq!(left, [(10, "value")]);
    /// ```
    fn into_iter(self) -> IntoIter<T, G> {
        IntoIter { wheel: self }
    }
}

impl<'a, T, G: Geometry> IntoIterator for &'a mut Wheel<T, G> {
    type Item = TimerMut<'a, T>;
    type IntoIter = IterMut<'a, T>;

    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}

/// All timers with their values to be changed, in no particular order, from [`Wheel::iter_mut`].
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::new(0);
/// wheel.schedule(10, 1);
/// let mut timers = wheel.iter_mut();
/// assert_eq!(timers.len(), 1);
/// assert_eq!(timers.next().map(|timer| *timer.value), Some(1));
/// ```
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct IterMut<'a, T> {
    nodes: Enumerate<pages::IterMut<'a, Node<Slot<T>>, PAGE>>,
    left: usize,
}

/// All timers of a wheel, in no particular order, from its `into_iter`.
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::new(0);
/// wheel.schedule(10, 1);
/// let mut timers = wheel.into_iter();
/// assert_eq!(timers.len(), 1);
/// assert_eq!(timers.next().map(|timer| timer.value), Some(1));
/// ```
pub struct IntoIter<T, G: Geometry> {
    wheel: Wheel<T, G>,
}

/// The timer of the node at an index, to be changed, if there is one.
fn timer_mut<T>((index, node): (usize, &mut Node<Slot<T>>)) -> Option<TimerMut<'_, T>> {
    let (key, value) = node.value.timer_mut(NodeIndex::new(index))?;
    Some(TimerMut { key, deadline: node.deadline, value })
}

impl<'a, T> Iterator for IterMut<'a, T> {
    type Item = TimerMut<'a, T>;

    fn next(&mut self) -> Option<TimerMut<'a, T>> {
        // Spares the free slots behind the last timer.
        self.left = self.left.checked_sub(1)?;
        self.nodes.find_map(timer_mut)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T, G: Geometry> Iterator for IntoIter<T, G> {
    type Item = Expired<T>;

    fn next(&mut self) -> Option<Expired<T>> {
        self.wheel.take_any()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.wheel.len(), Some(self.wheel.len()))
    }
}

counted!("IterMut", IterMut<'_, T>, T);
counted!("IntoIter", IntoIter<T, G>, T, G: Geometry);
