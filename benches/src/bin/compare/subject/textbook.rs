//! The textbook wheel: a list node a timer, in the geometry of the wheel it is compared with.

use timer_wheel::{Caffeine, Geometry, Micros};
use timer_wheel_bench::TextbookWheel;
use timer_wheel_bench::textbook::TextbookKey;

use super::{
    Cancel, NO_BUDGET, NO_CLEAR, NO_FIRST, NO_ORDER, Queue, Reschedule, Subject, Wakes, Work,
};
use crate::answer::Promise;

type Millis = TextbookWheel<u32>;
type Coarse = TextbookWheel<u32, Caffeine>;
type Fine = TextbookWheel<u32, Micros>;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<Millis, Coarse>()
    .waking::<Millis, Coarse>()
    .mixed::<Millis>()
    .far::<Fine>()
    .lacking(&[NO_BUDGET, NO_ORDER, NO_FIRST, NO_CLEAR]);

impl<G: Geometry> Queue for TextbookWheel<u32, G> {
    const NAME: &'static str = "textbook";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::Counted;
    type Key = TextbookKey;

    #[inline]
    fn new() -> Self {
        TextbookWheel::new(0)
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> TextbookKey {
        TextbookWheel::schedule(self, deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        TextbookWheel::advance(self, now, |_, value| fire(value));
    }

    #[inline]
    fn advance_counting(&mut self, now: u64, fire: impl FnMut(u32)) -> usize {
        let before = self.handled();
        Queue::advance(self, now, fire);
        (self.handled() - before) as usize
    }
}

impl<G: Geometry> Cancel for TextbookWheel<u32, G> {
    #[inline]
    fn cancel(&mut self, key: TextbookKey) -> Option<u32> {
        TextbookWheel::cancel(self, key)
    }
}

impl<G: Geometry> Reschedule for TextbookWheel<u32, G> {
    #[inline]
    fn reschedule(&mut self, key: &mut TextbookKey, deadline: u64) -> bool {
        TextbookWheel::reschedule(self, *key, deadline)
    }
}

impl<G: Geometry> Wakes for TextbookWheel<u32, G> {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        TextbookWheel::next_wake(self)
    }
}
