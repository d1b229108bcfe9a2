//! `ora-timer`'s wheel: in the shape of `hierarchical_hash_wheel_timer`, with arrays that are kept.

use std::time::Duration;

use ora_timer::wheel::TimingWheel;

use super::{due_at, reached_by};
use crate::queue::Need::{self, Budget, Cancel, Clear, First, Horizon, Move};
use crate::queue::{Order, Queue};

/// The wheel, with a tick of so many nanoseconds.
pub struct Ora<const TICK_NS: u64> {
    now: u64,
    wheel: TimingWheel<u32>,
    fired: Vec<u32>,
}

impl<const TICK_NS: u64> Queue for Ora<TICK_NS> {
    const NAME: &'static str = "ora-timer";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Cancel, Move, Clear, First, Budget, Horizon];
    type Key = ();

    #[inline]
    fn new(now: u64) -> Self {
        Self { now: reached_by::<TICK_NS>(now), wheel: TimingWheel::new(), fired: Vec::new() }
    }

    /// A deadline that has come is refused by the wheel, and is moved to the next tick instead.
    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) {
        let delay = due_at::<TICK_NS>(deadline).saturating_sub(self.now).max(1);
        let _ = self.wheel.insert(value, Duration::from_millis(delay));
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        let now = reached_by::<TICK_NS>(now);
        while self.now < now {
            let left = u32::try_from(now - self.now).unwrap_or(u32::MAX);
            // That nothing may be skipped is also what it says when it is empty.
            let skipped = match self.wheel.can_skip() {
                0 if left > 1 && self.wheel.is_empty() => left,
                most => most.min(left),
            };
            if skipped > 0 {
                self.wheel.skip(skipped);
                self.now += u64::from(skipped);
            } else {
                self.wheel.tick_with(&mut self.fired);
                self.now += 1;
                let end = self.now * TICK_NS;
                self.fired.drain(..).for_each(|value| fire(end, value));
            }
        }
    }
}
