//! The textbook wheel: a list node a timer, in the geometry of the wheel it is compared with.

use timer_wheel_bench::TextbookWheel;
use timer_wheel_bench::textbook::TextbookKey;

use super::Queue;

impl Queue for TextbookWheel<u32> {
    const NAME: &'static str = "textbook";
    type Key = TextbookKey;

    #[inline]
    fn new() -> Self {
        TextbookWheel::new(0)
    }

    #[inline]
    fn len(&self) -> usize {
        TextbookWheel::len(self)
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> TextbookKey {
        TextbookWheel::schedule(self, deadline, value)
    }

    #[inline]
    fn cancel(&mut self, key: TextbookKey) -> Option<u32> {
        TextbookWheel::cancel(self, key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut TextbookKey, deadline: u64) -> bool {
        TextbookWheel::reschedule(self, *key, deadline)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        TextbookWheel::advance(self, now, |_, value| fire(value));
    }

    #[inline]
    fn wake(&self) -> Option<u64> {
        self.next_wake()
    }
}
