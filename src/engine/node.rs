//! The node of a timer: deadline, sequence number and links.

use crate::engine::geometry::BucketIndex;
use crate::engine::pages::{Pages, Vacant};

/// Nodes on a page.
pub(crate) const NODES_A_PAGE: usize = 256;

/// All nodes of a wheel, by index.
pub(crate) type Nodes<V> = Pages<Node<V>, NODES_A_PAGE>;

/// The most timers that a wheel can hold. The index of a timer, even one that the caller chose, is below it.
pub(crate) const MAX_TIMERS: usize = 3 << 29;

/// The index of a timer's node.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeIndex(u32);

impl NodeIndex {
    /// No node: no wheel holds that many timers.
    pub(crate) const NIL: Self = Self(u32::MAX);

    /// The `next` of the last node of a lane: no node either.
    #[inline]
    pub(crate) const fn end_of(lane: u8) -> Self {
        Self(Self::NIL.0 - 1 - lane as u32)
    }

    /// The number of the lane whose end this is. For nil and for a node it is a number that no lane has.
    #[inline]
    pub(crate) const fn as_end(self) -> usize {
        (Self::NIL.0 - 1).wrapping_sub(self.0) as usize
    }

    #[inline]
    pub(crate) const fn new(index: usize) -> Self {
        debug_assert!(index < MAX_TIMERS);
        Self(index as u32)
    }

    #[inline]
    pub(crate) const fn get(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) const fn to_bits(self) -> u32 {
        self.0
    }
}

/// The number of sequence numbers. The sequence number of a timer says when it was last scheduled or rescheduled,
/// relative to all others. It is the order among equal deadlines.
///
/// 48 bits last for a month at a hundred million operations a second; the timers are renumbered when
/// they run out.
pub(crate) const SEQUENCES: u64 = 1 << 48;

/// The index of an entry in the near heap.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeapIndex(u32);

impl HeapIndex {
    /// The entry of the timer that fires first.
    pub(crate) const FIRST: Self = Self(0);

    #[inline]
    pub(crate) const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    #[inline]
    pub(crate) const fn get(self) -> usize {
        self.0 as usize
    }
}

/// The structure that a timer's node is linked into.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place(u16);

impl Place {
    /// None: there is no timer.
    pub(crate) const NONE: Self = Self(u16::MAX);
    /// The list of the held timers: live, and in no order.
    pub(crate) const HELD: Self = Self(u16::MAX - 1);
    /// The head of a chain, which has an entry in the near heap instead of a previous node.
    pub(crate) const HEAD: Self = Self(u16::MAX - 2);
    /// A chain, behind its head.
    pub(crate) const CHAIN: Self = Self(u16::MAX - 3);

    /// A strand of a bucket.
    #[inline]
    pub(crate) const fn bucket(index: BucketIndex) -> Self {
        Self(index.get() as u16)
    }

    /// Whether the timer is in a chain, behind its head or not.
    #[inline]
    pub(crate) const fn is_in_chain(self) -> bool {
        matches!(self, Self::CHAIN | Self::HEAD)
    }

    /// The bucket, if the place is one.
    #[inline]
    pub(crate) const fn as_bucket(self) -> Option<BucketIndex> {
        if self.0 < Self::CHAIN.0 { Some(BucketIndex::new(self.0 as usize)) } else { None }
    }
}

/// Where a node is linked: enough to unlink it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Links {
    pub(crate) place: Place,
    pub(crate) prev: NodeIndex,
    pub(crate) next: NodeIndex,
}

impl Links {
    /// The entry of the head of a chain in the near heap.
    pub(crate) fn heap_index(&self) -> HeapIndex {
        debug_assert!(self.place == Place::HEAD);
        HeapIndex(self.prev.0)
    }
}

/// One timer. `V` is the value that the owner of the wheel keeps for it.
///
/// Invariant: place, `prev` and `next` are where the node is linked. Without a place the other fields mean nothing.
#[derive(Clone, Debug)]
pub(crate) struct Node<V> {
    /// When the timer is due, in nanoseconds.
    pub(crate) deadline: u64,
    /// The place in 16 bits, and the sequence number: so a node without a value takes 24 bytes, and one word has both.
    order: [u8; 8],
    pub(crate) prev: NodeIndex,
    pub(crate) next: NodeIndex,
    pub(crate) value: V,
}

impl<V: Vacant> Vacant for Node<V> {
    const VACANT: Self = Self::new(V::VACANT);
}

impl<V> Node<V> {
    /// A node without a timer.
    pub(crate) const fn new(value: V) -> Self {
        let (prev, next) = (NodeIndex::NIL, NodeIndex::NIL);
        Self { deadline: 0, order: (Place::NONE.0 as u64).to_le_bytes(), prev, next, value }
    }

    #[inline]
    pub(crate) fn sequence(&self) -> u64 {
        u64::from_le_bytes(self.order) >> u16::BITS
    }

    #[inline]
    pub(crate) fn set_sequence(&mut self, sequence: u64) {
        self.set_order(sequence, self.place());
    }

    #[inline]
    pub(crate) fn place(&self) -> Place {
        let [low, high, ..] = self.order;
        Place(u16::from_le_bytes([low, high]))
    }

    #[inline]
    pub(crate) fn set_place(&mut self, place: Place) {
        [self.order[0], self.order[1]] = place.0.to_le_bytes();
    }

    #[inline]
    pub(crate) fn set_order(&mut self, sequence: u64, place: Place) {
        debug_assert!(sequence < SEQUENCES);
        self.order = (sequence << u16::BITS | u64::from(place.0)).to_le_bytes();
    }

    #[inline]
    pub(crate) fn links(&self) -> Links {
        Links { place: self.place(), prev: self.prev, next: self.next }
    }

    /// Links the node behind the last of a list.
    #[inline]
    pub(crate) fn link_behind(&mut self, prev: NodeIndex, place: Place) {
        self.set_place(place);
        (self.prev, self.next) = (prev, NodeIndex::NIL);
    }

    /// The entry of the head of a chain in the near heap. It is stored in `prev`, because a head has no previous node.
    #[inline]
    pub(crate) fn heap_index(&self) -> HeapIndex {
        self.links().heap_index()
    }

    /// Makes the node the head of a chain, with an entry in the near heap.
    #[inline]
    pub(crate) fn set_heap_index(&mut self, index: HeapIndex) {
        debug_assert!(self.place() == Place::HEAD);
        self.prev = NodeIndex(index.0);
    }

    /// Whether the node is one of a live timer.
    #[inline]
    pub(crate) fn is_live(&self) -> bool {
        self.place() != Place::NONE
    }

    /// Whether the timer is live and in the order: not held.
    #[inline]
    pub(crate) fn is_scheduled(&self) -> bool {
        !matches!(self.place(), Place::NONE | Place::HELD)
    }
}

/// A timer and its place in the order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ordered {
    pub(crate) deadline: u64,
    pub(crate) sequence: u64,
    pub(crate) node: NodeIndex,
}

impl Vacant for Ordered {
    /// Later than every timer.
    const VACANT: Self = Self { deadline: u64::MAX, sequence: u64::MAX, node: NodeIndex::NIL };
}

impl Ordered {
    /// The timer of a node.
    #[inline]
    pub(crate) fn of<V>(nodes: &Nodes<V>, index: NodeIndex) -> Self {
        Self::new(nodes.at(index.get()), index)
    }

    /// The timer of the node at an index.
    #[inline]
    pub(crate) fn new<V>(node: &Node<V>, index: NodeIndex) -> Self {
        Self { deadline: node.deadline, sequence: node.sequence(), node: index }
    }

    /// Whether this timer fires before another.
    #[inline]
    pub(crate) fn precedes(&self, other: &Self) -> bool {
        (self.deadline, self.sequence) < (other.deadline, other.sequence)
    }
}

/// The timer that fires next: its deadline and its node.
///
/// It is not an [`Ordered`]: the compiler reads that in one piece, and the processor then waits for the parts that the
/// heap has just written. An eviction would take a sixth longer.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Next {
    pub(crate) deadline: u64,
    pub(crate) node: NodeIndex,
}
