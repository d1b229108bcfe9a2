//! `priority-queue`: a binary heap whose items can be found, here the values, by hash.

use std::cmp::Reverse;

use priority_queue::PriorityQueue;
use rustc_hash::FxBuildHasher;

use crate::queue::{Cancel, Pop, Promise, Queue, Reschedule, Wakes, Work};

/// With the hasher that suits small integers best.
pub struct Indexed(PriorityQueue<u32, Reverse<u64>, FxBuildHasher>);

impl Queue for Indexed {
    const NAME: &'static str = "priority-queue";
    const PROMISE: Promise = Promise::AnyAmongEquals;
    const WORK: Work = Work::FiresOnly;
    type Key = u32;

    #[inline]
    fn new(_now: u64) -> Self {
        Self(PriorityQueue::with_default_hasher())
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        self.0.push(value, Reverse(deadline));
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        while let Some((deadline, value)) = self.pop_expired(now) {
            fire(deadline, value);
        }
    }
}

impl Cancel for Indexed {
    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.0.remove(&key).map(|(value, _)| value)
    }
}

impl Reschedule for Indexed {
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        self.0.change_priority(key, Reverse(deadline)).is_some()
    }
}

impl Wakes for Indexed {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        self.0.peek().map(|(_, &Reverse(deadline))| deadline)
    }
}

impl Pop for Indexed {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        let (value, Reverse(deadline)) = self.0.pop()?;
        Some((deadline, value))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        let (_, &Reverse(deadline)) = self.0.peek()?;
        if deadline > now {
            return None;
        }
        self.pop_first()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
