//! The program without a queue.

mod program;

use timer_wheel_bench::queue::{Order, Queue};

/// Remembers the deadline of the last timer alone.
struct Bare(u64);

impl Queue for Bare {
    const NAME: &'static str = "bare";
    const ORDER: Order = Order::Step;
    type Key = u64;

    fn new(now: u64) -> Self {
        Self(now)
    }

    fn schedule(&mut self, deadline: u64, _: u32) -> u64 {
        self.0 = deadline;
        deadline
    }

    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        if self.0 <= now {
            fire(self.0, 0);
        }
    }

    fn cancel(&mut self, key: u64) -> Option<u32> {
        (self.0 == key).then_some(key as u32)
    }

    fn reschedule(&mut self, key: &mut u64, deadline: u64) -> bool {
        let is_known = self.0 == *key;
        (self.0, *key) = (deadline, deadline);
        is_known
    }

    fn wake_at(&self) -> Option<u64> {
        self.0.checked_sub(1)
    }
}

fn main() -> std::io::Result<()> {
    program::run::<Bare>()
}
