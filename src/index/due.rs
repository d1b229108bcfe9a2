//! A handle for the first timer that is due.

use core::fmt;

use super::{Due, IndexWheel};
use crate::engine::geometry::Geometry;
use crate::engine::near::lane::Lane;
use crate::engine::node::Next;

/// The first timer that is due, still in the wheel, from [`IndexWheel::peek_expired`]. If the handle is dropped, the
/// timer stays due.
///
/// ```
/// use timer_wheel::index::IndexWheel;
///
/// let mut wheel = IndexWheel::new(0);
/// wheel.set(0, 500);
/// drop(wheel.peek_expired(700));
/// assert_eq!(wheel.advance(700).count(), 1);
/// ```
#[must_use = "a due timer stays due unless it is removed or rearmed"]
pub struct DueIndex<'a, G: Geometry> {
    wheel: &'a mut IndexWheel<G>,
    due: Next,
}

impl<'a, G: Geometry> DueIndex<'a, G> {
    pub(super) fn new(wheel: &'a mut IndexWheel<G>, due: Next) -> Self {
        Self { wheel, due }
    }

    /// Takes the timer out, as [`IndexWheel::advance`] would. O(1), or O(log k) in the near heap of k timers.
    ///
    /// ```
    /// use timer_wheel::index::{Due, IndexWheel};
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(7, 500);
    /// let due = wheel.peek_expired(700).unwrap();
    /// assert_eq!(due.remove(), Due { index: 7, deadline: 500 });
    /// assert!(wheel.is_empty());
    /// ```
    pub fn remove(self) -> Due {
        self.wheel.fire(self.due)
    }

    /// Gives the timer a new deadline in nanoseconds, behind all timers of equal deadline. If the new deadline has
    /// passed, it is due again in its place in the order. Costs the same as [`IndexWheel::set`].
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(7, 500);
    /// wheel.peek_expired(700).unwrap().rearm(900);
    /// assert_eq!(wheel.expiration_delay(), Some(200));
    /// ```
    pub fn rearm(self, deadline: u64) {
        self.wheel.hierarchy.move_to(None, self.due.node, deadline);
    }

    /// Like [`rearm`](DueIndex::rearm), using the lane. If more than four timers of the lane are due later, the lane is
    /// ignored. When to use it: [`DueTimer::rearm_in`](crate::DueTimer::rearm_in).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// let lane = wheel.add_lane();
    /// wheel.set_in(lane, 7, 500);
    /// wheel.peek_expired(700).unwrap().rearm_in(lane, 900);
    /// assert_eq!(wheel.expiration_delay(), Some(200));
    /// ```
    pub fn rearm_in(self, lane: Lane, deadline: u64) {
        self.wheel.hierarchy.move_to(Some(lane), self.due.node, deadline);
    }

    /// The caller's index. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(7, 500);
    /// assert_eq!(wheel.peek_expired(700).map(|due| due.index()), Some(7));
    /// ```
    pub fn index(&self) -> u32 {
        self.due.node.to_bits()
    }

    /// When the timer was due, in nanoseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(7, 500);
    /// assert_eq!(wheel.peek_expired(700).map(|due| due.deadline()), Some(500));
    /// ```
    pub fn deadline(&self) -> u64 {
        self.due.deadline
    }
}

impl<G: Geometry> fmt::Debug for DueIndex<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueIndex")
            .field("index", &self.index())
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}
