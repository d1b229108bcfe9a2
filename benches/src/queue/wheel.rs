//! The wheel itself.

use timer_wheel::{Geometry, TimerKey, Wheel};

use super::{
    Budgeted, Cancel, Counted, Instalment, Ordered, Pop, Promise, Queue, Reschedule, Wakes, Work,
};

impl<T, G: Geometry> Queue<T> for Wheel<T, G> {
    const NAME: &'static str = "wheel";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::Counted;
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

    /// A budget that is never used up is the wheel's own count of its work, buckets opened included.
    #[inline]
    fn advance_counting(&mut self, now: u64, fire: impl FnMut(u64, T)) -> usize {
        Budgeted::advance_with_budget(self, now, usize::MAX, fire).used
    }
}

impl<T, G: Geometry> Counted<T> for Wheel<T, G> {
    #[inline]
    fn len(&self) -> usize {
        Wheel::len(self)
    }
}

impl<T, G: Geometry> Cancel<T> for Wheel<T, G> {
    #[inline]
    fn cancel(&mut self, key: TimerKey) -> Option<T> {
        Wheel::cancel(self, key)
    }
}

impl<T, G: Geometry> Reschedule<T> for Wheel<T, G> {
    #[inline]
    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        Wheel::reschedule(self, *key, deadline)
    }
}

impl<T, G: Geometry> Wakes<T> for Wheel<T, G> {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        self.expiration_delay()
            .map(|delay| self.now().saturating_add(delay))
    }
}

impl<T: Copy, G: Geometry> Ordered<T> for Wheel<T, G> {
    #[inline]
    fn ascending(&self) -> impl Iterator<Item = T> {
        Wheel::ascending(self).map(|timer| *timer.value)
    }

    #[inline]
    fn descending(&self) -> impl Iterator<Item = T> {
        Wheel::descending(self).map(|timer| *timer.value)
    }
}

impl<T, G: Geometry> Pop<T> for Wheel<T, G> {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        Wheel::pop_first(self).map(|first| (first.deadline, first.value))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        Wheel::pop_expired(self, now).map(|expired| (expired.deadline, expired.value))
    }

    fn clear(&mut self) {
        Wheel::clear(self);
    }
}

impl<T, G: Geometry> Budgeted<T> for Wheel<T, G> {
    #[inline]
    fn advance_with_budget(
        &mut self,
        now: u64,
        budget: usize,
        mut fire: impl FnMut(u64, T),
    ) -> Instalment {
        let mut advance = Wheel::advance_with_budget(self, now, budget);
        for expired in advance.by_ref() {
            fire(expired.deadline, expired.value);
        }
        Instalment {
            used: budget - advance.unused(),
            has_backlog: advance.has_backlog(),
        }
    }
}
