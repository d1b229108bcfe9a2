//! Moving crowded buckets down ahead of their time.
//!
//! A bucket of a million timers that is opened in one call, at its time, is a pause. So a crowded one is
//! opened when time enters the bucket before it. Its timers are moved down in proportion to the time that
//! passes, so it is empty when it begins. A caller who advances often moves a few each time; a caller who
//! sleeps wakes up once for every [`WOKEN_FOR`](Levels::WOKEN_FOR) of them.

use super::Levels;
use crate::budget::Budget;
use crate::geometry::{Bucket, FAR, Geometry, Layout};
use crate::node::Nodes;

/// `of * parts / whole`, rounded up.
#[inline(never)]
fn part(of: u64, parts: u64, whole: u64) -> u64 {
    let whole = u128::from(whole);
    ((u128::from(of) * u128::from(parts) + whole - 1) / whole) as u64
}

impl<G: Geometry> Levels<G> {
    /// Timers that are moved together when advances come often.
    pub(super) const SOME: usize = 128;

    /// The fewest timers that a sleeping caller wakes up for to move them ahead, unless fewer are left.
    pub(super) const WOKEN_FOR: usize = Layout::<G>::FEW / 2;

    /// Does the work for the cursor's new position, within the budget: extends the reach,
    /// opens crowded buckets ahead of their time and moves the share of each.
    #[inline]
    pub(crate) fn prepare<V>(&mut self, nodes: &mut Nodes<V>, now: u64, budget: &mut Budget) {
        if Layout::<G>::start_ns(self.cursor) >= self.agenda.chores() {
            self.enter();
            self.move_ahead(nodes, now, budget);
            self.refresh_moves();
        }
    }

    #[inline(never)]
    fn move_ahead<V>(&mut self, nodes: &mut Nodes<V>, now: u64, budget: &mut Budget) {
        let least = if now >= self.agenda.moves_due { Self::WOKEN_FOR } else { 1 };
        for level in (1..=FAR).rev() {
            let number = Layout::<G>::number(level, self.cursor) + 1;
            let bucket = Bucket { level, number };
            let len = self.len_of(bucket);
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
            self.move_down(nodes, bucket, count);
            budget.work -= count;
            // Only the part of the time whose share has been moved: the budget may have left the rest.
            self.moved_until[level] = since + passed - part(passed, (share - count) as u64, share as u64);
        }
    }

    /// The time in which the timers of a bucket are moved ahead, in nanoseconds: from the beginning of the bucket before
    /// it, or the time up to which its share has been moved, to its own beginning.
    fn share_spans(&self, bucket: Bucket) -> (u64, u64) {
        let before = Bucket { number: bucket.number - 1, ..bucket };
        let [since, start] = [before, bucket].map(|it| Layout::<G>::start_ns(Layout::<G>::start(it)));
        (since.max(self.moved_until[bucket.level]), start)
    }

    /// The beginning of the tick in which the share of a bucket of `len` timers reaches `timers`, in nanoseconds.
    #[inline(never)]
    pub(super) fn share_is(&self, bucket: Bucket, len: usize, timers: usize) -> u64 {
        let (since, start) = self.share_spans(bucket);
        let time = since + part(start - since, timers.min(len) as u64, len as u64);
        Layout::<G>::start_ns(Layout::<G>::tick(time - 1).plus(1))
    }

    /// Updates the agenda for a bucket that has not been opened and has become crowded, or more so.
    #[cold]
    pub(super) fn crowded(&mut self, bucket: Bucket, len: usize) {
        if bucket.number == Layout::<G>::number(bucket.level, self.cursor) + 1 {
            // The bucket is to be opened at once. Its share counts from now.
            self.moved_until[bucket.level] = Layout::<G>::start_ns(self.cursor);
            self.agenda.set_chores(0);
        }
        // Only when its length has doubled. Otherwise a sleeping caller would wake up for every few new timers.
        let doubled = |len: usize| len.next_power_of_two();
        if doubled(len) != doubled(len.saturating_sub(Self::STEP)) {
            self.agenda.moves_due = self.agenda.moves_due.min(self.share_is(bucket, len, Self::WOKEN_FOR));
            self.agenda.set_chores(self.agenda.chores().min(self.agenda.moves_due));
        }
    }
}
