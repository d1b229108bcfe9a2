//! The linked lists of a wheel: a sentinel a bucket and a node a timer, all in one slab.

use std::ops::{Index, IndexMut};

use slab::Slab;

use super::BucketIndex;

/// Where a node is in the slab. The sentinel of bucket `b` is node `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeIndex(pub(super) u32);

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
pub(super) struct Lists<T>(Slab<Node<T>>);

impl<T> Index<NodeIndex> for Lists<T> {
    type Output = Node<T>;

    #[inline]
    fn index(&self, node: NodeIndex) -> &Node<T> {
        &self.0[node.0 as usize]
    }
}

impl<T> IndexMut<NodeIndex> for Lists<T> {
    #[inline]
    fn index_mut(&mut self, node: NodeIndex) -> &mut Node<T> {
        &mut self.0[node.0 as usize]
    }
}

impl<T> Lists<T> {
    /// So many empty lists. A new slab hands out slots in order.
    pub(super) fn new(buckets: usize) -> Self {
        let mut nodes = Slab::new();
        for bucket in 0..buckets {
            let itself = NodeIndex::from(BucketIndex(bucket));
            nodes.insert(Node { deadline: 0, previous: itself, next: itself, stamp: 0, value: None });
        }
        Self(nodes)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The node of a timer, if the slot is in use.
    #[inline]
    pub(super) fn get(&self, node: NodeIndex) -> Option<&Node<T>> {
        self.0.get(node.0 as usize)
    }

    /// Makes a node at the end of a bucket's list.
    #[inline]
    pub(super) fn insert(&mut self, bucket: BucketIndex, deadline: u64, stamp: u32, value: T) -> NodeIndex {
        let next = NodeIndex::from(bucket);
        let previous = self[next].previous;
        let slot = self.0.insert(Node { deadline, previous, next, stamp, value: Some(value) });
        let node = NodeIndex(u32::try_from(slot).expect("at most 2^32 nodes"));
        self[previous].next = node;
        self[next].previous = node;
        node
    }

    /// Takes a node off its list and out of the slab, and names the bucket if that left it empty.
    #[inline]
    pub(super) fn remove(&mut self, node: NodeIndex) -> (Node<T>, Option<BucketIndex>) {
        let removed = self.0.remove(node.0 as usize);
        let emptied = self.join(removed.previous, removed.next);
        (removed, emptied)
    }

    /// Appends a node to a bucket's list.
    #[inline]
    pub(super) fn link(&mut self, node: NodeIndex, bucket: BucketIndex) {
        let next = NodeIndex::from(bucket);
        let previous = self[next].previous;
        let linked = &mut self[node];
        (linked.previous, linked.next) = (previous, next);
        self[previous].next = node;
        self[next].previous = node;
    }

    /// Takes a node off its list, and names the bucket if that left it empty. The node's own links stay: the caller
    /// links it again.
    #[inline]
    pub(super) fn unlink(&mut self, node: NodeIndex) -> Option<BucketIndex> {
        let Node { previous, next, .. } = self[node];
        self.join(previous, next)
    }

    /// Closes the gap between two nodes, and names the bucket if nothing else is on its list: only a sentinel can be on
    /// both sides of a gap.
    #[inline]
    fn join(&mut self, previous: NodeIndex, next: NodeIndex) -> Option<BucketIndex> {
        self[previous].next = next;
        self[next].previous = previous;
        (previous == next).then_some(BucketIndex(previous.0 as usize))
    }

    /// Empties a bucket's list in O(1) and gives its first node; [`following`](Self::following) walks the others.
    #[inline]
    pub(super) fn detach(&mut self, bucket: BucketIndex) -> Option<NodeIndex> {
        let itself = NodeIndex::from(bucket);
        let first = self[itself].next;
        let sentinel = &mut self[itself];
        (sentinel.previous, sentinel.next) = (itself, itself);
        (first != itself).then_some(first)
    }

    /// Moves a bucket's whole list to the end of another's in O(1).
    #[inline]
    pub(super) fn splice(&mut self, from: BucketIndex, to: BucketIndex) {
        let last = self[from.into()].previous;
        if let Some(first) = self.detach(from) {
            let before = self[to.into()].previous;
            self.join(before, first);
            self.join(last, to.into());
        }
    }

    /// The node after this one on a bucket's list, or the first after the sentinel.
    #[inline]
    pub(super) fn following(&self, node: NodeIndex, bucket: BucketIndex) -> Option<NodeIndex> {
        let next = self[node].next;
        (next != bucket.into()).then_some(next)
    }

    /// The nodes on a bucket's list, in order.
    pub(super) fn iter(&self, bucket: BucketIndex) -> impl Iterator<Item = NodeIndex> {
        std::iter::successors(self.first(bucket), move |&node| self.following(node, bucket))
    }

    #[inline]
    pub(super) fn first(&self, bucket: BucketIndex) -> Option<NodeIndex> {
        self.following(bucket.into(), bucket)
    }

    #[inline]
    pub(super) fn last(&self, bucket: BucketIndex) -> Option<NodeIndex> {
        let last = self[bucket.into()].previous;
        (last != bucket.into()).then_some(last)
    }
}
