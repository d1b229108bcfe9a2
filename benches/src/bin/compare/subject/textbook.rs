//! The textbook wheel: a list node a timer, in the geometry of the wheel it is compared with.

use timer_wheel_bench::TextbookWheel;
use timer_wheel_bench::textbook::TextbookKey;

use super::{Cancel, Queue, Reschedule, Subject, Work};
use crate::answer::Promise;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<TextbookWheel<u32>>();

impl Queue for TextbookWheel<u32> {
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

impl Cancel for TextbookWheel<u32> {
    #[inline]
    fn cancel(&mut self, key: TextbookKey) -> Option<u32> {
        TextbookWheel::cancel(self, key)
    }
}

impl Reschedule for TextbookWheel<u32> {
    #[inline]
    fn reschedule(&mut self, key: &mut TextbookKey, deadline: u64) -> bool {
        TextbookWheel::reschedule(self, *key, deadline)
    }
}
