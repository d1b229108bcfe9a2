//! The linked lists of a wheel: a sentinel a bucket and a node a timer, all in one slab.

use slab::Slab;

use super::layout::BucketIndex;

/// Where a node is in the slab. The sentinel of bucket `b` is node `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeIndex(pub(super) u32);

impl NodeIndex {
    #[inline]
    fn slot(self) -> usize {
        self.0 as usize
    }
}

impl From<BucketIndex> for NodeIndex {
    #[inline]
    fn from(bucket: BucketIndex) -> Self {
        Self(bucket.0 as u32)
    }
}

/// A timer, or the sentinel of a bucket.
#[derive(Debug)]
pub(super) struct Node<T> {
    pub(super) deadline: u64,
    previous: NodeIndex,
    next: NodeIndex,
    /// Tells this timer from an earlier one in the same slot.
    pub(super) stamp: u32,
    /// `None` in a sentinel.
    pub(super) value: Option<T>,
}

/// Every list of a wheel.
///
/// Invariant: the lists are rings, each through exactly one sentinel, and every timer is on one.
#[derive(Debug)]
pub(super) struct Lists<T> {
    nodes: Slab<Node<T>>,
}

impl<T> Lists<T> {
    /// So many empty lists.
    pub(super) fn new(buckets: usize) -> Self {
        let mut nodes = Slab::new();
        // A new slab hands out slots in order.
        for bucket in 0..buckets {
            let itself = NodeIndex::from(BucketIndex(bucket));
            nodes.insert(Node { deadline: 0, previous: itself, next: itself, stamp: 0, value: None });
        }
        Self { nodes }
    }

    /// How many nodes there are, sentinels included.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node of a timer, if the slot is in use.
    #[inline]
    pub(super) fn get(&self, node: NodeIndex) -> Option<&Node<T>> {
        self.nodes.get(node.slot())
    }

    #[inline]
    pub(super) fn deadline(&self, node: NodeIndex) -> u64 {
        self.nodes[node.slot()].deadline
    }

    #[inline]
    pub(super) fn set_deadline(&mut self, node: NodeIndex, deadline: u64) {
        self.nodes[node.slot()].deadline = deadline;
    }

    /// Makes a node at the end of a bucket's list.
    ///
    /// # Panics
    ///
    /// If there are no more node indexes.
    #[inline]
    pub(super) fn insert(&mut self, bucket: BucketIndex, deadline: u64, stamp: u32, value: T) -> NodeIndex {
        let sentinel = NodeIndex::from(bucket);
        let last = self.nodes[sentinel.slot()].previous;
        let slot = self.nodes.insert(Node { deadline, previous: last, next: sentinel, stamp, value: Some(value) });
        let node = NodeIndex(u32::try_from(slot).expect("at most 2^32 nodes"));
        self.nodes[last.slot()].next = node;
        self.nodes[sentinel.slot()].previous = node;
        node
    }

    /// Takes a node off its list and out of the slab, and names the bucket if that left it empty.
    #[inline]
    pub(super) fn remove(&mut self, node: NodeIndex) -> (Node<T>, Option<BucketIndex>) {
        let removed = self.nodes.remove(node.slot());
        let emptied = self.join(removed.previous, removed.next);
        (removed, emptied)
    }

    /// Appends a node to a bucket's list.
    #[inline]
    pub(super) fn link(&mut self, node: NodeIndex, bucket: BucketIndex) {
        let sentinel = NodeIndex::from(bucket);
        let last = self.nodes[sentinel.slot()].previous;
        let linked = &mut self.nodes[node.slot()];
        linked.previous = last;
        linked.next = sentinel;
        self.nodes[last.slot()].next = node;
        self.nodes[sentinel.slot()].previous = node;
    }

    /// Takes a node off its list, and names the bucket if that left it empty. The node's own links
    /// are left as they were: the caller links it again.
    #[inline]
    pub(super) fn unlink(&mut self, node: NodeIndex) -> Option<BucketIndex> {
        let Node { previous, next, .. } = self.nodes[node.slot()];
        self.join(previous, next)
    }

    /// Closes the gap between two nodes, and names the bucket if nothing else is on its list.
    #[inline]
    fn join(&mut self, previous: NodeIndex, next: NodeIndex) -> Option<BucketIndex> {
        self.nodes[previous.slot()].next = next;
        self.nodes[next.slot()].previous = previous;
        // Only a sentinel can be on both sides of a gap.
        (previous == next).then_some(BucketIndex(previous.slot()))
    }

    /// Empties a bucket's list in O(1) and gives its first node; the nodes keep their links, and
    /// [`following`](Self::following) walks them.
    #[inline]
    pub(super) fn detach(&mut self, bucket: BucketIndex) -> Option<NodeIndex> {
        let itself = NodeIndex::from(bucket);
        let sentinel = &mut self.nodes[itself.slot()];
        let first = sentinel.next;
        sentinel.next = itself;
        sentinel.previous = itself;
        (first != itself).then_some(first)
    }

    /// Moves a bucket's whole list to the end of another's in O(1).
    #[inline]
    pub(super) fn splice(&mut self, from: BucketIndex, to: BucketIndex) {
        let source = NodeIndex::from(from);
        let last = self.nodes[source.slot()].previous;
        let Some(first) = self.detach(from) else {
            return;
        };
        let target = NodeIndex::from(to);
        let before = self.nodes[target.slot()].previous;
        self.nodes[before.slot()].next = first;
        self.nodes[first.slot()].previous = before;
        self.nodes[last.slot()].next = target;
        self.nodes[target.slot()].previous = last;
    }

    /// The first node of a bucket's list.
    #[inline]
    pub(super) fn first(&self, bucket: BucketIndex) -> Option<NodeIndex> {
        self.following(NodeIndex::from(bucket), bucket)
    }

    /// The last node of a bucket's list.
    #[inline]
    pub(super) fn last(&self, bucket: BucketIndex) -> Option<NodeIndex> {
        let sentinel = NodeIndex::from(bucket);
        let last = self.nodes[sentinel.slot()].previous;
        (last != sentinel).then_some(last)
    }

    /// The node after this one on a bucket's list.
    #[inline]
    pub(super) fn following(&self, node: NodeIndex, bucket: BucketIndex) -> Option<NodeIndex> {
        let next = self.nodes[node.slot()].next;
        (next != NodeIndex::from(bucket)).then_some(next)
    }
}
