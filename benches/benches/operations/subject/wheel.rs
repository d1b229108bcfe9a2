//! The wheel itself, in the `Millis` geometry.

use timer_wheel::{TimerKey, Wheel};

use super::{Budgeted, Ordered, Queue};

impl Queue for Wheel<u32> {
    const NAME: &'static str = "wheel";
    type Key = TimerKey;

    #[inline]
    fn new() -> Self {
        Wheel::new(0)
    }

    #[inline]
    fn len(&self) -> usize {
        Wheel::len(self)
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> TimerKey {
        Wheel::schedule(self, deadline, value)
    }

    #[inline]
    fn cancel(&mut self, key: TimerKey) -> Option<u32> {
        Wheel::cancel(self, key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        Wheel::reschedule(self, *key, deadline)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        for timer in Wheel::advance(self, now) {
            fire(timer.value);
        }
    }

    #[inline]
    fn wake(&self) -> Option<u64> {
        Some(self.now() + self.expiration_delay()?)
    }
}

impl Ordered for Wheel<u32> {
    #[inline]
    fn ascending(&self) -> impl Iterator<Item = u32> {
        Wheel::ascending(self).map(|timer| *timer.value)
    }

    #[inline]
    fn descending(&self) -> impl Iterator<Item = u32> {
        Wheel::descending(self).map(|timer| *timer.value)
    }
}

impl Budgeted for Wheel<u32> {
    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: usize, mut fire: impl FnMut(u32)) -> bool {
        let mut advance = Wheel::advance_with_budget(self, now, budget);
        for timer in advance.by_ref() {
            fire(timer.value);
        }
        advance.has_backlog()
    }
}
