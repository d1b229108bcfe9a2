//! The wheel itself.

use timer_wheel::{Budget, Geometry, TimerKey, Wheel};

use super::{Order, Queue};

impl<T, G: Geometry> Queue<T> for Wheel<T, G> {
    const NAME: &'static str = "wheel";
    const ORDER: Order = Order::FirstComeFirstServed;
    type Key = TimerKey;

    #[inline]
    fn new(now: u64) -> Self {
        Wheel::with_geometry(now)
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> TimerKey {
        Wheel::schedule(self, deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, T)) {
        for expired in Wheel::advance(self, now) {
            fire(expired.deadline, expired.value);
        }
    }

    #[inline]
    fn len(&self) -> usize {
        Wheel::len(self)
    }

    #[inline]
    fn cancel(&mut self, key: TimerKey) -> Option<T> {
        Wheel::cancel(self, key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        Wheel::reschedule(self, *key, deadline)
    }

    #[inline]
    fn wake_at(&self) -> Option<u64> {
        Wheel::wake_at(self)
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        Wheel::pop_first(self).map(|first| (first.deadline, first.value))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        Wheel::advance(self, now).next().map(|expired| (expired.deadline, expired.value))
    }

    fn clear(&mut self) {
        Wheel::clear(self);
    }

    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: &mut Budget, mut fire: impl FnMut(u64, T)) -> bool {
        for expired in Wheel::advance_with_budget(self, now, budget) {
            fire(expired.deadline, expired.value);
        }
        self.has_backlog()
    }
}
