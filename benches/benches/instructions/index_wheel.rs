//! The instructions of the wheel over records of one's own; see `wheel.rs`.

mod ceiling;
mod counted;
mod steady;

use timer_wheel::index::{IndexWheel, Timer};
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

/// An index wheel and its records; a timer's key is its index, which is its value.
pub(crate) struct Indexed {
    wheel: IndexWheel,
    records: Vec<Record>,
}

#[derive(Default)]
struct Record {
    timer: Timer,
}

impl AsRef<Timer> for Record {
    #[inline]
    fn as_ref(&self) -> &Timer {
        &self.timer
    }
}

impl AsMut<Timer> for Record {
    #[inline]
    fn as_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

impl Queue for Indexed {
    const NAME: &'static str = "IndexWheel";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::Untold;
    type Key = u32;

    fn new(now: u64) -> Self {
        Self {
            wheel: IndexWheel::new(now),
            records: (0..N).map(|_| Record::default()).collect(),
        }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        self.wheel.schedule(&mut self.records, value, deadline);
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        while let Some((index, deadline)) = self.wheel.pop_expired(&mut self.records, now) {
            fire(deadline, index);
        }
    }
}

impl Cancel for Indexed {
    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.wheel.cancel(&mut self.records, key).then_some(key)
    }
}

impl Reschedule for Indexed {
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        self.wheel.schedule(&mut self.records, *key, deadline);
        true
    }
}
