//! Wheels that go a tick at a time and say how many may be skipped: `hierarchical_hash_wheel_timer`, in its variant
//! whose timers can be cancelled, and `ora-timer`, which has its shape, with arrays that are kept, and no cancel.
//!
//! The time unit is the caller's: a tick of the wheel that they are compared with. A deadline that has come is refused
//! by them, and is moved to the next tick instead.

use std::rc::Rc;
use std::time::Duration;

use hierarchical_hash_wheel_timer::wheels::Skip;
use hierarchical_hash_wheel_timer::wheels::cancellable::{CancellableTimerEntry, QuadWheelWithOverflow};
use ora_timer::wheel::TimingWheel;

use super::{due_at, reached_by};
use crate::queue::Need::{self, Budget, Cancel, First, Horizon, Move};
use crate::queue::{Order, Queue};

/// `hierarchical_hash_wheel_timer`, with a tick of so many nanoseconds. Its cheapest entry is an id in an `Rc`, here
/// the value itself; the delay is handed over beside it rather than kept in it.
pub struct HashWheel<const TICK_NS: u64> {
    now: u64,
    wheel: QuadWheelWithOverflow<Entry>,
}

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

/// `ora-timer`'s wheel, with a tick of so many nanoseconds.
pub struct Ora<const TICK_NS: u64> {
    now: u64,
    wheel: TimingWheel<u32>,
    fired: Vec<u32>,
}

/// As the wheels count it.
#[inline]
fn delay<const TICK_NS: u64>(now: u64, deadline: u64) -> Duration {
    Duration::from_millis(due_at::<TICK_NS>(deadline).saturating_sub(now).max(1))
}

/// Moves the clock of a wheel: `step` gets the next tick and how many are left, and says how many it has gone.
#[inline]
fn go(now: &mut u64, to: u64, mut step: impl FnMut(u64, u32) -> u32) {
    while *now < to {
        let left = u32::try_from(to - *now).unwrap_or(u32::MAX);
        *now += u64::from(step(*now + 1, left));
    }
}

impl<const TICK_NS: u64> Queue for HashWheel<TICK_NS> {
    const NAME: &'static str = "hhwt";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Move, First, Budget, Horizon];
    type Key = u32;

    #[inline]
    fn new(now: u64) -> Self {
        Self { now: reached_by::<TICK_NS>(now), wheel: QuadWheelWithOverflow::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        let _ = self.wheel.insert_ref_with_delay(Rc::new(Entry { id: value }), delay::<TICK_NS>(self.now, deadline));
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        go(&mut self.now, reached_by::<TICK_NS>(now), |tick, left| {
            let skipped = match self.wheel.can_skip() {
                Skip::Empty => left,
                Skip::Millis(most) => most.min(left),
                Skip::None => 0,
            };
            if skipped > 0 {
                self.wheel.skip(skipped);
                return skipped;
            }
            self.wheel.tick().into_iter().for_each(|entry| fire(tick * TICK_NS, entry.id));
            1
        });
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.wheel.cancel(&key).ok().map(|()| key)
    }
}

impl<const TICK_NS: u64> Queue for Ora<TICK_NS> {
    const NAME: &'static str = "ora-timer";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Cancel, Move, First, Budget, Horizon];
    type Key = ();

    #[inline]
    fn new(now: u64) -> Self {
        Self { now: reached_by::<TICK_NS>(now), wheel: TimingWheel::new(), fired: Vec::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) {
        let _ = self.wheel.insert(value, delay::<TICK_NS>(self.now, deadline));
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        go(&mut self.now, reached_by::<TICK_NS>(now), |tick, left| {
            // That nothing may be skipped is also what it says when it is empty.
            let skipped = match self.wheel.can_skip() {
                0 if left > 1 && self.wheel.is_empty() => left,
                most => most.min(left),
            };
            if skipped > 0 {
                self.wheel.skip(skipped);
                return skipped;
            }
            self.wheel.tick_with(&mut self.fired);
            self.fired.drain(..).for_each(|value| fire(tick * TICK_NS, value));
            1
        });
    }
}
