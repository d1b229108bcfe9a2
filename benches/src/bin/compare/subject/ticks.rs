//! Time in ticks, for queues that know no finer time.
//!
//! Their tick is made as long as the finest one of the wheel they are compared with, so that they
//! answer in the right step.

use timer_wheel::{Geometry, Millis};

/// A tick of the `Millis` geometry, in nanoseconds as a power of two.
pub(super) const FINE: u32 = Millis::TICK_BITS;
/// A tick of the `Caffeine` geometry.
pub(super) const COARSE: u32 = timer_wheel::Caffeine::TICK_BITS;

/// The first tick by which a deadline has come.
#[inline]
pub(super) fn due_at<const TICK_BITS: u32>(deadline: u64) -> u64 {
    deadline.div_ceil(1 << TICK_BITS)
}

/// The last tick that has come at a time.
#[inline]
pub(super) fn reached_by<const TICK_BITS: u32>(now: u64) -> u64 {
    now >> TICK_BITS
}
