//! The lists of one bucket, linked through the nodes.
//!
//! A walk along one list waits for one cache miss after the other. So a bucket has several lists, its *strands*,
//! and is emptied from both ends of all of them in turn: the misses overlap. A node's strand follows from its
//! index. The order within a bucket does not matter, because its timers are sorted when it begins.

use core::mem;

use crate::engine::node::{Links, Node, NodeIndex, Nodes, Place};

/// The lists of a bucket.
const STRANDS: usize = 4;

/// Nodes that are taken from a bucket together.
pub(super) const BATCH: usize = 64;

/// A sentinel: the two ends of a list.
///
/// Invariant: both are [`NodeIndex::NIL`], or neither is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Ends {
    head: NodeIndex,
    tail: NodeIndex,
}

impl Ends {
    const EMPTY: Self = Self { head: NodeIndex::NIL, tail: NodeIndex::NIL };

    /// The nodes of the list, in order.
    fn iter<V>(self, nodes: &Nodes<V>) -> impl Iterator<Item = NodeIndex> + '_ {
        let mut next = self.head;
        core::iter::from_fn(move || {
            let index = next;
            next = nodes.get(index.get())?.next;
            Some(index)
        })
    }
}

/// The sentinels of a bucket, one for each strand.
///
/// Invariants: `len` is the number of timers in all strands; a node is in the strand that follows from its index, and its
/// neighbours name it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Strands {
    ends: [Ends; STRANDS],
    len: u32,
}

impl Strands {
    pub(super) const EMPTY: Self = Self { ends: [Ends::EMPTY; STRANDS], len: 0 };

    /// The number of timers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Links a node behind the last of its strand, and returns that one. The links of the node itself are the caller's to
    /// write. O(1).
    #[inline]
    pub(super) fn append<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex) -> NodeIndex {
        self.len += 1;
        let ends = &mut self.ends[index.get() % STRANDS];
        let prev = mem::replace(&mut ends.tail, index);
        debug_assert!((prev == NodeIndex::NIL) == (ends.head == NodeIndex::NIL), "a list ends with its tail");
        debug_assert!(prev != index, "a timer that is linked is linked once");
        match nodes.get_mut(prev.get()) {
            Some(node) => node.next = index,
            None => ends.head = index,
        }
        prev
    }

    /// Unlinks a node. O(1).
    #[inline]
    pub(super) fn unlink<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, links: Links) {
        self.len -= 1;
        let ends = &mut self.ends[index.get() % STRANDS];
        debug_assert!((links.prev == NodeIndex::NIL) == (ends.head == index), "neighbours in a list name each other");
        debug_assert!((links.next == NodeIndex::NIL) == (ends.tail == index), "a list ends with its tail");
        match nodes.get_mut(links.prev.get()) {
            Some(node) => node.next = links.next,
            None => ends.head = links.next,
        }
        match nodes.get_mut(links.next.get()) {
            Some(node) => node.prev = links.prev,
            None => ends.tail = links.prev,
        }
    }

    /// Takes up to `most` nodes out, at most a batch of them, and shows each: head and tail of each strand in turn. Afterwards
    /// they are linked nowhere. O(taken).
    #[inline]
    pub(super) fn take<V>(
        &mut self,
        nodes: &mut Nodes<V>,
        most: usize,
        mut visit: impl FnMut(NodeIndex, &Node<V>),
    ) -> usize {
        let most = most.min(self.len()).min(BATCH);
        let (mut strand, mut left) = (0, most);
        while left != 0 {
            let ends = &mut self.ends[strand % STRANDS];
            strand += 1;
            let Ends { head, tail } = *ends;
            if head == NodeIndex::NIL {
                continue;
            }
            let first = nodes.at(head.get());
            visit(head, first);
            left -= 1;
            if head == tail {
                *ends = Ends::EMPTY;
                continue;
            }
            ends.head = first.next;
            if left == 0 {
                break;
            }
            let last = nodes.at(tail.get());
            visit(tail, last);
            left -= 1;
            if first.next == tail {
                *ends = Ends::EMPTY;
            } else {
                ends.tail = last.prev;
            }
        }
        for ends in self.ends.iter().filter(|ends| ends.head != NodeIndex::NIL) {
            nodes.at_mut(ends.head.get()).prev = NodeIndex::NIL;
            nodes.at_mut(ends.tail.get()).next = NodeIndex::NIL;
        }
        self.len -= most as u32;
        debug_assert!((self.len == 0) == self.any().is_none(), "the timers of a bucket are counted");
        most
    }

    /// The nodes of all strands.
    pub(super) fn iter<'a, V>(&'a self, nodes: &'a Nodes<V>) -> impl Iterator<Item = NodeIndex> + 'a {
        self.ends.iter().flat_map(|ends| ends.iter(nodes))
    }

    /// Some node. O(1).
    pub(super) fn any(&self) -> Option<NodeIndex> {
        self.ends.iter().map(|ends| ends.head).find(|&head| head != NodeIndex::NIL)
    }

    /// Checks every invariant of a bucket, and hands each node to `visit`.
    pub(super) fn check<V>(&self, nodes: &Nodes<V>, place: Place, mut visit: impl FnMut(NodeIndex)) {
        let mut len = 0;
        for (strand, ends) in self.ends.iter().enumerate() {
            let mut prev = NodeIndex::NIL;
            for index in ends.iter(nodes) {
                let node = nodes.at(index.get());
                len += 1;
                assert!(len <= self.len, "a list does not run in a circle");
                assert!(index.get() % STRANDS == strand, "a node is in the strand that follows from its index");
                assert!(node.place() == place, "a node in a list says which");
                assert!(node.prev == prev, "neighbours in a list name each other");
                prev = index;
                visit(index);
            }
            assert!(ends.tail == prev, "a list ends with its tail");
        }
        assert!(len == self.len, "the timers of a bucket are counted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_begins_with_both_ends_of_every_strand() {
        let (mut strands, mut nodes, mut taken) = (Strands::EMPTY, Nodes::<()>::new(), alloc::vec::Vec::new());
        for index in (0..40).map(NodeIndex::new) {
            nodes.push_any();
            let prev = strands.append(&mut nodes, index);
            nodes.at_mut(index.get()).link_behind(prev, Place::CHAIN);
        }
        strands.take(&mut nodes, 8, |index, _| taken.push(index.get()));
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 2, 3, 36, 37, 38, 39]);
    }
}
