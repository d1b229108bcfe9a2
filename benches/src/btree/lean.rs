//! The leanest ordered set with values: its key says where both the order and the value are.

use std::collections::BTreeSet;

use slab::Slab;

use crate::queue::{
    Budgeted, Cancel, Counted, Instalment, Ordered, Pop, Promise, Queue, Reschedule, Wakes, Work,
};

/// Names a scheduled timer by its deadline and slot, so that neither has to be looked up.
///
/// A key whose timer fired or was cancelled is refused, except that a timer which took the same slot
/// for the same nanosecond is mistaken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeanBTreeKey {
    deadline: u64,
    slot: u32,
}

/// A queue of timers in order of deadline, and of slot among equals.
///
/// Against [`BTreeQueue`](super::BTreeQueue) it gives up three things for speed: first come first
/// served among equals, the certain refusal of stale keys, and a key that outlives a reschedule.
#[derive(Debug)]
pub struct LeanBTreeQueue<T> {
    order: BTreeSet<(u64, u32)>,
    values: Slab<T>,
}

impl<T> Queue<T> for LeanBTreeQueue<T> {
    const NAME: &'static str = "btree+slab";
    const PROMISE: Promise = Promise::DeadlineOrder;
    const WORK: Work = Work::FiresOnly;
    type Key = LeanBTreeKey;

    /// It has no time of its own: it only ever compares deadlines.
    #[inline]
    fn new(_now: u64) -> Self {
        Self {
            order: BTreeSet::new(),
            values: Slab::new(),
        }
    }

    /// # Panics
    ///
    /// If there are 2^32 timers already.
    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> LeanBTreeKey {
        let slot = self.values.insert(value);
        let slot = u32::try_from(slot).expect("at most 2^32 timers");
        self.order.insert((deadline, slot));
        LeanBTreeKey { deadline, slot }
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, T)) {
        while let Some((deadline, value)) = self.pop_expired(now) {
            fire(deadline, value);
        }
    }
}

impl<T> Counted<T> for LeanBTreeQueue<T> {
    #[inline]
    fn len(&self) -> usize {
        self.values.len()
    }
}

impl<T> Cancel<T> for LeanBTreeQueue<T> {
    #[inline]
    fn cancel(&mut self, key: LeanBTreeKey) -> Option<T> {
        self.order
            .remove(&(key.deadline, key.slot))
            .then(|| self.values.remove(key.slot as usize))
    }
}

impl<T> Reschedule<T> for LeanBTreeQueue<T> {
    #[inline]
    fn reschedule(&mut self, key: &mut LeanBTreeKey, deadline: u64) -> bool {
        let was_live = self.order.remove(&(key.deadline, key.slot));
        if was_live {
            self.order.insert((deadline, key.slot));
            key.deadline = deadline;
        }
        was_live
    }
}

impl<T> Wakes<T> for LeanBTreeQueue<T> {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        self.order.first().map(|&(deadline, _)| deadline)
    }
}

impl<T: Copy> Ordered<T> for LeanBTreeQueue<T> {
    #[inline]
    fn ascending(&self) -> impl Iterator<Item = T> {
        self.order
            .iter()
            .map(|&(_, slot)| self.values[slot as usize])
    }

    #[inline]
    fn descending(&self) -> impl Iterator<Item = T> {
        let backwards = self.order.iter().rev();
        backwards.map(|&(_, slot)| self.values[slot as usize])
    }
}

impl<T> Pop<T> for LeanBTreeQueue<T> {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        let (deadline, slot) = self.order.pop_first()?;
        Some((deadline, self.values.remove(slot as usize)))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        if self.order.first()?.0 > now {
            return None;
        }
        self.pop_first()
    }

    fn clear(&mut self) {
        self.order.clear();
        self.values.clear();
    }
}

impl<T> Budgeted<T> for LeanBTreeQueue<T> {
    #[inline]
    fn advance_with_budget(
        &mut self,
        now: u64,
        budget: usize,
        fire: impl FnMut(u64, T),
    ) -> Instalment {
        Instalment::of_pops(self, now, budget, fire)
    }
}
