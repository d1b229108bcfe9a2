//! Geometries of the kind a user may write, at the corners of what is allowed.
//!
//! Where the finest level has few buckets, few timers make lists and few make a crowd: see [`few`]. So short
//! scripts reach both in the small geometries; in a large one, lists need a [ballast](FAR_TIMERS).

use timer_wheel::{Geometry, Wheel};

/// Calls a function for every geometry in which several rotations fit into time.
macro_rules! in_every_geometry {
    ($check:ident) => {
        $check::<timer_wheel::Millis>();
        $check::<timer_wheel::Caffeine>();
        $check::<timer_wheel::Micros>();
        $check::<timer_wheel::Compact>();
        $check::<crate::geometries::Narrow>();
        $check::<crate::geometries::Tiny>();
        $check::<crate::geometries::TinyTick>();
        $check::<crate::geometries::Lopsided>();
        $check::<crate::geometries::Wide>();
    };
}

/// Two buckets a level and a tick of one nanosecond: everything is far after 16 ns.
pub(crate) struct Tiny;

impl Geometry for Tiny {
    const TICK_BITS: u32 = 0;
    const LEVEL_BITS: [u32; 4] = [1, 1, 1, 1];
}

/// As [`Tiny`], with two nanoseconds in a tick, so that order below the tick matters.
pub(crate) struct TinyTick;

impl Geometry for TinyTick {
    const TICK_BITS: u32 = 1;
    const LEVEL_BITS: [u32; 4] = [1, 1, 1, 1];
}

/// Levels that differ as much as they may, none as wide as its neighbour.
pub(crate) struct Lopsided;

impl Geometry for Lopsided {
    const TICK_BITS: u32 = 3;
    const LEVEL_BITS: [u32; 4] = [1, 8, 2, 5];
}

/// Ticks as long as those of `Millis`, and crowds of nine timers.
pub(crate) struct Narrow;

impl Geometry for Narrow {
    const TICK_BITS: u32 = 20;
    const LEVEL_BITS: [u32; 4] = [2, 4, 3, 6];
}

/// The coarsest tick, and every level full but the finest: the far timers begin after 2^59 ns, 18 years.
pub(crate) struct Wide;

impl Geometry for Wide {
    const TICK_BITS: u32 = 32;
    const LEVEL_BITS: [u32; 4] = [3, 8, 8, 8];
}

/// As wide as a geometry may be: far is the second half of time.
pub(crate) struct Widest;

impl Geometry for Widest {
    const TICK_BITS: u32 = 31;
    const LEVEL_BITS: [u32; 4] = [8, 8, 8, 8];
}

/// How many timers of a bucket are few: with one more it is crowded.
pub(crate) const fn few<G: Geometry>() -> usize {
    2 << G::LEVEL_BITS[0]
}

/// How many bits the number of a rotation has: as many as there are far buckets.
pub(crate) const fn rotation_bits<G: Geometry>() -> u32 {
    let [first, second, third, fourth] = G::LEVEL_BITS;
    u64::BITS - (G::TICK_BITS + first + second + third + fourth)
}

/// The most work that a timer in each of the rotations from 1 to `count` takes. It is moved down once for each bit of its
/// rotation that is one, until it lies in a far bucket that spans no more rotations than timers are few. That one is sorted
/// as a whole. So each timer is visited once more, and fires; and some buckets are opened for every two such spans.
pub(crate) fn far_work<G: Geometry>(count: u64) -> usize {
    let spans = few::<G>().ilog2() + 1;
    let moves: u32 = (1..=count).map(|rotation| (rotation >> spans).count_ones()).sum();
    moves as usize + 2 * count as usize + (spans as usize + 2) * count.div_ceil(1 << spans) as usize
}

/// So many timers at the end of time are a ballast with which a wheel of any geometry makes lists.
pub(crate) const FAR_TIMERS: usize = 33;

/// A wheel that makes lists from the next timer on: it holds a ballast of [`FAR_TIMERS`], all of this value, of which
/// it keeps one in the near heap.
pub(crate) fn with_lists<G: Geometry>(now: u64) -> Wheel<u64, G> {
    let mut wheel = Wheel::with_geometry(now);
    (0..FAR_TIMERS).for_each(|_| _ = wheel.schedule(u64::MAX, u64::MAX));
    wheel
}
