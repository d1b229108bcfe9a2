//! Queues of others, what a program writes by hand, and the limit: each says what its queue is and how far it goes.
//!
//! A queue that knows no time finer than a tick gets one as long as the step of the measurement: the finest tick of the
//! wheel's geometry, or a millisecond. So it answers in the right step.

mod delay_queue;
mod nexus;
mod plain;
mod skipping;

use timer_wheel::{Caffeine, Geometry, Millis};

pub use delay_queue::Delays;
pub use nexus::{Nexus, NexusTimeouts};
pub use plain::{BareSlab, Handwritten, Heap};
pub use skipping::{HashWheel, Ora};

/// A tick of the `Millis` geometry, in nanoseconds.
pub const FINE: u64 = 1 << Millis::TICK_BITS;
pub const COARSE: u64 = 1 << Caffeine::TICK_BITS;

/// The first tick by which a deadline has come.
#[inline]
fn due_at<const TICK_NS: u64>(deadline: u64) -> u64 {
    deadline.div_ceil(TICK_NS)
}

/// The last tick that has come at a time.
#[inline]
fn reached_by<const TICK_NS: u64>(now: u64) -> u64 {
    now / TICK_NS
}
