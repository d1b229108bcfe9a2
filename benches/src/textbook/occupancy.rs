//! One bit a bucket, so that the next occupied one is found without visiting the empty ones.

use timer_wheel::Geometry;

use super::layout::{BucketIndex, Layout};

const WORDS: usize = u64::BITS as usize;

/// Which buckets of the levels, and whether the overflow bucket, hold a timer.
///
/// Buckets are numbered in the order in which they fall due, level by level and digit by digit, so
/// the lowest bit names the next one. The due bucket is not ahead and has no bit.
///
/// Invariant: a bit is set exactly while its bucket's list is not empty.
/// Invariant: bit `w` of the summary is set exactly while word `w` is not zero.
#[derive(Debug)]
pub(super) struct Occupancy {
    summary: u64,
    words: [u64; WORDS],
}

impl Occupancy {
    pub(super) fn new<G: Geometry>() -> Self {
        const {
            assert!(Layout::<G>::BUCKETS <= WORDS * WORDS, "one summary word must cover every bucket");
        }
        Self { summary: 0, words: [0; WORDS] }
    }

    #[inline]
    pub(super) fn set(&mut self, bucket: BucketIndex) {
        let word = bucket.0 / WORDS % WORDS;
        self.words[word] |= 1 << (bucket.0 % WORDS);
        self.summary |= 1 << word;
    }

    #[inline]
    pub(super) fn clear(&mut self, bucket: BucketIndex) {
        let word = bucket.0 / WORDS % WORDS;
        self.words[word] &= !(1 << (bucket.0 % WORDS));
        if self.words[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// The occupied bucket that falls due first: every one of them lies ahead of the current tick.
    #[inline]
    pub(super) fn first(&self) -> Option<BucketIndex> {
        if self.summary == 0 {
            return None;
        }
        let word = self.summary.trailing_zeros() as usize;
        let bit = self.words[word].trailing_zeros() as usize;
        Some(BucketIndex(word * WORDS + bit))
    }
}
