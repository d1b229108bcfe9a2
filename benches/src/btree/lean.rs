//! The leanest ordered set with handles: its key says where the timer is in the order and in the slab.

use std::collections::BTreeSet;

use slab::Slab;

use crate::queue::{Order, Queue};

/// Names a scheduled timer by its deadline and slot. A key whose timer fired or was cancelled is refused, except that a
/// timer which took the same slot for the same nanosecond is mistaken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeanKey {
    deadline: u64,
    slot: u32,
}

/// A queue of timers in order of deadline, and of slot among equals.
///
/// Against [`BTreeQueue`](super::BTreeQueue) it gives up two things for speed: first come first served among equals, and
/// the certain refusal of stale keys.
#[derive(Debug)]
pub struct LeanBTreeQueue<T> {
    order: BTreeSet<(u64, u32)>,
    values: Slab<T>,
}

impl<T> Queue<T> for LeanBTreeQueue<T> {
    const NAME: &'static str = "btree+slab";
    const ORDER: Order = Order::Deadline;
    type Key = LeanKey;

    /// It has no time of its own: it only ever compares deadlines.
    #[inline]
    fn new(_now: u64) -> Self {
        Self { order: BTreeSet::new(), values: Slab::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> LeanKey {
        let slot = u32::try_from(self.values.insert(value)).expect("at most 2^32 timers");
        self.order.insert((deadline, slot));
        LeanKey { deadline, slot }
    }

    #[inline]
    fn cancel(&mut self, LeanKey { deadline, slot }: LeanKey) -> Option<T> {
        let was_live = self.order.remove(&(deadline, slot));
        was_live.then(|| self.values.remove(slot as usize))
    }

    #[inline]
    fn reschedule(&mut self, key: &mut LeanKey, deadline: u64) -> bool {
        let was_live = self.order.remove(&(key.deadline, key.slot));
        if was_live {
            self.order.insert((deadline, key.slot));
            key.deadline = deadline;
        }
        was_live
    }

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
