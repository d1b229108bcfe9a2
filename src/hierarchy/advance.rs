//! The passage of time: opening buckets and bringing up what is due.

use super::{Hierarchy, NEVER};
use crate::blocks::BLOCK;
use crate::budget::Budget;
use crate::geometry::{Bucket, FAR, Geometry, Layout};
use crate::header::{Headers, Place};
use crate::heap::{LARGE, Ordered};
use crate::key::SlotIndex;

/// The first timer of the near heap.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) deadline: u64,
    pub(crate) slot: SlotIndex,
}

impl<G: Geometry> Hierarchy<G> {
    /// Moves the clock, never backwards.
    #[inline]
    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Whether an advance to the present has nothing to do; if so, moves the cursor along.
    #[inline]
    pub(crate) fn is_idle(&mut self) -> bool {
        if self.now >= self.wake || self.now >= self.chores {
            return false;
        }
        self.cursor = self.cursor.max(Layout::<G>::tick(self.now));
        true
    }

    /// The next timer that is due. `None` when nothing more is due, and then what lies ahead has been
    /// prepared for; or when the budget is used up.
    ///
    /// Each entry visited and each bucket opened takes one unit of work; firing the timer is the
    /// caller's to pay for.
    #[inline]
    pub(crate) fn next_due<H: Headers>(
        &mut self,
        headers: &mut H,
        budget: &mut Budget,
    ) -> Option<Due> {
        while !budget.is_used_up() {
            let due = self.earliest();
            let by = due.map_or(self.now, |due| due.deadline.min(self.now));
            if self.first.start <= by {
                if let Some(bucket) = self.first.bucket {
                    self.open(headers, bucket, budget);
                    // Not only when nothing more is due: who fires a few with each call may never come to that.
                    self.do_chores(headers, budget);
                    continue;
                }
            }
            if let Some(due) = due.filter(|due| due.deadline <= self.now) {
                if self.owns(headers, due) {
                    return Some(due);
                }
                budget.work -= 1;
                continue;
            }
            self.cursor = self.cursor.max(Layout::<G>::tick(self.now));
            self.do_chores(headers, budget);
            break;
        }
        self.refresh_wake();
        None
    }

    /// The earliest timer, due or not; it has been brought up to the near heap, and the cursor to its tick.
    /// Amortized O(1) while time goes on.
    pub(crate) fn first<H: Headers>(&mut self, headers: &mut H) -> Option<Due> {
        let mut budget = Budget::UNLIMITED;
        loop {
            let due = self.earliest();
            if self.first.start <= due.map_or(NEVER, |due| due.deadline) {
                if let Some(bucket) = self.first.bucket {
                    self.open(headers, bucket, &mut budget);
                    self.do_chores(headers, &mut budget);
                    continue;
                }
            }
            if due.is_none_or(|due| self.owns(headers, due)) {
                self.refresh_wake();
                return due;
            }
        }
    }

    /// Whether the first timer of the near heap owns its entry; if not, drops that.
    #[inline]
    fn owns<H: Headers>(&mut self, headers: &mut H, due: Due) -> bool {
        let (place, position) = self.heap.first_place();
        let is_owned = headers.owns(due.slot, place, position);
        if !is_owned {
            headers.disowned();
            self.take_first(headers);
        }
        is_owned
    }

    /// The first timer of the near heap.
    #[inline]
    fn earliest(&self) -> Option<Due> {
        let first = self.heap.first()?;
        Some(Due {
            deadline: first.deadline,
            slot: first.slot,
        })
    }

    /// Takes the entry of the first timer out of the near heap. O(1) if sorted timers come before all others
    /// there, else O(log k) for the k in the heap.
    #[inline]
    pub(crate) fn take_first<H: Headers>(&mut self, headers: &mut H) {
        self.heap.pop(headers);
        self.refresh_wake();
    }

    /// Gives the first timer of the near heap, which is due, a new deadline.
    pub(crate) fn rearm<H: Headers>(&mut self, headers: &mut H, due: Due, deadline: u64) {
        self.take_first(headers);
        self.schedule(headers, due.slot, deadline);
    }

    /// Whether work that is due by now is left: timers to fire, buckets to open, or a share to move
    /// ahead that nobody may sleep on.
    pub(crate) fn has_backlog(&self) -> bool {
        let is_empty = self.ready() == 0 && self.first.bucket.is_none();
        !is_empty && self.wake <= self.now
    }

    /// Opens the first bucket, or goes on doing so, within the budget.
    ///
    /// A tick, or a coarser bucket with few timers, is sorted; the timers of any other are moved to where they belong, as seen from its start.
    #[inline(never)]
    fn open<H: Headers>(&mut self, headers: &mut H, bucket: Bucket, budget: &mut Budget) {
        let start = Layout::<G>::start(bucket);
        let len = self.buckets.list(bucket).len();
        let is_new = if bucket.level == 0 {
            self.cursor < start
        } else {
            self.reach[bucket.level] <= bucket.number
        };
        budget.work -= usize::from(is_new);
        // Time has come to a coarse one if the store of headers has panicked while it was being sorted.
        let is_sorted =
            bucket.level == 0 || self.cursor >= start || is_new && len <= G::FEW.min(budget.work);
        // What is moved down into the first tick is to be sorted there like the others.
        let cursor = if is_sorted { start } else { start.before() };
        self.cursor = self.cursor.max(cursor);
        if Layout::<G>::start_ns(self.cursor) >= self.chores {
            self.enter();
        }
        if bucket.level != 0 {
            self.reach[bucket.level] = self.reach[bucket.level].max(bucket.number + 1);
        }
        if is_sorted {
            self.sort(headers, bucket, len, budget);
        } else {
            let count = len.min(budget.work);
            self.move_down(headers, bucket, count);
            budget.work -= count;
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
        if self.first.bucket == Some(bucket) && self.buckets.list(bucket).is_empty() {
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

    /// Sorts the timers of a bucket into the near heap, within the budget; those that were put off beyond it
    /// are placed again.
    fn sort<H: Headers>(
        &mut self,
        headers: &mut H,
        bucket: Bucket,
        len: usize,
        budget: &mut Budget,
    ) {
        let end = Layout::<G>::end(bucket);
        let place = Place::list(Layout::<G>::list(bucket));
        let mut left = len.min(budget.work);
        budget.work -= left;
        while left != 0 {
            let rest = left.saturating_sub(LARGE);
            let mut timers = self.heap.room(left - rest);
            while left != rest {
                let taken = self.buckets.take_last(bucket, left - rest);
                let slots = taken.as_slice();
                left -= slots.len();
                // As in `move_down`, all headers of a block are asked for before any is waited for.
                let deadlines = slots.iter().map(|&slot| headers.header(slot).deadline);
                let is_any_later = Layout::<G>::tick(deadlines.fold(0, u64::max)) > end;
                for (nth, &slot) in slots.iter().enumerate() {
                    if !headers.owns(slot, place, taken.location(nth).position()) {
                        headers.disowned();
                        continue;
                    }
                    let timer = Ordered::of(headers, slot);
                    if !is_any_later || Layout::<G>::tick(timer.deadline) <= end {
                        timers.push(timer);
                    } else {
                        self.place(headers, timer);
                    }
                }
            }
            self.heap.add(headers, timers);
        }
    }

    /// Moves so many timers of a bucket that has been opened, and has as many, to where they belong.
    pub(super) fn move_down<H: Headers>(
        &mut self,
        headers: &mut H,
        bucket: Bucket,
        mut count: usize,
    ) {
        let old_place = Place::list(Layout::<G>::list(bucket));
        while count != 0 {
            let taken = self.buckets.take_last(bucket, count);
            let slots = taken.as_slice();
            count -= slots.len();
            // All headers of a block are asked for before any is waited for.
            let mut ticks = [self.cursor; BLOCK];
            for (tick, &slot) in ticks.iter_mut().zip(slots) {
                let belongs = Layout::<G>::tick(headers.header(slot).deadline);
                // A bucket that is moved down is ahead, and so are its timers. But no store is believed:
                // what a list behind the cursor takes in would be met for ever.
                *tick = belongs.max(self.cursor.plus(1));
            }
            // The last first, so that a crowd in the order of its deadlines stays in order, or in the
            // reverse of it, however many are moved at a time.
            for (nth, &slot) in slots.iter().enumerate().rev() {
                if !headers.owns(slot, old_place, taken.location(nth).position()) {
                    headers.disowned();
                    continue;
                }
                let (place, position) = self.append(ticks[nth], slot);
                headers.header_mut(slot).set_place(place, position);
            }
        }
    }
}
