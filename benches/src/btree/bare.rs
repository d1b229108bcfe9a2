//! An ordered set alone: deadlines and numbers, no values and no handles.

use std::collections::BTreeSet;

use crate::queue::{
    Budgeted, Cancel, Counted, Instalment, Ordered, Pop, Promise, Queue, Reschedule, Wakes, Work,
};

/// A queue of numbers in order of deadline, and of number among equals. A timer's key is its deadline and
/// its number.
#[derive(Clone, Debug)]
pub struct BareSet(BTreeSet<(u64, u32)>);

impl Queue for BareSet {
    const NAME: &'static str = "btree";
    const PROMISE: Promise = Promise::DeadlineOrder;
    const WORK: Work = Work::FiresOnly;
    type Key = (u64, u32);

    #[inline]
    fn new(_now: u64) -> Self {
        Self(BTreeSet::new())
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> (u64, u32) {
        self.0.insert((deadline, value));
        (deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        while let Some((deadline, value)) = self.pop_expired(now) {
            fire(deadline, value);
        }
    }
}

impl Counted for BareSet {
    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Cancel for BareSet {
    #[inline]
    fn cancel(&mut self, key: (u64, u32)) -> Option<u32> {
        self.0.remove(&key).then_some(key.1)
    }
}

impl Reschedule for BareSet {
    #[inline]
    fn reschedule(&mut self, key: &mut (u64, u32), deadline: u64) -> bool {
        let was_live = self.0.remove(key);
        if was_live {
            key.0 = deadline;
            self.0.insert(*key);
        }
        was_live
    }
}

impl Wakes for BareSet {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        self.0.first().map(|&(deadline, _)| deadline)
    }
}

impl Ordered for BareSet {
    #[inline]
    fn ascending(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|&(_, value)| value)
    }

    #[inline]
    fn descending(&self) -> impl Iterator<Item = u32> {
        self.0.iter().rev().map(|&(_, value)| value)
    }
}

impl Pop for BareSet {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.0.pop_first()
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        if self.0.first()?.0 > now {
            return None;
        }
        self.0.pop_first()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

impl Budgeted for BareSet {
    #[inline]
    fn advance_with_budget(
        &mut self,
        now: u64,
        budget: usize,
        fire: impl FnMut(u64, u32),
    ) -> Instalment {
        Instalment::of_pops(self, now, budget, fire)
    }
}
