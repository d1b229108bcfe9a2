//! Reading the timers in the order of time, without changing the wheel.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use super::Hierarchy;
use crate::engine::geometry::{Bucket, Geometry, Layout};
use crate::engine::node::{NodeIndex, Ordered};

impl<V, G: Geometry> Hierarchy<V, G> {
    /// The deadline of the timer that is due next. See
    /// [`Wheel::next_deadline`](crate::Wheel::next_deadline) for what it costs.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let mut earliest = self.near.first().map(|first| first.deadline);
        let mut unread = self.levels.bucket_after(None);
        while let Some(bucket) = unread {
            let start = Layout::<G>::start_ns(bucket);
            if earliest.is_some_and(|earliest| earliest <= start) {
                break;
            }
            let indexes = self.levels.iter(&self.nodes, bucket);
            let least = indexes.map(|index| self.node(index).deadline).min();
            earliest = earliest.into_iter().chain(least).min();
            unread = self.levels.bucket_after(unread);
        }
        earliest
    }

    /// When a level's next occupied bucket starts, if one is occupied. The near heap counts as level 0. O(1).
    pub(crate) fn level_wake(&self, level: usize) -> Option<u64> {
        let near = self.near.first().filter(|_| level == 0).map(|first| first.deadline);
        self.levels.next_start_ns(level).into_iter().chain(near).min()
    }

    /// All timers, in a heap with the latest first. O(nodes): a timer that was postponed may be later than those of
    /// all buckets behind its own, so all of them are read.
    pub(crate) fn latest_first(&self) -> BinaryHeap<Ordered> {
        let nodes = self.nodes.iter().zip(0..).filter(|(node, _)| node.is_scheduled());
        nodes.map(|(node, index)| Ordered::new(node, NodeIndex::new(index))).collect()
    }

    /// A walk through all timers. O(k) for the k chains of the near heap.
    pub(crate) fn ascent(&self) -> Ascent<'_, V, G> {
        Ascent {
            wheel: self,
            waiting: self.near.heads().copied().map(Reverse).collect(),
            unread: self.levels.bucket_after(None),
            left: (self.len - self.held_len) as usize,
        }
    }
}

/// A walk through all timers in the order in which they fire.
///
/// It reads a bucket when it has yielded all timers before it. Timers that it has read and not yet yielded are in a
/// heap of its own; chains, which are sorted, are read one timer at a time.
pub(crate) struct Ascent<'a, V, G> {
    wheel: &'a Hierarchy<V, G>,
    waiting: BinaryHeap<Reverse<Ordered>>,
    unread: Option<Bucket>,
    left: usize,
}

impl<V, G> Clone for Ascent<'_, V, G> {
    fn clone(&self) -> Self {
        Self { waiting: self.waiting.clone(), ..*self }
    }
}

impl<V, G: Geometry> Iterator for Ascent<'_, V, G> {
    type Item = Ordered;

    fn next(&mut self) -> Option<Ordered> {
        let wheel = self.wheel;
        while let Some(bucket) = self.unread {
            let start = Layout::<G>::start_ns(bucket);
            let next = self.waiting.peek();
            if next.is_some_and(|Reverse(next)| next.deadline < start) {
                break;
            }
            let indexes = wheel.levels.iter(&wheel.nodes, bucket);
            let timers = indexes.map(|index| Ordered::of(&wheel.nodes, index));
            self.waiting.extend(timers.map(Reverse));
            self.unread = wheel.levels.bucket_after(self.unread);
        }
        let Reverse(timer) = self.waiting.pop()?;
        let node = wheel.node(timer.node);
        if node.place().is_in_chain() {
            let next = wheel.nodes.get(node.next.get()).map(|next| Ordered::new(next, node.next));
            self.waiting.extend(next.map(Reverse));
        }
        self.left -= 1;
        Some(timer)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<V, G: Geometry> ExactSizeIterator for Ascent<'_, V, G> {}
