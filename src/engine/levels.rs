//! The coarse room of the wheel: timers in buckets of five levels, by their ticks and in no order.
//!
//! A tick belongs on the lowest level whose reach covers it. The reach of level *k* ends with the last
//! bucket of level *k + 1* that has been opened: the one that the cursor is in, or the next. A
//! crowded bucket, one of more than [`FEW`](Layout::FEW) timers, is opened one bucket ahead of its
//! time. Its timers are moved down a few at a time until then.
//!
//! The fifth level takes the timers beyond the reach of the fourth, in buckets that double. Far bucket *k* holds the timers
//! for which bit *k* is the highest bit in which the number of their rotation differs from that of the last rotation
//! opened. It spans 2^*k* rotations and begins where that bit becomes 1, as in a radix heap. No timer's bucket changes
//! until time comes to an occupied far bucket. Then its timers go to lower far buckets or to the levels below, so a timer
//! is moved at most once for each bit of its rotation. Until the bucket is empty its bit stays 1, so no other timer
//! belongs in it.
//!
//! A timer that is postponed stays in its bucket until the old deadline comes. So a timer is never in a later
//! bucket than its own, which is sufficient for exact order.

mod check;
mod migration;
mod next_work;
mod occupancy;
mod search;
mod strands;

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem;

use self::migration::Crowd;
use self::next_work::Agenda;
use self::occupancy::Occupancy;
use self::strands::{BATCH, Strands};
use crate::engine::budget::Budget;
use crate::engine::geometry::{Bucket, BucketIndex, FAR, Geometry, LEVELS, Layout, Tick};
use crate::engine::node::{Links, NodeIndex, Nodes, Ordered, Place};

pub(crate) use self::next_work::NEVER;

/// The most timers that one opening takes from a bucket to be sorted.
const LONGEST_CHAIN: usize = 1 << 14;

/// The buckets of five levels, and how far they have been opened.
///
/// Invariants, checked by name in `check`:
///
/// - no timer in a bucket is due before the bucket's start, and no bucket starts before the cursor's;
/// - the numbers of a level's occupied buckets lie within two rotations from the cursor's on;
/// - a bit of `occupancy` is set if and only if the bucket holds timers;
/// - the bit of an occupied far bucket is zero in the last rotation that was opened, or that bucket is not empty yet;
/// - of the buckets of a level that were opened only the last may hold timers.
pub(crate) struct Levels<G> {
    /// All buckets up to the highest level in use.
    buckets: Vec<Strands>,
    occupancy: Occupancy,
    /// Placement is relative to this tick. It lags behind the clock while there is a backlog, and is ahead of it when the
    /// earliest timer was asked for before its time.
    cursor: Tick,
    /// For levels 1 to 4, the number of the first bucket that has not been opened. A tick before it belongs on a finer
    /// level.
    reach: [u64; LEVELS + 1],
    /// For levels 1 to 4, how many timers the last bucket that was opened [held](Crowd::held).
    held: [u64; LEVELS + 1],
    pub(crate) agenda: Agenda,
    /// Timers that are linked nowhere, on their way to the near heap. Between two calls there are none.
    pub(crate) collected: Vec<Ordered>,
    geometry: PhantomData<fn() -> G>,
}

impl<G> Clone for Levels<G> {
    fn clone(&self) -> Self {
        Self { buckets: self.buckets.clone(), occupancy: self.occupancy.clone(), collected: Vec::new(), ..*self }
    }
}

impl<G: Geometry> Levels<G> {
    /// The length of a bucket is checked only when it has changed by this much.
    const STEP: usize = Crowd::<G>::SHARE;

    pub(crate) fn new(now: u64) -> Self {
        let mut levels = Self {
            buckets: Vec::new(),
            occupancy: Occupancy::default(),
            cursor: Layout::<G>::tick(now),
            reach: [0; LEVELS + 1],
            held: [0; LEVELS + 1],
            agenda: Agenda::EMPTY,
            collected: Vec::new(),
            geometry: PhantomData,
        };
        levels.restart(levels.cursor);
        levels
    }

    /// Whether no bucket holds timers.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.agenda.first.is_none()
    }

    /// Sets the cursor, backwards too. No bucket may hold timers.
    #[inline(never)]
    pub(crate) fn restart(&mut self, cursor: Tick) {
        debug_assert!(self.is_empty());
        self.cursor = cursor;
        self.reach = [0; LEVELS + 1];
        self.enter();
        self.agenda.set_moves(0, NEVER);
    }

    /// The tick that placement is relative to. Timers by it go to the near heap.
    #[inline]
    pub(crate) fn cursor(&self) -> Tick {
        self.cursor
    }

    /// Moves the cursor up to a tick that no occupied bucket starts by.
    #[inline]
    pub(crate) fn move_cursor(&mut self, tick: Tick) {
        self.cursor = self.cursor.max(tick);
    }

    /// Appends a timer to the bucket where a tick after the cursor's belongs, and returns which it is and the timer
    /// before. The links of the timer's node are the caller's to write. O(1).
    // Always: a call takes a sixth more instructions.
    #[inline(always)]
    pub(crate) fn append<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, tick: Tick) -> (Place, NodeIndex) {
        // Level by level, so that every shift is an immediate.
        let lies_on = |level: usize| Layout::<G>::number(level + 1, tick) < self.reach[level + 1];
        let index_on = |level: usize| Layout::<G>::index(Bucket { level, number: Layout::<G>::number(level, tick) });
        let at = if lies_on(0) {
            index_on(0)
        } else if lies_on(1) {
            index_on(1)
        } else if lies_on(2) {
            index_on(2)
        } else if lies_on(3) {
            index_on(3)
        } else {
            self.far_index(tick)
        };
        debug_assert!(tick > self.cursor, "no bucket that is occupied lies before the cursor's");
        debug_assert!(
            Layout::<G>::start(self.bucket_at(at)) <= tick && tick <= Layout::<G>::end(self.bucket_at(at)),
            "no timer in a bucket is due before the bucket's start"
        );
        let Some(strands) = self.buckets.get_mut(at.get()) else {
            return self.append_first(nodes, index, at);
        };
        let len = strands.len();
        let prev = strands.append(nodes, index);
        if len % Self::STEP == 0 {
            self.lengthened(at, len + 1);
        }
        (Place::bucket(at), prev)
    }

    /// Allocates the buckets up to those of the level of one, and appends a timer to that.
    #[cold]
    #[inline(never)]
    fn append_first<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, at: BucketIndex) -> (Place, NodeIndex) {
        let (level, _) = Layout::<G>::level_and_index(at);
        let room = Layout::<G>::indexes(level).end;
        self.buckets.reserve_exact(room - self.buckets.len());
        while self.buckets.len() < room {
            self.buckets.push(Strands::EMPTY);
        }
        let prev = self.buckets[at.get()].append(nodes, index);
        self.lengthened(at, 1);
        (Place::bucket(at), prev)
    }

    #[inline(never)]
    fn far_index(&self, tick: Tick) -> BucketIndex {
        Layout::<G>::index(Layout::<G>::far_bucket(tick, self.least(FAR)))
    }

    /// Links a timer that is linked nowhere into the bucket where its tick belongs, which is after the cursor's. O(1).
    #[inline(never)]
    pub(crate) fn place<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, tick: Tick) {
        let (place, prev) = self.append(nodes, index, tick);
        nodes.at_mut(index.get()).link_behind(prev, place);
    }

    /// Unlinks a timer from a bucket. O(1).
    #[inline]
    pub(crate) fn unlink<V>(&mut self, nodes: &mut Nodes<V>, bucket: BucketIndex, index: NodeIndex, links: Links) {
        let strands = &mut self.buckets[bucket.get()];
        strands.unlink(nodes, index, links);
        let left = strands.len();
        if left % Self::STEP == 0 {
            self.shortened(bucket, left);
        }
    }

    #[inline(never)]
    fn lengthened(&mut self, at: BucketIndex, len: usize) {
        let bucket = self.bucket_at(at);
        if len == 1 {
            self.occupancy.set(bucket.level, Layout::<G>::index_on_level(bucket.level, bucket.number));
            let start = Layout::<G>::begins(bucket);
            // On a tie keep the current first: it is the coarser one. Without a first, `start` is `NEVER`, but the last tick of
            // all may start then too.
            if self.is_empty() || start < self.agenda.start {
                self.agenda.set_first(Some(bucket), start);
            }
        }
        // Only when its length has doubled. Otherwise a sleeping caller would wake up for every few new timers.
        if len > Layout::<G>::FEW && bucket.level != 0 && (len - 1).is_power_of_two() {
            self.crowded(bucket, len);
        }
    }

    #[inline(never)]
    fn shortened(&mut self, index: BucketIndex, len: usize) {
        // So that memory comes back although nothing fires.
        self.agenda.wake_by(0);
        let bucket = self.bucket_at(index);
        if len == 0 {
            self.emptied(bucket);
        }
        // The bucket is no longer a crowd, or the next one is the first of its level now.
        if bucket.level != 0 && (len == Layout::<G>::FEW || len == 0) {
            self.refresh_moves();
        }
    }

    /// Records that a bucket has lost its last timer.
    #[inline(never)]
    fn emptied(&mut self, bucket: Bucket) {
        self.occupancy.unset(bucket.level, Layout::<G>::index_on_level(bucket.level, bucket.number));
        if self.agenda.first == Some(bucket) {
            self.refresh_first();
        }
    }

    /// Opens the first bucket, or continues to, within the budget.
    ///
    /// The timers of a tick, or of a coarser bucket with few, are collected to be sorted; those of any other are moved to
    /// where they belong, as seen from its start.
    #[inline(never)]
    pub(crate) fn open<V>(&mut self, nodes: &mut Nodes<V>, budget: &mut Budget) {
        let Some(bucket) = self.agenda.first else {
            return;
        };
        debug_assert!(self.agenda.first == self.bucket_after(None), "the first occupied bucket is known");
        debug_assert!(self.collected.is_empty(), "between two calls no timer is linked nowhere");
        let start = Layout::<G>::start(bucket);
        let len = self.len_of(bucket);
        let is_new = if bucket.level == 0 { self.cursor < start } else { !self.is_opened(bucket) };
        budget.work -= usize::from(is_new);
        let is_sorted = bucket.level == 0 || is_new && len <= Layout::<G>::FEW.min(budget.work);
        // One tick before the start of a coarser bucket, so that timers of its first tick go to a bucket of level 0 and are
        // sorted there, and no later bucket is opened while this one still holds timers.
        self.move_cursor(if bucket.level == 0 { start } else { start.before() });
        if Layout::<G>::start_ns(self.cursor) >= self.agenda.chores {
            self.enter();
        }
        self.set_opened(bucket, len as u64);
        let by = if is_sorted { Layout::<G>::end(bucket) } else { self.cursor };
        let most = len.min(LONGEST_CHAIN);
        if is_sorted && self.collected.capacity() < most.min(budget.work) {
            // Not reserved: what is there would be copied, though it means nothing.
            self.collected = Vec::with_capacity(most.min(budget.work));
        }
        self.empty(nodes, bucket, most, by, budget);
        if bucket.level != 0 {
            if is_sorted {
                self.move_cursor(start);
                self.enter();
            }
            // The bucket may be the crowd that was to be moved ahead.
            self.refresh_moves();
        }
    }

    /// Whether timers of a bucket's ticks belong on finer levels.
    fn is_opened(&self, bucket: Bucket) -> bool {
        bucket.number < self.reach[bucket.level]
    }

    /// Extends the reach over a bucket, unless it was opened before.
    fn set_opened(&mut self, bucket: Bucket, held: u64) {
        if bucket.level != 0 && !self.is_opened(bucket) {
            debug_assert!(
                bucket.level != FAR || self.keeps_far_numbers(bucket.number),
                "no far bucket changes its number"
            );
            self.reach[bucket.level] = bucket.number + 1;
            self.held[bucket.level] = held;
        }
    }

    /// Extends the reach over the buckets that the cursor is in: they count as opened.
    #[inline(never)]
    fn enter(&mut self) {
        for level in 1..=FAR {
            self.set_opened(Bucket { level, number: Layout::<G>::number(level, self.cursor) }, 0);
        }
    }

    /// Takes up to `most` timers out of an opened bucket, within the budget. Collects those that are due by a tick, and places
    /// the others.
    #[inline(never)]
    fn empty<V>(&mut self, nodes: &mut Nodes<V>, bucket: Bucket, most: usize, by: Tick, budget: &mut Budget) {
        let mut left = most.min(budget.work);
        budget.work -= left;
        let mut later = [NodeIndex::NIL; BATCH];
        while left != 0 {
            let strands = &mut self.buckets[Layout::<G>::index(bucket).get()];
            let mut count = 0;
            left -= strands.take(nodes, left, |index, node| {
                if Layout::<G>::tick(node.deadline) <= by {
                    self.collected.push(Ordered::new(node, index));
                } else {
                    later[count % BATCH] = index;
                    count += 1;
                }
            });
            if strands.len() == 0 {
                self.emptied(bucket);
            }
            for &index in &later[..count] {
                let tick = Layout::<G>::tick(nodes.at(index.get()).deadline);
                let (place, prev) = self.append(nodes, index, tick);
                nodes.at_mut(index.get()).link_behind(prev, place);
            }
        }
    }

    /// Does the work for the cursor's new position, within the budget: extends the reach, opens crowded buckets ahead of their
    /// time and moves the share of each.
    #[inline]
    pub(crate) fn prepare<V>(&mut self, nodes: &mut Nodes<V>, now: u64, budget: &mut Budget) {
        if Layout::<G>::start_ns(self.cursor) >= self.agenda.chores {
            self.move_ahead(nodes, now, budget);
        }
    }

    #[inline(never)]
    fn move_ahead<V>(&mut self, nodes: &mut Nodes<V>, now: u64, budget: &mut Budget) {
        self.enter();
        // Some may have been cancelled since the time was computed: a caller is not woken up for nothing.
        let least = if now >= self.agenda.moves_due { Crowd::<G>::WOKEN_FOR } else { 0 };
        for level in (1..=FAR).rev() {
            let bucket = Bucket { level, number: Layout::<G>::number(level, self.cursor) + 1 };
            let crowd = self.crowd(bucket);
            if crowd.len > Layout::<G>::FEW {
                self.set_opened(bucket, crowd.held);
            }
            if self.is_opened(bucket) {
                let behind = crowd.behind(Layout::<G>::start_ns(self.cursor));
                self.empty(nodes, bucket, behind.max(least).min(crowd.len), self.cursor, budget);
            }
        }
        self.refresh_moves();
    }

    /// Computes when shares are to be moved next. O(levels).
    #[inline(never)]
    fn refresh_moves(&mut self) {
        let (mut chores, mut moves_due) = (NEVER, NEVER);
        if !self.is_empty() {
            let entered = Bucket { level: 1, number: Layout::<G>::number(1, self.cursor) };
            chores = Layout::<G>::start_ns(Layout::<G>::end(entered).plus(1));
        }
        for level in 1..=FAR {
            let next = Layout::<G>::number(level, self.cursor) + 1;
            let Some(number) = self.first_from(level, next) else {
                continue;
            };
            let bucket = Bucket { level, number };
            let crowd = self.crowd(bucket);
            if crowd.len > Layout::<G>::FEW {
                moves_due = moves_due.min(crowd.falls_behind(Crowd::<G>::WOKEN_FOR));
            }
            if self.is_opened(bucket) {
                chores = chores.min(crowd.falls_behind(Self::STEP));
            } else if number == next && crowd.len > Layout::<G>::FEW {
                chores = 0;
            }
        }
        self.agenda.set_moves(chores, moves_due);
    }

    /// Updates the agenda for a bucket that has not been opened and has become crowded, or more so.
    #[cold]
    fn crowded(&mut self, bucket: Bucket, len: usize) {
        if bucket.number == Layout::<G>::number(bucket.level, self.cursor) + 1 {
            self.set_opened(bucket, Crowd::<G>::held_of(bucket, len, Layout::<G>::start_ns(self.cursor)));
        }
        self.refresh_moves();
    }

    /// A bucket as one that is moved ahead.
    fn crowd(&self, bucket: Bucket) -> Crowd<G> {
        let len = self.len_of(bucket);
        let held = if self.is_opened(bucket) { self.held[bucket.level] } else { len as u64 };
        Crowd { bucket, len, held: held.max(len as u64), geometry: PhantomData }
    }

    /// Some timer of the first bucket. O(1).
    pub(crate) fn any(&self) -> Option<NodeIndex> {
        self.get(self.agenda.first?)?.any()
    }

    /// The bucket, if there is memory for its level.
    fn get(&self, bucket: Bucket) -> Option<&Strands> {
        self.buckets.get(Layout::<G>::index(bucket).get())
    }

    /// The number of timers in a bucket. O(1).
    fn len_of(&self, bucket: Bucket) -> usize {
        self.get(bucket).map_or(0, Strands::len)
    }

    /// The timers of a bucket, in no particular order.
    pub(crate) fn iter<'a, V>(&'a self, nodes: &'a Nodes<V>, bucket: Bucket) -> impl Iterator<Item = NodeIndex> + 'a {
        self.get(bucket).into_iter().flat_map(|strands| strands.iter(nodes))
    }

    /// The number of timers in all buckets. O(buckets).
    #[inline(never)]
    pub(crate) fn len(&self) -> usize {
        self.buckets.iter().map(Strands::len).sum()
    }

    /// How many timers each bucket of a level holds, by index on it. O(buckets).
    pub(crate) fn lens(&self, level: usize) -> impl Iterator<Item = usize> + '_ {
        Layout::<G>::indexes(level).map(|at| self.buckets.get(at).map_or(0, Strands::len))
    }

    /// The index on a level of the bucket that the cursor is in; 0 on the far one.
    pub(crate) fn cursor_on(&self, level: usize) -> usize {
        if level == FAR { 0 } else { Layout::<G>::index_on_level(level, self.least(level)) }
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.buckets.capacity() * mem::size_of::<Strands>()
            + self.occupancy.bytes()
            + self.collected.capacity() * mem::size_of::<Ordered>()
    }

    /// Gives back the memory of the levels above the highest that is occupied. O(buckets).
    pub(crate) fn shrink_to_fit(&mut self) {
        let room = self.buckets.iter().rposition(|strands| strands.len() != 0).map_or(0, |highest| highest + 1);
        self.buckets.truncate(room);
        self.buckets.shrink_to_fit();
        self.collected = Vec::new();
        if room == 0 {
            self.occupancy.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::geometry::Compact;

    /// Checks levels with a timer in rotation 6 after they were told that a rotation is the last that was opened.
    fn check_opened(rotation: u64) {
        let (mut nodes, mut levels) = (Nodes::<()>::new(), Levels::<Compact>::new(0));
        nodes.push_any();
        let deadline = 6 << 44;
        nodes.at_mut(0).deadline = deadline;
        levels.place(&mut nodes, NodeIndex::new(0), Layout::<Compact>::tick(deadline));
        assert_eq!(levels.agenda.first, Some(Bucket { level: FAR, number: 4 }));
        levels.reach[FAR] = rotation + 1;
        let occupied = (0..levels.buckets.len()).filter(|&at| levels.buckets[at].len() != 0);
        occupied.for_each(|at| levels.check_bucket(levels.bucket_at(BucketIndex::new(at))));
    }

    #[test]
    fn far_bucket_keeps_its_timers_until_it_is_opened_and_while_it_is_emptied() {
        (0..=4).for_each(check_opened);
    }

    #[test]
    #[should_panic(expected = "of the buckets that were opened only the last may hold timers")]
    fn far_bucket_that_was_passed_and_holds_timers_breaks_an_invariant() {
        check_opened(5);
    }
}
