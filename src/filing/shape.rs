//! What the levels hold, for whoever looks at the wheel from outside.

use crate::filing::Filing;
use crate::filing::blocks::Sentinel;
use crate::geometry::{Geometry, Layout, OVERFLOW_LEVEL};

/// The lists of one level, as many to a bucket as stand for one bucket.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LevelLists<'a> {
    /// The lists there are; those of a level that was never used are missing.
    pub(crate) lists: &'a [Sentinel],
    pub(crate) lists_a_bucket: usize,
    pub(crate) buckets: usize,
    /// The bucket that the cursor is in.
    pub(crate) cursor: usize,
    /// Nanoseconds that a bucket spans; the overflow bucket spans the rest of time.
    pub(crate) span_ns: Option<u64>,
}

impl<G: Geometry> Filing<G> {
    /// The lists of a level, the overflow level included. O(1).
    pub(crate) fn level_lists(&self, level: usize) -> LevelLists<'_> {
        if level == OVERFLOW_LEVEL {
            let [first, second] = Self::OVERFLOW.map(|list| list.get());
            return LevelLists {
                lists: &self.lists[first..=second],
                lists_a_bucket: Self::OVERFLOW.len(),
                buckets: 1,
                cursor: 0,
                span_ns: None,
            };
        }
        let range = Layout::<G>::buckets_below(level)..Layout::<G>::buckets_below(level + 1);
        LevelLists {
            buckets: range.len(),
            lists: self.lists.get(range).unwrap_or_default(),
            lists_a_bucket: 1,
            cursor: Layout::<G>::digit(self.cursor, level),
            span_ns: Some(1 << Layout::<G>::span_bits(level)),
        }
    }
}
