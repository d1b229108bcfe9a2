//! The merge of the levels and the near heap: it decides which timer is due when.
//!
//! It owns the node of each timer, and its owner identifies timers by the indexes of their nodes. Each node keeps a
//! value `V` for the owner, which the hierarchy never reads.

mod advance;
pub(crate) mod search;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::engine::geometry::{Geometry, Layout, Tick};
use crate::engine::levels::{Levels, NEVER};
use crate::engine::list::List;
use crate::engine::near::NearHeap;
use crate::engine::near::lane::Lane;
use crate::engine::near::sort::{Sorter, sort};
use crate::engine::node::{
    HeapIndex, Links, MAX_TIMERS, NODES_A_PAGE, Node, NodeIndex, Nodes, Ordered, Place, SEQUENCES,
};
use crate::engine::pages::Vacant;

/// A hierarchical timer wheel: the levels, the near heap, and the merge of the two.
///
/// The node of a live timer is linked into exactly one of these:
///
/// - a bucket of the [levels](Levels), where timers are not sorted;
/// - a chain of the [near heap](NearHeap), if the timer was due by the cursor's tick when it was placed, or its bucket
///   has been opened and sorted. While there are few timers and no buckets, all are there;
/// - the list of the held timers, which are in no order and are never due.
///
/// The first timer of the near heap fires next, unless a bucket starts before it: that bucket is opened first.
///
/// Invariants, checked by name in `check`: a node says where it is linked, and its neighbours there name it; every live
/// timer is linked once and counted; no two have the same sequence number.
pub(crate) struct Hierarchy<V, G> {
    /// The nodes of all timers, live or not.
    nodes: Nodes<V>,
    /// The latest time that the owner has advanced to, in nanoseconds.
    now: u64,
    /// The latest time that the owner has prepared for, in nanoseconds. The cursor does not go back before it.
    prepared_ns: u64,
    next_sequence: u64,
    /// The number of live timers, held ones included.
    len: u32,
    /// The number of held timers.
    held_len: u32,
    held: List,
    near: NearHeap,
    levels: Levels<G>,
    /// The number of chains at the last attempt to [rewind](Self::rewind).
    rewind_tried: usize,
    /// The memory in which buckets are sorted; `None` before the first sort.
    sorter: Option<Box<Sorter>>,
}

impl<V: Clone, G> Clone for Hierarchy<V, G> {
    fn clone(&self) -> Self {
        let (nodes, near, levels) = (self.nodes.clone(), self.near.clone(), self.levels.clone());
        Self { nodes, near, levels, sorter: None, ..*self }
    }
}

impl<V, G: Geometry> Hierarchy<V, G> {
    pub(crate) fn new(now: u64) -> Self {
        let () = Layout::<G>::CHECKED;
        Self {
            nodes: Nodes::new(),
            now,
            prepared_ns: 0,
            next_sequence: 0,
            len: 0,
            held_len: 0,
            held: List::EMPTY,
            near: NearHeap::new(),
            levels: Levels::new(now),
            rewind_tried: 0,
            sorter: None,
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The number of live timers, held ones included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The number of held timers.
    pub(crate) fn held_len(&self) -> usize {
        self.held_len as usize
    }

    /// Whether no timer is in the order: all live ones are held.
    #[inline]
    pub(crate) fn is_unscheduled(&self) -> bool {
        self.len == self.held_len
    }

    /// When a sleeping caller must advance next, in nanoseconds. Meaningless if no timer is scheduled.
    #[inline]
    pub(crate) fn wake_ns(&self) -> u64 {
        self.near.earliest().min(self.levels.next_work.wake_ns())
    }

    #[inline]
    fn node(&self, index: NodeIndex) -> &Node<V> {
        self.nodes.at(index.get())
    }

    #[inline]
    fn node_mut(&mut self, index: NodeIndex) -> &mut Node<V> {
        self.nodes.at_mut(index.get())
    }

    /// The deadline of a node and the owner's value, if there is memory for the node.
    #[inline]
    pub(crate) fn timer(&self, index: NodeIndex) -> Option<(u64, &V)> {
        self.nodes.get(index.get()).map(|node| (node.deadline, &node.value))
    }

    /// The owner's value of a node, to be changed, if there is memory for the node.
    #[inline]
    pub(crate) fn value_mut(&mut self, index: NodeIndex) -> Option<&mut V> {
        self.nodes.get_mut(index.get()).map(|node| &mut node.value)
    }

    /// The deadline of a timer, if it is scheduled.
    #[inline]
    pub(crate) fn deadline(&self, index: NodeIndex) -> Option<u64> {
        let node = self.nodes.get(index.get())?;
        node.is_scheduled().then_some(node.deadline)
    }

    /// The deadline and the place in the order that a node has, or had last.
    #[inline]
    pub(crate) fn order(&self, index: NodeIndex) -> Ordered {
        Ordered::of(&self.nodes, index)
    }

    /// Adds a lane.
    #[track_caller]
    pub(crate) fn add_lane(&mut self) -> Lane {
        self.near.add_lane()
    }

    /// Schedules a timer that is not live, and lets `fill` write the owner's value. Appends it to the lane if it is due
    /// no earlier than the lane's last timer. O(1), or O(log k) in the near heap of k chains.
    #[inline]
    pub(crate) fn schedule<R>(
        &mut self,
        lane: Option<Lane>,
        index: NodeIndex,
        deadline: u64,
        fill: impl FnOnce(&mut V) -> R,
    ) -> R {
        self.len += 1;
        let sequence = self.next_sequence();
        self.place(lane, Ordered { deadline, sequence, node: index }, fill)
    }

    /// Cancels a timer, if its node exists and it is live, and `take` takes the owner's value. O(1), or O(log k) for
    /// the head of one of k chains.
    #[inline]
    pub(crate) fn cancel<R>(&mut self, index: NodeIndex, take: impl FnOnce(&mut V) -> Option<R>) -> Option<R> {
        let node = self.nodes.get_mut(index.get())?;
        if !node.is_live() {
            return None;
        }
        let taken = take(&mut node.value)?;
        let links = node.links();
        node.set_place(Place::NONE);
        self.len -= 1;
        self.unlink(index, links);
        Some(taken)
    }

    /// Gives a timer a new deadline and a new place in the order, if its node exists and it is live, and `is_right`
    /// accepts the owner's value. Appends it to the lane if it is due no earlier than the lane's last timer. Otherwise
    /// a later deadline of a timer in a bucket is only written to the node. O(1), or O(log k) in the near heap of k
    /// chains.
    #[inline]
    pub(crate) fn reschedule(
        &mut self,
        lane: Option<Lane>,
        index: NodeIndex,
        deadline: u64,
        is_right: impl FnOnce(&V) -> bool,
    ) -> bool {
        let node = self.nodes.get_mut(index.get());
        let Some(node) = node.filter(|node| is_right(&node.value)) else {
            return false;
        };
        let place = node.place();
        if lane.is_some() && place == Place::CHAIN {
            // The usual case of a timer in a lane, without a call.
            let links = node.links();
            self.near.unlink(&mut self.nodes, links);
            self.place_anew(lane, index, deadline);
            return true;
        }
        let is_postponed = place.as_bucket().is_some() && deadline >= node.deadline && self.next_sequence < SEQUENCES;
        if is_postponed && !lane.is_some_and(|lane| self.near.takes(lane, deadline)) {
            node.deadline = deadline;
            node.set_sequence(self.next_sequence);
            self.next_sequence += 1;
            return true;
        }
        let is_live = place != Place::NONE;
        if is_live {
            self.move_to(lane, index, deadline);
        }
        is_live
    }

    /// Gives a live timer a new deadline and a new place in the order, and links it there.
    #[inline(never)]
    pub(crate) fn move_to(&mut self, lane: Option<Lane>, index: NodeIndex, deadline: u64) {
        self.unlink(index, self.node(index).links());
        self.place_anew(lane, index, deadline);
    }

    #[inline]
    fn place_anew(&mut self, lane: Option<Lane>, index: NodeIndex, deadline: u64) {
        let sequence = self.next_sequence();
        self.place(lane, Ordered { deadline, sequence, node: index }, |_| {});
    }

    /// Takes a scheduled timer out of the order. Its node keeps its deadline and its sequence number. O(1), or O(log k)
    /// for the head of one of k chains.
    pub(crate) fn hold(&mut self, index: NodeIndex) {
        debug_assert!(self.node(index).is_scheduled());
        self.unlink(index, self.node(index).links());
        let prev = self.held.append(&mut self.nodes, index);
        self.node_mut(index).link_behind(prev, Place::HELD);
        self.held_len += 1;
    }

    /// Puts a timer back where it was in the order, if its node exists and it is held, and `is_right` accepts the
    /// owner's value. O(1), or O(log k) in the near heap of k chains.
    pub(crate) fn release(&mut self, index: NodeIndex, is_right: impl FnOnce(&V) -> bool) -> bool {
        let node = self.nodes.get(index.get()).filter(|node| node.place() == Place::HELD && is_right(&node.value));
        let Some(links) = node.map(Node::links) else {
            return false;
        };
        self.unlink(index, links);
        self.place(None, self.order(index), |_| {});
        true
    }

    /// Writes the node of a timer that is linked nowhere, lets `fill` write the owner's value, and links the timer. It
    /// goes into the lane if that takes it, else into the near heap or a bucket, by its deadline.
    #[inline]
    fn place<R>(&mut self, lane: Option<Lane>, timer: Ordered, fill: impl FnOnce(&mut V) -> R) -> R {
        debug_assert!(timer.sequence < self.next_sequence, "no timer has a sequence number to come");
        let tick = Layout::<G>::tick(timer.deadline);
        let (place, prev, next) = if let Some(lane) = lane.filter(|&lane| self.near.takes(lane, timer.deadline)) {
            let prev = self.near.append(&mut self.nodes, lane, timer.node, timer.deadline);
            (if prev == NodeIndex::NIL { Place::HEAD } else { Place::CHAIN }, prev, lane.end())
        } else if let Some(Links { place, prev, next }) =
            lane.and_then(|lane| self.near.insert(&mut self.nodes, lane, timer.node, timer.deadline))
        {
            (place, prev, next)
        } else {
            if self.levels.is_empty() && !self.needs_no_bucket() {
                self.start_levels(tick);
            }
            if self.levels.is_empty() && self.needs_no_bucket() || tick <= self.levels.cursor() {
                (Place::HEAD, NodeIndex::NIL, NodeIndex::NIL)
            } else {
                let (place, prev) = self.levels.append(&mut self.nodes, timer.node, tick);
                (place, prev, NodeIndex::NIL)
            }
        };
        let node = self.node_mut(timer.node);
        node.deadline = timer.deadline;
        node.set_order(timer.sequence, place);
        (node.prev, node.next) = (prev, next);
        let filled = fill(&mut node.value);
        if place == Place::HEAD {
            self.push_head(timer.node);
        }
        filled
    }

    /// Unlinks a live timer from the place that its node named.
    #[inline]
    fn unlink(&mut self, index: NodeIndex, links: Links) {
        match links.place.as_bucket() {
            Some(bucket) => self.levels.unlink(&mut self.nodes, bucket, index, links),
            None => self.unlink_elsewhere(links.place, links.prev, links.next),
        }
    }

    // Field by field: `Links` would be passed in memory, and written there for a timer in a bucket, too.
    #[inline(never)]
    fn unlink_elsewhere(&mut self, place: Place, prev: NodeIndex, next: NodeIndex) {
        self.end_idle();
        let links = Links { place, prev, next };
        match place {
            Place::HEAD => self.near.unlink_head(&mut self.nodes, links.heap_index(), next),
            Place::CHAIN => self.near.unlink(&mut self.nodes, links),
            _ => {
                debug_assert!(place == Place::HELD, "every live timer is linked once");
                self.held_len -= 1;
                self.held.unlink(&mut self.nodes, links);
            }
        }
    }

    /// The sequence number for the timer that is scheduled or rescheduled next. O(1), except for one
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

    /// Whether there are few enough chains that another timer needs no bucket.
    #[inline]
    fn needs_no_bucket(&self) -> bool {
        self.near.chains() < Layout::<G>::NEAR + self.near.lanes().len()
    }

    /// Starts using buckets, with the cursor before `tick` where the clock allows it.
    #[cold]
    #[inline(never)]
    fn start_levels(&mut self, tick: Tick) {
        // The cursor may be ahead of the clock, because the earliest timer was asked for before it was due.
        let cursor = if tick > self.levels.cursor() { self.levels.cursor() } else { self.least_cursor() };
        self.levels.restart(cursor);
        self.thin_out(Layout::<G>::NEAR);
    }

    /// Makes a timer the head of a chain. Its node is complete except for the index of its entry.
    #[inline(never)]
    fn push_head(&mut self, index: NodeIndex) {
        let timer = self.order(index);
        self.levels.next_work.end_idle_by(timer.deadline);
        self.near.push_before(&mut self.nodes, timer);
        // Once for each doubling of the heap, because a rewind counts the buckets. A heap that swings around a size
        // does not rewind again.
        let chains = self.near.chains();
        if chains.is_power_of_two() && (64..=Layout::<G>::CROWD).contains(&chains) && chains != self.rewind_tried {
            self.rewind_tried = chains;
            self.rewind();
        }
    }

    /// The tick of the clock, or of the time that the owner has prepared for.
    fn least_cursor(&self) -> Tick {
        Layout::<G>::tick(self.now.max(self.prepared_ns))
    }

    /// Moves a cursor that is ahead, because the earliest timer was asked for before it was due, back to [the
    /// least](Self::least_cursor). It does so if at most [`CROWD`](Layout::CROWD) timers are in buckets, and places
    /// these again. Without it, every timer scheduled before the cursor would wait in the heap.
    #[cold]
    #[inline(never)]
    fn rewind(&mut self) {
        let least = self.least_cursor();
        if self.levels.cursor() > least && self.levels.len() <= Layout::<G>::CROWD {
            while let Some(index) = self.levels.any() {
                self.unlink(index, self.node(index).links());
                let timer = Ordered::of(&self.nodes, index);
                self.near.push(&mut self.nodes, timer);
            }
            self.levels.restart(least);
            self.thin_out(usize::MAX);
        }
    }

    /// Moves up to `most` chains of one timer that lie after the cursor's tick from the heap to buckets, so that later
    /// pushes and pops stay cheap. It keeps the first, so that the wake-up stays exact.
    #[inline(never)]
    fn thin_out(&mut self, most: usize) {
        for nth in (1..self.near.chains()).rev().take(most) {
            let timer = *self.near.head(HeapIndex::new(nth));
            let tick = Layout::<G>::tick(timer.deadline);
            let links = self.node(timer.node).links();
            if tick > self.levels.cursor() && links.next == NodeIndex::NIL {
                self.unlink(timer.node, links);
                self.levels.link(&mut self.nodes, timer.node, tick);
            }
        }
    }

    /// Any one of the timers. O(1).
    pub(crate) fn any(&self) -> Option<NodeIndex> {
        let last = self.near.chains().checked_sub(1);
        let near = last.map(|last| self.near.head(HeapIndex::new(last)).node);
        near.or_else(|| self.levels.any()).or_else(|| self.held.any())
    }

    /// Renumbers all timers in their present order, to make room for another 2^48 sequence numbers.
    /// O(n log n), plus O(nodes).
    #[cold]
    fn renumber(&mut self) {
        // All nodes, so that held timers keep their place in the order.
        let mut timers = Vec::with_capacity(self.nodes.len());
        for node in (0..self.nodes.len()).map(NodeIndex::new) {
            timers.push(Ordered { deadline: 0, sequence: self.node(node).sequence(), node });
        }
        let mut order = Vec::new();
        if !timers.is_empty() {
            sort(&mut timers, &mut order);
        }
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

    /// The nodes of all timers, scheduled or not.
    pub(crate) fn nodes(&self) -> &Nodes<V> {
        &self.nodes
    }

    /// Drops the last page of nodes, none of which is live, and the memory of the last sort. The next advance may give
    /// back another. O(nodes of a page).
    pub(crate) fn drop_page(&mut self) {
        debug_assert!(
            self.nodes.iter().skip((self.nodes.pages() - 1) * NODES_A_PAGE).all(|node| !node.is_live()),
            "every live timer has a node"
        );
        self.nodes.drop_page();
        self.sorter = None;
        self.end_idle();
    }

    /// The levels.
    pub(crate) fn levels(&self) -> &Levels<G> {
        &self.levels
    }

    /// The number of timers in the near heap. O(buckets).
    pub(crate) fn near_len(&self) -> usize {
        (self.len - self.held_len) as usize - self.levels.len()
    }

    /// The number of lanes that hold timers.
    pub(crate) fn lanes_in_use(&self) -> usize {
        self.near.lanes().in_use()
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let sorter = self.sorter.as_ref().map_or(0, |sorter| sorter.bytes());
        self.nodes.bytes() + self.near.bytes() + self.levels.bytes() + sorter
    }

    /// Checks every invariant. O(n log n), plus O(nodes).
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check(&self) {
        let mut sequences = Vec::new();
        self.near.check(&self.nodes, |index| sequences.push(self.node(index).sequence()));
        self.levels.check(&self.nodes, |index| sequences.push(self.node(index).sequence()));
        let scheduled = sequences.len();
        self.held.check(&self.nodes, Place::HELD, self.held_len(), |index| sequences.push(self.node(index).sequence()));
        assert!(sequences.len() - scheduled == self.held_len(), "held timers are counted");
        let live = self.nodes.iter().filter(|node| node.is_live()).count();
        assert!(sequences.len() == self.len() && live == self.len(), "every live timer is linked once");
        assert!(
            self.sorter.as_ref().map_or(true, |sorter| sorter.collected.is_empty()),
            "between two calls no timer is linked nowhere"
        );
        assert!(
            self.levels.next_work.idle_until_ns <= self.near.earliest(),
            "an advance that has a timer to fire does not rest"
        );
        sequences.sort_unstable();
        assert!(
            sequences.windows(2).all(|pair| pair[0] < pair[1])
                && sequences.last().map_or(true, |last| *last < self.next_sequence),
            "no two timers share a sequence number, and none has one to come"
        );
    }
}

impl<V: Vacant, G: Geometry> Hierarchy<V, G> {
    /// Appends a node, and returns its index. O(1), plus at most a page of memory.
    #[inline]
    #[track_caller]
    pub(crate) fn add_node(&mut self) -> usize {
        let made = self.nodes.len();
        assert!(made < MAX_TIMERS, "a timer wheel holds at most {MAX_TIMERS} timers");
        self.nodes.push_any();
        made
    }

    /// Makes room for `additional` more nodes. O(additional).
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.nodes.reserve(additional);
    }

    /// Drops the nodes from `len` on, none of which is live, and gives back all memory that is not needed. O(nodes
    /// dropped), plus O(buckets).
    pub(crate) fn shrink_to_fit(&mut self, len: usize) {
        self.nodes.truncate(len);
        self.near.shrink_to_fit();
        self.levels.shrink_to_fit();
        self.sorter = None;
    }
}
