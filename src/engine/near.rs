//! The near heap: the timers that fire next, as a heap of chains. A chain is a list of timers in the order in which
//! they fire.
//!
//! The timers of a bucket that is opened are sorted and linked into a *chain*. The heap has an entry for each chain:
//! its first timer, the *head*. So the heap merges the chains. When a head fires or is cancelled, the next of its chain
//! takes its place. A timer that is scheduled into the cursor's tick or before it is a chain of one, and so is each
//! timer of a small wheel without buckets.
//!
//! A [lane](lanes) is a chain that stays open at its end. The `next` of its last node is not nil but the
//! [end](Lane::end) of the lane, which is no node either. So a node needs no field for its lane: an unlink meets the
//! end only at the last timer, where the lane has to know its new last one.
//!
//! A heap of fan-out four is half as deep as a binary one, so half as many nodes must be updated when their entries
//! move.

pub(crate) mod lane;
mod lanes;
pub(crate) mod sort;

use self::lane::Lane;
use self::lanes::Lanes;
use self::sort::{Sorter, sort};
use crate::engine::node::{HeapIndex, Links, Next, NodeIndex, Nodes, Ordered, Place};
use crate::engine::pages::{Pages, Vacant};

/// Children of an entry.
const FANOUT: usize = 4;

/// The most outliers that a lane accepts: a timer is linked before at most that many later ones.
const OUTLIERS: usize = 4;

/// Entries on a page.
const ENTRIES_A_PAGE: usize = 256;

/// An indexed heap of the heads of chains, the earliest first.
///
/// Invariants: no entry precedes its parent, at `(index - 1) / 4`; an entry has the deadline and the sequence
/// number of its node, which is a head and says at which index the entry is; the nodes of a chain are in the order
/// in which they fire; without timers `first` is vacant.
#[derive(Clone, Debug)]
pub(crate) struct NearHeap {
    /// The entry at index 0: usually the only one.
    first: Ordered,
    /// The entries from index 1 on.
    others: Pages<Ordered, ENTRIES_A_PAGE>,
    lanes: Lanes,
}

impl NearHeap {
    pub(crate) fn new() -> Self {
        Self { first: Ordered::VACANT, others: Pages::new(), lanes: Lanes::new() }
    }

    /// Adds an empty lane.
    #[track_caller]
    pub(crate) fn add_lane(&mut self) -> Lane {
        self.lanes.add()
    }

    /// The ends of the lanes.
    #[inline]
    pub(crate) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// Whether a timer that is scheduled now, with that deadline, may become the last of a lane.
    #[inline]
    pub(crate) fn takes(&self, lane: Lane, deadline: u64) -> bool {
        self.lanes.takes(lane, deadline)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.node == NodeIndex::NIL
    }

    /// The number of chains.
    #[inline]
    pub(crate) fn chains(&self) -> usize {
        self.others.len() + usize::from(!self.is_empty())
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.others.bytes() + self.lanes.bytes()
    }

    /// The deadline of the timer that fires first, or the end of time if there is none. O(1).
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.first.deadline
    }

    /// The timer that fires first. O(1).
    #[inline]
    pub(crate) fn first(&self) -> Option<Next> {
        let Ordered { deadline, node, .. } = self.first;
        (!self.is_empty()).then_some(Next { deadline, node })
    }

    /// The head of the chain whose entry is at an index.
    #[inline]
    pub(crate) fn head(&self, index: HeapIndex) -> &Ordered {
        match index.get().checked_sub(1) {
            Some(other) => self.others.at(other),
            None => &self.first,
        }
    }

    /// The heads of all chains, in no particular order.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &Ordered> {
        (0..self.chains()).map(|index| self.head(HeapIndex::new(index)))
    }

    /// Adds a timer that is linked nowhere, as a chain. O(log chains), O(1) on average.
    #[inline(never)]
    pub(crate) fn push<V>(&mut self, nodes: &mut Nodes<V>, timer: Ordered) {
        nodes.at_mut(timer.node.get()).next = NodeIndex::NIL;
        self.push_head(nodes, timer);
    }

    /// Sorts the collected timers, which are linked nowhere, into a chain, and clears their vector. O(n log n).
    #[inline(never)]
    pub(crate) fn push_all<V>(&mut self, nodes: &mut Nodes<V>, sorter: &mut Sorter) {
        let Sorter { collected: timers, order } = sorter;
        match timers[..] {
            [] => {}
            [timer] => self.push(nodes, timer),
            _ => {
                sort(timers, order);
                debug_assert!(
                    order.windows(2).all(|pair| timers[pair[0] as usize].precedes(&timers[pair[1] as usize])),
                    "a chain is in order"
                );
                let mut sorted = order.iter().map(|&nth| timers[nth as usize].node);
                let (mut prev, mut next) = (NodeIndex::NIL, sorted.next());
                while let Some(index) = next {
                    next = sorted.next();
                    let node = nodes.at_mut(index.get());
                    node.set_place(Place::CHAIN);
                    (node.prev, node.next) = (prev, next.unwrap_or(NodeIndex::NIL));
                    prev = index;
                }
                self.push_head(nodes, timers[order[0] as usize]);
            }
        }
        timers.clear();
    }

    /// Appends a timer to a lane that takes it, and returns the one before it. If that is nil, the timer must become a
    /// head. The caller writes the links of the timer's node. O(1).
    #[inline]
    pub(crate) fn append<V>(&mut self, nodes: &mut Nodes<V>, lane: Lane, index: NodeIndex, deadline: u64) -> NodeIndex {
        let prev = self.lanes.append(lane, index, deadline);
        if let Some(node) = nodes.get_mut(prev.get()) {
            debug_assert!(node.deadline <= deadline, "a chain is in order");
            debug_assert!(node.next == lane.end(), "a chain ends in the lane whose last timer it ends with");
            node.next = index;
        }
        prev
    }

    /// Inserts a timer that is due before the last one of a lane, if at most [`OUTLIERS`] timers of the lane are due
    /// later. The caller writes the links of the timer's own node. If even the first of the lane is due later, the
    /// timer must [replace](Self::push_before) it as the head. O(1).
    #[inline(never)]
    pub(crate) fn insert<V>(
        &mut self,
        nodes: &mut Nodes<V>,
        lane: Lane,
        index: NodeIndex,
        deadline: u64,
    ) -> Option<Links> {
        let mut next = self.lanes.last(lane)?;
        for _ in 0..OUTLIERS {
            let node = nodes.at(next.get());
            debug_assert!(node.deadline > deadline, "a chain is in order");
            if node.place() == Place::HEAD {
                return Some(Links { place: Place::HEAD, prev: NodeIndex::NIL, next });
            }
            let prev = node.prev;
            if nodes.at(prev.get()).deadline <= deadline {
                nodes.at_mut(prev.get()).next = index;
                nodes.at_mut(next.get()).prev = index;
                return Some(Links { place: Place::CHAIN, prev, next });
            }
            next = prev;
        }
        None
    }

    /// Adds a chain, given its head, or puts a head before that of a chain. O(log chains), O(1) on average.
    pub(crate) fn push_before<V>(&mut self, nodes: &mut Nodes<V>, head: Ordered) {
        let next = nodes.at(head.node.get()).next;
        let Some(node) = nodes.get_mut(next.get()).filter(|next| next.place() == Place::HEAD) else {
            return self.push_head(nodes, head);
        };
        let index = node.heap_index();
        node.set_place(Place::CHAIN);
        node.prev = head.node;
        self.rise(nodes, index, head);
    }

    /// Adds a chain, given its head. O(log chains), O(1) on average.
    pub(crate) fn push_head<V>(&mut self, nodes: &mut Nodes<V>, head: Ordered) {
        debug_assert!(head == Ordered::of(nodes, head.node), "an entry has its timer's deadline and sequence");
        nodes.at_mut(head.node.get()).set_place(Place::HEAD);
        let index = HeapIndex::new(self.chains());
        if index != HeapIndex::FIRST {
            self.others.push(head);
        }
        self.rise(nodes, index, head);
    }

    /// Unlinks a timer from behind the head of its chain. O(1).
    // Always: a call takes a twentieth more instructions.
    #[inline(always)]
    pub(crate) fn unlink<V>(&mut self, nodes: &mut Nodes<V>, links: Links) {
        debug_assert!(links.place == Place::CHAIN);
        let prev = nodes.at_mut(links.prev.get());
        debug_assert!(prev.place().is_in_chain(), "neighbours in a chain name each other");
        prev.next = links.next;
        let deadline = prev.deadline;
        match nodes.get_mut(links.next.get()) {
            Some(next) => {
                debug_assert!(next.deadline >= deadline, "a chain is in order");
                next.prev = links.prev;
            }
            None => self.lanes.end_with(links.next, links.prev, deadline),
        }
    }

    /// Unlinks the head of a chain. O(log chains).
    #[inline(never)]
    pub(crate) fn unlink_head<V>(&mut self, nodes: &mut Nodes<V>, index: HeapIndex, next: NodeIndex) {
        self.remove_head(nodes, index, next);
    }

    /// Replaces the head of a chain by `next`, or removes the entry if the head was the last timer of its chain.
    /// O(1) if that chain comes before all others, else O(log chains).
    #[inline]
    pub(crate) fn remove_head<V>(&mut self, nodes: &mut Nodes<V>, index: HeapIndex, next: NodeIndex) {
        let Some(node) = nodes.get_mut(next.get()) else {
            self.lanes.empty(next);
            return self.remove_entry(nodes, index);
        };
        debug_assert!(node.place() == Place::CHAIN, "neighbours in a chain name each other");
        let head = Ordered::new(node, next);
        node.set_place(Place::HEAD);
        node.set_heap_index(index);
        debug_assert!(self.head(index).precedes(&head), "a chain is in order");
        if self.others.len() == 0 {
            self.first = head;
        } else {
            self.sink(nodes, index, next);
        }
    }

    fn remove_entry<V>(&mut self, nodes: &mut Nodes<V>, index: HeapIndex) {
        let Some(end) = self.others.len().checked_sub(1) else {
            self.first = Ordered::VACANT;
            return;
        };
        let last = *self.others.at(end);
        self.others.pop();
        // The memory of a crowd is given back while its timers fire.
        self.others.trim();
        if index.get() == end + 1 {
            return;
        }
        match parent(index) {
            Some(parent) if last.precedes(self.head(parent)) => self.rise(nodes, index, last),
            _ => self.sink(nodes, index, last.node),
        }
    }

    /// Puts an entry where it belongs, at an index or above it.
    fn rise<V>(&mut self, nodes: &mut Nodes<V>, mut index: HeapIndex, entry: Ordered) {
        while let Some(above) = parent(index) {
            let parent = *self.head(above);
            if !entry.precedes(&parent) {
                break;
            }
            self.write(nodes, index, parent);
            index = above;
        }
        self.write(nodes, index, entry);
    }

    /// Puts the entry of a head where it belongs, at an index or below it.
    // Never inlined, and given a node instead of an entry: otherwise the caller writes the entry in parts and copies it
    // as a whole, and the next fire waits for that copy.
    #[inline(never)]
    fn sink<V>(&mut self, nodes: &mut Nodes<V>, mut index: HeapIndex, head: NodeIndex) {
        let entry = Ordered::of(nodes, head);
        loop {
            // The children, by their indexes among the others.
            let first = FANOUT * index.get();
            let mut least = entry;
            let mut below = index;
            for (child, nth) in self.others.from(first).iter().take(FANOUT).zip(first + 1..) {
                if child.precedes(&least) {
                    (least, below) = (*child, HeapIndex::new(nth));
                }
            }
            self.write(nodes, index, least);
            if below == index {
                return;
            }
            index = below;
        }
    }

    #[inline]
    fn write<V>(&mut self, nodes: &mut Nodes<V>, index: HeapIndex, entry: Ordered) {
        match index.get().checked_sub(1) {
            Some(other) => *self.others.at_mut(other) = entry,
            None => self.first = entry,
        }
        nodes.at_mut(entry.node.get()).set_heap_index(index);
    }

    /// Takes the sequence numbers of the heads from their nodes, after all timers were renumbered in the same order.
    pub(crate) fn renumber<V>(&mut self, nodes: &Nodes<V>) {
        for index in 0..self.chains() {
            let head = Ordered::of(nodes, self.head(HeapIndex::new(index)).node);
            match index.checked_sub(1) {
                Some(other) => *self.others.at_mut(other) = head,
                None => self.first = head,
            }
        }
    }

    /// Gives back spare memory.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.others.truncate(self.others.len());
    }

    /// Checks every invariant of the heap and its chains, and hands each timer to `visit`.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check<V>(&self, nodes: &Nodes<V>, mut visit: impl FnMut(NodeIndex)) {
        assert!(!self.is_empty() || self.first == Ordered::VACANT && self.others.len() == 0, "an empty heap is vacant");
        let mut lanes_in_use = 0;
        for (index, &entry) in self.heads().enumerate() {
            let index = HeapIndex::new(index);
            assert!(
                parent(index).map_or(true, |parent| !entry.precedes(self.head(parent))),
                "no entry of the near heap precedes its parent"
            );
            assert!(
                entry == Ordered::of(nodes, entry.node),
                "an entry of the near heap has its timer's deadline and sequence"
            );
            let head = nodes.at(entry.node.get());
            assert!(
                head.place() == Place::HEAD && head.heap_index() == index,
                "the head of a chain says where its entry is"
            );
            let (mut prev, mut next) = (entry, head.next);
            visit(entry.node);
            while let Some(node) = nodes.get(next.get()) {
                let timer = Ordered::of(nodes, next);
                assert!(prev.precedes(&timer), "a chain is in order");
                assert!(
                    node.place() == Place::CHAIN && node.prev == prev.node,
                    "neighbours in a chain name each other"
                );
                visit(next);
                (prev, next) = (timer, node.next);
            }
            if next != NodeIndex::NIL {
                assert!(
                    self.lanes.ends_with(next, &prev),
                    "a chain ends in nothing, or in the lane whose last timer it ends with"
                );
                lanes_in_use += 1;
            }
        }
        assert!(lanes_in_use == self.lanes.in_use(), "a lane that is in use is one chain");
    }
}

/// The index of the entry above, or `None` for the first.
#[inline]
fn parent(index: HeapIndex) -> Option<HeapIndex> {
    Some(HeapIndex::new(index.get().checked_sub(1)? / FANOUT))
}
