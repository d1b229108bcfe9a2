//! The leanest ordered set with values: its key says where both the order and the value are.

use std::collections::BTreeSet;

use slab::Slab;

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

impl<T> LeanBTreeQueue<T> {
    /// An empty queue. It has no time of its own: it only ever compares deadlines. O(1).
    pub fn new() -> Self {
        Self {
            order: BTreeSet::new(),
            values: Slab::new(),
        }
    }

    /// How many timers are scheduled. O(1).
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no timer is scheduled. O(1).
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Schedules `value` for `deadline` in nanoseconds. O(log n).
    ///
    /// # Panics
    ///
    /// If there are 2^32 timers already.
    #[inline]
    pub fn schedule(&mut self, deadline: u64, value: T) -> LeanBTreeKey {
        let slot = self.values.insert(value);
        let slot = u32::try_from(slot).expect("at most 2^32 timers");
        self.order.insert((deadline, slot));
        LeanBTreeKey { deadline, slot }
    }

    /// Cancels a timer and gives its value back, or `None` if the key is stale. O(log n).
    #[inline]
    pub fn cancel(&mut self, key: LeanBTreeKey) -> Option<T> {
        self.order
            .remove(&(key.deadline, key.slot))
            .then(|| self.values.remove(key.slot as usize))
    }

    /// Moves a timer to another deadline and brings its key up to date; `false` if the key is
    /// stale. O(log n).
    #[inline]
    pub fn reschedule(&mut self, key: &mut LeanBTreeKey, deadline: u64) -> bool {
        let was_live = self.order.remove(&(key.deadline, key.slot));
        if was_live {
            self.order.insert((deadline, key.slot));
            key.deadline = deadline;
        }
        was_live
    }

    /// Takes the earliest timer whose deadline is `now` or before, with its deadline. O(log n).
    #[inline]
    pub fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        if self.order.first()?.0 > now {
            return None;
        }
        self.pop_first()
    }

    /// Takes the earliest timer, due or not, with its deadline. O(log n).
    #[inline]
    pub fn pop_first(&mut self) -> Option<(u64, T)> {
        let (deadline, slot) = self.order.pop_first()?;
        Some((deadline, self.values.remove(slot as usize)))
    }

    /// Forgets every timer. O(n).
    pub fn clear(&mut self) {
        self.order.clear();
        self.values.clear();
    }

    /// Hands every timer whose deadline is `now` or before to `fire`, with its deadline, in order.
    /// O(log n) a timer.
    #[inline]
    pub fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, T)) {
        while let Some((deadline, value)) = self.pop_expired(now) {
            fire(deadline, value);
        }
    }

    /// The timers in order of deadline, each with its deadline. O(n) in all.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        self.order
            .iter()
            .map(|&(deadline, slot)| (deadline, &self.values[slot as usize]))
    }

    /// The time to advance to next: the earliest deadline. `None` exactly when the queue is empty.
    /// O(log n).
    pub fn next_wake(&self) -> Option<u64> {
        self.order.first().map(|&(deadline, _)| deadline)
    }
}

impl<T> Default for LeanBTreeQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}
