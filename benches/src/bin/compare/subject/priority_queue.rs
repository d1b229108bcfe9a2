//! `priority-queue`: a binary heap whose items can be found, here the values, by hash.

use std::cmp::Reverse;

use priority_queue::PriorityQueue;
use rustc_hash::FxBuildHasher;

use super::{
    Cancel, Clear, NO_BUDGET, NO_ORDER, PopExpired, PopFirst, Queue, Reschedule, Subject, Wakes,
    Work,
};
use crate::answer::Promise;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<Indexed, Indexed>()
    .waking::<Indexed, Indexed>()
    .mixed::<Indexed>()
    .popping::<Indexed, Indexed>()
    .far::<Indexed>()
    .clearing::<Indexed>()
    .lacking(&[NO_BUDGET, NO_ORDER]);

/// With the hasher that suits small integers best.
struct Indexed(PriorityQueue<u32, Reverse<u64>, FxBuildHasher>);

impl Queue for Indexed {
    const NAME: &'static str = "priority-queue";
    const PROMISE: Promise = Promise::AnyAmongEquals;
    const WORK: Work = Work::FiresOnly;
    type Key = u32;

    #[inline]
    fn new() -> Self {
        Self(PriorityQueue::with_default_hasher())
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        self.0.push(value, Reverse(deadline));
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        while self
            .0
            .peek()
            .is_some_and(|(_, &Reverse(deadline))| deadline <= now)
        {
            if let Some((value, _)) = self.0.pop() {
                fire(value);
            }
        }
    }
}

impl Cancel for Indexed {
    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.0.remove(&key).map(|(value, _)| value)
    }
}

impl Reschedule for Indexed {
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        self.0.change_priority(key, Reverse(deadline)).is_some()
    }
}

impl Wakes for Indexed {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        self.0.peek().map(|(_, &Reverse(deadline))| deadline)
    }
}

impl PopFirst for Indexed {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        let (value, Reverse(deadline)) = self.0.pop()?;
        Some((deadline, value))
    }
}

impl PopExpired for Indexed {
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<u32> {
        let (_, &Reverse(deadline)) = self.0.peek()?;
        if deadline > now {
            return None;
        }
        self.0.pop().map(|(value, _)| value)
    }
}

impl Clear for Indexed {
    fn clear(&mut self) {
        self.0.clear();
    }
}
