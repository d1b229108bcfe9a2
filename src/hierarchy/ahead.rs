//! Moving crowded buckets down ahead of their time.
//!
//! Opened at its time and at one go, a bucket of a million timers is a pause. So a crowded one is
//! opened when time enters the bucket before it, and its timers are moved down in proportion to the
//! time that passes: by the time it begins it is empty. Whoever advances often moves a few each time;
//! whoever sleeps is woken up once for every [`FEW`](Geometry::FEW) of them.

use super::{Hierarchy, NEVER};
use crate::budget::Budget;
use crate::geometry::{Bucket, FAR, Geometry, Layout, Tick};
use crate::header::Headers;

/// Timers that are moved together when advances come often.
const SOME: usize = 32;

impl<G: Geometry> Hierarchy<G> {
    /// Does what is to be done now that the cursor has come so far, within the budget: enters buckets,
    /// opens crowded ones ahead of their time and moves the share of each.
    #[inline]
    pub(super) fn do_chores<H: Headers>(&mut self, headers: &mut H, budget: &mut Budget) {
        if Layout::<G>::start_ns(self.cursor) >= self.chores {
            self.enter();
            self.move_ahead(headers, budget);
            self.refresh_moves();
        }
    }

    #[inline(never)]
    fn move_ahead<H: Headers>(&mut self, headers: &mut H, budget: &mut Budget) {
        // So that nobody has been woken up for less.
        let least = if self.now >= self.moves_due {
            G::FEW
        } else {
            1
        };
        for level in (1..=FAR).rev() {
            let number = Layout::<G>::number(level, self.cursor) + 1;
            let bucket = Bucket { level, number };
            let len = self.buckets.list(bucket).len();
            if self.reach[level] <= number && len > G::FEW {
                self.reach[level] = number + 1;
            }
            if self.reach[level] <= number || len == 0 {
                continue;
            }
            let start = Layout::<G>::start(bucket);
            let since = self.share_begins(bucket);
            let share = (len as u64 * self.cursor.since(since)).div_ceil(start.since(since));
            let share = (share as usize).max(least).min(len);
            let count = share.min(budget.work);
            self.move_down(headers, bucket, count);
            budget.work -= count;
            if count == share {
                self.moved_until[level] = self.cursor;
            }
            self.closed_if_empty(bucket);
        }
    }

    /// The tick from which the timers of a bucket are moved ahead: that in which the bucket before it
    /// begins, unless its share has been moved until later.
    fn share_begins(&self, bucket: Bucket) -> Tick {
        let before = Bucket {
            number: bucket.number - 1,
            ..bucket
        };
        Layout::<G>::start(before).max(self.moved_until[bucket.level])
    }

    /// When the share of a bucket of `len` timers comes to so many, in nanoseconds.
    fn share_is(&self, bucket: Bucket, len: usize, timers: usize) -> u64 {
        let since = self.share_begins(bucket);
        let ticks = Layout::<G>::start(bucket).since(since);
        let passed = (ticks * timers.min(len) as u64).div_ceil(len as u64);
        Layout::<G>::start_ns(since.plus(passed))
    }

    /// Takes note that a bucket which has not been opened has become crowded, or more so.
    #[cold]
    pub(super) fn crowded(&mut self, bucket: Bucket, len: usize) {
        if bucket.number == Layout::<G>::number(bucket.level, self.cursor) + 1 {
            // It is to be opened at once, and what time has passed until now does not count.
            self.moved_until[bucket.level] = self.cursor;
            self.chores = 0;
        }
        self.moves_due = self.moves_due.min(self.share_is(bucket, len, G::FEW));
        self.wake = self.wake.min(self.moves_due);
    }

    /// Takes note of when timers are to be moved ahead next. O(levels).
    pub(super) fn refresh_moves(&mut self) {
        self.moves_due = NEVER;
        self.chores = NEVER;
        if self.first.bucket.is_none() {
            return;
        }
        let number = Layout::<G>::number(1, self.cursor);
        let entered = Bucket { level: 1, number };
        self.chores = Layout::<G>::start_ns(Layout::<G>::end(entered).plus(1));
        for level in 1..=FAR {
            let next = Layout::<G>::number(level, self.cursor) + 1;
            let Some(number) = self.buckets.first_from(level, next, self.cursor) else {
                continue;
            };
            let bucket = Bucket { level, number };
            let len = self.buckets.list(bucket).len();
            if number < self.reach[level] {
                self.chores = self.chores.min(self.share_is(bucket, len, SOME));
            } else if number == next && len > G::FEW {
                // As `crowded` says.
                self.moved_until[level] = self.cursor;
                self.chores = 0;
            }
            if len > G::FEW {
                self.moves_due = self.moves_due.min(self.share_is(bucket, len, G::FEW));
            }
        }
        self.chores = self.chores.min(self.moves_due);
    }
}
