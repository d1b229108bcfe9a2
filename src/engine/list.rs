//! A doubly linked list through the nodes, with a sentinel outside of them.

use core::mem;

use crate::engine::node::{Links, NodeIndex, Nodes, Place};

/// A sentinel: the two ends of a list. A node of the list has its place and its neighbours.
///
/// Invariant: both are [`NodeIndex::NIL`], or neither is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) head: NodeIndex,
    pub(crate) tail: NodeIndex,
}

impl List {
    pub(crate) const EMPTY: Self = Self { head: NodeIndex::NIL, tail: NodeIndex::NIL };

    /// Appends a node, and returns the one before it. The caller writes the links of the node itself. O(1).
    #[inline]
    pub(crate) fn append<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex) -> NodeIndex {
        let prev = mem::replace(&mut self.tail, index);
        debug_assert!((prev == NodeIndex::NIL) == (self.head == NodeIndex::NIL), "a list ends with its tail");
        debug_assert!(prev != index, "a timer that is linked is linked once");
        match nodes.get_mut(prev.get()) {
            Some(node) => node.next = index,
            None => self.head = index,
        }
        prev
    }

    /// Unlinks a node. O(1).
    #[inline]
    pub(crate) fn unlink<V>(&mut self, nodes: &mut Nodes<V>, links: Links) {
        debug_assert!(*self != Self::EMPTY, "a timer that is linked is in the list of its place");
        match nodes.get_mut(links.prev.get()) {
            Some(node) => node.next = links.next,
            None => self.head = links.next,
        }
        match nodes.get_mut(links.next.get()) {
            Some(node) => node.prev = links.prev,
            None => self.tail = links.prev,
        }
    }

    /// Some node. O(1).
    pub(crate) fn any(self) -> Option<NodeIndex> {
        Some(self.head).filter(|&head| head != NodeIndex::NIL)
    }

    /// The nodes of the list, in order.
    pub(crate) fn iter<V>(self, nodes: &Nodes<V>) -> impl Iterator<Item = NodeIndex> + '_ {
        let mut next = self.head;
        core::iter::from_fn(move || {
            let index = next;
            next = nodes.get(index.get())?.next;
            Some(index)
        })
    }

    /// Checks every invariant of a list of at most `most` nodes, and hands each to `visit`.
    pub(crate) fn check<V>(self, nodes: &Nodes<V>, place: Place, most: usize, mut visit: impl FnMut(NodeIndex)) {
        let (mut prev, mut len) = (NodeIndex::NIL, 0);
        for index in self.iter(nodes) {
            let node = nodes.at(index.get());
            len += 1;
            assert!(len <= most, "a list does not run in a circle");
            assert!(node.place() == place, "a node in a list says which");
            assert!(node.prev == prev, "neighbours in a list name each other");
            prev = index;
            visit(index);
        }
        assert!(self.tail == prev, "a list ends with its tail");
    }
}
