//! The program without a queue.

use std::io;

use timer_wheel_code_size::{Queue, run};

/// Remembers the deadline of the last timer alone.
struct Bare(u64);

impl Queue for Bare {
    type Key = u64;

    fn new(now: u64) -> Self {
        Self(now)
    }

    fn schedule(&mut self, deadline: u64, _: u32) -> u64 {
        self.0 = deadline;
        deadline
    }

    fn cancel(&mut self, key: u64) -> Option<u32> {
        (self.0 == key).then_some(key as u32)
    }

    fn reschedule(&mut self, key: &mut u64, deadline: u64) -> bool {
        let is_known = self.0 == *key;
        (self.0, *key) = (deadline, deadline);
        is_known
    }

    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        if self.0 <= now {
            fire(self.0, 0);
        }
    }

    fn expiration_delay(&self) -> Option<u64> {
        self.0.checked_sub(1)
    }
}

fn main() -> io::Result<()> {
    run::<Bare>()
}
