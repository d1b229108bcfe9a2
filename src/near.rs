//! The near heap: the timers that fire next, as a heap of chains. A chain is a list of timers in the order in which
//! they fire.
//!
//! The timers of a bucket that is opened are sorted and linked into a *chain*. The heap has an entry for each
//! chain, which is its first timer, the *head*, and so it merges them. When a head fires or is cancelled, the
//! next of its chain takes its place. A timer that is scheduled into the cursor's tick or before it is a chain of
//! one, and so are the timers of a small wheel, which makes no lists.
//!
//! A heap of fan-out four is half as deep as a binary one, so half as many nodes must be told where their
//! entries are.

pub(crate) mod sort;

use crate::node::{Links, NodeIndex, Nodes, Ordered, Place};
use crate::pages::Pages;

/// Children of an entry.
const FANOUT: usize = 4;

/// Entries on a page.
const PAGE: usize = 512;

/// An indexed heap of the heads of chains, the earliest first.
///
/// Invariants: no entry precedes its parent, at `(index - 1) / 4`; an entry has the deadline and the sequence
/// number of its node, which is a head and says at which index the entry is; the nodes of a chain are in the order
/// in which they fire.
#[derive(Clone, Debug)]
pub(crate) struct NearHeap {
    /// The entry at index 0, if there is one: mostly the only one.
    first: Ordered,
    /// The entries from index 1 on.
    others: Pages<Ordered, PAGE>,
    /// Timers in all chains.
    len: usize,
}

impl NearHeap {
    pub(crate) fn new() -> Self {
        Self { first: Ordered::default(), others: Pages::new(), len: 0 }
    }

    /// The number of timers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of chains.
    #[inline]
    pub(crate) fn chains(&self) -> usize {
        self.others.len() + usize::from(self.len != 0)
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.others.bytes()
    }

    /// The timer that fires first. O(1).
    #[inline]
    pub(crate) fn first(&self) -> Option<&Ordered> {
        (self.len != 0).then_some(&self.first)
    }

    /// The head of the chain whose entry is at an index.
    #[inline]
    pub(crate) fn head(&self, index: usize) -> &Ordered {
        match index.checked_sub(1) {
            Some(other) => self.others.at(other),
            None => &self.first,
        }
    }

    /// The heads of all chains, in no particular order.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &Ordered> {
        self.first().into_iter().chain(self.others.iter())
    }

    /// Adds a timer that is linked nowhere. O(log chains), O(1) on average.
    pub(crate) fn push<V>(&mut self, nodes: &mut Nodes<V>, timer: Ordered) {
        nodes.at_mut(timer.node.get()).next = NodeIndex::NIL;
        self.push_head(nodes, timer);
        self.len += 1;
    }

    /// Adds timers that are linked nowhere, in the order in which they fire. O(timers + log chains).
    pub(crate) fn push_chain<V>(&mut self, nodes: &mut Nodes<V>, mut timers: impl Iterator<Item = Ordered>) {
        let Some(head) = timers.next() else {
            return;
        };
        let (mut len, mut last) = (1, head.node);
        for timer in timers {
            nodes.at_mut(last.get()).next = timer.node;
            let node = nodes.at_mut(timer.node.get());
            (node.place, node.prev) = (Place::CHAIN, last);
            (len, last) = (len + 1, timer.node);
        }
        nodes.at_mut(last.get()).next = NodeIndex::NIL;
        self.push_head(nodes, head);
        self.len += len;
    }

    fn push_head<V>(&mut self, nodes: &mut Nodes<V>, head: Ordered) {
        nodes.at_mut(head.node.get()).place = Place::HEAD;
        let index = self.chains();
        if index != 0 {
            self.others.push(head);
        }
        self.rise(nodes, index, head);
    }

    /// Unlinks a timer from its chain. O(1) behind the head of a chain, else O(log chains).
    #[inline]
    pub(crate) fn unlink<V>(&mut self, nodes: &mut Nodes<V>, links: Links) {
        if links.place == Place::HEAD {
            return self.remove_head(nodes, links.prev.get(), links.next);
        }
        self.len -= 1;
        nodes.at_mut(links.prev.get()).next = links.next;
        if let Some(next) = nodes.get_mut(links.next.get()) {
            next.prev = links.prev;
        }
    }

    /// Puts `next`, the next of a chain, in the place of its head, or removes the entry with the last timer of a chain.
    /// O(1) if that chain comes before all others, else O(log chains).
    #[inline]
    pub(crate) fn remove_head<V>(&mut self, nodes: &mut Nodes<V>, index: usize, next: NodeIndex) {
        let Some(node) = nodes.get_mut(next.get()) else {
            return self.remove_entry(nodes, index);
        };
        self.len -= 1;
        let head = Ordered::new(node, next);
        (node.place, node.prev) = (Place::HEAD, NodeIndex::new(index));
        if self.others.len() == 0 {
            self.first = head;
        } else {
            self.sink(nodes, index, head);
        }
    }

    fn remove_entry<V>(&mut self, nodes: &mut Nodes<V>, index: usize) {
        self.len -= 1;
        let Some(end) = self.others.len().checked_sub(1) else {
            return;
        };
        let last = *self.others.at(end);
        self.others.pop();
        // What a crowd has left behind is given back as it goes.
        self.others.trim();
        if index == end + 1 {
            return;
        }
        if index == 0 || !last.precedes(self.head((index - 1) / FANOUT)) {
            self.sink(nodes, index, last);
        } else {
            self.rise(nodes, index, last);
        }
    }

    /// Puts an entry where it belongs, at an index or above it.
    fn rise<V>(&mut self, nodes: &mut Nodes<V>, mut index: usize, entry: Ordered) {
        while index != 0 {
            let above = (index - 1) / FANOUT;
            let parent = *self.head(above);
            if !entry.precedes(&parent) {
                break;
            }
            self.write(nodes, index, parent);
            index = above;
        }
        self.write(nodes, index, entry);
    }

    /// Puts an entry where it belongs, at an index or below it.
    fn sink<V>(&mut self, nodes: &mut Nodes<V>, mut index: usize, entry: Ordered) {
        loop {
            // The children, by their indexes among the others.
            let first = FANOUT * index;
            let mut least = entry;
            let mut below = index;
            for other in first..(first + FANOUT).min(self.others.len()) {
                let child = self.others.at(other);
                if child.precedes(&least) {
                    (least, below) = (*child, other + 1);
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
    fn write<V>(&mut self, nodes: &mut Nodes<V>, index: usize, entry: Ordered) {
        match index.checked_sub(1) {
            Some(other) => *self.others.at_mut(other) = entry,
            None => self.first = entry,
        }
        nodes.at_mut(entry.node.get()).prev = NodeIndex::new(index);
    }

    /// Takes note that the timers have been renumbered in the same order.
    pub(crate) fn renumber<V>(&mut self, nodes: &Nodes<V>) {
        let first = (self.len != 0).then_some(&mut self.first);
        for entry in first.into_iter().chain(self.others.iter_mut()) {
            *entry = Ordered::of(nodes, entry.node);
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
        let mut len = 0;
        for (index, &entry) in self.heads().enumerate() {
            assert!(
                index == 0 || !entry.precedes(self.head((index - 1) / FANOUT)),
                "no entry of the near heap precedes its parent"
            );
            assert!(
                entry == Ordered::of(nodes, entry.node),
                "an entry of the near heap has its timer's deadline and sequence"
            );
            let head = nodes.at(entry.node.get());
            assert!(
                head.place == Place::HEAD && head.prev.get() == index,
                "the head of a chain says where its entry is"
            );
            let (mut prev, mut next) = (entry, head.next);
            visit(entry.node);
            len += 1;
            while let Some(node) = nodes.get(next.get()) {
                let timer = Ordered::of(nodes, next);
                assert!(prev.precedes(&timer), "a chain is in order");
                assert!(node.place == Place::CHAIN && node.prev == prev.node, "neighbours in a chain name each other");
                visit(next);
                len += 1;
                (prev, next) = (timer, node.next);
            }
        }
        assert!(len == self.len, "the timers of all chains are counted");
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::*;

    /// A heap, the nodes of its timers and what it should hold.
    struct Rig {
        heap: NearHeap,
        nodes: Nodes<()>,
        model: BTreeSet<Ordered>,
    }

    impl Rig {
        fn new() -> Self {
            Self { heap: NearHeap::new(), nodes: Nodes::new(), model: BTreeSet::new() }
        }

        /// A node for a timer of that deadline.
        fn timer(&mut self, deadline: u64) -> Ordered {
            let index = self.nodes.len();
            self.nodes.push_any();
            let node = self.nodes.at_mut(index);
            node.deadline = deadline;
            node.set_sequence(index as u64);
            let timer = Ordered::of(&self.nodes, NodeIndex::new(index));
            self.model.insert(timer);
            timer
        }

        fn push(&mut self, deadline: u64) -> Ordered {
            let timer = self.timer(deadline);
            self.heap.push(&mut self.nodes, timer);
            timer
        }

        fn chain(&mut self, deadlines: impl IntoIterator<Item = u64>) -> Vec<Ordered> {
            let timers: Vec<Ordered> = deadlines.into_iter().map(|it| self.timer(it)).collect();
            self.heap.push_chain(&mut self.nodes, timers.iter().copied());
            timers
        }

        fn unlink(&mut self, timer: Ordered) {
            let links = self.nodes.at(timer.node.get()).links();
            self.heap.unlink(&mut self.nodes, links);
            self.nodes.at_mut(timer.node.get()).place = Place::NONE;
            assert!(self.model.remove(&timer));
        }

        fn check(&self) {
            let mut found = BTreeSet::new();
            self.heap.check(&self.nodes, |index| {
                found.insert(Ordered::of(&self.nodes, index));
            });
            assert_eq!(found, self.model);
            assert_eq!(self.heap.first(), self.model.first());
        }

        fn drain(&mut self) {
            while let Some(&first) = self.heap.first() {
                assert_eq!(Some(&first), self.model.first());
                self.unlink(first);
                self.check();
            }
            assert!(self.model.is_empty());
        }
    }

    #[test]
    fn chain_is_cancelled_from_the_front_the_back_and_the_middle() {
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 1, 3, 0, 4]] {
            let mut rig = Rig::new();
            rig.push(7);
            let chain = rig.chain([5, 6, 7, 8, 9]);
            rig.push(1);
            for nth in order {
                rig.unlink(chain[nth]);
                rig.check();
            }
            rig.drain();
        }
    }

    #[test]
    fn chains_and_lone_timers_are_merged() {
        let mut rig = Rig::new();
        for chain in 0..40_u64 {
            rig.chain((0..chain % 7).map(|nth| chain * 3 % 17 + nth * 5));
            rig.push(chain * 11 % 23);
        }
        rig.check();
        let out: Vec<Ordered> = rig.model.iter().copied().step_by(3).collect();
        for timer in out {
            rig.unlink(timer);
            rig.check();
        }
        rig.drain();
    }

    #[test]
    fn memory_of_a_crowd_is_given_back_as_it_goes() {
        let mut rig = Rig::new();
        (0..20_000).for_each(|nth| _ = rig.push(nth));
        let full = rig.heap.bytes();
        for _ in 0..19_900 {
            let first = *rig.heap.first().unwrap();
            rig.unlink(first);
        }
        assert!(rig.heap.bytes() < full / 10);
        rig.drain();
    }
}
