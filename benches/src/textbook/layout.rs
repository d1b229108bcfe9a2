//! The arithmetic of a geometry: where a deadline is filed, and when a bucket falls due.
//!
//! A tick is read as a number with one digit a level. A timer belongs to the level of the highest
//! digit in which its tick differs from the current one, in the bucket which that digit names. It
//! follows that every occupied bucket lies ahead of the current tick, and that all of a level
//! precedes all of the next.

use std::marker::PhantomData;

use timer_wheel::Geometry;

/// Levels with buckets of their own; what lies beyond them shares one overflow bucket.
pub(super) const LEVELS: usize = 4;

/// Names one list of nodes: a bucket of a level, the overflow bucket, or the due bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketIndex(pub(super) usize);

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
        bases
    };

    /// Holds what lies beyond the last level.
    pub(super) const OVERFLOW: BucketIndex = BucketIndex(Self::BASES[LEVELS]);
    /// Holds the timers of the current tick and of the past.
    pub(super) const DUE: BucketIndex = BucketIndex(Self::BASES[LEVELS] + 1);
    /// How many lists there are.
    pub(super) const BUCKETS: usize = Self::BASES[LEVELS] + 2;

    /// The tick in which a time in nanoseconds falls.
    #[inline]
    pub(super) fn tick(time_ns: u64) -> u64 {
        time_ns >> G::TICK_BITS
    }

    /// The nanosecond at which a tick begins.
    #[inline]
    pub(super) fn tick_start_ns(tick: u64) -> u64 {
        tick << G::TICK_BITS
    }

    /// Where a timer of this tick is filed, seen from the current tick.
    #[inline]
    pub(super) fn bucket_of(tick: u64, current_tick: u64) -> BucketIndex {
        if tick <= current_tick {
            return Self::DUE;
        }
        let differing = tick ^ current_tick;
        for level in 0..LEVELS {
            if differing >> Self::SHIFTS[level + 1] == 0 {
                let digit = (tick >> Self::SHIFTS[level]) as usize & Self::digit_mask(level);
                return BucketIndex(Self::BASES[level] + digit);
            }
        }
        Self::OVERFLOW
    }

    /// The first tick of an occupied bucket, in the lap of the current tick; for the overflow bucket,
    /// of the next rotation, which is within a `u64` because a timer lies there or beyond.
    #[inline]
    pub(super) fn first_tick(bucket: BucketIndex, current_tick: u64) -> u64 {
        let Some((level, digit)) = Self::digit_of(bucket) else {
            return ((current_tick >> Self::SHIFTS[LEVELS]) + 1) << Self::SHIFTS[LEVELS];
        };
        let lap = current_tick >> Self::SHIFTS[level + 1];
        ((lap << G::LEVEL_BITS[level]) | digit as u64) << Self::SHIFTS[level]
    }

    /// Whether a bucket spans a single tick.
    #[inline]
    pub(super) fn is_finest(bucket: BucketIndex) -> bool {
        bucket.0 < Self::BASES[1]
    }

    /// The first tick of the rotation in which this tick falls: the overflow bucket's own digit.
    #[inline]
    pub(super) fn rotation_start(tick: u64) -> u64 {
        (tick >> Self::SHIFTS[LEVELS]) << Self::SHIFTS[LEVELS]
    }

    /// The level and digit of a bucket, or `None` for the overflow and due buckets, which have
    /// neither.
    #[inline]
    fn digit_of(bucket: BucketIndex) -> Option<(usize, usize)> {
        (0..LEVELS).find(|level| bucket.0 < Self::BASES[level + 1]).map(|level| (level, bucket.0 - Self::BASES[level]))
    }

    fn digit_mask(level: usize) -> usize {
        (1 << G::LEVEL_BITS[level]) - 1
    }
}
