//! An ordered set with a slab of values, as lean as it can be made: the figure to beat.

use timer_wheel_bench::LeanBTreeQueue;
use timer_wheel_bench::btree::LeanBTreeKey;

use super::{
    Budgeted, Cancel, Clear, Instalment, Ordered, PopExpired, PopFirst, Queue, Reschedule, Subject,
    Wakes, Work,
};
use crate::answer::Promise;

type Lean = LeanBTreeQueue<u32>;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<Lean, Lean>()
    .waking::<Lean, Lean>()
    .ordered::<Lean>()
    .mixed::<Lean>()
    .popping::<Lean, Lean>()
    .far::<Lean>()
    .clearing::<Lean>()
    .budgeted::<Lean>();

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

impl PopFirst for LeanBTreeQueue<u32> {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        LeanBTreeQueue::pop_first(self)
    }
}

impl PopExpired for LeanBTreeQueue<u32> {
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<u32> {
        LeanBTreeQueue::pop_expired(self, now).map(|(_, value)| value)
    }
}

impl Clear for LeanBTreeQueue<u32> {
    fn clear(&mut self) {
        LeanBTreeQueue::clear(self);
    }
}

/// Its work is what fires: a tree's call is as long as it has timers to take.
impl Budgeted for LeanBTreeQueue<u32> {
    #[inline]
    fn advance_with_budget(
        &mut self,
        now: u64,
        budget: usize,
        mut fire: impl FnMut(u32),
    ) -> Instalment {
        for used in 0..budget {
            let Some((_, value)) = LeanBTreeQueue::pop_expired(self, now) else {
                return Instalment {
                    used,
                    has_backlog: false,
                };
            };
            fire(value);
        }
        Instalment {
            used: budget,
            has_backlog: self.next_wake().is_some_and(|deadline| deadline <= now),
        }
    }
}
