//! Time in ticks, for queues that know no finer time.
//!
//! Their tick is made as long as the step of the measurement, which is the finest one of the wheel they
//! are compared with or a millisecond, so that they answer in the right step.

use crate::workload;
use timer_wheel::{Caffeine, Geometry, Millis};

/// A tick of the `Millis` geometry, in nanoseconds.
pub const FINE: u64 = 1 << Millis::TICK_BITS;
/// A tick of the `Caffeine` geometry.
pub const COARSE: u64 = 1 << Caffeine::TICK_BITS;
/// A step of the workloads that count in milliseconds.
pub const MILLISECOND: u64 = workload::MILLISECOND;

/// The first tick by which a deadline has come.
#[inline]
pub fn due_at<const TICK_NS: u64>(deadline: u64) -> u64 {
    deadline.div_ceil(TICK_NS)
}

/// The last tick that has come at a time.
#[inline]
pub fn reached_by<const TICK_NS: u64>(now: u64) -> u64 {
    now / TICK_NS
}
