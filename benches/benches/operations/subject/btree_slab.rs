//! An ordered set with a slab of values, as lean as it can be made.

use timer_wheel_bench::LeanBTreeQueue;
use timer_wheel_bench::btree::LeanBTreeKey;

use super::{Budgeted, Ordered, Queue};

impl Queue for LeanBTreeQueue<u32> {
    const NAME: &'static str = "btree+slab";
    type Key = LeanBTreeKey;

    #[inline]
    fn new() -> Self {
        LeanBTreeQueue::new()
    }

    #[inline]
    fn len(&self) -> usize {
        LeanBTreeQueue::len(self)
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> LeanBTreeKey {
        LeanBTreeQueue::schedule(self, deadline, value)
    }

    #[inline]
    fn cancel(&mut self, key: LeanBTreeKey) -> Option<u32> {
        LeanBTreeQueue::cancel(self, key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut LeanBTreeKey, deadline: u64) -> bool {
        LeanBTreeQueue::reschedule(self, key, deadline)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        LeanBTreeQueue::advance(self, now, |_, value| fire(value));
    }

    #[inline]
    fn wake(&self) -> Option<u64> {
        self.next_wake()
    }
}

impl Ordered for LeanBTreeQueue<u32> {
    #[inline]
    fn ascending(&self) -> impl Iterator<Item = u32> {
        self.iter().map(|(_, value)| *value)
    }

    #[inline]
    fn descending(&self) -> impl Iterator<Item = u32> {
        self.iter().rev().map(|(_, value)| *value)
    }
}

impl Budgeted for LeanBTreeQueue<u32> {
    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: usize, mut fire: impl FnMut(u32)) -> bool {
        for _ in 0..budget {
            match self.pop_expired(now) {
                Some((_, value)) => fire(value),
                None => return false,
            }
        }
        self.wake().is_some_and(|deadline| deadline <= now)
    }
}
