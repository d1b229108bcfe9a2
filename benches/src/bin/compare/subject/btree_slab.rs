//! An ordered set with a slab of values, as lean as it can be made: the figure to beat.

use timer_wheel_bench::LeanBTreeQueue;
use timer_wheel_bench::btree::LeanBTreeKey;

use super::{Cancel, Queue, Reschedule, Subject, Work};
use crate::answer::Promise;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<LeanBTreeQueue<u32>>();

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
