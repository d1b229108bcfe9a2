//! The levels of the wheel: timers in buckets of five levels, by their ticks and in no order.
//!
//! A tick belongs on the lowest level whose reach includes it. The reach of level *k* ends with the last bucket of
//! level *k + 1* that was opened: the one that the cursor is in, or the next. A bucket that is opened is *cascaded*:
//! its timers go to finer levels, or are collected for the near heap. A *crowd*, a bucket of more than
//! [`CROWD`](Layout::CROWD) timers, is opened one bucket early, and [migrates](migration) in shares until it starts.
//!
//! The fifth level takes the timers beyond the reach of the fourth, in buckets that double. Far bucket *k* holds the
//! timers for which bit *k* is the highest bit in which the number of their rotation differs from that of the last
//! rotation opened. It spans 2^*k* rotations and starts where that bit becomes 1, as in a radix heap. No timer's bucket
//! changes until time comes to an occupied far bucket. Then its timers go to lower far buckets or to the levels below,
//! so a timer is moved at most once for each bit of its rotation. Until the bucket is empty its bit stays 1, so no
//! other timer belongs in it.
//!
//! A postponed timer stays in its bucket until that is opened, and is then cascaded to its new deadline. So a timer is
//! never in a later bucket than its own, which is sufficient for exact order.

mod check;
mod migration;
mod next_work;
mod occupancy;
mod search;
mod strands;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem;

use self::migration::Migration;
use self::next_work::NextWork;
use self::occupancy::Occupancy;
use self::strands::{BATCH, Strands};
use crate::engine::budget::Budget;
use crate::engine::geometry::{Bucket, BucketIndex, FAR, Geometry, LEVELS, Layout, Tick};
use crate::engine::node::{Links, NodeIndex, Nodes, Ordered, Place};

pub(crate) use self::next_work::NEVER;

/// The most timers of a bucket that are sorted at a time.
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
    buckets: Box<[Strands]>,
    occupancy: Occupancy,
    /// Placement is relative to this tick. It lags behind the clock while there is a backlog, and is ahead of it when
    /// the earliest timer was asked for before it was due.
    cursor: Tick,
    /// For levels 0 to 3, the first bucket of the level above that has not been opened, by its number. A tick before it
    /// belongs on this level or a finer one.
    reach: [u64; LEVELS],
    /// For levels 0 to 3, the [total](Migration::total) of the bucket of the level above that was opened last. None
    /// without buckets.
    totals: Option<Box<[u64; LEVELS]>>,
    pub(crate) next_work: NextWork,
    geometry: PhantomData<fn() -> G>,
}

impl<G> Clone for Levels<G> {
    fn clone(&self) -> Self {
        let (buckets, occupancy) = (self.buckets.clone(), self.occupancy.clone());
        Self { buckets, occupancy, totals: self.totals.clone(), ..*self }
    }
}

impl<G: Geometry> Levels<G> {
    pub(crate) fn new(now: u64) -> Self {
        let mut levels = Self {
            buckets: Box::new([]),
            occupancy: Occupancy::default(),
            cursor: Layout::<G>::tick(now),
            reach: [0; LEVELS],
            totals: None,
            next_work: NextWork::NONE,
            geometry: PhantomData,
        };
        levels.restart(levels.cursor);
        levels
    }

    /// Whether no bucket holds timers.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.next_work.bucket.is_none()
    }

    /// Sets the cursor, backwards too. No bucket may hold timers.
    #[inline(never)]
    pub(crate) fn restart(&mut self, cursor: Tick) {
        debug_assert!(self.is_empty());
        self.cursor = cursor;
        self.reach = [0; LEVELS];
        self.extend_reach();
        // At once: the next advance computes the times of the buckets that are linked until then.
        self.next_work.set_upkeep(0, NEVER);
    }

    /// The tick that placement is relative to. Timers due by it go to the near heap.
    #[inline]
    pub(crate) fn cursor(&self) -> Tick {
        self.cursor
    }

    /// Moves the cursor up to a tick that no occupied bucket starts by.
    #[inline]
    pub(crate) fn move_cursor(&mut self, tick: Tick) {
        self.cursor = self.cursor.max(tick);
    }

    /// The bucket where a tick after the cursor's belongs: on the lowest level within whose reach it lies. O(1).
    #[inline(always)]
    fn find_bucket(&self, tick: Tick) -> BucketIndex {
        // Level by level, so that every shift is an immediate.
        let lies_on = |level: usize| Layout::<G>::number(level + 1, tick) < self.reach[level];
        let index_on = |level: usize| Layout::<G>::index(Bucket::new(level, Layout::<G>::number(level, tick)));
        if lies_on(0) {
            index_on(0)
        } else if lies_on(1) {
            index_on(1)
        } else if lies_on(2) {
            index_on(2)
        } else if lies_on(3) {
            index_on(3)
        } else {
            self.find_far_bucket(tick)
        }
    }

    #[inline(never)]
    fn find_far_bucket(&self, tick: Tick) -> BucketIndex {
        Layout::<G>::index(Layout::<G>::far_bucket(tick, self.base(FAR)))
    }

    /// Appends a timer to the bucket of a tick after the cursor's. Returns the bucket as its place, and the timer
    /// before it. The caller writes the links of the timer's own node. O(1).
    // Always: a call takes a sixth more instructions.
    #[inline(always)]
    pub(crate) fn append<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, tick: Tick) -> (Place, NodeIndex) {
        let at = self.find_bucket(tick);
        debug_assert!(tick > self.cursor, "no bucket that is occupied lies before the cursor's");
        debug_assert!(
            Layout::<G>::start_tick(self.bucket_at(at)) <= tick && tick <= Layout::<G>::end_tick(self.bucket_at(at)),
            "no timer in a bucket is due before the bucket's start"
        );
        let Some(strands) = self.buckets.get_mut(at.get()) else {
            return self.append_to_new_level(nodes, index, at);
        };
        let len = strands.len();
        let prev = strands.append(nodes, index);
        if len % Migration::<G>::SHARE == 0 {
            self.after_append(at, len + 1);
        }
        (Place::bucket(at), prev)
    }

    /// Allocates the buckets up to the level of the bucket `at`, and appends a timer to that bucket.
    #[cold]
    #[inline(never)]
    fn append_to_new_level<V>(
        &mut self,
        nodes: &mut Nodes<V>,
        index: NodeIndex,
        at: BucketIndex,
    ) -> (Place, NodeIndex) {
        let (level, _) = Layout::<G>::level_and_index(at);
        let room = Layout::<G>::indexes(level).end;
        let mut buckets = mem::take(&mut self.buckets).into_vec();
        buckets.reserve_exact(room - buckets.len());
        buckets.resize(room, Strands::EMPTY);
        self.buckets = buckets.into_boxed_slice();
        let prev = self.buckets[at.get()].append(nodes, index);
        self.after_append(at, 1);
        (Place::bucket(at), prev)
    }

    /// Links a timer that is linked nowhere into the bucket of its tick, which is after the cursor's. O(1).
    #[inline(never)]
    pub(crate) fn link<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, tick: Tick) {
        let (place, prev) = self.append(nodes, index, tick);
        nodes.at_mut(index.get()).link_behind(prev, place);
    }

    /// Unlinks a timer from its bucket. O(1).
    #[inline]
    pub(crate) fn unlink<V>(&mut self, nodes: &mut Nodes<V>, bucket: BucketIndex, index: NodeIndex, links: Links) {
        let strands = &mut self.buckets[bucket.get()];
        strands.unlink(nodes, index, links);
        let left = strands.len();
        if left % Migration::<G>::SHARE == 0 {
            self.after_unlink(bucket, left);
        }
    }

    /// Called when a bucket has got its first timer, and then after every [`SHARE`](Migration::SHARE) more.
    #[inline(never)]
    fn after_append(&mut self, at: BucketIndex, len: usize) {
        let bucket = self.bucket_at(at);
        if len == 1 {
            self.occupancy.set(bucket.level(), Layout::<G>::index_on_level(bucket.level(), bucket.number));
            let start_ns = Layout::<G>::start_ns(bucket);
            // On a tie keep the current one: it is the coarser. Without one `bucket_ns` is `NEVER`, but the last tick
            // of all may start then, too.
            if self.is_empty() || start_ns < self.next_work.bucket_ns {
                self.next_work.set_bucket(Some(bucket), start_ns);
            }
        }
        // Only when its length has doubled. Otherwise a sleeping caller would wake up for every few new timers.
        if len > Layout::<G>::CROWD && bucket.level() != 0 && (len - 1).is_power_of_two() {
            self.after_crowding(bucket, len);
        }
    }

    /// Starts the migration of a bucket that has become a crowd, or a larger one, if it is the next of its level.
    #[cold]
    fn after_crowding(&mut self, bucket: Bucket, len: usize) {
        if bucket.number == Layout::<G>::number(bucket.level(), self.cursor) + 1 {
            self.mark_opened(bucket, Migration::<G>::late_total(bucket, len, Layout::<G>::tick_ns(self.cursor)));
        }
        self.refresh_upkeep();
    }

    /// Called when a bucket has lost its last timer, and before that after every [`SHARE`](Migration::SHARE) of them.
    #[inline(never)]
    fn after_unlink(&mut self, at: BucketIndex, len: usize) {
        // Make the next advance run, so that it can give back a page.
        self.next_work.end_idle_by(0);
        let bucket = self.bucket_at(at);
        if len == 0 {
            self.mark_empty(bucket);
        }
        // The bucket is no longer a crowd, or the next one is the first of its level now.
        if bucket.level() != 0 && (len == Layout::<G>::CROWD || len == 0) {
            self.refresh_upkeep();
        }
    }

    /// Clears the bit of a bucket that has lost its last timer.
    #[inline(never)]
    fn mark_empty(&mut self, bucket: Bucket) {
        self.occupancy.unset(bucket.level(), Layout::<G>::index_on_level(bucket.level(), bucket.number));
        if self.next_work.bucket == Some(bucket) {
            self.refresh_next_bucket();
        }
    }

    /// Opens the next bucket, or resumes opening it, within the budget.
    ///
    /// It cascades: all timers of a tick, or of a coarser bucket with few, are collected to be sorted. Timers of any
    /// other bucket go to finer ones, as seen from the bucket's start.
    #[inline(never)]
    pub(crate) fn open_next<V>(&mut self, nodes: &mut Nodes<V>, collected: &mut Vec<Ordered>, budget: &mut Budget) {
        let Some(bucket) = self.next_work.bucket else {
            return;
        };
        debug_assert!(self.next_work.bucket == self.bucket_after(None), "the next occupied bucket is known");
        debug_assert!(collected.is_empty(), "between two calls no timer is linked nowhere");
        let start = Layout::<G>::start_tick(bucket);
        let len = self.len_of(bucket);
        let is_new = if bucket.level() == 0 { self.cursor < start } else { !self.is_opened(bucket) };
        budget.work -= usize::from(is_new);
        let is_sorted = bucket.level() == 0 || is_new && len <= Layout::<G>::CROWD.min(budget.work);
        // One tick before the start of a coarser bucket, so that timers of its first tick go to a bucket of level 0 and
        // are sorted there. It also keeps later buckets closed while this one still holds timers.
        self.move_cursor(if bucket.level() == 0 { start } else { start.before() });
        if Layout::<G>::tick_ns(self.cursor) >= self.next_work.upkeep_ns {
            self.extend_reach();
        }
        self.mark_opened(bucket, len as u64);
        let by = if is_sorted { Layout::<G>::end_tick(bucket) } else { self.cursor };
        let count = budget.take_work(len.min(LONGEST_CHAIN));
        if is_sorted && collected.capacity() < count {
            // Allocate afresh: `reserve` would copy stale contents.
            *collected = Vec::with_capacity(count);
        }
        self.cascade(nodes, collected, bucket, count, by);
        if bucket.level() != 0 {
            if is_sorted {
                self.move_cursor(start);
                self.extend_reach();
            }
            // The bucket may be the crowd that was to migrate.
            self.refresh_upkeep();
        }
    }

    /// Whether timers of a bucket's ticks belong on finer levels. Not for level 0.
    fn is_opened(&self, bucket: Bucket) -> bool {
        bucket.number < self.reach[bucket.level() - 1]
    }

    /// Extends the reach over a bucket, unless it was opened before. Its shares are computed from `total`, which is 0
    /// for an empty bucket.
    fn mark_opened(&mut self, bucket: Bucket, total: u64) {
        if bucket.level() != 0 && !self.is_opened(bucket) {
            debug_assert!(
                bucket.level() != FAR || self.keeps_far_numbers(bucket.number),
                "no far bucket changes its number"
            );
            self.reach[bucket.level() - 1] = bucket.number + 1;
            if total != 0 || self.totals.is_some() {
                self.totals.get_or_insert_with(Box::default)[bucket.level() - 1] = total;
            }
        }
    }

    /// Extends the reach over the buckets that the cursor is in: they count as opened.
    #[inline(never)]
    fn extend_reach(&mut self) {
        for level in 1..=FAR {
            self.mark_opened(Bucket::new(level, Layout::<G>::number(level, self.cursor)), 0);
        }
    }

    /// Takes `count` timers out of an opened bucket, which must hold as many. Collects those that are due by a tick,
    /// and links the others into finer buckets.
    #[inline(never)]
    fn cascade<V>(
        &mut self,
        nodes: &mut Nodes<V>,
        collected: &mut Vec<Ordered>,
        bucket: Bucket,
        mut count: usize,
        by: Tick,
    ) {
        let mut batch = [NodeIndex::NIL; BATCH];
        while count != 0 {
            let strands = &mut self.buckets[Layout::<G>::index(bucket).get()];
            let taken = strands.take(nodes, count, &mut batch);
            if strands.len() == 0 {
                self.mark_empty(bucket);
            }
            count -= taken;
            for &index in &batch[..taken] {
                let node = nodes.at(index.get());
                let tick = Layout::<G>::tick(node.deadline);
                if tick <= by {
                    collected.push(Ordered::new(node, index));
                } else {
                    let (place, prev) = self.append(nodes, index, tick);
                    nodes.at_mut(index.get()).link_behind(prev, place);
                }
            }
        }
    }

    /// Whether the cursor has reached a tick at which the reach must be extended or a share migrated.
    #[inline]
    pub(crate) fn has_upkeep(&self) -> bool {
        Layout::<G>::tick_ns(self.cursor) >= self.next_work.upkeep_ns
    }

    /// Extends the reach to the cursor, opens the crowds that come next, and migrates a share of each, within the
    /// budget.
    #[inline(never)]
    pub(crate) fn keep_up<V>(&mut self, nodes: &mut Nodes<V>, now: u64, budget: &mut Budget) {
        // A crowd lies ahead of the cursor, so none of its timers is collected.
        let mut none = Vec::new();
        self.extend_reach();
        // Timers may have been cancelled since the time was computed. Move a whole share even so, so that no caller is
        // woken for nothing.
        let least = if now >= self.next_work.migration_ns { Migration::<G>::WAKING_SHARE } else { 0 };
        for level in (1..=FAR).rev() {
            let bucket = Bucket::new(level, Layout::<G>::number(level, self.cursor) + 1);
            let crowd = self.migration(bucket);
            if crowd.left > Layout::<G>::CROWD {
                self.mark_opened(bucket, crowd.total);
            }
            if self.is_opened(bucket) {
                let share = crowd.share(Layout::<G>::tick_ns(self.cursor)).max(least).min(crowd.left);
                self.cascade(nodes, &mut none, bucket, budget.take_work(share), self.cursor);
            }
        }
        self.refresh_upkeep();
    }

    /// Computes when there is upkeep next. O(levels).
    #[inline(never)]
    fn refresh_upkeep(&mut self) {
        let (mut upkeep_ns, mut migration_ns) = (NEVER, NEVER);
        if !self.is_empty() {
            let entered = Bucket::new(1, Layout::<G>::number(1, self.cursor));
            upkeep_ns = Layout::<G>::tick_ns(Layout::<G>::end_tick(entered).plus(1));
        }
        for level in 1..=FAR {
            let next = Layout::<G>::number(level, self.cursor) + 1;
            let Some(number) = self.next_occupied(level, next) else {
                continue;
            };
            let bucket = Bucket::new(level, number);
            let crowd = self.migration(bucket);
            if crowd.left > Layout::<G>::CROWD {
                migration_ns = migration_ns.min(crowd.share_ns(Migration::<G>::WAKING_SHARE));
            }
            if self.is_opened(bucket) {
                upkeep_ns = upkeep_ns.min(crowd.share_ns(Migration::<G>::SHARE));
            } else if number == next && crowd.left > Layout::<G>::CROWD {
                upkeep_ns = 0;
            }
        }
        self.next_work.set_upkeep(upkeep_ns, migration_ns);
    }

    /// The migration of a bucket, which begins now unless it was opened before.
    fn migration(&self, bucket: Bucket) -> Migration<G> {
        let left = self.len_of(bucket);
        let totals = self.totals.as_deref().filter(|_| self.is_opened(bucket));
        let total = totals.map_or(0, |totals| totals[bucket.level() - 1]).max(left as u64);
        Migration { bucket, left, total, geometry: PhantomData }
    }

    /// Some timer of the next bucket. O(1).
    pub(crate) fn any(&self) -> Option<NodeIndex> {
        self.get(self.next_work.bucket?)?.any()
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

    /// The number of timers in each bucket of a level, by index on the level. O(buckets).
    pub(crate) fn lens(&self, level: usize) -> impl Iterator<Item = usize> + '_ {
        Layout::<G>::indexes(level).map(|at| self.buckets.get(at).map_or(0, Strands::len))
    }

    /// The index on a level of the bucket that the cursor is in; 0 on the far one.
    pub(crate) fn cursor_on(&self, level: usize) -> usize {
        if level == FAR { 0 } else { Layout::<G>::index_on_level(level, self.base(level)) }
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        mem::size_of_val(&*self.buckets) + self.occupancy.bytes() + self.totals.as_deref().map_or(0, mem::size_of_val)
    }

    /// Gives back the memory of the levels above the highest that is occupied. O(buckets).
    pub(crate) fn shrink_to_fit(&mut self) {
        let room = self.buckets.iter().rposition(|strands| strands.len() != 0).map_or(0, |highest| highest + 1);
        self.buckets = self.buckets[..room].into();
        if room == 0 {
            self.occupancy.clear();
            self.totals = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::geometry::Compact;

    /// Checks levels with a timer in rotation 6 after `rotation` was marked as the last one opened.
    fn check_opened(rotation: u64) {
        let (mut nodes, mut levels) = (Nodes::<()>::new(), Levels::<Compact>::new(0));
        nodes.push_any();
        let deadline = 6 << 44;
        nodes.at_mut(0).deadline = deadline;
        levels.link(&mut nodes, NodeIndex::new(0), Layout::<Compact>::tick(deadline));
        assert_eq!(levels.next_work.bucket, Some(Bucket::new(FAR, 4)));
        levels.reach[FAR - 1] = rotation + 1;
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
