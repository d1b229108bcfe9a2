//! Exact queues made of an ordered set and a slab: what one writes without a wheel.
//!
//! [`BTreeQueue`] is obviously right, which makes it the yardstick for answers. [`LeanBTreeQueue`]
//! leaves out what it can while it still offers handle, value and cancellation, which makes it the
//! yardstick for time. Every operation of either is O(log n).

mod lean;

use std::collections::BTreeSet;

use slab::Slab;

pub use lean::{LeanBTreeKey, LeanBTreeQueue};

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

impl<T> BTreeQueue<T> {
    /// An empty queue whose time, in nanoseconds, is `now`. O(1).
    pub fn new(now: u64) -> Self {
        Self {
            now,
            next_sequence: 0,
            order: BTreeSet::new(),
            slots: Slab::new(),
        }
    }

    /// How many timers are scheduled. O(1).
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no timer is scheduled. O(1).
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Schedules `value` for `deadline` in nanoseconds; a past one is due at once. O(log n).
    ///
    /// # Panics
    ///
    /// If there are 2^32 timers already.
    pub fn schedule(&mut self, deadline: u64, value: T) -> BTreeKey {
        let sequence = self.take_sequence();
        let slot = self.slots.insert(Slot {
            deadline,
            sequence,
            birth: sequence,
            value,
        });
        let slot = u32::try_from(slot).expect("at most 2^32 timers");
        self.order.insert((deadline, sequence, slot));
        BTreeKey {
            slot,
            birth: sequence,
        }
    }

    /// Cancels a timer and gives its value back, or `None` if the key is stale. O(log n).
    pub fn cancel(&mut self, key: BTreeKey) -> Option<T> {
        let place = self.place(key)?;
        self.order.remove(&place);
        Some(self.slots.remove(key.slot as usize).value)
    }

    /// Moves a timer to another deadline under the same key, behind the others of that deadline;
    /// `false` if the key is stale. O(log n).
    pub fn reschedule(&mut self, key: BTreeKey, deadline: u64) -> bool {
        let Some(place) = self.place(key) else {
            return false;
        };
        self.order.remove(&place);
        let sequence = self.take_sequence();
        self.order.insert((deadline, sequence, key.slot));
        let slot = &mut self.slots[key.slot as usize];
        slot.deadline = deadline;
        slot.sequence = sequence;
        true
    }

    /// Takes the earliest timer whose deadline is `now` or before, with its deadline. Time never
    /// goes back: an earlier `now` counts as the latest one. O(log n).
    pub fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        self.now = self.now.max(now);
        if self.order.first()?.0 > self.now {
            return None;
        }
        self.pop_first()
    }

    /// Takes the earliest timer, due or not, with its deadline. O(log n).
    pub fn pop_first(&mut self) -> Option<(u64, T)> {
        let (deadline, _, slot) = self.order.pop_first()?;
        Some((deadline, self.slots.remove(slot as usize).value))
    }

    /// Forgets every timer; its key is refused. O(n).
    pub fn clear(&mut self) {
        self.order.clear();
        self.slots.clear();
    }

    /// Hands every timer whose deadline is `now` or before to `fire`, with its deadline, in order.
    /// O(log n) a timer.
    pub fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, T)) {
        while let Some((deadline, value)) = self.pop_expired(now) {
            fire(deadline, value);
        }
    }

    /// The time to advance to next: the earliest deadline, or now if that has passed. `None` exactly
    /// when the queue is empty. O(log n).
    pub fn next_wake(&self) -> Option<u64> {
        self.order
            .first()
            .map(|&(deadline, ..)| deadline.max(self.now))
    }

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
