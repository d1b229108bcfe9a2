//! The invariants of the levels.

use super::{Levels, NEVER};
use crate::engine::geometry::{Bucket, BucketIndex, FAR, Geometry, Layout};
use crate::engine::node::{NodeIndex, Nodes, Place};

impl<G: Geometry> Levels<G> {
    /// Checks every invariant of the levels, and hands each timer to `visit`.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check<V>(&self, nodes: &Nodes<V>, mut visit: impl FnMut(NodeIndex)) {
        for (at, strands) in self.buckets.iter().enumerate().map(|(at, strands)| (BucketIndex::new(at), strands)) {
            let (level, on_level) = Layout::<G>::level_and_index(at);
            assert!(
                self.occupancy.is_set(level, on_level) == (strands.len() != 0),
                "a bucket's bit is set if and only if it holds timers"
            );
            strands.check(nodes, Place::bucket(at), |index| {
                let bucket = self.bucket_at(at);
                self.check_bucket(bucket);
                let start = Layout::<G>::start_ns(bucket);
                assert!(
                    nodes.at(index.get()).deadline >= start,
                    "no timer in a bucket is due before the bucket's start"
                );
                visit(index);
            });
        }
        for level in 1..=FAR {
            let number = Layout::<G>::number(level, self.cursor);
            assert!(
                self.is_empty() || (number + 1..=number + 2).contains(&self.reach[level - 1]),
                "the bucket that the cursor is in has been opened, and at most the next"
            );
        }
        self.check_next_work();
    }

    /// Checks that an occupied bucket is where timers of its ticks are placed, or is being moved down.
    pub(super) fn check_bucket(&self, bucket: Bucket) {
        let (level, number) = (bucket.level(), bucket.number);
        let start = Layout::<G>::start_tick(bucket);
        assert!(
            number >= Layout::<G>::number(level, self.cursor),
            "no bucket that is occupied lies before the cursor's"
        );
        assert!(level == 0 || start > self.cursor, "no coarser bucket that is occupied begins by the cursor's tick");
        assert!(
            level == FAR || Layout::<G>::number(level + 1, start) < self.reach[level],
            "an occupied bucket lies within the reach of its level"
        );
        // On the far level: the bit of an occupied bucket is zero in the last rotation that was opened, or the bucket
        // is that one and not empty yet. If that rotation had passed the bucket, the number from its index would be a
        // lower one.
        assert!(
            level == 0 || number + 1 >= self.reach[level - 1],
            "of the buckets that were opened only the last may hold timers"
        );
    }

    /// Whether every occupied far bucket keeps its number if `opened` becomes the last rotation that was opened.
    pub(super) fn keeps_far_numbers(&self, opened: u64) -> bool {
        let number = |bit, opened| Layout::<G>::number_from(FAR, bit, opened);
        let mut occupied = (0..u64::BITS as usize).filter(|bit| self.occupancy.far() >> bit & 1 != 0);
        self.reach[FAR - 1] == 0 || occupied.all(|bit| number(bit, self.base(FAR)) == number(bit, opened))
    }

    fn check_next_work(&self) {
        let first = self.bucket_after(None);
        let start = first.map_or(NEVER, |it| Layout::<G>::start_ns(it));
        assert!(
            (self.next_work.bucket, self.next_work.bucket_ns) == (first, start),
            "the first occupied bucket is known"
        );
        assert!(
            self.next_work.idle_until_ns <= start.min(self.next_work.upkeep_ns),
            "an advance that has something to do in the levels does not rest"
        );
        assert!(
            self.next_work.upkeep_ns <= self.next_work.migration_ns,
            "an advance has something to do by the time that a caller wakes up for it"
        );
    }
}
