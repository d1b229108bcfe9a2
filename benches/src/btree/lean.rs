//! The leanest ordered set with handles: its key says where the timer is in the order and in the slab.

use std::collections::BTreeSet;

use slab::Slab;

use crate::queue::{Order, Queue};

/// A queue of timers in order of deadline, and of slot among equals. A key is a timer's deadline and slot.
///
/// Against [`BTreeQueue`](super::BTreeQueue) it gives up two things for speed: first come first served among equals, and
/// the certain refusal of stale keys: a timer that took the same slot for the same nanosecond is mistaken for the one before.
#[derive(Debug)]
pub struct LeanBTreeQueue<T> {
    order: BTreeSet<(u64, u32)>,
    values: Slab<T>,
}

impl<T> Queue<T> for LeanBTreeQueue<T> {
    const NAME: &'static str = "btree+slab";
    const ORDER: Order = Order::Deadline;
    type Key = (u64, u32);

    /// It has no time of its own: it only ever compares deadlines.
    #[inline]
    fn new(_now: u64) -> Self {
        Self { order: BTreeSet::new(), values: Slab::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> Self::Key {
        let slot = u32::try_from(self.values.insert(value)).expect("at most 2^32 timers");
        self.order.insert((deadline, slot));
        (deadline, slot)
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) -> Option<T> {
        self.order.remove(&key).then(|| self.values.remove(key.1 as usize))
    }

    #[inline]
    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool {
        let was_live = self.order.remove(key);
        if was_live {
            key.0 = deadline;
            self.order.insert(*key);
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
