//! The program with a wheel.

use std::io;

use timer_wheel::{TimerKey, Wheel};
use timer_wheel_code_size::{Queue, run};

struct Timers(Wheel<u32>);

impl Queue for Timers {
    type Key = TimerKey;

    fn new(now: u64) -> Self {
        Self(Wheel::new(now))
    }

    fn schedule(&mut self, deadline: u64, value: u32) -> TimerKey {
        self.0.schedule(deadline, value)
    }

    fn cancel(&mut self, key: TimerKey) -> Option<u32> {
        self.0.cancel(key)
    }

    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        self.0.reschedule(*key, deadline)
    }

    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        for timer in self.0.advance(now) {
            fire(timer.deadline, timer.value);
        }
    }

    fn expiration_delay(&self) -> Option<u64> {
        self.0.expiration_delay()
    }
}

fn main() -> io::Result<()> {
    run::<Timers>()
}
