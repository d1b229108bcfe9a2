//! A map of deadlines that is emptied with `split_off`, as runtimes do it: what is due is cut off as a tree of its own,
//! and walked.

use std::collections::BTreeMap;

use crate::queue::Need::{self, *};
use crate::queue::{Order, Queue};

/// A queue of timers in order of deadline, and of when they were scheduled among equals.
///
/// It is here for its expiry alone. All else takes what it takes in [`LeanBTreeQueue`](super::LeanBTreeQueue).
#[derive(Clone, Debug, Default)]
pub struct SplitMap {
    next_sequence: u64,
    timers: BTreeMap<(u64, u64), u32>,
}

impl Queue for SplitMap {
    const NAME: &'static str = "split_off";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[SingleCalls, Cancel, Move, Wake, First, Clear, List, Budget, Horizon];
    type Key = (u64, u64);

    #[inline]
    fn new(_now: u64) -> Self {
        Self::default()
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> (u64, u64) {
        let key = (deadline, self.next_sequence);
        self.next_sequence += 1;
        self.timers.insert(key, value);
        key
    }

    /// Looks at the first timer before it takes the map apart. O(log n) and the timers that are due.
    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        if self.timers.first_key_value().is_none_or(|(&(deadline, _), _)| deadline > now) {
            return;
        }
        let later = self.timers.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut self.timers, later);
        due.into_iter().for_each(|((deadline, _), value)| fire(deadline, value));
    }
}
