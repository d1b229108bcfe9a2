//! Moving crowded buckets down ahead of their time.
//!
//! A bucket of a million timers that is opened in one call, at its time, is a pause. So a crowded one is
//! opened when time enters the bucket before it. Its timers are moved down in proportion to the time that
//! passes: when it begins, it is empty. A caller who advances often moves a few each time; a caller who
//! sleeps wakes up once for every [`WOKEN_FOR`](Hierarchy::WOKEN_FOR) of them.

use super::{Hierarchy, NEVER};
use crate::budget::Budget;
use crate::geometry::{Bucket, FAR, Geometry, Layout};

/// Timers that are moved together when advances come often.
const SOME: usize = 128;

/// `of * parts / whole`, rounded up.
fn part(of: u64, parts: u64, whole: u64) -> u64 {
    let whole = u128::from(whole);
    ((u128::from(of) * u128::from(parts) + whole - 1) / whole) as u64
}

impl<V, G: Geometry> Hierarchy<V, G> {
    /// The fewest timers that a sleeping caller wakes up for to move them ahead, unless fewer are left.
    pub(super) const WOKEN_FOR: usize = Layout::<G>::FEW / 2;

    /// Does the work for the cursor's new position, within the budget: enters buckets,
    /// opens crowded ones ahead of their time and moves the share of each.
    #[inline]
    pub(super) fn do_chores(&mut self, budget: &mut Budget) {
        if Layout::<G>::start_ns(self.cursor) >= self.chores {
            self.enter();
            self.move_ahead(budget);
            self.refresh_moves();
        }
    }

    #[inline(never)]
    fn move_ahead(&mut self, budget: &mut Budget) {
        let least = if self.now >= self.moves_due { Self::WOKEN_FOR } else { 1 };
        for level in (1..=FAR).rev() {
            let number = Layout::<G>::number(level, self.cursor) + 1;
            let bucket = Bucket { level, number };
            let len = self.lists.len(bucket);
            if self.reach[level] <= number && len > Layout::<G>::FEW {
                self.reach[level] = number + 1;
            }
            if self.reach[level] <= number || len == 0 {
                continue;
            }
            let (since, start) = self.share_spans(bucket);
            let passed = Layout::<G>::start_ns(self.cursor) - since;
            let share = part(len as u64, passed, start - since) as usize;
            let share = share.max(least).min(len);
            let count = share.min(budget.work);
            self.move_down(bucket, count);
            budget.work -= count;
            // As much of the time as of the share: what a budget leaves of it is still to be done.
            self.moved_until[level] = since + passed - part(passed, (share - count) as u64, share as u64);
            self.closed_if_empty(bucket);
        }
    }

    /// From when until when the timers of a bucket are moved ahead, in nanoseconds. That is from the
    /// beginning of the bucket before it, or the time until which its share has been moved, to its own
    /// beginning.
    fn share_spans(&self, bucket: Bucket) -> (u64, u64) {
        let before = Bucket { number: bucket.number - 1, ..bucket };
        let [since, start] = [before, bucket].map(|it| Layout::<G>::start_ns(Layout::<G>::start(it)));
        (since.max(self.moved_until[bucket.level]), start)
    }

    /// The beginning of the tick in which the share of a bucket of `len` timers comes to `timers`, in
    /// nanoseconds.
    fn share_is(&self, bucket: Bucket, len: usize, timers: usize) -> u64 {
        let (since, start) = self.share_spans(bucket);
        let time = since + part(start - since, timers.min(len) as u64, len as u64);
        Layout::<G>::start_ns(Layout::<G>::tick(time - 1).plus(1))
    }

    /// Takes note that a bucket which has not been opened has become crowded, or more so.
    #[cold]
    pub(super) fn crowded(&mut self, bucket: Bucket, len: usize) {
        if bucket.number == Layout::<G>::number(bucket.level, self.cursor) + 1 {
            // It is to be opened at once, and what time has passed until now does not count.
            self.moved_until[bucket.level] = Layout::<G>::start_ns(self.cursor);
            self.do_chores_soon();
        }
        // Only when it has doubled, or a sleeping caller would wake up for every few that come.
        let doubled = |len: usize| len.next_power_of_two();
        if doubled(len) != doubled(len.saturating_sub(Self::STEP)) {
            self.moves_due = self.moves_due.min(self.share_is(bucket, len, Self::WOKEN_FOR));
            self.wake_by(self.moves_due);
        }
    }

    /// Takes note of when timers are to be moved ahead next. O(levels).
    pub(super) fn refresh_moves(&mut self) {
        self.moves_due = NEVER;
        self.chores = NEVER;
        // Until that is known.
        self.idle_until = 0;
        if self.first.bucket.is_none() {
            return;
        }
        let number = Layout::<G>::number(1, self.cursor);
        let entered = Bucket { level: 1, number };
        self.chores = Layout::<G>::start_ns(Layout::<G>::end(entered).plus(1));
        for level in 1..=FAR {
            let next = Layout::<G>::number(level, self.cursor) + 1;
            let Some(number) = self.lists.first_from(level, next, self.cursor) else {
                continue;
            };
            let bucket = Bucket { level, number };
            let len = self.lists.len(bucket);
            if number < self.reach[level] {
                self.chores = self.chores.min(self.share_is(bucket, len, SOME));
            } else if number == next && len > Layout::<G>::FEW {
                // As `crowded` says.
                self.moved_until[level] = Layout::<G>::start_ns(self.cursor);
                self.chores = 0;
            }
            if len > Layout::<G>::FEW {
                self.moves_due = self.moves_due.min(self.share_is(bucket, len, Self::WOKEN_FOR));
            }
        }
        self.chores = self.chores.min(self.moves_due);
    }
}
