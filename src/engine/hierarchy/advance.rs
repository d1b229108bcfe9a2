//! Advancing: the merge of the near heap with the levels.

use super::{Hierarchy, NEVER};
use crate::engine::budget::Budget;
use crate::engine::geometry::{Geometry, Layout};
use crate::engine::node::{Next, Place};

impl<V, G: Geometry> Hierarchy<V, G> {
    /// Moves the clock, never backwards.
    #[inline]
    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Whether an advance to the present has nothing to do. Moves the cursor there if so.
    #[inline]
    pub(crate) fn is_idle(&mut self) -> bool {
        let is_idle = self.now < self.levels.agenda.idle_until;
        if is_idle {
            self.levels.move_cursor(Layout::<G>::tick(self.now));
        }
        is_idle
    }

    /// Lets the next advance come to its end, even if nothing is due.
    pub(crate) fn stay_awake(&mut self) {
        self.levels.agenda.wake_by(0);
    }

    /// The next timer that is due, if it comes before all buckets. O(1).
    #[inline]
    fn ready(&self) -> Option<Next> {
        // Without timers, and at the end of time, nothing is before the start of the first bucket, or of none.
        let first = self.near.head(0);
        let is_ready = first.deadline <= self.now && first.deadline < self.levels.agenda.start;
        is_ready.then_some(Next { deadline: first.deadline, node: first.node })
    }

    /// The next timer that is due, for an advance that is not idle. `None` if no more timers are due, and then the share of the
    /// crowds ahead has been moved; or if the budget is used up.
    ///
    /// Each timer visited and each bucket opened takes one unit of work. The caller pays for the fire.
    #[inline]
    pub(crate) fn next_due(&mut self, budget: &mut Budget) -> Option<Next> {
        if budget.is_used_up() {
            return None;
        }
        let ready = self.ready();
        if ready.is_some() {
            return ready;
        }
        if self.levels.agenda.rest(self.now, self.near.earliest()) {
            self.levels.move_cursor(Layout::<G>::tick(self.now));
            return None;
        }
        self.next_by(self.now, budget)
    }

    /// Brings the earliest timer to the near heap, due or not. Amortized O(1) while time goes on.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<Next> {
        let first = self.near.first().filter(|first| first.deadline < self.levels.agenda.start);
        first.or_else(|| self.next_by(NEVER, &mut { Budget::UNLIMITED }))
    }

    /// The next timer that is due by `time`: the clock's, or the end of time.
    #[inline(never)]
    fn next_by(&mut self, time: u64, budget: &mut Budget) -> Option<Next> {
        while !budget.is_used_up() {
            let due = self.near.first().filter(|due| due.deadline <= time);
            let by = due.map_or(time, |due| due.deadline);
            if self.levels.agenda.start <= by && !self.levels.is_empty() {
                self.levels.open(&mut self.nodes, budget);
                self.near.push_all(&mut self.nodes, &mut self.levels.collected);
                // Not only when no more timers are due: a caller who fires a few with each call may never reach that.
                self.levels.prepare(&mut self.nodes, self.now, budget);
                continue;
            }
            if due.is_none() {
                self.levels.move_cursor(Layout::<G>::tick(self.now));
                self.levels.prepare(&mut self.nodes, self.now, budget);
            }
            return due;
        }
        None
    }

    /// Opens the buckets that begin by now, within the budget, and leaves what is due in the near heap. Each timer visited and
    /// each bucket opened takes one unit of work; if none is left, there may be more to do.
    #[cfg(feature = "ttl")]
    #[cold]
    pub(crate) fn open_due(&mut self, budget: &mut Budget) {
        while !budget.is_used_up() && !self.levels.is_empty() && self.levels.agenda.start <= self.now {
            self.levels.open(&mut self.nodes, budget);
            self.near.push_all(&mut self.nodes, &mut self.levels.collected);
            self.levels.prepare(&mut self.nodes, self.now, budget);
        }
        if !budget.is_used_up() {
            self.levels.move_cursor(Layout::<G>::tick(self.now));
            self.levels.prepare(&mut self.nodes, self.now, budget);
        }
    }

    /// When buckets must be opened next, or a share be moved ahead, if any bucket is occupied.
    #[cfg(feature = "ttl")]
    pub(crate) fn opens_at(&self) -> Option<u64> {
        (!self.levels.is_empty()).then(|| self.levels.agenda.wake_at())
    }

    /// Unlinks the first timer of the near heap, and passes the owner's value to `take`. O(1) if its chain comes
    /// before all others, otherwise O(log k) for the k chains there.
    #[inline]
    pub(crate) fn fire<R>(&mut self, due: Next, take: impl FnOnce(&mut V) -> R) -> R {
        debug_assert!(self.near.first().is_some_and(|first| first.node == due.node), "the first timer fires first");
        let node = self.nodes.at_mut(due.node.get());
        debug_assert!(node.place() == Place::HEAD, "the head of a chain says where its entry is");
        let next = node.next;
        node.set_place(Place::NONE);
        let taken = take(&mut node.value);
        self.len -= 1;
        self.near.remove_head(&mut self.nodes, 0, next);
        taken
    }

    /// Whether work that is due by now is left: timers to fire, buckets to open, or a share to move ahead that is large
    /// enough to wake a sleeping caller.
    pub(crate) fn has_backlog(&self) -> bool {
        self.len != 0 && self.wake() <= self.now
    }
}
