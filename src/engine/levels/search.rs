//! Finding the next occupied bucket: of a level, and of all.

use super::{Levels, NEVER};
use crate::engine::geometry::{Bucket, BucketIndex, FAR, Geometry, Layout};

impl<G: Geometry> Levels<G> {
    /// The base from which [indexes](Layout::number_from) are turned into the numbers of a level's occupied buckets,
    /// none of which is below it. It is the number of the cursor's bucket, or on the far level of the last rotation
    /// that was opened.
    #[inline]
    pub(super) fn base(&self, level: usize) -> u64 {
        if level == FAR { self.reach[FAR - 1] - 1 } else { Layout::<G>::number(level, self.cursor) }
    }

    /// The bucket at an index.
    pub(super) fn bucket_at(&self, index: BucketIndex) -> Bucket {
        let (level, on_level) = Layout::<G>::level_and_index(index);
        Bucket::new(level, Layout::<G>::number_from(level, on_level, self.base(level)))
    }

    /// Finds the first occupied bucket. O(levels).
    #[inline(never)]
    pub(super) fn refresh_next_bucket(&mut self) {
        let first = self.bucket_after(None);
        self.next_work.set_bucket(first, first.map_or(NEVER, |it| Layout::<G>::start_ns(it)));
    }

    /// The first occupied bucket, or the first after the given one, in the order of their starts; among those that
    /// start together, the coarser first. O(levels).
    pub(crate) fn bucket_after(&self, bucket: Option<Bucket>) -> Option<Bucket> {
        let mut next: Option<Bucket> = None;
        for level in 0..=FAR {
            if next.is_some_and(|next| self.is_before_level(next, level)) {
                break;
            }
            let least = Layout::<G>::number(level, self.cursor);
            let from = bucket.map_or(Some(least), |last| {
                let number = Layout::<G>::number(level, Layout::<G>::start_tick(last));
                Some(least.max(number.checked_add(u64::from(level >= last.level()))?))
            });
            let number = from.and_then(|from| self.next_occupied(level, from));
            let Some(number) = number else {
                continue;
            };
            let found = Bucket::new(level, number);
            if next.map_or(true, |next| Layout::<G>::start_tick(found) <= Layout::<G>::start_tick(next)) {
                next = Some(found);
            }
        }
        next
    }

    /// Whether `bucket` starts before every occupied bucket of `level` and above. May return `false` when it does.
    /// Coarser buckets lie beyond all finer ones, unless one has been opened ahead of its time. In any case they lie
    /// beyond the bucket of level 1 that the cursor is in.
    #[inline]
    fn is_before_level(&self, bucket: Bucket, level: usize) -> bool {
        let of_level_1 = |tick| Layout::<G>::number(1, tick);
        of_level_1(Layout::<G>::start_tick(bucket)) == of_level_1(self.cursor)
            || (level..=FAR).all(|level| self.reach[level - 1] <= Layout::<G>::number(level, self.cursor) + 1)
    }

    /// When a level's next occupied bucket starts, in nanoseconds, if one is occupied. O(1).
    pub(crate) fn next_start_ns(&self, level: usize) -> Option<u64> {
        if level > FAR {
            return None;
        }
        let least = Layout::<G>::number(level, self.cursor);
        let number = self.next_occupied(level, least)?;
        Some(Layout::<G>::start_ns(Bucket::new(level, number)))
    }

    /// The number of a level's first occupied bucket from `number` on. O(1), or O(buckets) on the far level.
    #[inline(never)]
    pub(super) fn next_occupied(&self, level: usize, number: u64) -> Option<u64> {
        if self.occupancy.is_empty(level) {
            return None;
        }
        let least = self.base(level);
        if level == FAR {
            // The higher a far bucket, the later it starts. But one that was opened and is not empty yet, whose bit is
            // set in the number of the last rotation that was opened, comes before all others.
            let occupied = self.occupancy.far();
            if occupied & least != 0 && number <= least {
                return Some(least);
            }
            let others = (0..u64::BITS as usize).filter(|bit| (occupied & !least) >> bit & 1 != 0);
            return others.map(|bit| Layout::<G>::number_from(FAR, bit, least)).find(|&found| found >= number);
        }
        if number - least >= Layout::<G>::room(level) as u64 {
            return None;
        }
        let index = self.occupancy.first_from(level, Layout::<G>::index_on_level(level, number))?;
        let found = Layout::<G>::number_from(level, index, least);
        (found >= number).then_some(found)
    }
}
