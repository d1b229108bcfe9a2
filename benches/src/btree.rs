//! Exact queues made of an ordered tree: what one writes without a wheel. Every operation is O(log n).
//!
//! [`BTreeQueue`] is obviously right, and keeps what the wheel promises. [`LeanBTreeQueue`] leaves out what it can
//! while it still offers handle, value and cancellation, which makes it the yardstick for time. [`SplitMap`] fires what
//! is due all at once.

use std::collections::{BTreeMap, BTreeSet};

use slab::Slab;

use crate::queue::Need::{self, Budget, Cancel, First, Horizon, Move, SingleCalls};
use crate::queue::{Order, Queue};

/// A queue of timers in order of deadline, and of when they were last scheduled among equals.
///
/// A timer's key is its place in the order, which no other timer ever has: a stale key is refused for good.
#[derive(Clone, Debug)]
pub struct BTreeQueue<T, const SPLITS: bool = false> {
    next_sequence: u64,
    timers: BTreeMap<(u64, u64), T>,
}

/// The same, emptied with `split_off`, as runtimes do it: what is due is cut off as a tree of its own, and walked. It
/// is measured for that alone.
pub type SplitMap = BTreeQueue<u32, true>;

impl<T, const SPLITS: bool> Queue<T> for BTreeQueue<T, SPLITS> {
    const NAME: &'static str = if SPLITS { "split_off" } else { "btree-queue" };
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = if SPLITS { &[SingleCalls, Cancel, Move, First, Budget, Horizon] } else { &[] };
    type Key = (u64, u64);

    /// It has no time of its own: it only ever compares deadlines.
    #[inline]
    fn new(_now: u64) -> Self {
        Self { next_sequence: 0, timers: BTreeMap::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> Self::Key {
        let key = (deadline, self.next_sequence);
        self.next_sequence += 1;
        self.timers.insert(key, value);
        key
    }

    /// Looks at the first timer before it takes a tree apart.
    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, T)) {
        if SPLITS && self.timers.first_key_value().is_some_and(|((deadline, _), _)| *deadline <= now) {
            let later = self.timers.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut self.timers, later);
            due.into_iter().for_each(|((deadline, _), value)| fire(deadline, value));
        } else if !SPLITS {
            while let Some((deadline, value)) = self.pop_expired(now) {
                fire(deadline, value);
            }
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.timers.len()
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) -> Option<T> {
        self.timers.remove(&key)
    }

    /// The timer goes behind the others of its new deadline.
    #[inline]
    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool {
        let value = self.timers.remove(key);
        value.map(|value| *key = self.schedule(deadline, value)).is_some()
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        let ((deadline, _), value) = self.timers.pop_first()?;
        Some((deadline, value))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        let is_due = self.timers.first_key_value().is_some_and(|((deadline, _), _)| *deadline <= now);
        is_due.then(|| self.pop_first())?
    }
}

/// A queue of timers in order of deadline, and of slot among equals. A key is a timer's deadline and slot.
///
/// Against [`BTreeQueue`] it gives up two things for speed: first come first served among equals, and
/// the certain refusal of stale keys: a timer that took the same slot for the same nanosecond is mistaken for the one
/// before.
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
}
