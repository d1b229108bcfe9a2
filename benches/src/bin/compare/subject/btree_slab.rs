//! An ordered set with a slab of values, as lean as it can be made: the figure to beat.

use timer_wheel_bench::LeanBTreeQueue;
use timer_wheel_bench::btree::LeanBTreeKey;

use super::{Cancel, NO_BUDGET, Ordered, Queue, Reschedule, Subject, Wakes, Work};
use crate::answer::Promise;

type Lean = LeanBTreeQueue<u32>;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<Lean, Lean>()
    .waking::<Lean, Lean>()
    .ordered::<Lean>()
    .lacking(&[NO_BUDGET]);

impl Queue for LeanBTreeQueue<u32> {
    const NAME: &'static str = "btree+slab";
    const PROMISE: Promise = Promise::DeadlineOrder;
    const WORK: Work = Work::FiresOnly;
    type Key = LeanBTreeKey;

    #[inline]
    fn new() -> Self {
        LeanBTreeQueue::new()
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> LeanBTreeKey {
        LeanBTreeQueue::schedule(self, deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        LeanBTreeQueue::advance(self, now, |_, value| fire(value));
    }
}

impl Cancel for LeanBTreeQueue<u32> {
    #[inline]
    fn cancel(&mut self, key: LeanBTreeKey) -> Option<u32> {
        LeanBTreeQueue::cancel(self, key)
    }
}

impl Reschedule for LeanBTreeQueue<u32> {
    #[inline]
    fn reschedule(&mut self, key: &mut LeanBTreeKey, deadline: u64) -> bool {
        LeanBTreeQueue::reschedule(self, key, deadline)
    }
}

impl Wakes for LeanBTreeQueue<u32> {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        LeanBTreeQueue::next_wake(self)
    }
}

impl Ordered for LeanBTreeQueue<u32> {
    #[inline]
    fn ascending(&self, mut visit: impl FnMut(u32)) {
        self.iter().for_each(|(_, &value)| visit(value));
    }

    #[inline]
    fn descending(&self, mut visit: impl FnMut(u32)) {
        self.iter().rev().for_each(|(_, &value)| visit(value));
    }
}
