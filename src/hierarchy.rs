//! The wheel proper: which timer is due when.
//!
//! It owns the node of each timer, and its caller names timers by the indexes of their nodes. It keeps a value `V`
//! in each node for its owner and never looks at it.

mod advance;
mod ahead;
mod check;
pub(crate) mod search;

use alloc::vec::Vec;
use core::mem;

use crate::geometry::{Bucket, BucketIndex, FAR, Geometry, LEVELS, Layout, Tick};
use crate::lists::Lists;
use crate::near::NearHeap;
use crate::near::sort::sort;
use crate::node::{Links, Node, NodeIndex, Nodes, Ordered, Place, SEQUENCES};

/// No time: later than every wake-up.
const NEVER: u64 = u64::MAX;

/// A hierarchical timer wheel.
///
/// The node of a scheduled timer is linked into exactly one of these:
///
/// - the *list* of a bucket of levels 0 to 3, or of a far rotation;
/// - a chain of the *near heap*, if the timer was due by the cursor's tick when it was placed, or its bucket has
///   been opened and sorted. While there are few timers and no lists, all are there.
///
/// A tick belongs on the lowest level whose reach covers it. The reach of level *k* ends with the last
/// bucket of level *k + 1* that has been opened. That is the one that the cursor is in, or the next: a
/// crowded bucket, one of more than [`FEW`](Layout::FEW) timers, is opened one bucket ahead of its
/// time. Its timers are moved down a few at a time until then.
///
/// A timer that is postponed stays in its bucket until the old deadline comes. So a timer is never in a later
/// bucket than its own, which is sufficient for exact order.
///
/// Invariants, checked by name in `check`:
///
/// - a node says where it is linked, and its neighbours there name it;
/// - no timer in a bucket is due before the bucket's start, and no bucket starts before the cursor's;
/// - the numbers of a level's occupied buckets lie within two rotations from the cursor's on;
/// - `first` is the first occupied bucket, the coarser of two that start together;
/// - `wake` is no later than the next thing to be done, and `idle_until` no later than that and `chores`.
pub(crate) struct Hierarchy<V, G> {
    /// The nodes of all timers, scheduled or not.
    pub(crate) nodes: Nodes<V>,
    /// The latest time that the owner has advanced to, in nanoseconds.
    now: u64,
    /// The caller need not advance before this. [`NEVER`] may mean that, or that there are no timers.
    wake: u64,
    /// An advance from this time on has buckets to enter or timers to move ahead, though the caller need not
    /// wake up for that.
    chores: u64,
    /// An advance before this has nothing to do at all.
    idle_until: u64,
    /// By then a sleeping caller wakes up to move timers ahead.
    moves_due: u64,
    first: First,
    /// Placement is relative to this tick. It lags behind `now` while there is a backlog, and is ahead
    /// of it when the earliest timer was asked for before its time.
    cursor: Tick,
    /// For levels 1 to 4, the number of the first bucket that has not been opened.
    reach: [u64; LEVELS + 1],
    /// For levels 1 to 4, until when the share of the bucket ahead has been moved, in nanoseconds.
    moved_until: [u64; LEVELS + 1],
    next_sequence: u64,
    near: NearHeap,
    lists: Lists<G>,
    /// The memory in which timers are collected and sorted; there is nothing in it.
    collected: Vec<Ordered>,
    order: Vec<u64>,
}

/// The first occupied bucket and when it starts, if there is one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct First {
    start: u64,
    bucket: Option<Bucket>,
}

impl First {
    #[inline]
    fn at<G: Geometry>(bucket: Option<Bucket>) -> Self {
        let start = bucket.map_or(NEVER, |it| Layout::<G>::start_ns(Layout::<G>::start(it)));
        Self { start, bucket }
    }
}

impl<V: Clone, G> Clone for Hierarchy<V, G> {
    fn clone(&self) -> Self {
        Self {
            nodes: self.nodes.clone(),
            near: self.near.clone(),
            lists: self.lists.clone(),
            collected: Vec::new(),
            order: Vec::new(),
            ..*self
        }
    }
}

impl<V, G: Geometry> Hierarchy<V, G> {
    pub(crate) fn new(now: u64) -> Self {
        let () = Layout::<G>::CHECKED;
        let mut wheel = Self {
            nodes: Nodes::new(),
            now,
            wake: NEVER,
            chores: 0,
            idle_until: 0,
            moves_due: NEVER,
            first: First::at::<G>(None),
            cursor: Layout::<G>::tick(now),
            reach: [0; LEVELS + 1],
            moved_until: [0; LEVELS + 1],
            next_sequence: 0,
            near: NearHeap::new(),
            lists: Lists::new(),
            collected: Vec::new(),
            order: Vec::new(),
        };
        wheel.enter();
        wheel.refresh_moves();
        wheel
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The time before which no advance has anything to do; without meaning when empty.
    #[inline]
    pub(crate) fn wake(&self) -> u64 {
        self.wake
    }

    #[inline]
    pub(crate) fn node(&self, index: NodeIndex) -> &Node<V> {
        self.nodes.at(index.get())
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, index: NodeIndex) -> &mut Node<V> {
        self.nodes.at_mut(index.get())
    }

    /// Schedules a timer that is not scheduled, and lets `fill` write the owner's value. O(1); O(log k) among the k
    /// chains of the near heap.
    #[inline]
    pub(crate) fn schedule<R>(&mut self, index: NodeIndex, deadline: u64, fill: impl FnOnce(&mut V) -> R) -> R {
        let sequence = self.next_sequence();
        let tick = Layout::<G>::tick(deadline);
        let (place, prev) = if self.is_near(tick) { (Place::NONE, NodeIndex::NIL) } else { self.append(index, tick) };
        let node = self.node_mut(index);
        node.deadline = deadline;
        node.set_sequence(sequence);
        node.link_behind(prev, place);
        let filled = fill(&mut node.value);
        if place == Place::NONE {
            self.place_near(index);
        }
        filled
    }

    /// Schedules a timer again that was unlinked, at the deadline and the place in the order that its node still
    /// holds. O(1); O(log k) among the k chains of the near heap.
    #[cfg(feature = "ttl")]
    pub(crate) fn put_back(&mut self, index: NodeIndex) {
        self.place(index, self.node(index).deadline);
    }

    /// Cancels a timer, if its node is there and scheduled, and `take` takes the owner's value. O(1), O(log k) for the
    /// head of one of k chains, O(log rotations) far.
    #[inline]
    pub(crate) fn cancel<R>(&mut self, index: NodeIndex, take: impl FnOnce(&mut V) -> Option<R>) -> Option<R> {
        let node = self.nodes.get_mut(index.get())?;
        if !node.is_scheduled() {
            return None;
        }
        let taken = take(&mut node.value)?;
        let (links, deadline) = (node.links(), node.deadline);
        node.place = Place::NONE;
        self.unlink(index, links, deadline);
        Some(taken)
    }

    /// Unlinks a timer from where its node has said.
    #[inline]
    fn unlink(&mut self, index: NodeIndex, links: Links, deadline: u64) {
        let Some(bucket) = links.place.as_bucket() else {
            return self.unlink_elsewhere(index, links, deadline);
        };
        let left = self.lists.unlink(&mut self.nodes, bucket, index, links);
        if left % Self::STEP == 0 {
            self.list_shortened(bucket, left);
        }
    }

    #[inline(never)]
    fn unlink_elsewhere(&mut self, index: NodeIndex, links: Links, deadline: u64) {
        if links.place == Place::FAR {
            let number = Layout::<G>::number(FAR, Layout::<G>::tick(deadline));
            let left = self.lists.unlink_far(&mut self.nodes, number, index, links);
            self.bucket_shortened(Bucket { level: FAR, number }, left);
        } else if links.place.is_in_chain() {
            self.near.unlink(&mut self.nodes, links);
            self.refresh_wake();
        }
    }

    /// Gives a timer a new deadline, if its node is there and scheduled, and `is_live` says so of the owner's
    /// value. A later one is only written down where the timer is in a bucket. O(1); O(log k) among the k chains of
    /// the near heap.
    #[inline]
    pub(crate) fn set(&mut self, index: NodeIndex, deadline: u64, is_live: impl FnOnce(&V) -> bool) -> bool {
        let node = self.nodes.get_mut(index.get());
        let Some(node) = node.filter(|node| is_live(&node.value)) else {
            return false;
        };
        let is_later = node.place.as_bucket().is_some() && deadline >= node.deadline;
        if is_later && self.next_sequence < SEQUENCES {
            node.deadline = deadline;
            node.set_sequence(self.next_sequence);
            self.next_sequence += 1;
            return true;
        }
        let is_scheduled = node.is_scheduled();
        if is_scheduled {
            self.move_to(index, deadline);
        }
        is_scheduled
    }

    /// Gives a timer that is scheduled a new deadline, and links it where it belongs then.
    #[inline(never)]
    pub(crate) fn move_to(&mut self, index: NodeIndex, deadline: u64) {
        let node = self.node_mut(index);
        let (links, old_deadline) = (node.links(), node.deadline);
        self.unlink(index, links, old_deadline);
        let sequence = self.next_sequence();
        let node = self.node_mut(index);
        node.deadline = deadline;
        node.set_sequence(sequence);
        self.place(index, deadline);
    }

    /// The place in the order of the timer that is scheduled or rescheduled next. O(1), but for one
    /// renumbering in every 2^48 calls.
    #[inline]
    fn next_sequence(&mut self) -> u64 {
        if self.next_sequence >= SEQUENCES {
            self.renumber();
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Links a timer that is linked nowhere, whose node is complete but for that.
    fn place(&mut self, index: NodeIndex, deadline: u64) {
        let tick = Layout::<G>::tick(deadline);
        if self.is_near(tick) {
            self.place_near(index);
        } else {
            self.place_in_list(index, tick);
        }
    }

    /// Links a timer that is linked nowhere into the list of the bucket where a tick after the cursor's belongs.
    #[inline(never)]
    fn place_in_list(&mut self, index: NodeIndex, tick: Tick) {
        let (place, prev) = self.append(index, tick);
        self.node_mut(index).link_behind(prev, place);
    }

    /// Whether a timer of a tick belongs in the near heap.
    #[inline]
    fn is_near(&mut self, tick: Tick) -> bool {
        tick <= self.cursor || self.first.bucket.is_none() && !self.begin_lists()
    }

    /// Gets ready for the first timer in a list, unless there are so few timers that none is needed.
    #[cold]
    fn begin_lists(&mut self) -> bool {
        if self.near.chains() < Layout::<G>::NEAR {
            return false;
        }
        // Without any lists the buckets that time enters are not taken note of.
        self.enter();
        self.do_chores_soon();
        // Most of what lies in the heap and is not due soon follows: every timer that fires would have to be put in
        // order with it. But for the first, so that a caller who sleeps until then need not wake up for its bucket.
        for nth in (1..self.near.chains()).rev().take(Layout::<G>::NEAR) {
            let timer = *self.near.head(nth);
            let tick = Layout::<G>::tick(timer.deadline);
            let links = self.node(timer.node).links();
            if tick > self.cursor && links.next == NodeIndex::NIL {
                self.near.unlink(&mut self.nodes, links);
                self.place_in_list(timer.node, tick);
            }
        }
        true
    }

    /// Puts a timer whose node is complete but for its links into the near heap.
    #[inline(never)]
    fn place_near(&mut self, index: NodeIndex) {
        let timer = Ordered::of(&self.nodes, index);
        self.near.push(&mut self.nodes, timer);
        self.wake_by(timer.deadline);
    }

    /// Appends a timer to the list of the bucket where a tick after the cursor's belongs, and returns which it is and
    /// the timer before. The links of its node are the caller's to write.
    // Always: a call takes a sixth more instructions.
    #[inline(always)]
    fn append(&mut self, index: NodeIndex, tick: Tick) -> (Place, NodeIndex) {
        // Level by level, so that every shift is an immediate.
        let lies_on = |level: usize| Layout::<G>::number(level + 1, tick) < self.reach[level + 1];
        let bucket_on = |level: usize| {
            let number = Layout::<G>::number(level, tick);
            Layout::<G>::index(Bucket { level, number })
        };
        let bucket = if lies_on(0) {
            bucket_on(0)
        } else if lies_on(1) {
            bucket_on(1)
        } else if lies_on(2) {
            bucket_on(2)
        } else if lies_on(3) {
            bucket_on(3)
        } else {
            return self.append_far(index, Layout::<G>::number(FAR, tick));
        };
        let (prev, len) = self.lists.append(&mut self.nodes, bucket, index);
        if (len - 1) % Self::STEP == 0 {
            self.list_lengthened(bucket, len);
        }
        (Place::bucket(bucket), prev)
    }

    #[inline(never)]
    fn append_far(&mut self, index: NodeIndex, number: u64) -> (Place, NodeIndex) {
        let (prev, len) = self.lists.append_far(&mut self.nodes, number, index);
        if (len - 1) % Self::STEP == 0 {
            self.bucket_lengthened(Bucket { level: FAR, number }, len);
        }
        (Place::FAR, prev)
    }

    /// The length of a list is looked at only when it has changed by so much: a quarter of what makes a crowd.
    const STEP: usize = Layout::<G>::FEW / 4;

    #[inline(never)]
    fn list_lengthened(&mut self, index: BucketIndex, len: usize) {
        let bucket = Layout::<G>::bucket(index, self.cursor);
        if len == 1 {
            self.lists.set_occupied(bucket);
        }
        self.bucket_lengthened(bucket, len);
    }

    /// Takes note that a bucket has a timer more: `len` in all.
    fn bucket_lengthened(&mut self, bucket: Bucket, len: usize) {
        if len == 1 {
            let added = First::at::<G>(Some(bucket));
            // One of the same start is coarser, half moved down, and stays the first; and none at all is as if it
            // started at `NEVER`, where the last tick of all may start too.
            if self.first.bucket.is_none() || added.start < self.first.start {
                self.first = added;
                self.wake_by(added.start);
            }
        }
        if len > Layout::<G>::FEW && bucket.level != 0 {
            self.crowded(bucket, len);
        }
    }

    #[inline(never)]
    fn list_shortened(&mut self, index: BucketIndex, len: usize) {
        let bucket = Layout::<G>::bucket(index, self.cursor);
        if len == 0 {
            self.lists.clear_occupied(bucket);
        }
        self.bucket_shortened(bucket, len);
    }

    /// Takes note that a bucket has a timer less: `len` in all.
    fn bucket_shortened(&mut self, bucket: Bucket, len: usize) {
        if len == 0 && self.first.bucket == Some(bucket) {
            self.refresh_first();
        }
        // A crowd is none any longer, or the first of its level now that the bucket before it is empty.
        if (len == Layout::<G>::FEW || len == 0) && bucket.level != 0 {
            self.refresh_moves();
        }
        self.refresh_wake();
    }

    /// Takes note of the first occupied bucket. O(levels).
    fn refresh_first(&mut self) {
        self.first = First::at::<G>(self.bucket_after(None));
    }

    /// Takes note of when there is work again. O(1).
    #[inline]
    fn refresh_wake(&mut self) {
        self.wake = self.first_near().min(self.first.start).min(self.moves_due);
        self.idle_until = self.wake.min(self.chores);
    }

    /// Takes note that there is work at a time.
    #[inline]
    fn wake_by(&mut self, time: u64) {
        self.wake = self.wake.min(time);
        self.idle_until = self.idle_until.min(time);
    }

    /// Lets the next advance look after what lies ahead.
    fn do_chores_soon(&mut self) {
        (self.chores, self.idle_until) = (0, 0);
    }

    /// The earliest deadline in the near heap.
    #[inline]
    fn first_near(&self) -> u64 {
        self.near.first().map_or(NEVER, |near| near.deadline)
    }

    /// The first occupied bucket, or the first after the given one, in the order of their starts; of
    /// those that start together the coarser first. O(levels).
    fn bucket_after(&self, bucket: Option<Bucket>) -> Option<Bucket> {
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
            let number = from.and_then(|from| self.lists.first_from(level, from, self.cursor));
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

    /// Whether a bucket of a finer level surely starts before every occupied bucket from a level on. Those lie
    /// beyond all finer ones, unless one has been opened ahead of its time. In any case they lie beyond the bucket
    /// of level 1 that the cursor is in.
    #[inline]
    fn is_before_level(&self, bucket: Bucket, level: usize) -> bool {
        let of_level_1 = |tick| Layout::<G>::number(1, tick);
        of_level_1(Layout::<G>::start(bucket)) == of_level_1(self.cursor)
            || (level..=FAR).all(|level| self.reach[level] <= Layout::<G>::number(level, self.cursor) + 1)
    }

    /// When a level's next occupied bucket falls due, if one is occupied. What is in no bucket counts
    /// as level 0. O(1).
    pub(crate) fn level_wake(&self, level: usize) -> Option<u64> {
        if level > FAR {
            return None;
        }
        let least = Layout::<G>::number(level, self.cursor);
        let number = self.lists.first_from(level, least, self.cursor);
        let bucket = number.map(|number| Layout::<G>::start_ns(Layout::<G>::start(Bucket { level, number })));
        let near = (level == 0 && self.near_len() != 0).then(|| self.first_near());
        [bucket, near].into_iter().flatten().min()
    }

    /// One of the timers: which one is of no account. O(1).
    pub(crate) fn any(&self) -> Option<NodeIndex> {
        let last = self.near.chains().checked_sub(1);
        let near = last.map(|last| self.near.head(last).node);
        near.or_else(|| self.lists.iter(&self.nodes, self.first.bucket?).next())
    }

    /// The nodes of all timers that are scheduled, by index. O(nodes).
    pub(crate) fn scheduled(&self) -> impl Iterator<Item = (NodeIndex, &Node<V>)> {
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes.map(|(index, node)| (NodeIndex::new(index), node));
        nodes.filter(|(_, node)| node.is_scheduled())
    }

    /// Renumbers all timers in their present order, to make room for another 2^48 sequence numbers.
    /// O(n log n), and O(nodes).
    #[cold]
    fn renumber(&mut self) {
        // Those that are not scheduled as well: the TTL layer puts some of them back.
        let nodes = self.nodes.iter().enumerate();
        let timers =
            nodes.map(|(index, node)| Ordered { deadline: 0, sequence: node.sequence(), node: NodeIndex::new(index) });
        let mut timers: Vec<Ordered> = timers.collect();
        let mut order = Vec::new();
        sort(&mut timers, &mut order);
        self.next_sequence = 0;
        for index in order {
            let sequence = self.next_sequence;
            self.node_mut(timers[index as usize].node).set_sequence(sequence);
            self.next_sequence += 1;
        }
        self.near.renumber(&self.nodes);
    }

    /// Leaves at most `left` sequence numbers before the next renumbering, so that a test need not take
    /// 2^48 of them.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn exhaust_sequence(&mut self, left: u64) {
        self.next_sequence = self.next_sequence.max(SEQUENCES - left);
    }

    /// Gives back the memory that the lists and the near heap do not need. O(buckets).
    pub(crate) fn shrink_to_fit(&mut self) {
        self.near.shrink_to_fit();
        self.lists.shrink_to_fit();
        (self.collected, self.order) = (Vec::new(), Vec::new());
    }

    /// The lists of all levels.
    pub(crate) fn lists(&self) -> &Lists<G> {
        &self.lists
    }

    /// The index on a level of the bucket that the cursor is in.
    pub(crate) fn cursor_on(&self, level: usize) -> usize {
        Layout::<G>::index_on_level(level, Layout::<G>::number(level, self.cursor))
    }

    /// Timers of the near heap, which are in no list.
    pub(crate) fn near_len(&self) -> usize {
        self.near.len()
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.near.bytes()
            + self.lists.bytes()
            + self.collected.capacity() * mem::size_of::<Ordered>()
            + self.order.capacity() * mem::size_of::<u64>()
    }
}
