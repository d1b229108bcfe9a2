//! Time in the ticks of the measurements, for queues that know no finer time.
//!
//! Their tick is made as long as a step of the measurements, so that they answer in the right step.

use timer_wheel_bench::workload::STEP;

/// The first tick by which a deadline has come.
#[inline]
pub(super) fn due_at(deadline: u64) -> u64 {
    deadline.div_ceil(STEP)
}

/// The last tick that has come at a time.
#[inline]
pub(super) fn reached_by(now: u64) -> u64 {
    now / STEP
}
