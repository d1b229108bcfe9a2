//! An ordered set with a slab that promises all that the wheel does: stable keys, stale ones
//! refused, first come first served.

use timer_wheel_bench::BTreeQueue;
use timer_wheel_bench::btree::BTreeKey;

use super::{
    Cancel, Clear, NO_BUDGET, NO_ORDER, PopExpired, PopFirst, Queue, Reschedule, Subject, Wakes,
    Work,
};
use crate::answer::Promise;

type Fair = BTreeQueue<u32>;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<Fair, Fair>()
    .waking::<Fair, Fair>()
    .mixed::<Fair>()
    .popping::<Fair, Fair>()
    .far::<Fair>()
    .clearing::<Fair>()
    .lacking(&[NO_BUDGET, NO_ORDER]);

impl Queue for BTreeQueue<u32> {
    const NAME: &'static str = "btree-queue";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::FiresOnly;
    type Key = BTreeKey;

    #[inline]
    fn new() -> Self {
        BTreeQueue::new(0)
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> BTreeKey {
        BTreeQueue::schedule(self, deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        BTreeQueue::advance(self, now, |_, value| fire(value));
    }
}

impl Cancel for BTreeQueue<u32> {
    #[inline]
    fn cancel(&mut self, key: BTreeKey) -> Option<u32> {
        BTreeQueue::cancel(self, key)
    }
}

impl Reschedule for BTreeQueue<u32> {
    #[inline]
    fn reschedule(&mut self, key: &mut BTreeKey, deadline: u64) -> bool {
        BTreeQueue::reschedule(self, *key, deadline)
    }
}

impl Wakes for BTreeQueue<u32> {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        BTreeQueue::next_wake(self)
    }
}

impl PopFirst for BTreeQueue<u32> {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        BTreeQueue::pop_first(self)
    }
}

impl PopExpired for BTreeQueue<u32> {
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<u32> {
        BTreeQueue::pop_expired(self, now).map(|(_, value)| value)
    }
}

impl Clear for BTreeQueue<u32> {
    fn clear(&mut self) {
        BTreeQueue::clear(self);
    }
}
