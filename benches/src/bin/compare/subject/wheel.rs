//! The wheel itself, in the `Millis` geometry where no other is named.

use timer_wheel::{Caffeine, Geometry, Micros, TimerKey, Wheel};

use super::{
    Budgeted, Cancel, Clear, Instalment, Ordered, PopExpired, PopFirst, Queue, Reschedule, Subject,
    Wakes, Work,
};
use crate::answer::Promise;

type Millis = Wheel<u32>;
type Coarse = Wheel<u32, Caffeine>;
type Fine = Wheel<u32, Micros>;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<Millis, Coarse>()
    .waking::<Millis, Coarse>()
    .ordered::<Coarse>()
    .budgeted::<Millis>()
    .mixed::<Millis>()
    .popping::<Millis, Fine>()
    .far::<Fine>()
    .clearing::<Millis>();

impl<G: Geometry> Queue for Wheel<u32, G> {
    const NAME: &'static str = "wheel";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::Counted;
    type Key = TimerKey;

    #[inline]
    fn new() -> Self {
        Wheel::with_geometry(0)
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> TimerKey {
        Wheel::schedule(self, deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        for expired in Wheel::advance(self, now) {
            fire(expired.value);
        }
    }

    /// A budget that is never used up is the wheel's own count of its work, buckets opened included.
    #[inline]
    fn advance_counting(&mut self, now: u64, fire: impl FnMut(u32)) -> usize {
        Budgeted::advance_with_budget(self, now, usize::MAX, fire).used
    }
}

impl<G: Geometry> Cancel for Wheel<u32, G> {
    #[inline]
    fn cancel(&mut self, key: TimerKey) -> Option<u32> {
        Wheel::cancel(self, key)
    }
}

impl<G: Geometry> Reschedule for Wheel<u32, G> {
    #[inline]
    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        Wheel::reschedule(self, *key, deadline)
    }
}

impl<G: Geometry> Budgeted for Wheel<u32, G> {
    #[inline]
    fn advance_with_budget(
        &mut self,
        now: u64,
        budget: usize,
        mut fire: impl FnMut(u32),
    ) -> Instalment {
        let mut advance = Wheel::advance_with_budget(self, now, budget);
        for expired in advance.by_ref() {
            fire(expired.value);
        }
        Instalment {
            used: budget - advance.unused(),
            has_backlog: advance.has_backlog(),
        }
    }
}

impl<G: Geometry> Wakes for Wheel<u32, G> {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        self.expiration_delay()
            .map(|delay| self.now().saturating_add(delay))
    }
}

impl<G: Geometry> Ordered for Wheel<u32, G> {
    #[inline]
    fn ascending(&self, mut visit: impl FnMut(u32)) {
        Wheel::ascending(self).for_each(|timer| visit(*timer.value));
    }

    #[inline]
    fn descending(&self, mut visit: impl FnMut(u32)) {
        Wheel::descending(self).for_each(|timer| visit(*timer.value));
    }
}

impl<G: Geometry> PopFirst for Wheel<u32, G> {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        Wheel::pop_first(self).map(|first| (first.deadline, first.value))
    }
}

impl<G: Geometry> PopExpired for Wheel<u32, G> {
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<u32> {
        Wheel::pop_expired(self, now).map(|expired| expired.value)
    }
}

impl<G: Geometry> Clear for Wheel<u32, G> {
    fn clear(&mut self) {
        Wheel::clear(self);
    }
}
