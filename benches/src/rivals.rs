//! Queues of others, and the limit: each module says what its queue is and how far it goes.
//!
//! A queue that knows no time finer than a tick gets one as long as the step of the measurement: the finest tick of the
//! wheel's geometry, or a millisecond. So it answers in the right step.

mod delay_queue;
mod heap;
mod hhwt;
mod list;
mod nexus;
mod ora_timer;
mod slab;

use timer_wheel::{Caffeine, Geometry, Millis};

pub use delay_queue::Delays;
pub use heap::Heap;
pub use hhwt::HashWheel;
pub use list::OneList;
pub use nexus::{Nexus, NexusTimeouts};
pub use ora_timer::Ora;
pub use slab::BareSlab;

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

/// Handles by value: some can neither be copied nor asked for their timer, so they lie where a program would keep them.
struct Handles<H>(Vec<Option<H>>);

impl<H> Handles<H> {
    #[inline]
    fn put(&mut self, value: u32, handle: H) {
        let at = value as usize;
        if at >= self.0.len() {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at] = Some(handle);
    }

    #[inline]
    fn take(&mut self, value: u32) -> Option<H> {
        self.0[value as usize].take()
    }
}
