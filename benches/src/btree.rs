//! Exact queues made of an ordered set: what one writes without a wheel. Every operation is O(log n).
//!
//! [`BTreeQueue`] is obviously right, and keeps all that the wheel promises. [`LeanBTreeQueue`] leaves out what it can
//! while it still offers handle, value and cancellation, which makes it the yardstick for time. [`SplitMap`] fires what is
//! due all at once.

mod lean;
mod split;

use std::collections::BTreeSet;

use slab::Slab;

use crate::queue::{Need, Order, Queue};

pub use lean::{BareSet, LeanBTreeQueue, LeanKey, Numbers, Store};
pub use split::SplitMap;

/// Names a scheduled timer. A key whose timer fired or was cancelled is refused for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BTreeKey {
    slot: u32,
    birth: u64,
}

/// A timer's value, and where it stands in the order.
#[derive(Clone, Debug)]
struct Slot<T> {
    deadline: u64,
    sequence: u64,
    /// The sequence number of the first scheduling, which no other timer ever has.
    birth: u64,
    value: T,
}

/// A queue of timers in order of deadline, and of when they were last scheduled among equals.
///
/// Invariant: the set holds `(deadline, sequence, slot)` of every slot, and nothing else.
#[derive(Clone, Debug)]
pub struct BTreeQueue<T> {
    now: u64,
    next_sequence: u64,
    order: BTreeSet<(u64, u64, u32)>,
    slots: Slab<Slot<T>>,
}

impl<T> Queue<T> for BTreeQueue<T> {
    const NAME: &'static str = "btree-queue";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Need::List];
    type Key = BTreeKey;

    #[inline]
    fn new(now: u64) -> Self {
        Self { now, next_sequence: 0, order: BTreeSet::new(), slots: Slab::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> BTreeKey {
        let sequence = self.take_sequence();
        let slot = self.slots.insert(Slot { deadline, sequence, birth: sequence, value });
        let slot = u32::try_from(slot).expect("at most 2^32 timers");
        self.order.insert((deadline, sequence, slot));
        let birth = sequence;
        BTreeKey { slot, birth }
    }

    #[inline]
    fn len(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn cancel(&mut self, key: BTreeKey) -> Option<T> {
        let place = self.place(key)?;
        self.order.remove(&place);
        Some(self.slots.remove(key.slot as usize).value)
    }

    /// The key stays; the timer goes behind the others of its new deadline.
    #[inline]
    fn reschedule(&mut self, key: &mut BTreeKey, deadline: u64) -> bool {
        let Some(place) = self.place(*key) else {
            return false;
        };
        self.order.remove(&place);
        let sequence = self.take_sequence();
        self.order.insert((deadline, sequence, key.slot));
        let slot = &mut self.slots[key.slot as usize];
        (slot.deadline, slot.sequence) = (deadline, sequence);
        true
    }

    /// The earliest deadline, or now if that has passed.
    #[inline]
    fn wake_at(&self) -> Option<u64> {
        let &(deadline, ..) = self.order.first()?;
        Some(deadline.max(self.now))
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        let (deadline, _, slot) = self.order.pop_first()?;
        Some((deadline, self.slots.remove(slot as usize).value))
    }

    /// Time never goes back: an earlier `now` counts as the latest one.
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        self.now = self.now.max(now);
        if self.order.first()?.0 > self.now {
            return None;
        }
        self.pop_first()
    }

    fn clear(&mut self) {
        self.order.clear();
        self.slots.clear();
    }
}

impl<T> BTreeQueue<T> {
    fn place(&self, key: BTreeKey) -> Option<(u64, u64, u32)> {
        let slot = self.slots.get(key.slot as usize)?;
        (slot.birth == key.birth).then_some((slot.deadline, slot.sequence, key.slot))
    }

    fn take_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }
}
