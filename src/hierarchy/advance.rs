//! Advancing: opening buckets, and moving their timers to the near heap.

use alloc::vec::Vec;
use core::mem;

use super::{Hierarchy, NEVER};
use crate::budget::Budget;
use crate::geometry::{Bucket, FAR, Geometry, Layout};
use crate::lists::Batch;
use crate::near::sort::sort;
use crate::node::{Ordered, Place};

/// The most timers of a chain. A crowd of more in one bucket becomes several.
const LONGEST_CHAIN: usize = 1024;

impl<V, G: Geometry> Hierarchy<V, G> {
    /// Moves the clock, never backwards.
    #[inline]
    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Whether an advance to the present has nothing to do; if so, moves the cursor along.
    #[inline]
    pub(crate) fn is_idle(&mut self) -> bool {
        if self.now >= self.idle_until {
            return false;
        }
        self.cursor = self.cursor.max(Layout::<G>::tick(self.now));
        true
    }

    /// The next timer that is due. `None` when nothing more is due, and then what lies ahead has been
    /// prepared for; or when the budget is used up.
    ///
    /// Each timer visited and each bucket opened takes one unit of work; firing the timer is the
    /// caller's to pay for.
    #[inline]
    pub(crate) fn next_due(&mut self, budget: &mut Budget) -> Option<Ordered> {
        while !budget.is_used_up() {
            let due = self.near.first().copied();
            let by = due.map_or(self.now, |due| due.deadline.min(self.now));
            if self.first.start <= by {
                if let Some(bucket) = self.first.bucket {
                    self.open(bucket, budget);
                    // Not only when nothing more is due: a caller who fires a few with each call may never come
                    // to that.
                    self.do_chores(budget);
                    continue;
                }
            }
            if let Some(due) = due.filter(|due| due.deadline <= self.now) {
                return Some(due);
            }
            self.cursor = self.cursor.max(Layout::<G>::tick(self.now));
            self.do_chores(budget);
            break;
        }
        self.refresh_wake();
        None
    }

    /// The earliest timer, due or not; it has been brought up to the near heap, and the cursor to its tick.
    /// Amortized O(1) while time goes on.
    pub(crate) fn first(&mut self) -> Option<Ordered> {
        let mut budget = Budget::UNLIMITED;
        loop {
            let due = self.near.first().copied();
            let by = due.map_or(NEVER, |due| due.deadline);
            match self.first.bucket.filter(|_| self.first.start <= by) {
                Some(bucket) => {
                    self.open(bucket, &mut budget);
                    self.do_chores(&mut budget);
                }
                None => {
                    self.refresh_wake();
                    return due;
                }
            }
        }
    }

    /// Unlinks the first timer of the near heap, and lets `take` have the owner's value. O(1) if its chain comes
    /// before all others, else O(log k) for the k chains there.
    #[inline]
    pub(crate) fn fire<R>(&mut self, due: Ordered, take: impl FnOnce(&mut V) -> R) -> R {
        let node = self.nodes.at_mut(due.node.get());
        let next = node.next;
        node.place = Place::NONE;
        let taken = take(&mut node.value);
        self.near.remove_head(&mut self.nodes, 0, next);
        self.refresh_wake();
        taken
    }

    /// Gives the first timer of the near heap, which is due, a new deadline.
    pub(crate) fn rearm(&mut self, due: Ordered, deadline: u64) {
        self.move_to(due.node, deadline);
    }

    /// Whether work that is due by now is left: timers to fire, buckets to open, or a share to move
    /// ahead. The share must be one that a sleeping caller would have had to wake up for.
    pub(crate) fn has_backlog(&self) -> bool {
        let is_empty = self.near_len() == 0 && self.first.bucket.is_none();
        !is_empty && self.wake <= self.now
    }

    /// Opens the first bucket, or goes on doing so, within the budget.
    ///
    /// A tick, or a coarser bucket with few timers, is sorted; the timers of any other are moved to where they
    /// belong, as seen from its start.
    #[inline(never)]
    fn open(&mut self, bucket: Bucket, budget: &mut Budget) {
        let start = Layout::<G>::start(bucket);
        let len = self.lists.len(bucket);
        let is_new = if bucket.level == 0 { self.cursor < start } else { self.reach[bucket.level] <= bucket.number };
        budget.work -= usize::from(is_new);
        let is_sorted = bucket.level == 0 || is_new && len <= Layout::<G>::FEW.min(budget.work);
        // What is moved down into the first tick is to be sorted there like the others.
        let cursor = if is_sorted { start } else { start.before() };
        self.cursor = self.cursor.max(cursor);
        if Layout::<G>::start_ns(self.cursor) >= self.chores {
            self.enter();
        }
        if bucket.level != 0 {
            self.reach[bucket.level] = self.reach[bucket.level].max(bucket.number + 1);
        }
        let count = len.min(budget.work);
        budget.work -= count;
        if is_sorted {
            self.sort(bucket, count);
        } else {
            self.move_down(bucket, count);
        }
        self.closed_if_empty(bucket);
        if bucket.level != 0 {
            // It may be the crowd that was to be moved ahead.
            self.refresh_moves();
        }
    }

    /// Takes note that a bucket may have been emptied.
    #[inline]
    pub(super) fn closed_if_empty(&mut self, bucket: Bucket) {
        if self.first.bucket == Some(bucket) && self.lists.len(bucket) == 0 {
            self.refresh_first();
        }
    }

    /// Takes note of the buckets that the cursor is in: they count as opened.
    #[inline]
    pub(super) fn enter(&mut self) {
        for level in 1..=FAR {
            let number = Layout::<G>::number(level, self.cursor);
            self.reach[level] = self.reach[level].max(number + 1);
        }
    }

    /// Sorts `len` timers of a bucket, which holds at least as many, into the near heap; those that were postponed beyond
    /// it are placed again.
    fn sort(&mut self, bucket: Bucket, mut count: usize) {
        let end = Layout::<G>::end(bucket);
        let mut collected = mem::take(&mut self.collected);
        let mut batch = Batch::new();
        while count != 0 {
            let rest = count.saturating_sub(LONGEST_CHAIN);
            while count != rest {
                self.lists.take(&mut self.nodes, bucket, count - rest, &mut batch);
                count -= batch.as_slice().len();
                for &index in batch.as_slice() {
                    let timer = Ordered::of(&self.nodes, index);
                    if Layout::<G>::tick(timer.deadline) <= end {
                        collected.push(timer);
                    } else {
                        self.place(index, timer.deadline);
                    }
                }
            }
            self.link_chain(&mut collected);
        }
        self.collected = collected;
    }

    /// Makes a chain of some timers that are linked nowhere.
    fn link_chain(&mut self, timers: &mut Vec<Ordered>) {
        match timers[..] {
            [] => {}
            [timer] => self.near.push(&mut self.nodes, timer),
            [one, other] => {
                let pair = if one.precedes(&other) { [one, other] } else { [other, one] };
                self.near.push_chain(&mut self.nodes, pair.into_iter());
            }
            _ => {
                sort(timers, &mut self.order);
                let sorted = self.order.iter().map(|&index| timers[index as usize]);
                self.near.push_chain(&mut self.nodes, sorted);
            }
        }
        timers.clear();
    }

    /// Moves `len` timers of an opened bucket, which holds at least as many, to where they belong.
    pub(super) fn move_down(&mut self, bucket: Bucket, mut count: usize) {
        let mut batch = Batch::new();
        while count != 0 {
            self.lists.take(&mut self.nodes, bucket, count, &mut batch);
            count -= batch.as_slice().len();
            for &index in batch.as_slice() {
                let tick = Layout::<G>::tick(self.node(index).deadline);
                let (place, prev) = self.append(index, tick);
                self.node_mut(index).link_behind(prev, place);
            }
        }
    }
}
