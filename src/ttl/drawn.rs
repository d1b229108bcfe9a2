//! The entries that have been drawn from the wheel of deadlines, in the order of expiry.
//!
//! A drawn entry is pending, waits for a retry, or has been put back by a change of role. Whatever
//! it is, it stays in this order until it is gone, so that putting a million entries back is no
//! work at all: the *resume* mark goes to the front, and what lies behind it is drawn again, one
//! at a time.
//!
//! The order is a skip list (W. Pugh, "Skip lists: a probabilistic alternative to balanced trees",
//! 1990) with links both ways. Entries are drawn in order, so nearly all of them are appended, in
//! O(1); one that was scheduled into a past that has been drawn already finds its place in
//! O(log n) expected, during a poll. Leaving takes O(1) expected wherever an entry is, which a
//! balanced tree could not give, and nothing is left behind that would have to be swept, which a
//! heap would need.

use alloc::vec::Vec;

use slab::Slab;

use super::config::scattered;
use super::item::{ItemIndex, NO_ITEM, Rank};

/// One entry in four is in the next level, one in sixteen in the one after, and so on.
const LEVEL_BITS: u32 = 2;

/// Levels enough for 2^32 entries.
const MOST_LEVELS: usize = (u32::BITS / LEVEL_BITS) as usize;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct NodeIndex(u32);

impl NodeIndex {
    /// No node: the slab never grows that far.
    const NONE: Self = Self(u32::MAX);

    fn new(index: usize) -> Self {
        debug_assert!(index < u32::MAX as usize);
        Self(index as u32)
    }

    fn get(self) -> usize {
        self.0 as usize
    }
}

/// An entry on one level of the list. The first node of each level is its sentinel, and the level a
/// ring through it.
#[derive(Clone, Debug)]
struct Node {
    rank: Rank,
    item: ItemIndex,
    previous: NodeIndex,
    next: NodeIndex,
    /// The same entry one level below.
    below: NodeIndex,
}

/// An entry's nodes on all its levels, by the topmost.
#[derive(Copy, Clone, Debug)]
pub(super) struct Tower(NodeIndex);

/// The drawn entries.
///
/// Invariant: every level is in order of rank, and holds of the level below the entries whose
/// towers reach it.
/// Invariant: `resume` is the first entry on the lowest level that has been put back, or none; all
/// behind it have been.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    nodes: Slab<Node>,
    /// The sentinel of each level, the lowest first.
    sentinels: Vec<NodeIndex>,
    resume: NodeIndex,
    len: usize,
}

impl Drawn {
    pub(super) fn new() -> Self {
        let mut drawn = Self {
            nodes: Slab::new(),
            sentinels: Vec::new(),
            resume: NodeIndex::NONE,
            len: 0,
        };
        drawn.add_level();
        drawn
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first entry that has been put back and not drawn since. O(1).
    #[inline]
    pub(super) fn put_back(&self) -> Option<(Rank, ItemIndex)> {
        let node = self.nodes.get(self.resume.get())?;
        Some((node.rank, node.item))
    }

    /// Takes note that the first entry that was put back has been drawn again. O(1).
    #[inline]
    pub(super) fn draw_again(&mut self) {
        self.resume = self.or_none(self.node(self.resume).next);
    }

    /// Puts all entries back. O(1).
    pub(super) fn put_all_back(&mut self) {
        self.resume = self.or_none(self.node(self.sentinels[0]).next);
    }

    /// Adds an entry. O(1) at the end, else O(log n) expected.
    pub(super) fn insert(&mut self, rank: Rank, item: ItemIndex) -> Tower {
        let height = Self::height(rank);
        while self.sentinels.len() < height {
            self.add_level();
        }
        let before = self.predecessors(rank);
        let mut top = NodeIndex::NONE;
        for &previous in &before[..height] {
            let next = self.node(previous).next;
            let node = NodeIndex::new(self.nodes.insert(Node {
                rank,
                item,
                previous,
                next,
                below: top,
            }));
            self.node_mut(previous).next = node;
            self.node_mut(next).previous = node;
            top = node;
        }
        self.len += 1;
        Tower(top)
    }

    /// Removes an entry. O(1) expected.
    pub(super) fn remove(&mut self, tower: Tower) {
        let mut at = tower.0;
        while at != NodeIndex::NONE {
            let node = self.nodes.remove(at.get());
            self.node_mut(node.previous).next = node.next;
            self.node_mut(node.next).previous = node.previous;
            if at == self.resume {
                self.resume = self.or_none(node.next);
            }
            at = node.below;
        }
        self.len -= 1;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// All entries in order.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter {
            drawn: self,
            next: self.or_none(self.node(self.sentinels[0]).next),
        }
    }

    /// On each level, the last entry before a rank, or the sentinel.
    fn predecessors(&self, rank: Rank) -> [NodeIndex; MOST_LEVELS] {
        let mut before = [NodeIndex::NONE; MOST_LEVELS];
        let last = self.node(self.sentinels[0]).previous;
        if last == self.sentinels[0] || self.node(last).rank < rank {
            for (before, &sentinel) in before.iter_mut().zip(&self.sentinels) {
                *before = self.node(sentinel).previous;
            }
            return before;
        }
        let top = self.sentinels.len() - 1;
        let mut at = self.sentinels[top];
        for level in (0..=top).rev() {
            loop {
                let next = self.node(at).next;
                if next == self.sentinels[level] || self.node(next).rank > rank {
                    break;
                }
                at = next;
            }
            before[level] = at;
            at = self.node(at).below;
        }
        before
    }

    /// How many levels the entry of a rank is on: a coin thrown by its sequence number.
    fn height(rank: Rank) -> usize {
        let throws = scattered(rank.sequence).trailing_zeros();
        (1 + (throws / LEVEL_BITS) as usize).min(MOST_LEVELS)
    }

    fn add_level(&mut self) {
        let sentinel = NodeIndex::new(self.nodes.vacant_key());
        let below = self.sentinels.last().copied();
        self.nodes.insert(Node {
            rank: Rank::first_at(0),
            item: NO_ITEM,
            previous: sentinel,
            next: sentinel,
            below: below.unwrap_or(NodeIndex::NONE),
        });
        self.sentinels.push(sentinel);
    }

    #[inline]
    fn or_none(&self, node: NodeIndex) -> NodeIndex {
        if node == self.sentinels[0] {
            return NodeIndex::NONE;
        }
        node
    }

    #[inline]
    fn node(&self, node: NodeIndex) -> &Node {
        &self.nodes[node.get()]
    }

    #[inline]
    fn node_mut(&mut self, node: NodeIndex) -> &mut Node {
        &mut self.nodes[node.get()]
    }

    /// Checks the invariants, by name, but for what only the entries' epochs know. O(n).
    pub(super) fn check(&self) {
        let mut nodes = 0;
        for (level, &sentinel) in self.sentinels.iter().enumerate() {
            let mut last = sentinel;
            loop {
                let at = self.node(last).next;
                assert_eq!(self.node(at).previous, last, "drawn entries link both ways");
                nodes += 1;
                if at == sentinel {
                    break;
                }
                let node = self.node(at);
                let is_first = last == sentinel;
                assert!(
                    is_first || self.node(last).rank < node.rank,
                    "drawn entries are in order of rank"
                );
                assert!(Self::height(node.rank) > level, "a tower has its height");
                if level > 0 {
                    assert_eq!(
                        self.node(node.below).item,
                        node.item,
                        "a tower is one entry's"
                    );
                }
                last = at;
            }
        }
        assert_eq!(nodes, self.nodes.len(), "every node is on a level");
        assert_eq!(self.iter().count(), self.len, "drawn entries are counted");
    }
}

/// All drawn entries in order, from [`Drawn::iter`].
#[derive(Clone, Debug)]
pub(super) struct Iter<'a> {
    drawn: &'a Drawn,
    next: NodeIndex,
}

impl Iterator for Iter<'_> {
    type Item = (Rank, ItemIndex);

    fn next(&mut self) -> Option<(Rank, ItemIndex)> {
        let node = self.drawn.nodes.get(self.next.get())?;
        self.next = self.drawn.or_none(node.next);
        Some((node.rank, node.item))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;

    fn rank(deadline_ns: u64, sequence: u64) -> Rank {
        Rank {
            deadline_ns,
            sequence,
        }
    }

    fn agrees(drawn: &Drawn, model: &BTreeMap<Rank, (ItemIndex, Tower)>) {
        drawn.check();
        let model = model.iter().map(|(&rank, &(item, _))| (rank, item));
        assert!(drawn.iter().eq(model));
    }

    #[test]
    fn drawn_entries_are_in_order_however_they_come_and_go() {
        let mut drawn = Drawn::new();
        let mut model = BTreeMap::new();
        for sequence in 1..2_000_u64 {
            // Appended, prepended, in between, and many of one deadline.
            let deadline = match sequence % 4 {
                0 => sequence,
                1 => 4_000 - sequence,
                2 => scattered(sequence) % 4_000,
                _ => 2_000,
            };
            let rank = rank(deadline, sequence);
            let item = ItemIndex::new(sequence as usize);
            model.insert(rank, (item, drawn.insert(rank, item)));
            if sequence % 3 == 0 {
                let nth = scattered(sequence) as usize % model.len();
                let (&gone, &(_, tower)) = model.iter().nth(nth).unwrap();
                drawn.remove(tower);
                model.remove(&gone);
            }
            if sequence % 50 == 0 {
                agrees(&drawn, &model);
            }
        }
        for (_, tower) in core::mem::take(&mut model).into_values() {
            drawn.remove(tower);
        }
        agrees(&drawn, &model);
        assert_eq!(drawn.len(), 0);
    }

    #[test]
    fn levels_are_as_many_as_the_tallest_tower_reaches() {
        let mut drawn = Drawn::new();
        let mut tallest = 1;
        for sequence in 1..2_000 {
            let rank = rank(0, sequence);
            drawn.insert(rank, ItemIndex::new(0));
            tallest = tallest.max(Drawn::height(rank));
            assert_eq!(drawn.sentinels.len(), tallest, "{sequence} entries");
        }
        assert!(tallest > 3);
    }

    /// What makes a search take O(log n): each level holds a fixed part of the one below.
    #[test]
    fn towers_thin_out_from_level_to_level() {
        const COUNT: u64 = 1 << 16;
        let mut on_level = [0_u64; MOST_LEVELS];
        for sequence in 1..=COUNT {
            for level in on_level.iter_mut().take(Drawn::height(rank(0, sequence))) {
                *level += 1;
            }
        }
        let mut expected = COUNT;
        for count in on_level {
            let slack = expected / 10 + 20;
            assert!(count.abs_diff(expected) <= slack, "{on_level:?}");
            expected >>= LEVEL_BITS;
        }
    }

    #[test]
    fn resume_mark_moves_on_when_its_entry_is_removed() {
        let mut drawn = Drawn::new();
        assert_eq!(drawn.put_back(), None);
        let towers = [1, 2, 3, 4].map(|n| drawn.insert(rank(n, n), ItemIndex::new(n as usize)));
        assert_eq!(drawn.put_back(), None, "nothing has been put back yet");
        drawn.put_all_back();
        let next = |drawn: &Drawn| drawn.put_back().map(|(rank, _)| rank.sequence);
        assert_eq!(next(&drawn), Some(1));
        drawn.remove(towers[0]);
        assert_eq!(next(&drawn), Some(2));
        drawn.remove(towers[2]);
        drawn.draw_again();
        assert_eq!(next(&drawn), Some(4));
        drawn.remove(towers[3]);
        assert_eq!(next(&drawn), None);
        drawn.put_all_back();
        assert_eq!(next(&drawn), Some(2));
    }
}
