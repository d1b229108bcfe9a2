//! The iterators of an index wheel: what is due, all timers in order, and all of them taken out.

use core::fmt;
use core::iter::{self, FusedIterator};

use super::{Due, IndexWheel};
use crate::budget::Budget;
use crate::geometry::Geometry;
use crate::hierarchy::search::Ascent;
use crate::node::Ordered;
use crate::wheel::iter::counted;

impl<G: Geometry> IndexWheel<G> {
    /// All timers in the order in which they will fire, without disturbing the wheel. As
    /// [`Wheel::ascending`](crate::Wheel::ascending), lazily.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// for (index, deadline) in [(0, 30), (1, 10), (2, 20)] {
    ///     wheel.set(index, deadline);
    /// }
    /// assert!(wheel.ascending().take(2).map(|due| due.index).eq([1, 2]));
    /// ```
    pub fn ascending(&self) -> impl ExactSizeIterator<Item = Due> + Clone + '_ {
        self.ascent().map(Due::from)
    }

    /// As [`ascending`](Self::ascending), with what orders each timer.
    pub(crate) fn ascent(&self) -> Ascent<'_, (), G> {
        self.hierarchy.ascent(self.len)
    }

    /// All timers in the reverse of the order in which they will fire, without disturbing the wheel. O(indexes) for
    /// the first, and O(log n) for each further one.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// for (index, deadline) in [(0, 30), (1, 10), (2, 20)] {
    ///     wheel.set(index, deadline);
    /// }
    /// assert!(wheel.descending().map(|due| due.index).eq([0, 2, 1]));
    /// ```
    pub fn descending(&self) -> impl Iterator<Item = Due> + Clone {
        let mut left = self.hierarchy.latest_first();
        iter::from_fn(move || left.pop()).map(Due::from)
    }

    /// Takes all timers out, due or not, in no particular order. O(timers) in all. Dropping the iterator removes the
    /// rest.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(1, 10);
    /// wheel.set(2, 20);
    /// assert_eq!(wheel.drain().map(|due| due.index).sum::<u32>(), 3);
    /// assert!(wheel.is_empty());
    /// ```
    pub fn drain(&mut self) -> IndexDrain<'_, G> {
        IndexDrain { wheel: self }
    }
}

/// The timers that are due, from [`IndexWheel::advance`] and [`IndexWheel::advance_with_budget`].
///
/// Lazy: the clock has moved, and the rest happens as it is pulled.
///
/// ```
/// use timer_wheel::index::IndexWheel;
///
/// let mut wheel = IndexWheel::new(0);
/// wheel.set(0, 10);
/// let _ = wheel.advance(10); // dropped, not pulled: nothing fires, nothing is lost
/// assert_eq!(wheel.advance(10).count(), 1);
/// ```
#[must_use = "no timer fires until an advance is iterated over"]
pub struct IndexAdvance<'a, G: Geometry> {
    pub(super) wheel: &'a mut IndexWheel<G>,
    budget: Budget,
    /// Whether nothing more is due.
    is_done: bool,
}

impl<'a, G: Geometry> IndexAdvance<'a, G> {
    #[inline]
    pub(super) fn new(wheel: &'a mut IndexWheel<G>, now: u64, budget: Budget) -> Self {
        wheel.hierarchy.set_now(now);
        Self { is_done: wheel.hierarchy.is_idle(), wheel, budget }
    }

    /// Whether work that is due by now is left. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// (0..100).for_each(|index| wheel.set(index, 7));
    /// let mut advance = wheel.advance_with_budget(7, 10);
    /// assert_eq!(advance.by_ref().count(), 10);
    /// assert!(advance.has_backlog());
    /// ```
    pub fn has_backlog(&self) -> bool {
        self.wheel.has_backlog()
    }

    /// The part of the budget of work that has not been used, in units. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(0, 7);
    /// let mut advance = wheel.advance_with_budget(7, 10);
    /// assert_eq!(advance.by_ref().count(), 1);
    /// assert_eq!(advance.unused(), 9);
    /// ```
    pub fn unused(&self) -> usize {
        self.budget.work
    }

    /// The timer that fires next, if there is one and there is budget to fire it.
    #[inline]
    pub(super) fn next_due(&mut self) -> Option<Ordered> {
        if self.is_done {
            return None;
        }
        let due = self.wheel.hierarchy.next_due(&mut self.budget);
        self.is_done = due.is_none();
        due
    }

    #[inline]
    pub(super) fn pay_for_fire(&mut self) {
        self.budget.pay_for_fire();
    }
}

impl<G: Geometry> Iterator for IndexAdvance<'_, G> {
    type Item = Due;

    #[inline]
    fn next(&mut self) -> Option<Due> {
        let due = self.next_due()?;
        self.budget.pay_for_fire();
        let fired = self.wheel.fire(due);
        // Mostly there is no need to be asked again.
        self.is_done = self.wheel.hierarchy.is_idle();
        Some(fired)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let most = self.budget.work.min(self.budget.fires);
        (0, Some(self.wheel.len().min(most)))
    }
}

impl<G: Geometry> FusedIterator for IndexAdvance<'_, G> {}

impl<G: Geometry> fmt::Debug for IndexAdvance<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexAdvance").field("wheel", &self.wheel).field("budget", &self.budget).finish_non_exhaustive()
    }
}

/// All timers, taken out, from [`IndexWheel::drain`].
///
/// ```
/// use timer_wheel::index::IndexWheel;
///
/// let mut wheel = IndexWheel::new(0);
/// wheel.set(1, 10);
/// assert_eq!(wheel.drain().len(), 1);
/// assert!(wheel.is_empty(), "dropping it removes the rest");
/// ```
pub struct IndexDrain<'a, G: Geometry> {
    wheel: &'a mut IndexWheel<G>,
}

impl<G: Geometry> Iterator for IndexDrain<'_, G> {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        self.wheel.take_any()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.wheel.len, Some(self.wheel.len))
    }
}

impl<G: Geometry> Drop for IndexDrain<'_, G> {
    fn drop(&mut self) {
        self.wheel.clear();
    }
}

counted!("IndexDrain", IndexDrain<'_, G>, G: Geometry);
