//! The iterators of an index wheel: due timers, and all timers in order.

use core::fmt;
use core::iter::FusedIterator;

use super::{Due, IndexWheel};
use crate::engine::budget::Budget;
use crate::engine::geometry::Geometry;

/// The timers that are due, from [`IndexWheel::advance`] and [`IndexWheel::advance_with_budget`].
///
/// Lazy: the clock has moved, and all other work happens as the iterator is pulled.
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
    wheel: &'a mut IndexWheel<G>,
    /// `None` means no bounds.
    budget: Option<&'a mut Budget>,
}

impl<'a, G: Geometry> IndexAdvance<'a, G> {
    #[inline]
    pub(super) fn new(wheel: &'a mut IndexWheel<G>, now: u64, budget: Option<&'a mut Budget>) -> Self {
        wheel.hierarchy.set_now(now);
        Self { wheel, budget }
    }
}

impl<G: Geometry> Iterator for IndexAdvance<'_, G> {
    type Item = Due;

    #[inline]
    fn next(&mut self) -> Option<Due> {
        let mut unlimited = Budget::UNLIMITED;
        let budget = self.budget.as_deref_mut().unwrap_or(&mut unlimited);
        let due = self.wheel.hierarchy.next_due(budget)?;
        Some(self.wheel.fire(due))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let most = self.budget.as_deref().map_or(usize::MAX, |budget| budget.work.min(budget.fires));
        (0, Some(self.wheel.len().min(most)))
    }
}

impl<G: Geometry> FusedIterator for IndexAdvance<'_, G> {}

impl<G: Geometry> fmt::Debug for IndexAdvance<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexAdvance").field("wheel", &self.wheel).field("budget", &self.budget).finish_non_exhaustive()
    }
}
