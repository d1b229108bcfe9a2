//! The wheel with all timers in one lane.

use timer_wheel::{Budget, Geometry, Lane, Millis, TimerKey, Wheel};

use super::Need::{self, Delays};
use super::{Order, Queue};

/// A wheel and its only lane. Timers of other delays are taken as well, but a lane is not for them.
#[derive(Debug)]
pub struct InLane<T, G: Geometry = Millis> {
    wheel: Wheel<T, G>,
    lane: Lane,
}

impl<T, G: Geometry> Queue<T> for InLane<T, G> {
    const NAME: &'static str = "lane";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Delays];
    type Key = TimerKey;

    fn new(now: u64) -> Self {
        let mut wheel = Wheel::with_geometry(now);
        let lane = wheel.add_lane();
        Self { wheel, lane }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> TimerKey {
        self.wheel.schedule_in(self.lane, deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, fire: impl FnMut(u64, T)) {
        Queue::advance(&mut self.wheel, now, fire);
    }

    fn len(&self) -> usize {
        self.wheel.len()
    }

    #[inline]
    fn cancel(&mut self, key: TimerKey) -> Option<T> {
        self.wheel.cancel(key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        self.wheel.reschedule_in(self.lane, *key, deadline)
    }

    #[inline]
    fn wake_at(&self) -> Option<u64> {
        self.wheel.wake_at()
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        Queue::pop_first(&mut self.wheel)
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        Queue::pop_expired(&mut self.wheel, now)
    }

    fn clear(&mut self) {
        self.wheel.clear();
    }

    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: &mut Budget, fire: impl FnMut(u64, T)) -> bool {
        Queue::advance_with_budget(&mut self.wheel, now, budget, fire)
    }
}
