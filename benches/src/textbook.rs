//! A hierarchical wheel as it is usually built: a doubly linked list a bucket, a node a timer.
//!
//! It is the baseline that shows what the list costs, so it is given every advantage that does not change the
//! structure: the nodes lie in one slab, the geometry is a type, placement is by the highest differing digit, and
//! occupancy bitmaps skip the empty buckets, whatever the jump. Cancelling and rescheduling unlink in O(1). A cascade
//! follows the list and links each node anew, which on a large wheel is a chain of cache misses: the weakness on show.
//!
//! Unlike most such wheels it is exact. The bucket of the current tick is sorted before it is popped. The sort is stable
//! and compares deadlines only: two timers with one deadline are always on the same list, in the order in which they
//! were last scheduled.

mod layout;
mod lists;

use std::marker::PhantomData;

use timer_wheel::{Geometry, Millis};

use crate::queue::{Need, Order, Queue};

pub(crate) use layout::BucketIndex;
use layout::{Layout, Occupancy};
use lists::Node;
pub(crate) use lists::{Lists, NodeIndex};

/// Names a scheduled timer. A key whose timer fired or was cancelled is refused, until 2^32 further timers have been
/// scheduled.
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
    geometry: PhantomData<G>,
}

impl<T, G: Geometry> Queue<T> for TextbookWheel<T, G> {
    const NAME: &'static str = "textbook";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Need::Budget, Need::First, Need::Clear, Need::Horizon];
    type Key = TextbookKey;

    fn new(now: u64) -> Self {
        Self {
            now,
            current_tick: now >> G::TICK_BITS,
            lists: Lists::new(Layout::<G>::BUCKETS),
            occupancy: Occupancy::new(),
            due_is_sorted: true,
            sorting: Vec::new(),
            last_stamp: 0,
            geometry: PhantomData,
        }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> TextbookKey {
        let bucket = self.bucket_for(deadline);
        self.last_stamp = self.last_stamp.wrapping_add(1);
        let stamp = self.last_stamp;
        let NodeIndex(node) = self.lists.insert(bucket, deadline, stamp, value);
        TextbookKey { node, stamp }
    }

    fn len(&self) -> usize {
        self.lists.len() - Layout::<G>::BUCKETS
    }

    #[inline]
    fn cancel(&mut self, key: TextbookKey) -> Option<T> {
        let node = self.live(key)?;
        self.remove(node).value
    }

    /// The key stays.
    #[inline]
    fn reschedule(&mut self, key: &mut TextbookKey, deadline: u64) -> bool {
        let Some(node) = self.live(*key) else {
            return false;
        };
        if let Some(emptied) = self.lists.unlink(node) {
            self.occupancy.clear(emptied);
        }
        self.lists[node].deadline = deadline;
        let bucket = self.bucket_for(deadline);
        self.lists.link(node, bucket);
        true
    }

    /// Time never goes back: an earlier `now` counts as the latest one. Amortized O(levels + log bucket).
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        self.now = self.now.max(now);
        let target_tick = self.now >> G::TICK_BITS;
        loop {
            if !self.due_is_sorted {
                self.sort_due();
            }
            if let Some(first) = self.lists.first(Layout::<G>::DUE) {
                if self.lists[first].deadline > self.now {
                    return None;
                }
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
    #[inline]
    fn live(&self, key: TextbookKey) -> Option<NodeIndex> {
        let node = NodeIndex(key.node);
        (self.lists.get(node)?.stamp == key.stamp).then_some(node)
    }

    /// Where a timer of this deadline goes, marked as occupied by it. The due bucket stays sorted if the newcomer is not
    /// before its last.
    #[inline]
    fn bucket_for(&mut self, deadline: u64) -> BucketIndex {
        let bucket = Layout::<G>::bucket_of(deadline >> G::TICK_BITS, self.current_tick);
        if bucket != Layout::<G>::DUE {
            self.occupancy.set(bucket);
        } else if self.due_is_sorted {
            let last = self.lists.last(bucket);
            self.due_is_sorted = last.is_none_or(|last| self.lists[last].deadline <= deadline);
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

    /// Moves the current tick to the next bucket that starts by `target_tick` and opens it. If there is none, moves to
    /// `target_tick` and says `false`.
    fn open_next(&mut self, target_tick: u64) -> bool {
        let first_tick = |&bucket: &BucketIndex| Layout::<G>::first_tick(bucket, self.current_tick);
        let next = self.occupancy.first().filter(|bucket| first_tick(bucket) <= target_tick);
        let entry_tick = next.map(|bucket| match bucket == Layout::<G>::OVERFLOW {
            // Where the first rotation that has a timer starts: with every level empty the others can be skipped.
            true => Layout::<G>::rotation_start(self.earliest_in_overflow() >> G::TICK_BITS),
            false => first_tick(&bucket),
        });
        let (Some(bucket), Some(entry_tick)) = (next, entry_tick.filter(|&tick| tick <= target_tick)) else {
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

    /// Files every node of a bucket anew, seen from the current tick.
    fn cascade(&mut self, bucket: BucketIndex) {
        let mut next = self.lists.detach(bucket);
        while let Some(node) = next {
            next = self.lists.following(node, bucket);
            let lower = self.bucket_for(self.lists[node].deadline);
            self.lists.link(node, lower);
        }
    }

    fn earliest_in_overflow(&self) -> u64 {
        let overflow = Layout::<G>::OVERFLOW;
        let nodes = std::iter::successors(self.lists.first(overflow), |&node| self.lists.following(node, overflow));
        nodes.map(|node| self.lists[node].deadline).min().unwrap_or(u64::MAX)
    }

    /// Brings the due bucket into order of deadline, equals as they came.
    fn sort_due(&mut self) {
        self.due_is_sorted = true;
        self.sorting.clear();
        let mut next = self.lists.first(Layout::<G>::DUE);
        while let Some(node) = next {
            self.sorting.push((self.lists[node].deadline, node));
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
