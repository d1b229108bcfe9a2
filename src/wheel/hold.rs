//! Timers that are *held*: live under their keys, and out of the order. For the TTL layer.
//!
//! The node of a held timer keeps its deadline and its place in the order, so that it can be put back there. What looks at
//! one timer finds it; what changes, counts, lists or takes out timers passes it over.

use crate::engine::budget::Budget;
use crate::engine::geometry::Geometry;
use crate::engine::node::{MAX_TIMERS, NodeIndex};
use crate::wheel::Wheel;
use crate::wheel::key::TimerKey;
use crate::wheel::timer::TimerRef;

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

    /// Puts a timer that is held back to where it was in the order. O(1); O(log k) among the k timers of the near heap.
    pub(crate) fn put_back(&mut self, key: TimerKey) {
        debug_assert!(self.contains(key), "a timer that is held is live");
        self.hierarchy.put_back(key.index());
    }

    /// Takes a timer that is held out. O(1).
    pub(crate) fn take_held(&mut self, key: TimerKey) -> Option<T> {
        debug_assert!(self.contains(key) && self.hierarchy.deadline(key.index()).is_none(), "the timer is held");
        let (key, value) = self.hierarchy.value_mut(key.index())?.vacate(key.index())?;
        self.slots.freed(key);
        Some(value)
    }

    /// All timers, and those that are held, in no particular order. O(slots).
    pub(crate) fn iter_with_held(&self) -> impl Iterator<Item = TimerRef<'_, T>> {
        let nodes = (0..self.hierarchy.nodes().len()).map(NodeIndex::new);
        nodes.filter_map(|index| self.timer_at(index))
    }

    /// How many more timers there can be, not counting those that are held.
    pub(crate) fn room(&self) -> usize {
        MAX_TIMERS - self.len() - self.slots.retired()
    }

    /// Gives back the last page of nodes if it is free, and more than half of all are. O(nodes of a page).
    #[inline]
    pub(crate) fn give_back(&mut self) {
        if self.has_spare_pages() {
            self.drop_free_page();
        }
    }

    /// Moves the clock to `now` nanoseconds and opens the buckets that begin by then, within the budget. What is due stays due.
    pub(crate) fn open_due(&mut self, now: u64, budget: &mut Budget) {
        self.hierarchy.set_now(now);
        self.hierarchy.open_due(budget);
    }

    /// When buckets must be opened next, if any is occupied.
    pub(crate) fn opens_at(&self) -> Option<u64> {
        self.hierarchy.opens_at()
    }
}
