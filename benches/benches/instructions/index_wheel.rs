//! The instructions of the wheel for indexes of one's own; see `wheel.rs`.

mod ceiling;
mod counted;
mod steady;

use timer_wheel::index::IndexWheel;
use timer_wheel_bench::queue::{Cancel, Promise, Queue, Reschedule, Work};

use counted::counted;
use steady::N;

counted!(index_wheel, Indexed:
    schedule from without_oldest,
    cancel from with_oldest,
    reschedule_to_later from with_random,
    advance_idly from with_oldest,
    expire from about_to_expire,
);

/// An index wheel; a timer's key is its index, which is its value.
pub(crate) struct Indexed(IndexWheel);

impl Queue for Indexed {
    const NAME: &'static str = "IndexWheel";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::Untold;
    type Key = u32;

    fn new(now: u64) -> Self {
        Self(IndexWheel::with_capacity(now, N))
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        self.0.set(value, deadline);
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        while let Some(due) = self.0.pop_expired(now) {
            fire(due.deadline, due.index);
        }
    }
}

impl Cancel for Indexed {
    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.0.cancel(key).then_some(key)
    }
}

impl Reschedule for Indexed {
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        self.0.set(*key, deadline);
        true
    }
}
