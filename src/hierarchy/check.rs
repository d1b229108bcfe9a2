//! The laws of the wheel, checked by name.

use alloc::vec::Vec;

use super::{First, Hierarchy};
use crate::geometry::{Bucket, FAR, Geometry, LEVELS, Layout};
use crate::header::Headers;

impl<G: Geometry> Hierarchy<G> {
    /// Checks every law against the headers of the `live` timers. O(n log n).
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<H: Headers>(&self, headers: &H, live: usize) {
        let mut sequences = Vec::new();
        self.heap.check(headers, |slot| {
            sequences.push(headers.header(slot).sequence())
        });
        self.buckets.check(headers, self.cursor, |slot, bucket| {
            let header = headers.header(slot);
            sequences.push(header.sequence());
            let start = Layout::<G>::start(bucket);
            assert!(
                header.deadline >= Layout::<G>::start_ns(start),
                "nothing in a bucket is due before the bucket's start"
            );
            self.check_reach(bucket);
        });
        assert!(
            sequences.len() == live,
            "every live timer has exactly one entry"
        );
        sequences.sort_unstable();
        assert!(
            sequences.is_sorted_by(|a, b| a < b)
                && sequences
                    .last()
                    .is_none_or(|last| last.get() < self.next_sequence),
            "no two timers share a sequence number, and none has one to come"
        );
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
        assert!(
            level == 0 || start > self.cursor,
            "no coarser bucket that is occupied begins by the cursor's tick"
        );
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
                self.first.bucket.is_none()
                    || (number + 1..=number + 2).contains(&self.reach[level]),
                "the bucket that the cursor is in has been opened, and at most the next"
            );
            assert!(
                self.moved_until[level] <= Layout::<G>::start_ns(self.cursor),
                "the share until now is all that has been moved"
            );
        }
        assert!(
            self.first == First::at::<G>(self.bucket_after(None)),
            "the first occupied bucket is known"
        );
        assert!(
            self.wake <= self.first.start.min(self.first_ready()),
            "the wake-up is no later than the next thing to be done"
        );
    }
}
