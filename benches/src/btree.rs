//! Exact queues made of an ordered tree: what one writes without a wheel. Every operation is O(log n).
//!
//! [`BTreeQueue`] is obviously right, and keeps what the wheel promises. [`LeanBTreeQueue`] leaves out what it can while it
//! still offers handle, value and cancellation, which makes it the yardstick for time. [`SplitMap`] fires what is due all at
//! once.

mod lean;

use std::collections::BTreeMap;

use crate::queue::Need::{self, Budget, Cancel, Clear, First, Horizon, Move, SingleCalls};
use crate::queue::{Order, Queue};

pub use lean::LeanBTreeQueue;

/// A queue of timers in order of deadline, and of when they were last scheduled among equals.
///
/// A timer's key is its place in the order, which no other timer ever has: a stale key is refused for good.
#[derive(Clone, Debug)]
pub struct BTreeQueue<T, const SPLITS: bool = false> {
    next_sequence: u64,
    timers: BTreeMap<(u64, u64), T>,
}

/// The same, emptied with `split_off`, as runtimes do it: what is due is cut off as a tree of its own, and walked. It is
/// measured for that alone.
pub type SplitMap = BTreeQueue<u32, true>;

impl<T, const SPLITS: bool> Queue<T> for BTreeQueue<T, SPLITS> {
    const NAME: &'static str = if SPLITS { "split_off" } else { "btree-queue" };
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] =
        if SPLITS { &[SingleCalls, Cancel, Move, First, Clear, Budget, Horizon] } else { &[] };
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

    fn clear(&mut self) {
        self.timers.clear();
    }
}
