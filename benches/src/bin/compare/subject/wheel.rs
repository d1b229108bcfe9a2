//! The wheel itself, in the `Millis` geometry.

use timer_wheel::{TimerKey, Wheel};

use super::{Budgeted, Cancel, Instalment, Queue, Reschedule, Subject, Work};
use crate::answer::Promise;

pub(super) const SUBJECT: Subject = Subject::complete::<Wheel<u32>>();

impl Queue for Wheel<u32> {
    const NAME: &'static str = "wheel";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::Counted;
    type Key = TimerKey;

    #[inline]
    fn new() -> Self {
        Wheel::new(0)
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

impl Cancel for Wheel<u32> {
    #[inline]
    fn cancel(&mut self, key: TimerKey) -> Option<u32> {
        Wheel::cancel(self, key)
    }
}

impl Reschedule for Wheel<u32> {
    #[inline]
    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        Wheel::reschedule(self, *key, deadline)
    }
}

impl Budgeted for Wheel<u32> {
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
