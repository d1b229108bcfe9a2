//! A hierarchical wheel as it is usually built: a doubly linked list a bucket, a node a timer.
//!
//! It is the baseline that shows what the list costs, so it is given every advantage that does not
//! change the structure: the nodes lie in one slab, the geometry is a type, placement is by the
//! highest differing digit, and occupancy bitmaps skip the empty buckets, whatever the jump.
//! Cancelling and rescheduling unlink in O(1). A cascade follows the list and links each node anew,
//! which on a large wheel is a chain of cache misses, and that is the weakness on show.
//!
//! Unlike most such wheels it is exact. The bucket of the current tick is sorted before it is
//! popped, so it answers to the nanosecond and in the order of a sorted set, and its answers can be
//! checked against one. The sort is stable and compares deadlines only: two timers with one
//! deadline are always on the same list, in the order in which they were last scheduled.

mod layout;
mod lists;
mod occupancy;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use timer_wheel::{Geometry, Millis};

use crate::queue::{Need, Order, Queue};

use layout::{BucketIndex, Layout};
use lists::{Lists, Node, NodeIndex};
use occupancy::Occupancy;

/// Names a scheduled timer. A key whose timer fired or was cancelled is refused, until 2^32 further
/// timers have been scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextbookKey {
    node: u32,
    stamp: u32,
}

/// A hierarchical timer wheel of linked lists. See the [module](self) for what it is for.
///
/// Invariant: no timer outside the due bucket is due before the end of the current tick.
/// Invariant: while `due_is_sorted`, the due bucket is in order of deadline, first come first.
#[derive(Debug)]
pub struct TextbookWheel<T, G: Geometry = Millis> {
    now: u64,
    current_tick: u64,
    lists: Lists<T>,
    occupancy: Occupancy,
    due_is_sorted: bool,
    /// What sorting the due bucket needs, kept so as not to allocate at every tick.
    sorting: Vec<(u64, NodeIndex)>,
    last_stamp: u32,
    handled: u64,
    geometry: PhantomData<G>,
}

impl<T, G: Geometry> Queue<T> for TextbookWheel<T, G> {
    const NAME: &'static str = "textbook";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Need::Budget, Need::List, Need::First, Need::Horizon];
    type Key = TextbookKey;

    /// O(buckets).
    fn new(now: u64) -> Self {
        Self {
            now,
            current_tick: Layout::<G>::tick(now),
            lists: Lists::new(Layout::<G>::BUCKETS),
            occupancy: Occupancy::new::<G>(),
            due_is_sorted: true,
            sorting: Vec::new(),
            last_stamp: 0,
            handled: 0,
            geometry: PhantomData,
        }
    }

    /// O(1).
    ///
    /// # Panics
    ///
    /// If there are 2^32 timers already.
    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> TextbookKey {
        let bucket = self.bucket_for(deadline);
        self.last_stamp = self.last_stamp.wrapping_add(1);
        let stamp = self.last_stamp;
        let node = self.lists.insert(bucket, deadline, stamp, value);
        TextbookKey { node: node.0, stamp }
    }

    /// Costs a [`pop_expired`](Self::pop_expired) a timer.
    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, T)) {
        while let Some((deadline, value)) = self.pop_expired(now) {
            fire(deadline, value);
        }
    }

    /// How many times a node was moved down or fired.
    #[inline]
    fn advance_counting(&mut self, now: u64, fire: impl FnMut(u64, T)) -> usize {
        let before = self.handled;
        self.advance(now, fire);
        (self.handled - before) as usize
    }

    /// O(1).
    #[inline]
    fn len(&self) -> usize {
        self.lists.len() - Layout::<G>::BUCKETS
    }

    /// O(1).
    #[inline]
    fn cancel(&mut self, key: TextbookKey) -> Option<T> {
        let node = self.live(key)?;
        self.remove(node).value
    }

    /// O(1). The key stays.
    #[inline]
    fn reschedule(&mut self, key: &mut TextbookKey, deadline: u64) -> bool {
        let Some(node) = self.live(*key) else {
            return false;
        };
        if let Some(emptied) = self.lists.unlink(node) {
            self.occupancy.clear(emptied);
        }
        self.lists.set_deadline(node, deadline);
        let bucket = self.bucket_for(deadline);
        self.lists.link(node, bucket);
        true
    }

    /// No later than the earliest deadline, unless that has passed already, and never before now; a timer
    /// beyond the levels costs a wake-up a rotation. O(levels).
    fn next_wake(&self) -> Option<u64> {
        if let Some(first) = self.lists.first(Layout::<G>::DUE) {
            return Some(if self.due_is_sorted { self.lists.deadline(first).max(self.now) } else { self.now });
        }
        let bucket = self.occupancy.first()?;
        let tick = Layout::<G>::first_tick(bucket, self.current_tick);
        Some(Layout::<G>::tick_start_ns(tick).max(self.now))
    }

    /// Takes the earliest timer whose deadline is `now` or before, with its deadline. Time never
    /// goes back: an earlier `now` counts as the latest one. Amortized O(levels + log bucket).
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        self.now = self.now.max(now);
        let target_tick = Layout::<G>::tick(self.now);
        loop {
            self.sort_due();
            if let Some(first) = self.lists.first(Layout::<G>::DUE) {
                if self.lists.deadline(first) > self.now {
                    return None;
                }
                self.handled += 1;
                let fired = self.remove(first);
                return fired.value.map(|value| (fired.deadline, value));
            }
            if !self.open_next(target_tick) {
                return None;
            }
        }
    }
}

impl<T, G: Geometry> TextbookWheel<T, G> {
    fn live(&self, key: TextbookKey) -> Option<NodeIndex> {
        let node = NodeIndex(key.node);
        (self.lists.get(node)?.stamp == key.stamp).then_some(node)
    }

    /// Where a timer of this deadline goes, marked as occupied by it. The due bucket stays sorted
    /// if the newcomer is not before its last.
    #[inline]
    fn bucket_for(&mut self, deadline: u64) -> BucketIndex {
        let bucket = Layout::<G>::bucket_of(Layout::<G>::tick(deadline), self.current_tick);
        if bucket != Layout::<G>::DUE {
            self.occupancy.set(bucket);
        } else if self.due_is_sorted {
            let last = self.lists.last(bucket);
            self.due_is_sorted = last.is_none_or(|last| self.lists.deadline(last) <= deadline);
        }
        bucket
    }

    #[inline]
    fn remove(&mut self, node: NodeIndex) -> Node<T> {
        let (removed, emptied) = self.lists.remove(node);
        if let Some(emptied) = emptied {
            self.occupancy.clear(emptied);
        }
        removed
    }

    /// Moves the current tick to the next bucket that starts by `target_tick` and opens it. If there
    /// is none, moves to `target_tick` and says `false`.
    fn open_next(&mut self, target_tick: u64) -> bool {
        let reached = self
            .occupancy
            .first()
            .filter(|&next| Layout::<G>::first_tick(next, self.current_tick) <= target_tick)
            .map(|next| (next, self.entry_tick(next)))
            .filter(|&(_, entry_tick)| entry_tick <= target_tick);
        let Some((bucket, entry_tick)) = reached else {
            self.current_tick = target_tick;
            return false;
        };
        self.current_tick = entry_tick;
        self.occupancy.clear(bucket);
        if Layout::<G>::is_finest(bucket) {
            self.lists.splice(bucket, Layout::<G>::DUE);
            self.due_is_sorted = false;
        } else {
            self.cascade(bucket);
        }
        true
    }

    /// The tick at which to open the first occupied bucket: where it starts or, for the overflow
    /// bucket, where the first rotation that has a timer starts. The rotations before it are skipped:
    /// with every level empty there is nothing else to keep in order.
    fn entry_tick(&self, bucket: BucketIndex) -> u64 {
        if bucket == Layout::<G>::OVERFLOW {
            Layout::<G>::rotation_start(Layout::<G>::tick(self.earliest_in_overflow()))
        } else {
            Layout::<G>::first_tick(bucket, self.current_tick)
        }
    }

    /// Files every node of a bucket anew, seen from the current tick.
    fn cascade(&mut self, bucket: BucketIndex) {
        let mut next = self.lists.detach(bucket);
        while let Some(node) = next {
            next = self.lists.following(node, bucket);
            let lower = self.bucket_for(self.lists.deadline(node));
            self.lists.link(node, lower);
            self.handled += 1;
        }
    }

    fn earliest_in_overflow(&self) -> u64 {
        let mut earliest = u64::MAX;
        let mut next = self.lists.first(Layout::<G>::OVERFLOW);
        while let Some(node) = next {
            earliest = earliest.min(self.lists.deadline(node));
            next = self.lists.following(node, Layout::<G>::OVERFLOW);
        }
        earliest
    }

    #[inline]
    fn sort_due(&mut self) {
        if !self.due_is_sorted {
            self.sort_due_now();
        }
    }

    /// Brings the due bucket into order of deadline, equals as they came.
    fn sort_due_now(&mut self) {
        self.due_is_sorted = true;
        self.sorting.clear();
        let mut next = self.lists.first(Layout::<G>::DUE);
        while let Some(node) = next {
            self.sorting.push((self.lists.deadline(node), node));
            next = self.lists.following(node, Layout::<G>::DUE);
        }
        if self.sorting.is_sorted_by_key(|&(deadline, _)| deadline) {
            return;
        }
        self.sorting.sort_by_key(|&(deadline, _)| deadline);
        self.lists.detach(Layout::<G>::DUE);
        for &(_, node) in &self.sorting {
            self.lists.link(node, Layout::<G>::DUE);
        }
    }
}
