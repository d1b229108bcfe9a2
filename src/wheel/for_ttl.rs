//! What the TTL layer needs of a wheel beside its public calls.

use crate::engine::budget::Budget;
use crate::engine::geometry::Geometry;
use crate::engine::node::MAX_TIMERS;
use crate::wheel::Wheel;
use crate::wheel::key::TimerKey;

impl<T, G: Geometry> Wheel<T, G> {
    /// Holds the next timer that is due by `now` nanoseconds, also if the clock is ahead, within the budget.
    #[inline]
    pub(crate) fn hold_due(&mut self, now: u64, budget: &mut Budget) -> Option<TimerKey> {
        let due = self.peek_expired_with_budget(now, budget)?;
        if due.deadline() > now {
            budget.refund_fire();
            return None;
        }
        Some(due.hold())
    }

    /// How many more timers there can be.
    pub(crate) fn room(&self) -> usize {
        MAX_TIMERS - self.len() - self.slots.retired()
    }

    /// Gives back the last page of nodes if it is free, and more than half of all are. O(nodes of a page).
    #[inline]
    pub(crate) fn give_back(&mut self) {
        if self.has_spare_pages() {
            self.give_back_page();
        }
    }

    /// Moves the clock to `now` nanoseconds and opens the buckets that start by then, within the budget. What is due
    /// stays due.
    pub(crate) fn open_due(&mut self, now: u64, budget: &mut Budget) {
        self.hierarchy.set_now(now);
        self.hierarchy.open_due(budget);
    }

    /// When buckets must be opened next, if any is occupied.
    pub(crate) fn opens_at(&self) -> Option<u64> {
        self.hierarchy.opens_at()
    }
}
