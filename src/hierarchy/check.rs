//! The invariants of the wheel, checked by name.

use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{First, Hierarchy};
use crate::geometry::{Bucket, FAR, Geometry, LEVELS, Layout};

impl<V, G: Geometry> Hierarchy<V, G> {
    /// Checks every invariant, for `live` timers that are scheduled. O(n log n), and O(nodes).
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check(&self, live: usize) {
        let mut sequences = Vec::new();
        self.near.check(&self.nodes, |index| {
            sequences.push(self.node(index).sequence());
        });
        let mut first: Option<Bucket> = None;
        let order = |it: Bucket| (Layout::<G>::start(it), Reverse(it.level));
        self.lists.check(&self.nodes, self.cursor, |index, bucket| {
            let node = self.node(index);
            sequences.push(node.sequence());
            let start = Layout::<G>::start(bucket);
            assert!(
                node.deadline >= Layout::<G>::start_ns(start),
                "no timer in a bucket is due before the bucket's start"
            );
            self.check_reach(bucket);
            if first.map_or(true, |first| order(bucket) < order(first)) {
                first = Some(bucket);
            }
        });
        assert!(
            sequences.len() == live && self.scheduled().count() == live,
            "every timer that is scheduled is linked once"
        );
        sequences.sort_unstable();
        assert!(
            sequences.windows(2).all(|pair| pair[0] < pair[1])
                && sequences.last().map_or(true, |last| *last < self.next_sequence),
            "no two timers share a sequence number, and none has one to come"
        );
        assert!(
            self.first == First::at::<G>(first) && self.first.bucket == self.bucket_after(None),
            "the first occupied bucket is known"
        );
        assert!(self.collected.is_empty(), "the memory in which timers are collected is empty");
        self.check_clock();
    }

    /// Checks that an occupied bucket is where timers of its ticks are placed, or is being moved down.
    fn check_reach(&self, bucket: Bucket) {
        let Bucket { level, number } = bucket;
        let start = Layout::<G>::start(bucket);
        assert!(
            number >= Layout::<G>::number(level, self.cursor),
            "no bucket that is occupied lies before the cursor's"
        );
        assert!(level == 0 || start > self.cursor, "no coarser bucket that is occupied begins by the cursor's tick");
        assert!(
            level == FAR || Layout::<G>::number(level + 1, start) < self.reach[level + 1],
            "an occupied bucket lies within the reach of its level"
        );
        assert!(
            level == 0 || number + 1 >= self.reach[level],
            "of the buckets that were opened only the last may hold timers"
        );
    }

    fn check_clock(&self) {
        for level in 1..=LEVELS {
            let number = Layout::<G>::number(level, self.cursor);
            assert!(
                self.first.bucket.is_none() || (number + 1..=number + 2).contains(&self.reach[level]),
                "the bucket that the cursor is in has been opened, and at most the next"
            );
            assert!(
                self.moved_until[level] <= Layout::<G>::start_ns(self.cursor),
                "the share until now is all that has been moved"
            );
        }
        assert!(
            self.wake <= self.first.start.min(self.first_near()),
            "the wake-up is no later than the next thing to be done"
        );
        assert!(self.idle_until <= self.wake.min(self.chores), "no advance is idle that has something to do");
    }
}
