//! The shape of a wheel: how long a tick is and how many buckets each level has.
//!
//! A geometry is a type, not a value, so that every shift and mask is an immediate in the machine
//! code. It changes what a timer costs, and never when or in what order it fires. The wheel sorts
//! below the tick, so even a geometry with ticks of a second fires to the nanosecond.

use core::marker::PhantomData;
use core::ops::Range;

/// Levels whose buckets all have the same span.
pub(crate) const LEVELS: usize = 4;

/// The fifth level, above all others, for the timers beyond them. Its buckets double: bucket *k* spans 2^*k*
/// rotations of the level below.
pub(crate) const FAR: usize = LEVELS;

/// The most buckets of a rotation, as a power of two.
pub(crate) const MAX_LEVEL_BITS: u32 = 8;

/// The longest tick, as a power of two in nanoseconds (4.29 s).
const MAX_TICK_BITS: u32 = 32;

/// The length of a tick and the number of buckets in a rotation of each of the four levels.
///
/// A level-0 bucket spans one tick, and a bucket of level *k* spans a rotation of level *k - 1*. Timers beyond the
/// four levels go to a fifth, where each bucket spans twice as much as the one before. The presets are [`Millis`],
/// [`Caffeine`], [`Micros`] and [`Compact`].
///
/// # Compile-time checks
///
/// An invalid geometry does not compile where a [`Wheel`](crate::Wheel) of it is made: `TICK_BITS` is at most 32, each
/// of `LEVEL_BITS` lies in `1..=8`, and all of them together stay below 64.
///
/// ```
/// use timer_wheel::{Geometry, Wheel};
///
/// /// Ticks of 65.5 us, and levels that span 2.1 ms, 134 ms, 8.6 s and 9.2 min.
/// #[derive(Debug)]
/// struct Pacing;
///
/// impl Geometry for Pacing {
///     const TICK_BITS: u32 = 16;
///     const LEVEL_BITS: [u32; 4] = [5, 6, 6, 6];
/// }
///
/// let mut wheel: Wheel<&str, Pacing> = Wheel::with_geometry(0);
/// wheel.schedule(1_000, "packet");
/// assert_eq!(wheel.advance(1_000).next().unwrap().value, "packet");
/// ```
///
/// ```compile_fail
/// use timer_wheel::{Geometry, Wheel};
///
/// struct TooWide;
///
/// impl Geometry for TooWide {
///     const TICK_BITS: u32 = 20;
///     const LEVEL_BITS: [u32; 4] = [8, 8, 8, 9]; // 512 buckets
/// }
///
/// let wheel: Wheel<(), TooWide> = Wheel::with_geometry(0);
/// ```
pub trait Geometry {
    /// The length of a tick: `2^TICK_BITS` nanoseconds, at most 2^32 (4.29 s).
    ///
    /// ```
    /// use timer_wheel::{Geometry, Millis};
    ///
    /// assert_eq!(1 << Millis::TICK_BITS, 1_048_576); // nanoseconds
    /// ```
    const TICK_BITS: u32;

    /// The number of buckets in a rotation of levels 0 to 3: `2^LEVEL_BITS[level]`.
    ///
    /// ```
    /// use timer_wheel::{Caffeine, Geometry};
    ///
    /// assert_eq!(Caffeine::LEVEL_BITS.map(|bits| 1 << bits), [64, 64, 32, 4]);
    /// let horizon_bits = Caffeine::TICK_BITS + Caffeine::LEVEL_BITS.iter().sum::<u32>();
    /// assert_eq!((1u64 << horizon_bits) / 1_000_000_000 / 3_600, 156); // hours: 6.5 days
    /// ```
    const LEVEL_BITS: [u32; 4];
}

/// Ticks of 1.05 ms, a horizon of 52 days: timeouts, sessions, general use. The default.
///
/// ```
/// use timer_wheel::{Millis, Wheel};
///
/// let mut timeouts: Wheel<&str, Millis> = Wheel::new(0); // or `Wheel<&str>`
/// timeouts.schedule(30_000_000_000, "request 17");
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Millis;

impl Geometry for Millis {
    const TICK_BITS: u32 = 20; // 1.05 ms
    const LEVEL_BITS: [u32; 4] = [8, 8, 8, 8]; // 268 ms, 1.15 min, 4.9 h, 52.1 days
}

/// Ticks of 1.07 s, a horizon of 6.5 days: the layout that Caffeine publishes, for caches.
///
/// ```
/// use timer_wheel::{Caffeine, Wheel};
///
/// let mut entries: Wheel<&str, Caffeine> = Wheel::with_geometry(0);
/// entries.schedule(3_600_000_000_000, "page");
/// assert_eq!(entries.advance(3_600_000_000_000 - 1).count(), 0, "exact all the same");
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Caffeine;

impl Geometry for Caffeine {
    const TICK_BITS: u32 = 30; // 1.07 s
    const LEVEL_BITS: [u32; 4] = [6, 6, 5, 2]; // 1.15 min, 1.22 h, 1.63 days, 6.5 days
}

/// Ticks of 1.02 us, a horizon of 73 min: simulators, pacing.
///
/// ```
/// use timer_wheel::{Micros, Wheel};
///
/// let mut packets: Wheel<u32, Micros> = Wheel::with_geometry(0);
/// packets.schedule(12_345, 1);
/// assert_eq!(packets.next_deadline(), Some(12_345));
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Micros;

impl Geometry for Micros {
    const TICK_BITS: u32 = 10; // 1.02 us
    const LEVEL_BITS: [u32; 4] = [8, 8, 8, 8]; // 262 us, 67 ms, 17.2 s, 73.3 min
}

/// Ticks of 1.05 ms, a horizon of 4.9 h and a quarter of the buckets of [`Millis`]: many small
/// wheels.
///
/// ```
/// use timer_wheel::{Compact, Wheel};
///
/// let connections: Vec<Wheel<u32, Compact>> = (0..100).map(|_| Wheel::with_geometry(0)).collect();
/// assert!(connections.iter().all(|wheel| wheel.stats().bytes < 2_500));
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Compact;

impl Geometry for Compact {
    const TICK_BITS: u32 = 20; // 1.05 ms
    const LEVEL_BITS: [u32; 4] = [6, 6, 6, 6]; // 67 ms, 4.3 s, 4.6 min, 4.9 h
}

/// A whole number of ticks since the origin.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(u64);

impl Tick {
    #[inline]
    pub(crate) const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    #[inline]
    pub(crate) const fn plus(self, ticks: u64) -> Self {
        Self(self.0.saturating_add(ticks))
    }
}

/// A bucket of a level. Buckets are numbered from the beginning of time, so no two of a level have the same number.
///
/// The number of a far bucket is that of its first rotation. For bucket *k* it ends with *k* zero bits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    // A byte, so that an optional bucket takes two words.
    level: u8,
    pub(crate) number: u64,
}

impl Bucket {
    #[inline]
    pub(crate) const fn new(level: usize, number: u64) -> Self {
        Self { level: level as u8, number }
    }

    #[inline]
    pub(crate) const fn level(self) -> usize {
        self.level as usize
    }
}

/// The index of a bucket in the array of all buckets.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct BucketIndex(u16);

impl BucketIndex {
    #[inline]
    pub(crate) const fn new(index: usize) -> Self {
        Self(index as u16)
    }

    #[inline]
    pub(crate) const fn get(self) -> usize {
        self.0 as usize
    }
}

/// The layout of one level, which follows from the geometry.
#[derive(Copy, Clone)]
struct LevelLayout {
    /// Ticks that a bucket spans, as a power of two.
    bits: u8,
    /// The number of buckets in the array, less one: a mask, except on the far level.
    index_mask: u16,
    /// The index of the first of them.
    first: u16,
}

/// Everything that follows from a geometry, computed at compile time.
///
/// A level has the buckets of two rotations: the current one and the next. The few far buckets come first in the array,
/// so a wheel with only far timers takes little memory.
pub(crate) struct Layout<G>(PhantomData<G>);

impl<G: Geometry> Layout<G> {
    /// Each constructor of a wheel evaluates it, so that an invalid geometry does not compile there.
    pub(crate) const CHECKED: () = {
        assert!(G::TICK_BITS <= MAX_TICK_BITS, "TICK_BITS must be at most 32");
        let mut level = 0;
        while level < LEVELS {
            assert!(
                G::LEVEL_BITS[level] >= 1 && G::LEVEL_BITS[level] <= MAX_LEVEL_BITS,
                "each of LEVEL_BITS must lie in 1..=8"
            );
            level += 1;
        }
        assert!(G::TICK_BITS + Self::bits(FAR) < u64::BITS, "TICK_BITS and LEVEL_BITS together must stay below 64");
    };

    /// A bucket with more timers is a crowd. The timers of a smaller one would lie at most two to a bucket on the
    /// finest level: it is cheaper to sort them at once.
    pub(crate) const CROWD: usize = 2 << G::LEVEL_BITS[0];

    /// The number of timers, of any deadline, that need no bucket: 32, or one for each bucket of the finest level if it
    /// has fewer.
    pub(crate) const NEAR: usize = {
        let buckets = 1 << G::LEVEL_BITS[0];
        if buckets < 32 { buckets } else { 32 }
    };

    /// The layout of each level, the far one included.
    const LEVELS: [LevelLayout; LEVELS + 1] = {
        let mut levels = [LevelLayout { bits: 0, index_mask: 0, first: 0 }; LEVELS + 1];
        let mut level = 0;
        while level < LEVELS {
            levels[level].index_mask = (2 << G::LEVEL_BITS[level]) - 1;
            levels[level + 1].bits = levels[level].bits + G::LEVEL_BITS[level] as u8;
            level += 1;
        }
        // One bucket for each bit of the number of a rotation.
        levels[FAR].index_mask = (u64::BITS - G::TICK_BITS - levels[FAR].bits as u32 - 1) as u16;
        let mut before = FAR;
        level = 0;
        while level < LEVELS {
            levels[level].first = levels[before].first + levels[before].index_mask + 1;
            before = level;
            level += 1;
        }
        levels
    };

    /// Ticks that a bucket of a level spans, as a power of two.
    #[inline]
    pub(crate) const fn bits(level: usize) -> u32 {
        Self::LEVELS[level].bits as u32
    }

    /// The number of buckets of a level in the array: two rotations, or all far ones.
    #[inline]
    pub(crate) const fn room(level: usize) -> usize {
        Self::LEVELS[level].index_mask as usize + 1
    }

    /// The indexes of the buckets of a level.
    #[inline]
    pub(crate) const fn indexes(level: usize) -> Range<usize> {
        let first = Self::LEVELS[level].first as usize;
        first..first + Self::room(level)
    }

    /// The tick that a time in nanoseconds falls into.
    #[inline]
    pub(crate) const fn tick(time_ns: u64) -> Tick {
        Tick(time_ns >> G::TICK_BITS)
    }

    /// The first nanosecond of a tick, or `u64::MAX` if the tick begins after that.
    #[inline]
    pub(crate) const fn tick_ns(tick: Tick) -> u64 {
        if tick.0 > u64::MAX >> G::TICK_BITS {
            return u64::MAX;
        }
        tick.0 << G::TICK_BITS
    }

    /// The number of the bucket of a level that a tick falls into.
    #[inline]
    pub(crate) const fn number(level: usize, tick: Tick) -> u64 {
        tick.0 >> Self::bits(level)
    }

    /// The first tick of a bucket.
    #[inline]
    pub(crate) const fn start_tick(bucket: Bucket) -> Tick {
        Tick(bucket.number << Self::bits(bucket.level()))
    }

    /// The first nanosecond of a bucket.
    #[inline]
    pub(crate) const fn start_ns(bucket: Bucket) -> u64 {
        Self::tick_ns(Self::start_tick(bucket))
    }

    /// The last tick of a bucket.
    #[inline]
    pub(crate) const fn end_tick(bucket: Bucket) -> Tick {
        let doubled = if bucket.level() == FAR { bucket.number.trailing_zeros() } else { 0 };
        Tick(Self::start_tick(bucket).0 | ((1 << (Self::bits(bucket.level()) + doubled)) - 1))
    }

    /// The index of a bucket on its level.
    #[inline]
    pub(crate) const fn index_on_level(level: usize, number: u64) -> usize {
        let last = Self::LEVELS[level].index_mask as usize;
        if level != FAR {
            return number as usize & last;
        }
        // The number of the rotation after the end of time ends with more zeros than there are buckets.
        let zeros = number.trailing_zeros() as usize;
        if zeros < last { zeros } else { last }
    }

    /// The index of a bucket.
    #[inline]
    pub(crate) const fn index(bucket: Bucket) -> BucketIndex {
        BucketIndex::new(Self::indexes(bucket.level()).start + Self::index_on_level(bucket.level(), bucket.number))
    }

    /// The far bucket that a tick falls into, as seen from the last rotation that was opened: bucket *k* if the two
    /// rotations differ in bit *k* and in none above.
    #[inline]
    pub(crate) const fn far_bucket(tick: Tick, opened: u64) -> Bucket {
        let differing = Self::number(FAR, tick) ^ opened;
        let index = (u64::BITS - 1 - differing.leading_zeros()) as usize;
        Bucket::new(FAR, Self::number_from(FAR, index, opened))
    }

    /// The level of a bucket, and its index there.
    #[inline]
    pub(crate) const fn level_and_index(bucket: BucketIndex) -> (usize, usize) {
        if bucket.get() < Self::indexes(0).start {
            return (FAR, bucket.get());
        }
        let mut level = LEVELS - 1;
        while bucket.get() < Self::indexes(level).start {
            level -= 1;
        }
        (level, bucket.get() - Self::indexes(level).start)
    }

    /// The number of the bucket with an index on its level, if all occupied buckets have numbers from `least` to less
    /// than two rotations above it. On the far level, `least` is the last rotation that was opened.
    #[inline]
    pub(crate) const fn number_from(level: usize, index: usize, least: u64) -> u64 {
        if level == FAR {
            // The bit is set already if that bucket is the one that was opened and is not empty yet.
            return (least >> index | 1) << index;
        }
        let from = Self::index_on_level(level, least);
        let ahead = index.wrapping_sub(from) & Self::LEVELS[level].index_mask as usize;
        least + ahead as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_the_end_of_time_counts_as_the_last() {
        let last = Layout::<Millis>::tick(u64::MAX);
        assert_eq!(Layout::<Millis>::tick_ns(last), u64::MAX >> 20 << 20);
        assert_eq!(Layout::<Millis>::tick_ns(last.plus(1)), u64::MAX);
        assert_eq!(Layout::<Millis>::index_on_level(FAR, 0x1000), 11, "the last of the far buckets");
    }
}
