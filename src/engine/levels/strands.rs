//! The lists of one bucket, linked through the nodes.
//!
//! A walk along one list waits for one cache miss after the other. So a bucket has several lists, its *strands*,
//! and is emptied from both ends of all of them in turn: the misses overlap. A node's strand follows from its
//! index. The order within a bucket does not matter, because its timers are sorted when it begins.

use crate::engine::list::List;
use crate::engine::node::{Links, NodeIndex, Nodes, Place};

/// The number of lists of a bucket.
const STRANDS: usize = 4;

/// Nodes that are taken from a bucket together.
pub(super) const BATCH: usize = 64;

/// The sentinels of a bucket, one for each strand.
///
/// Invariants: `len` is the number of timers in all strands; a node is in the strand that follows from its index, and
/// its neighbours name it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Strands {
    lists: [List; STRANDS],
    len: u32,
}

// The documents state this size.
const _: () = assert!(core::mem::size_of::<Strands>() == 36, "a bucket takes 36 bytes");

impl Strands {
    pub(super) const EMPTY: Self = Self { lists: [List::EMPTY; STRANDS], len: 0 };

    /// The number of timers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Appends a node to its strand, and returns the one before it. The caller writes the links of the node itself.
    /// O(1).
    #[inline]
    pub(super) fn append<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex) -> NodeIndex {
        self.len += 1;
        self.lists[index.get() % STRANDS].append(nodes, index)
    }

    /// Unlinks a node. O(1).
    #[inline]
    pub(super) fn unlink<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, links: Links) {
        self.len -= 1;
        self.lists[index.get() % STRANDS].unlink(nodes, links);
    }

    /// Takes up to `most` nodes out, at most a batch of them, and returns how many: head and tail of each strand in
    /// turn. Afterwards they are linked nowhere. O(taken).
    // It only walks. The caller works on the nodes afterwards, when they are in the cache, so more misses overlap.
    pub(super) fn take<V>(&mut self, nodes: &mut Nodes<V>, most: usize, batch: &mut [NodeIndex; BATCH]) -> usize {
        let most = most.min(self.len()).min(BATCH);
        let (mut strand, mut taken) = (0, 0);
        while taken < most {
            let list = &mut self.lists[strand % STRANDS];
            strand += 1;
            let List { head, tail } = *list;
            if head == NodeIndex::NIL {
                continue;
            }
            batch[taken] = head;
            taken += 1;
            if head == tail {
                *list = List::EMPTY;
                continue;
            }
            list.head = nodes.at(head.get()).next;
            if taken == most {
                break;
            }
            batch[taken] = tail;
            taken += 1;
            if list.head == tail {
                *list = List::EMPTY;
            } else {
                list.tail = nodes.at(tail.get()).prev;
            }
        }
        for list in self.lists.iter().filter(|list| list.head != NodeIndex::NIL) {
            nodes.at_mut(list.head.get()).prev = NodeIndex::NIL;
            nodes.at_mut(list.tail.get()).next = NodeIndex::NIL;
        }
        self.len -= most as u32;
        debug_assert!((self.len == 0) == self.any().is_none(), "the timers of a bucket are counted");
        most
    }

    /// The nodes of all strands.
    pub(super) fn iter<'a, V>(&'a self, nodes: &'a Nodes<V>) -> impl Iterator<Item = NodeIndex> + 'a {
        self.lists.iter().flat_map(|list| list.iter(nodes))
    }

    /// Some node. O(1).
    pub(super) fn any(&self) -> Option<NodeIndex> {
        self.lists.iter().find_map(|list| list.any())
    }

    /// Checks every invariant of a bucket, and hands each node to `visit`.
    pub(super) fn check<V>(&self, nodes: &Nodes<V>, place: Place, mut visit: impl FnMut(NodeIndex)) {
        let mut len = 0;
        for (strand, list) in self.lists.iter().enumerate() {
            list.check(nodes, place, self.len(), |index| {
                assert!(index.get() % STRANDS == strand, "a node is in the strand that follows from its index");
                len += 1;
                visit(index);
            });
        }
        assert!(len == self.len, "the timers of a bucket are counted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_begins_with_both_ends_of_every_strand() {
        let (mut strands, mut nodes, mut batch) = (Strands::EMPTY, Nodes::<()>::new(), [NodeIndex::NIL; BATCH]);
        for index in (0..40).map(NodeIndex::new) {
            nodes.push_any();
            let prev = strands.append(&mut nodes, index);
            nodes.at_mut(index.get()).link_behind(prev, Place::CHAIN);
        }
        assert_eq!(strands.take(&mut nodes, 8, &mut batch), 8);
        batch[..8].sort_unstable();
        assert_eq!(batch[..8], [0, 1, 2, 3, 36, 37, 38, 39].map(NodeIndex::new));
    }
}
