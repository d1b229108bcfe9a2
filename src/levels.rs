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

mod agenda;
mod ahead;
mod strands;

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem;

use self::agenda::Agenda;
use self::strands::{Batch, Strands};
use crate::budget::Budget;
use crate::geometry::{Bucket, BucketIndex, FAR, Geometry, LEVELS, Layout, Tick};
use crate::node::{Links, NodeIndex, Nodes, Ordered, Place};
use crate::occupancy::Occupancy;

pub(crate) use self::agenda::NEVER;

/// The most timers that one opening takes from a bucket to be sorted.
const LONGEST_CHAIN: usize = 1024;

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
    /// For levels 1 to 4, the time up to which the share of the bucket ahead has been moved, in nanoseconds.
    moved_until: [u64; LEVELS + 1],
    agenda: Agenda,
    geometry: PhantomData<fn() -> G>,
}

impl<G> Clone for Levels<G> {
    fn clone(&self) -> Self {
        Self { buckets: self.buckets.clone(), occupancy: self.occupancy.clone(), ..*self }
    }
}

impl<G: Geometry> Levels<G> {
    /// The length of a bucket is checked only when it has changed by this much: a quarter of what makes a crowd.
    const STEP: usize = Layout::<G>::FEW / 4;

    pub(crate) fn new(now: u64) -> Self {
        let mut levels = Self {
            buckets: Vec::new(),
            occupancy: Occupancy::default(),
            cursor: Layout::<G>::tick(now),
            reach: [0; LEVELS + 1],
            moved_until: [0; LEVELS + 1],
            agenda: Agenda::EMPTY,
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
        self.moved_until = [0; LEVELS + 1];
        self.enter();
        self.agenda.set_chores(0);
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

    /// A number that no occupied bucket of a level is below: the cursor's, or on the far level that of the last rotation
    /// that was opened. [`number_from`](Layout::number_from) asks for it.
    #[inline]
    fn least(&self, level: usize) -> u64 {
        if level == FAR { self.reach[FAR] - 1 } else { Layout::<G>::number(level, self.cursor) }
    }

    /// The bucket at an index.
    fn bucket_at(&self, index: BucketIndex) -> Bucket {
        let (level, on_level) = Layout::<G>::level_and_index(index);
        Bucket { level, number: Layout::<G>::number_from(level, on_level, self.least(level)) }
    }

    /// Appends a timer to the bucket where a tick after the cursor's belongs, and returns which it is and the timer
    /// before. The links of the timer's node are the caller's to write. O(1).
    // Always: a call takes a sixth more instructions.
    #[inline(always)]
    pub(crate) fn append<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, tick: Tick) -> (Place, NodeIndex) {
        // Level by level, so that every shift is an immediate.
        let lies_on = |level: usize| Layout::<G>::number(level + 1, tick) < self.reach[level + 1];
        let bucket_on = |level: usize| Bucket { level, number: Layout::<G>::number(level, tick) };
        let bucket = if lies_on(0) {
            bucket_on(0)
        } else if lies_on(1) {
            bucket_on(1)
        } else if lies_on(2) {
            bucket_on(2)
        } else if lies_on(3) {
            bucket_on(3)
        } else {
            self.far_bucket(tick)
        };
        let at = Layout::<G>::index(bucket);
        if at.get() >= self.buckets.len() {
            self.make_level(bucket.level);
        }
        let strands = &mut self.buckets[at.get()];
        let prev = strands.append(nodes, index);
        let len = strands.len();
        if (len - 1) % Self::STEP == 0 {
            self.lengthened(bucket, len);
        }
        (Place::bucket(at), prev)
    }

    /// Allocates the buckets up to those of a level.
    #[cold]
    fn make_level(&mut self, level: usize) {
        let room = Layout::<G>::indexes(level).end;
        self.buckets.reserve_exact(room - self.buckets.len());
        while self.buckets.len() < room {
            self.buckets.push(Strands::EMPTY);
        }
    }

    #[inline(never)]
    fn far_bucket(&self, tick: Tick) -> Bucket {
        Layout::<G>::far_bucket(tick, self.least(FAR))
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
    fn lengthened(&mut self, bucket: Bucket, len: usize) {
        if len == 1 {
            self.occupancy.set(bucket.level, Layout::<G>::index_on_level(bucket.level, bucket.number));
            let start = Layout::<G>::start_ns(Layout::<G>::start(bucket));
            // On a tie the present first stays: it is coarser and half moved down. Without a first, `start` is `NEVER`,
            // but the last tick of all may start then too.
            if self.is_empty() || start < self.agenda.start {
                self.agenda.set_first(Some(bucket), start);
            }
        }
        if len > Layout::<G>::FEW && bucket.level != 0 {
            self.crowded(bucket, len);
        }
    }

    #[inline(never)]
    fn shortened(&mut self, index: BucketIndex, len: usize) {
        let bucket = self.bucket_at(index);
        if len == 0 {
            self.emptied(bucket);
        }
        // The bucket is no longer a crowd, or the next one is the first of its level now.
        if (len == Layout::<G>::FEW || len == 0) && bucket.level != 0 {
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

    /// Opens the first bucket, or continues to, within the budget. Adds the timers that are to be sorted to `collected`;
    /// they are linked nowhere then.
    ///
    /// The timers of a tick, or of a coarser bucket with few, are sorted; those of any other are moved to where they
    /// belong, as seen from its start.
    #[inline(never)]
    pub(crate) fn open<V>(&mut self, nodes: &mut Nodes<V>, budget: &mut Budget, collected: &mut Vec<Ordered>) {
        let Some(bucket) = self.agenda.first else {
            return;
        };
        let start = Layout::<G>::start(bucket);
        let len = self.len_of(bucket);
        let is_new = if bucket.level == 0 { self.cursor < start } else { self.reach[bucket.level] <= bucket.number };
        budget.work -= usize::from(is_new);
        let is_sorted = bucket.level == 0 || is_new && len <= Layout::<G>::FEW.min(budget.work);
        let count = len.min(budget.work);
        // One tick before the start, so that timers of its first tick go to a bucket of level 0 and are sorted there.
        self.move_cursor(if is_sorted { start } else { start.before() });
        if Layout::<G>::start_ns(self.cursor) >= self.agenda.chores() {
            self.enter();
        }
        if bucket.level != 0 {
            self.reach[bucket.level] = self.reach[bucket.level].max(bucket.number + 1);
        }
        if is_sorted {
            let count = count.min(LONGEST_CHAIN);
            budget.work -= count;
            self.collect(nodes, bucket, count, collected);
        } else {
            budget.work -= count;
            self.move_down(nodes, bucket, count);
        }
        if bucket.level != 0 {
            // The bucket may be the crowd that was to be moved ahead.
            self.refresh_moves();
        }
    }

    /// Extends the reach over the buckets that the cursor is in: they count as opened.
    #[inline(never)]
    fn enter(&mut self) {
        for level in 1..=FAR {
            let number = Layout::<G>::number(level, self.cursor);
            self.reach[level] = self.reach[level].max(number + 1);
        }
    }

    /// Takes `count` timers out of a bucket, which holds at least as many; those that were postponed beyond it are placed
    /// again.
    fn collect<V>(&mut self, nodes: &mut Nodes<V>, bucket: Bucket, mut count: usize, collected: &mut Vec<Ordered>) {
        let end = Layout::<G>::end(bucket);
        let mut batch = Batch::new();
        while count != 0 {
            self.take(nodes, bucket, count, &mut batch);
            count -= batch.as_slice().len();
            for &index in batch.as_slice() {
                let timer = Ordered::of(nodes, index);
                let tick = Layout::<G>::tick(timer.deadline);
                if tick <= end {
                    collected.push(timer);
                } else {
                    self.place(nodes, index, tick);
                }
            }
        }
    }

    /// Moves `count` timers of an opened bucket, which holds at least as many, to where they belong.
    fn move_down<V>(&mut self, nodes: &mut Nodes<V>, bucket: Bucket, mut count: usize) {
        let mut batch = Batch::new();
        while count != 0 {
            self.take(nodes, bucket, count, &mut batch);
            count -= batch.as_slice().len();
            for &index in batch.as_slice() {
                let tick = Layout::<G>::tick(nodes.at(index.get()).deadline);
                let (place, prev) = self.append(nodes, index, tick);
                nodes.at_mut(index.get()).link_behind(prev, place);
            }
        }
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

    /// Takes up to `most` timers out of a bucket that holds some, at most a batch of them. O(taken).
    fn take<V>(&mut self, nodes: &mut Nodes<V>, bucket: Bucket, most: usize, batch: &mut Batch) {
        let strands = &mut self.buckets[Layout::<G>::index(bucket).get()];
        strands.take(nodes, most, batch);
        if strands.len() == 0 {
            self.emptied(bucket);
        }
    }

    /// The first occupied bucket, or the first after the given one, in the order of their starts; of
    /// those that start together the coarser first. O(levels).
    pub(crate) fn bucket_after(&self, bucket: Option<Bucket>) -> Option<Bucket> {
        let mut next: Option<Bucket> = None;
        for level in 0..=FAR {
            if next.is_some_and(|next| self.is_before_level(next, level)) {
                break;
            }
            let least = Layout::<G>::number(level, self.cursor);
            let from = bucket.map_or(Some(least), |last| {
                let number = Layout::<G>::number(level, Layout::<G>::start(last));
                Some(least.max(number.checked_add(u64::from(level >= last.level))?))
            });
            let number = from.and_then(|from| self.first_from(level, from));
            let Some(number) = number else {
                continue;
            };
            let found = Bucket { level, number };
            if next.map_or(true, |next| Layout::<G>::start(found) <= Layout::<G>::start(next)) {
                next = Some(found);
            }
        }
        next
    }

    /// Whether `bucket` starts before every occupied bucket of `level` and above. May answer no when it does. Coarser
    /// buckets lie beyond all finer ones, unless one has been opened ahead of its time. In any case they lie beyond the
    /// bucket of level 1 that the cursor is in.
    #[inline]
    fn is_before_level(&self, bucket: Bucket, level: usize) -> bool {
        let of_level_1 = |tick| Layout::<G>::number(1, tick);
        of_level_1(Layout::<G>::start(bucket)) == of_level_1(self.cursor)
            || (level..=FAR).all(|level| self.reach[level] <= Layout::<G>::number(level, self.cursor) + 1)
    }

    /// When a level's next occupied bucket starts, in nanoseconds, if one is occupied. O(1).
    pub(crate) fn start_on(&self, level: usize) -> Option<u64> {
        if level > FAR {
            return None;
        }
        let least = Layout::<G>::number(level, self.cursor);
        let number = self.first_from(level, least)?;
        Some(Layout::<G>::start_ns(Layout::<G>::start(Bucket { level, number })))
    }

    /// The number of a level's first occupied bucket from one on. O(1), far O(buckets).
    #[inline(never)]
    fn first_from(&self, level: usize, number: u64) -> Option<u64> {
        let least = self.least(level);
        if level == FAR {
            // The higher a far bucket, the later it starts. But one that was opened and is not empty yet, whose bit is set
            // in the number of the last rotation that was opened, comes before all others.
            let occupied = self.occupancy.far();
            if occupied & least != 0 && number <= least {
                return Some(least);
            }
            let others = (0..u64::BITS as usize).filter(|bit| (occupied & !least) >> bit & 1 != 0);
            return others.map(|bit| Layout::<G>::number_from(FAR, bit, least)).find(|&found| found >= number);
        }
        if number - least >= Layout::<G>::room(level) as u64 {
            return None;
        }
        let index = self.occupancy.first_from(level, Layout::<G>::index_on_level(level, number))?;
        let found = Layout::<G>::number_from(level, index, least);
        (found >= number).then_some(found)
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
        self.buckets.capacity() * mem::size_of::<Strands>() + self.occupancy.bytes()
    }

    /// Gives back the memory of the levels above the highest that is occupied. O(buckets).
    pub(crate) fn shrink_to_fit(&mut self) {
        let room = self.buckets.iter().rposition(|strands| strands.len() != 0).map_or(0, |highest| highest + 1);
        self.buckets.truncate(room);
        self.buckets.shrink_to_fit();
        if room == 0 {
            self.occupancy.clear();
        }
    }

    /// Checks every invariant of the levels, and hands each timer to `visit`.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check<V>(&self, nodes: &Nodes<V>, mut visit: impl FnMut(NodeIndex)) {
        for (at, strands) in self.buckets.iter().enumerate().map(|(at, strands)| (BucketIndex::new(at), strands)) {
            let (level, on_level) = Layout::<G>::level_and_index(at);
            assert!(
                self.occupancy.is_set(level, on_level) == (strands.len() != 0),
                "a bucket's bit is set if and only if it holds timers"
            );
            strands.check(nodes, Place::bucket(at), |index| {
                let bucket = self.bucket_at(at);
                self.check_bucket(bucket);
                let start = Layout::<G>::start_ns(Layout::<G>::start(bucket));
                assert!(
                    nodes.at(index.get()).deadline >= start,
                    "no timer in a bucket is due before the bucket's start"
                );
                visit(index);
            });
        }
        for level in 1..=FAR {
            let number = Layout::<G>::number(level, self.cursor);
            assert!(
                self.is_empty() || (number + 1..=number + 2).contains(&self.reach[level]),
                "the bucket that the cursor is in has been opened, and at most the next"
            );
            assert!(
                self.moved_until[level] <= Layout::<G>::start_ns(self.cursor),
                "the share until now is all that has been moved"
            );
        }
        self.check_agenda();
    }

    /// Checks that an occupied bucket is where timers of its ticks are placed, or is being moved down.
    fn check_bucket(&self, bucket: Bucket) {
        let Bucket { level, number } = bucket;
        let start = Layout::<G>::start(bucket);
        assert!(
            number >= Layout::<G>::number(level, self.cursor),
            "no bucket that is occupied lies before the cursor's"
        );
        assert!(level == 0 || start > self.cursor, "no coarser bucket that is occupied begins by the cursor's tick");
        assert!(
            level == FAR || Layout::<G>::number(level + 1, start) < self.reach[level + 1],
            "an occupied bucket lies within the reach of its level"
        );
        // On the far level: the bit of an occupied bucket is zero in the last rotation that was opened, or the bucket is that
        // one and not empty yet. If that rotation had passed the bucket, the number from its index would be a lower one.
        assert!(
            level == 0 || number + 1 >= self.reach[level],
            "of the buckets that were opened only the last may hold timers"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Compact;

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
