//! Advancing: the merge of the near heap with the levels.

use alloc::boxed::Box;

use super::{Hierarchy, NEVER};
use crate::engine::budget::Budget;
use crate::engine::geometry::{Geometry, Layout};
use crate::engine::node::{HeapIndex, Next, Place};

impl<V, G: Geometry> Hierarchy<V, G> {
    /// Moves the clock, never backwards, and the cursor with it if the advance is idle.
    #[inline]
    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = self.now.max(now);
        if self.is_idle() {
            self.levels.move_cursor(Layout::<G>::tick(self.now));
        }
    }

    /// Whether an advance to the present has nothing to do: no timer to fire, no upkeep, no page to give back.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.now < self.levels.next_work.idle_until_ns
    }

    /// Makes the next advance run although nothing may be due, so that it can give back a page.
    pub(crate) fn end_idle(&mut self) {
        self.levels.next_work.end_idle_by(0);
    }

    /// The next timer that is due; its fire is subtracted from the budget. `None` if the budget is used up, or if no
    /// more timers are due and all upkeep is done.
    ///
    /// Each timer visited and each bucket opened takes one unit of work.
    #[inline]
    pub(crate) fn next_due(&mut self, budget: &mut Budget) -> Option<Next> {
        if self.is_idle() || budget.is_used_up() {
            return None;
        }
        if let Some(due) = self.ready() {
            budget.pay_for_fire();
            return Some(due);
        }
        let idle_until_ns = self.levels.next_work.work_ns().min(self.near.earliest());
        if self.now < idle_until_ns {
            self.levels.next_work.idle_until_ns = idle_until_ns;
            self.levels.move_cursor(Layout::<G>::tick(self.now));
            return None;
        }
        let due = self.merge(self.now, budget)?;
        budget.pay_for_fire();
        Some(due)
    }

    /// The first timer of the near heap, if it is due and comes before all buckets. O(1).
    #[inline]
    fn ready(&self) -> Option<Next> {
        // An empty heap has a vacant first entry at the end of time, which is never before the next bucket, nor before
        // `NEVER`. A timer that is due at the end of time takes the slow path, too.
        let first = self.near.head(HeapIndex::FIRST);
        let is_ready = first.deadline <= self.now && first.deadline < self.levels.next_work.bucket_ns;
        is_ready.then_some(Next { deadline: first.deadline, node: first.node })
    }

    /// Brings the earliest timer to the near heap, due or not, and returns it. Amortized O(1) if new timers are due no
    /// earlier than the last one brought.
    #[inline]
    pub(crate) fn bring_first(&mut self) -> Option<Next> {
        let first = self.near.first().filter(|first| first.deadline < self.levels.next_work.bucket_ns);
        first.or_else(|| self.merge(NEVER, &mut { Budget::UNLIMITED }))
    }

    /// The first timer due by `time`, which is the clock's or the end of time: opens each bucket that starts before it.
    #[inline(never)]
    fn merge(&mut self, time: u64, budget: &mut Budget) -> Option<Next> {
        while !budget.is_used_up() {
            let due = self.near.first().filter(|due| due.deadline <= time);
            let by = due.map_or(time, |due| due.deadline);
            if !self.levels.is_empty() && self.levels.next_work.bucket_ns <= by {
                self.open_next(budget);
                continue;
            }
            if due.is_none() {
                self.finish(self.now, budget);
            }
            return due;
        }
        None
    }

    /// Opens all buckets that start by `until`, due or not, within the budget. Each timer visited and each bucket
    /// opened takes one unit of work. If the budget is used up, there may be more to do.
    #[cold]
    pub(crate) fn prepare(&mut self, until: u64, budget: &mut Budget) {
        while !budget.is_used_up() && !self.levels.is_empty() && self.levels.next_work.bucket_ns <= until {
            self.open_next(budget);
        }
        if !budget.is_used_up() {
            self.prepared_ns = self.prepared_ns.max(until);
            self.finish(until, budget);
        }
    }

    /// Opens the next bucket, or resumes opening it, and sorts what it yields into the near heap.
    fn open_next(&mut self, budget: &mut Budget) {
        let sorter = self.sorter.get_or_insert_with(Box::default);
        self.levels.open_next(&mut self.nodes, &mut sorter.collected, budget);
        self.near.push_all(&mut self.nodes, sorter);
        // With each bucket: a caller that fires a few timers per call may never come to the end of an advance.
        self.keep_up(budget);
    }

    /// Moves the cursor to a time that no bucket starts by, and does the upkeep.
    fn finish(&mut self, time: u64, budget: &mut Budget) {
        self.levels.move_cursor(Layout::<G>::tick(time));
        self.keep_up(budget);
    }

    /// Extends the reach to the cursor, and migrates a share of the crowds ahead, if it is time for that.
    #[inline]
    fn keep_up(&mut self, budget: &mut Budget) {
        if self.levels.has_upkeep() {
            self.levels.keep_up(&mut self.nodes, self.now, budget);
        }
    }

    /// Unlinks the first timer of the near heap, and lets `take` take the owner's value. O(1) if its chain comes before
    /// all others, otherwise O(log k) for the k chains there.
    #[inline]
    pub(crate) fn fire<R>(&mut self, due: Next, take: impl FnOnce(&mut V) -> R) -> R {
        debug_assert!(self.near.first().is_some_and(|first| first.node == due.node), "the first timer fires first");
        let node = self.nodes.at_mut(due.node.get());
        debug_assert!(node.place() == Place::HEAD, "the head of a chain says where its entry is");
        let next = node.next;
        node.set_place(Place::NONE);
        let taken = take(&mut node.value);
        self.len -= 1;
        self.near.remove_head(&mut self.nodes, HeapIndex::FIRST, next);
        taken
    }

    /// Whether work that is due by now is left: timers to fire, buckets to open, or a share to migrate that is large
    /// enough to wake a sleeping caller.
    pub(crate) fn has_backlog(&self) -> bool {
        !self.is_unscheduled() && self.wake_ns() <= self.now
    }
}
