//! Geometries of the kind a user may write, at the corners of what is allowed.

use timer_wheel::Geometry;

/// Two buckets a level and a tick of one nanosecond: everything overflows after 16 ns.
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

/// Every level full and a coarse tick: the overflow begins after 2^60 ns, 36 years.
pub(crate) struct Wide;

impl Geometry for Wide {
    const TICK_BITS: u32 = 28;
    const LEVEL_BITS: [u32; 4] = [8, 8, 8, 8];
}

/// As wide as a geometry may be: the overflow holds the second half of time.
pub(crate) struct Widest;

impl Geometry for Widest {
    const TICK_BITS: u32 = 31;
    const LEVEL_BITS: [u32; 4] = [8, 8, 8, 8];
}
