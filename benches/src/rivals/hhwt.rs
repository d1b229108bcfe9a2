//! `hierarchical_hash_wheel_timer`, in its variant whose timers can be cancelled.
//!
//! Its cheapest entry is an id in an `Rc`, here the value itself; the delay is handed over beside it rather than kept in
//! it. The time unit is the caller's: a tick of the wheel it is compared with.

use std::rc::Rc;
use std::time::Duration;

use hierarchical_hash_wheel_timer::wheels::Skip;
use hierarchical_hash_wheel_timer::wheels::cancellable::{CancellableTimerEntry, QuadWheelWithOverflow};

use super::{due_at, reached_by};
use crate::queue::Need::{self, Budget, Clear, First, Horizon, Move};
use crate::queue::{Order, Queue};

#[derive(Debug)]
struct Entry {
    id: u32,
}

impl CancellableTimerEntry for Entry {
    type Id = u32;

    #[inline]
    fn id(&self) -> &u32 {
        &self.id
    }
}

/// The wheel, with a tick of so many nanoseconds.
pub struct HashWheel<const TICK_NS: u64> {
    now: u64,
    wheel: QuadWheelWithOverflow<Entry>,
}

impl<const TICK_NS: u64> Queue for HashWheel<TICK_NS> {
    const NAME: &'static str = "hhwt";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Move, Clear, First, Budget, Horizon];
    type Key = u32;

    #[inline]
    fn new(now: u64) -> Self {
        Self { now: reached_by::<TICK_NS>(now), wheel: QuadWheelWithOverflow::new() }
    }

    /// A deadline that has come is refused by the wheel, and is moved to the next tick instead.
    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        let delay = due_at::<TICK_NS>(deadline).saturating_sub(self.now).max(1);
        let entry = Rc::new(Entry { id: value });
        let delay = Duration::from_millis(delay);
        let _ = self.wheel.insert_ref_with_delay(entry, delay);
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        let now = reached_by::<TICK_NS>(now);
        while self.now < now {
            let left = u32::try_from(now - self.now).unwrap_or(u32::MAX);
            let skipped = match self.wheel.can_skip() {
                Skip::Empty => left,
                Skip::Millis(most) => most.min(left),
                Skip::None => 0,
            };
            if skipped > 0 {
                self.wheel.skip(skipped);
                self.now += u64::from(skipped);
            } else {
                self.now += 1;
                for entry in self.wheel.tick() {
                    fire(self.now * TICK_NS, entry.id);
                }
            }
        }
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.wheel.cancel(&key).ok().map(|()| key)
    }
}
