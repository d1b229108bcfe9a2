//! The shape of a wheel: how long a tick is and how many buckets each level has.
//!
//! A geometry is a type, not a value, so that every shift and mask is an immediate in the machine
//! code. It changes what a timer costs and never when or in what order it fires: the wheel sorts
//! below the tick, so even a geometry with ticks of a second fires to the nanosecond.

use core::marker::PhantomData;

/// Levels with buckets of their own; whatever lies beyond them shares the overflow bucket.
pub(crate) const LEVELS: usize = 4;

/// The level of the overflow bucket, above all others.
pub(crate) const OVERFLOW_LEVEL: usize = LEVELS;

/// The most buckets a level may have, as a power of two: its occupancy is four words.
const MAX_LEVEL_BITS: u32 = 8;

/// Buckets that are on no level. They come first, so that an array of buckets need reach no
/// further than to the highest level in use.
pub(crate) const APART: u16 = 3;

/// The longest tick, as a power of two in nanoseconds (4.29 s).
const MAX_TICK_BITS: u32 = 32;

/// The length of a tick and the number of buckets on each of the four levels.
///
/// The fifth level is always a single overflow bucket. A level-0 bucket spans one tick, and a
/// bucket of level *k* spans all of level *k - 1*. The presets are [`Millis`], [`Caffeine`],
/// [`Micros`] and [`Compact`].
///
/// # Compile-time checks
///
/// A geometry that cannot work does not compile where a [`Wheel`](crate::Wheel) of it is made:
/// `TICK_BITS` is at most 32, each of `LEVEL_BITS` lies in `1..=8`, and all of them together stay
/// below 64.
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

    /// The number of buckets on levels 0 to 3: `2^LEVEL_BITS[level]`.
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
    const LEVEL_BITS: [u32; 4] = [
        8, // 268 ms
        8, // 1.15 min
        8, // 4.9 h
        8, // 52.1 days
    ];
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
    const LEVEL_BITS: [u32; 4] = [
        6, // 1.15 min
        6, // 1.22 h
        5, // 1.63 days
        2, // 6.5 days
    ];
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
    const LEVEL_BITS: [u32; 4] = [
        8, // 262 us
        8, // 67 ms
        8, // 17.2 s
        8, // 73.3 min
    ];
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
    const LEVEL_BITS: [u32; 4] = [
        6, // 67 ms
        6, // 4.3 s
        6, // 4.6 min
        6, // 4.9 h
    ];
}

/// A point in time, in whole ticks of a geometry.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(u64);

impl Tick {
    /// The tick's low half, which is all that tells the timers of one rotation apart.
    #[inline]
    pub(crate) const fn low(self) -> LowTick {
        LowTick(self.0 as u32)
    }
}

/// The low 32 bits of a [`Tick`].
///
/// All levels together have at most 32 bits, so within one rotation of the top level this is the
/// whole tick.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LowTick(u32);

impl LowTick {
    pub(crate) const ZERO: Self = Self(0);
}

/// The number of a bucket: first the few that are on no level ([`APART`]), then those of level 0,
/// of level 1 and so on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct BucketIndex(u16);

impl BucketIndex {
    #[inline]
    pub(crate) const fn new(index: u16) -> Self {
        Self(index)
    }

    #[inline]
    pub(crate) const fn get(self) -> usize {
        self.0 as usize
    }
}

/// Where a timer belongs relative to the cursor.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// In the cursor's own tick or before it.
    Due,
    /// In a bucket of levels 0 to 3, on this level.
    Bucket(BucketIndex, usize),
    /// In a later rotation of the top level.
    Overflow,
}

/// The digit of a tick that one level sorts by.
#[derive(Copy, Clone)]
#[repr(align(8))]
struct Digit {
    /// Ticks a bucket of the level spans, as a power of two.
    shift: u8,
    /// The level's number of buckets, less one.
    mask: u8,
    /// The index of the level's first bucket.
    base: u16,
    level: u8,
}

impl Digit {
    /// The bucket of the level that a tick falls into.
    #[inline]
    fn bucket_of(self, tick: u32) -> BucketIndex {
        BucketIndex::new(self.base + ((tick >> self.shift) as u16 & u16::from(self.mask)))
    }
}

/// Everything that follows from a geometry, computed at compile time.
pub(crate) struct Layout<G>(PhantomData<G>);

impl<G: Geometry> Layout<G> {
    /// Named by whatever makes a wheel, so that a geometry that cannot work does not compile there.
    pub(crate) const CHECKED: () = {
        assert!(
            G::TICK_BITS <= MAX_TICK_BITS,
            "TICK_BITS must be at most 32"
        );
        let mut level = 0;
        while level < LEVELS {
            assert!(
                G::LEVEL_BITS[level] >= 1 && G::LEVEL_BITS[level] <= MAX_LEVEL_BITS,
                "each of LEVEL_BITS must lie in 1..=8"
            );
            level += 1;
        }
        assert!(
            Self::shift(LEVELS) <= u32::BITS,
            "a low tick holds all levels"
        );
        assert!(
            G::TICK_BITS + Self::shift(LEVELS) < u64::BITS,
            "TICK_BITS and LEVEL_BITS together must stay below 64"
        );
    };

    /// Ticks that a bucket of a level spans, as a power of two.
    const fn shift(level: usize) -> u32 {
        let mut shift = 0;
        let mut below = 0;
        while below < level {
            shift += G::LEVEL_BITS[below];
            below += 1;
        }
        shift
    }

    /// The index of a level's first bucket.
    const fn base(level: usize) -> u16 {
        let mut base = APART;
        let mut below = 0;
        while below < level {
            base += 1 << G::LEVEL_BITS[below];
            below += 1;
        }
        base
    }

    /// Ticks in one rotation of the top level, as a power of two.
    const ROTATION_BITS: u32 = {
        let () = Self::CHECKED;
        Self::shift(LEVELS)
    };

    const DIGITS: [Digit; LEVELS] = {
        let mut digits = [Digit {
            shift: 0,
            mask: 0,
            base: 0,
            level: 0,
        }; LEVELS];
        let mut level = 0;
        while level < LEVELS {
            digits[level] = Digit {
                shift: Self::shift(level) as u8,
                mask: ((1u32 << G::LEVEL_BITS[level]) - 1) as u8,
                base: Self::base(level),
                level: level as u8,
            };
            level += 1;
        }
        digits
    };

    /// For each bit of a tick, the digit it belongs to.
    ///
    /// One look-up instead of a chain of comparisons: the levels of successive timers are not
    /// predictable.
    const DIGIT_OF_BIT: &'static [Digit; 32] = &{
        let mut table = [Self::DIGITS[LEVELS - 1]; 32];
        let mut level = LEVELS;
        while level > 0 {
            level -= 1;
            let mut bit = 0;
            while bit < Self::shift(level + 1) {
                table[bit as usize] = Self::DIGITS[level];
                bit += 1;
            }
        }
        table
    };

    /// Nanoseconds that a bucket of a level spans, as a power of two.
    #[inline]
    pub(crate) const fn span_bits(level: usize) -> u32 {
        G::TICK_BITS + Self::DIGITS[level].shift as u32
    }

    /// The number of buckets below a level, those that are on no level included.
    pub(crate) const fn buckets_below(level: usize) -> usize {
        Self::base(level) as usize
    }

    /// The tick that a time in nanoseconds falls into.
    #[inline]
    pub(crate) const fn tick(time_ns: u64) -> Tick {
        Tick(time_ns >> G::TICK_BITS)
    }

    /// The first nanosecond of a tick.
    #[inline]
    pub(crate) const fn start_ns(tick: Tick) -> u64 {
        tick.0 << G::TICK_BITS
    }

    /// Where a timer due in `tick` belongs, as seen from `cursor`: the level of the highest digit
    /// in which the two differ, and that digit of `tick`.
    ///
    /// Compared with choosing the level by duration, this puts every bucket ahead of the cursor
    /// within one lap, so that no bucket ever holds timers of two laps.
    #[inline]
    pub(crate) fn place(tick: Tick, cursor: Tick) -> Placement {
        if tick <= cursor {
            return Placement::Due;
        }
        let differing = tick.0 ^ cursor.0;
        if differing >> Self::ROTATION_BITS != 0 {
            return Placement::Overflow;
        }
        let digit = Self::highest_digit(differing as u32);
        Placement::Bucket(digit.bucket_of(tick.0 as u32), usize::from(digit.level))
    }

    /// As [`Layout::place`], for a tick known to be of the cursor's rotation; `None` is the
    /// cursor's own tick.
    #[inline]
    pub(crate) fn place_low(tick: LowTick, cursor: LowTick) -> Option<BucketIndex> {
        let differing = tick.0 ^ cursor.0;
        if differing == 0 {
            return None;
        }
        Some(Self::highest_digit(differing).bucket_of(tick.0))
    }

    /// The digit of the highest bit that is set.
    #[inline]
    fn highest_digit(bits: u32) -> Digit {
        // `| 1` tells the compiler that the argument is not zero; it is not.
        Self::DIGIT_OF_BIT[(31 ^ (bits | 1).leading_zeros()) as usize]
    }

    /// The digit of a tick that a level sorts by.
    pub(crate) const fn digit(tick: Tick, level: usize) -> usize {
        let Digit { shift, mask, .. } = Self::DIGITS[level];
        (tick.0 >> shift) as usize & mask as usize
    }

    /// The bucket of a level that a digit stands for.
    #[inline]
    pub(crate) const fn bucket(level: usize, digit: usize) -> BucketIndex {
        BucketIndex::new(Self::DIGITS[level].base + digit as u16)
    }

    /// The level and the digit of a bucket of levels 0 to 3.
    #[inline]
    pub(crate) fn level_and_digit(bucket: BucketIndex) -> (usize, usize) {
        let index = bucket.get();
        let level = (1..LEVELS)
            .map(|level| usize::from(index >= usize::from(Self::DIGITS[level].base)))
            .sum();
        (level, index - usize::from(Self::DIGITS[level].base))
    }

    /// Whether a bucket is on one of levels 0 to 3.
    #[inline]
    pub(crate) fn is_on_level(bucket: BucketIndex) -> bool {
        (usize::from(APART)..Self::buckets_below(LEVELS)).contains(&bucket.get())
    }

    /// The level of a bucket of levels 0 to 3.
    #[inline]
    pub(crate) fn level(bucket: BucketIndex) -> usize {
        Self::level_and_digit(bucket).0
    }

    /// The first tick of a bucket of levels 0 to 3 that lies in the cursor's lap.
    #[inline]
    pub(crate) fn bucket_start(level: usize, digit: usize, cursor: Tick) -> Tick {
        let above = Self::shift(level + 1);
        let lap = cursor.0 >> above << above;
        Tick(lap | (digit as u64) << Self::DIGITS[level].shift)
    }

    /// The whole of a low tick that lies in the cursor's rotation.
    #[inline]
    pub(crate) const fn in_rotation(tick: LowTick, cursor: Tick) -> Tick {
        Tick(cursor.0 >> u32::BITS << u32::BITS | tick.0 as u64)
    }

    /// The first tick of the top level's rotation that `tick` falls into.
    #[inline]
    pub(crate) const fn rotation_start(tick: Tick) -> Tick {
        Tick(tick.0 >> Self::ROTATION_BITS << Self::ROTATION_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed<G: Geometry>(tick: u64, cursor: u64) -> Option<(usize, usize)> {
        match Layout::<G>::place(Tick(tick), Tick(cursor)) {
            Placement::Bucket(bucket, _) => Some(Layout::<G>::level_and_digit(bucket)),
            Placement::Due | Placement::Overflow => None,
        }
    }

    #[test]
    fn place_next_tick_is_level_zero_until_the_lap_ends() {
        assert_eq!(placed::<Millis>(1, 0), Some((0, 1)));
        assert_eq!(placed::<Millis>(255, 254), Some((0, 255)));
        assert_eq!(placed::<Millis>(256, 255), Some((1, 1)));
        assert_eq!(placed::<Millis>(1 << 16, (1 << 16) - 1), Some((2, 1)));
        assert_eq!(placed::<Millis>(1 << 24, (1 << 24) - 1), Some((3, 1)));
    }

    #[test]
    fn place_beyond_the_rotation_is_overflow() {
        let last = (1 << 32) - 1;
        assert_eq!(
            Layout::<Millis>::place(Tick(1 << 32), Tick(last)),
            Placement::Overflow
        );
        assert_eq!(placed::<Millis>(last, 0), Some((3, 255)));
    }

    #[test]
    fn place_now_or_past_is_due() {
        assert_eq!(Layout::<Millis>::place(Tick(7), Tick(7)), Placement::Due);
        assert_eq!(Layout::<Millis>::place(Tick(6), Tick(7)), Placement::Due);
    }

    #[test]
    fn bucket_start_of_a_placement_is_at_or_before_its_tick() {
        for cursor in [0, 1, 63, 64, 4095, 4096, 0x00ab_cdef] {
            for delta in [1, 2, 63, 64, 65, 4095, 4096, 131_071] {
                let tick = cursor + delta;
                let Some((level, digit)) = placed::<Caffeine>(tick, cursor) else {
                    continue;
                };
                let start = Layout::<Caffeine>::bucket_start(level, digit, Tick(cursor));
                assert!(start.0 <= tick && start.0 > cursor);
                assert_eq!(
                    Layout::<Caffeine>::level_and_digit(Layout::<Caffeine>::bucket(level, digit)),
                    (level, digit)
                );
            }
        }
    }
}
