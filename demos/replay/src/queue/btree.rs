//! A `BTreeSet` of deadlines with a slab of values, as a queue: what a program does without a wheel.

use timer_wheel_bench::btree::{BTreeKey, BTreeQueue};

use super::{Backlog, Queue};
use crate::trace::KeyId;

/// The ordered set, with all the wheel's features: keys that last, and first come first among equals.
pub(crate) struct BTree(BTreeQueue<KeyId>);

impl BTree {
    /// An empty queue at a time in nanoseconds.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self(BTreeQueue::new(now_ns))
    }
}

impl Queue for BTree {
    type Key = BTreeKey;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> BTreeKey {
        self.0.schedule(deadline_ns, key)
    }

    fn cancel(&mut self, timer: BTreeKey) {
        self.0.cancel(timer);
    }

    fn reschedule(&mut self, timer: BTreeKey, deadline_ns: u64) {
        self.0.reschedule(timer, deadline_ns);
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        while let Some((deadline_ns, key)) = self.0.pop_expired(now_ns) {
            expire(key, deadline_ns);
        }
        Backlog::Done
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
