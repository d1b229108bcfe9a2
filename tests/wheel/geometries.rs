//! Geometries of the kind a user may write, at the corners of what is allowed.
//!
//! In most of them fewer timers than usual are few, so that short scripts make lists and crowds.

use std::marker::PhantomData;

use timer_wheel::Geometry;

/// Two buckets a level and a tick of one nanosecond: everything is far after 16 ns.
pub(crate) struct Tiny;

impl Geometry for Tiny {
    const TICK_BITS: u32 = 0;
    const LEVEL_BITS: [u32; 4] = [1, 1, 1, 1];
    const NEAR: usize = 0;
    const FEW: usize = 1;
}

/// As [`Tiny`], with two nanoseconds in a tick, so that order below the tick matters.
pub(crate) struct TinyTick;

impl Geometry for TinyTick {
    const TICK_BITS: u32 = 1;
    const LEVEL_BITS: [u32; 4] = [1, 1, 1, 1];
    const NEAR: usize = 1;
    const FEW: usize = 2;
}

/// Levels that differ as much as they may, none as wide as its neighbour.
pub(crate) struct Lopsided;

impl Geometry for Lopsided {
    const TICK_BITS: u32 = 3;
    const LEVEL_BITS: [u32; 4] = [1, 8, 2, 5];
    const NEAR: usize = 0;
    const FEW: usize = 3;
}

/// Every level full and a coarse tick: the far timers begin after 2^60 ns, 36 years.
pub(crate) struct Wide;

impl Geometry for Wide {
    const TICK_BITS: u32 = 28;
    const LEVEL_BITS: [u32; 4] = [8, 8, 8, 8];
    const NEAR: usize = 2;
    const FEW: usize = 4;
}

/// As wide as a geometry may be: far is the second half of time.
pub(crate) struct Widest;

impl Geometry for Widest {
    const TICK_BITS: u32 = 31;
    const LEVEL_BITS: [u32; 4] = [8, 8, 8, 8];
    const NEAR: usize = 0;
    const FEW: usize = 32;
}

/// As another geometry, with lists and crowds from the first timers on.
pub(crate) struct Listed<G>(PhantomData<G>);

impl<G: Geometry> Geometry for Listed<G> {
    const TICK_BITS: u32 = G::TICK_BITS;
    const LEVEL_BITS: [u32; 4] = G::LEVEL_BITS;
    const NEAR: usize = 0;
    const FEW: usize = 8;
}

/// As another geometry, without a near heap: the very first timer lies in a list.
pub(crate) struct Bare<G>(PhantomData<G>);

impl<G: Geometry> Geometry for Bare<G> {
    const TICK_BITS: u32 = G::TICK_BITS;
    const LEVEL_BITS: [u32; 4] = G::LEVEL_BITS;
    const NEAR: usize = 0;
}
