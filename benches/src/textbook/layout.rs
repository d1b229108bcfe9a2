//! The arithmetic of a geometry, and which buckets are occupied.
//!
//! A tick is read as a number with one digit a level. A timer belongs to the level of the highest digit in which its
//! tick differs from the current one, in the bucket which that digit names. So every occupied bucket lies ahead of the
//! current tick, and all of a level precedes all of the next.

use std::marker::PhantomData;

use timer_wheel::Geometry;

/// Levels with buckets of their own; what lies beyond them shares one overflow bucket.
const LEVELS: usize = 4;
const WORDS: usize = u64::BITS as usize;

/// Names one list of nodes: a bucket of a level, the overflow bucket, or the due bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketIndex(pub(crate) usize);

/// The constants that follow from a geometry.
pub(super) struct Layout<G>(PhantomData<G>);

impl<G: Geometry> Layout<G> {
    /// Where each level's digit begins in a tick; the last entry is where the overflow begins.
    const SHIFTS: [u32; LEVELS + 1] = {
        let mut shifts = [0; LEVELS + 1];
        let mut level = 0;
        while level < LEVELS {
            shifts[level + 1] = shifts[level] + G::LEVEL_BITS[level];
            level += 1;
        }
        assert!(shifts[LEVELS] + G::TICK_BITS < u64::BITS, "the levels must leave room for the overflow");
        shifts
    };

    /// The first bucket of each level; the last entry is the overflow bucket.
    const BASES: [usize; LEVELS + 1] = {
        let mut bases = [0; LEVELS + 1];
        let mut level = 0;
        while level < LEVELS {
            bases[level + 1] = bases[level] + (1 << G::LEVEL_BITS[level]);
            level += 1;
        }
        assert!(bases[LEVELS] + 2 <= WORDS * WORDS, "one summary word must cover every bucket");
        bases
    };

    /// Holds what lies beyond the last level.
    pub(super) const OVERFLOW: BucketIndex = BucketIndex(Self::BASES[LEVELS]);
    /// Holds the timers of the current tick and of the past.
    pub(super) const DUE: BucketIndex = BucketIndex(Self::BASES[LEVELS] + 1);
    pub(super) const BUCKETS: usize = Self::BASES[LEVELS] + 2;

    /// Where a timer of this tick is filed, seen from the current tick.
    #[inline]
    pub(super) fn bucket_of(tick: u64, current_tick: u64) -> BucketIndex {
        if tick <= current_tick {
            return Self::DUE;
        }
        let differing = tick ^ current_tick;
        for level in 0..LEVELS {
            if differing >> Self::SHIFTS[level + 1] == 0 {
                let digit = (tick >> Self::SHIFTS[level]) as usize & ((1 << G::LEVEL_BITS[level]) - 1);
                return BucketIndex(Self::BASES[level] + digit);
            }
        }
        Self::OVERFLOW
    }

    /// The first tick of an occupied bucket, in the lap of the current tick; for the overflow bucket, of the next
    /// rotation, which is within a `u64` because a timer lies there or beyond.
    #[inline]
    pub(super) fn first_tick(bucket: BucketIndex, current_tick: u64) -> u64 {
        let Some(level) = (0..LEVELS).find(|level| bucket.0 < Self::BASES[level + 1]) else {
            return Self::rotation_start(current_tick) + (1 << Self::SHIFTS[LEVELS]);
        };
        let lap = current_tick >> Self::SHIFTS[level + 1];
        let digit = (bucket.0 - Self::BASES[level]) as u64;
        ((lap << G::LEVEL_BITS[level]) | digit) << Self::SHIFTS[level]
    }

    #[inline]
    pub(super) fn is_finest(bucket: BucketIndex) -> bool {
        bucket.0 < Self::BASES[1]
    }

    /// The first tick of the rotation in which this tick falls: the overflow bucket's own digit.
    #[inline]
    pub(super) fn rotation_start(tick: u64) -> u64 {
        (tick >> Self::SHIFTS[LEVELS]) << Self::SHIFTS[LEVELS]
    }
}

/// One bit a bucket. Buckets are numbered in the order in which they fall due, so the lowest bit names the next one.
///
/// Invariant: a bit is set exactly while its bucket's list is not empty; the due bucket, which is not ahead, has none.
/// Invariant: bit `w` of the summary is set exactly while word `w` is not zero.
#[derive(Debug)]
pub(super) struct Occupancy {
    summary: u64,
    words: [u64; WORDS],
}

impl Occupancy {
    pub(super) fn new() -> Self {
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

    /// The occupied bucket that falls due first.
    #[inline]
    pub(super) fn first(&self) -> Option<BucketIndex> {
        if self.summary == 0 {
            return None;
        }
        let word = self.summary.trailing_zeros() as usize;
        Some(BucketIndex(word * WORDS + self.words[word].trailing_zeros() as usize))
    }
}
