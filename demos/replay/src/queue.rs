//! The queues of timers that a cache can expire by.
//!
//! A timer that fired or was cancelled leaves a stale key behind, which must change nothing. The keys of all these queues
//! outlive a move. A cache on an index wheel might keep a renewed deadline to itself and rearm the timer that fires too
//! early. Timers of equal deadline would then fire in another order than on the other queues, so the wheel is told of
//! every renewal.

use std::num::NonZeroUsize;

use timer_wheel::Budget;
use timer_wheel_bench::queue;

use crate::trace::KeyId;

use timer_wheel_bench::queue::InLane;
pub(crate) use timer_wheel_bench::queue::Indexed as Index;
pub(crate) use timer_wheel_bench::{BTreeQueue, TextbookWheel};

/// An ordered set and a slab, with all the wheel's features: stable keys, and first in first out among equals.
pub(crate) type BTree = BTreeQueue<KeyId>;

/// The wheel of linked lists: what other wheels do.
pub(crate) type Textbook<G> = TextbookWheel<KeyId, G>;

/// The wheel itself.
pub(crate) type Wheel<G> = timer_wheel::Wheel<KeyId, G>;

/// The wheel with a lane for all timers.
pub(crate) type Lane<G> = InLane<KeyId, G>;

/// A queue of timers, each for one key of the cache.
pub(crate) trait Queue: queue::Queue<KeyId> {
    /// An empty queue.
    fn at(now_ns: u64) -> Self
    where
        Self: Sized,
    {
        Self::new(now_ns)
    }

    /// Expires what is due, in order, each with its deadline: in one call, or within a budget of work units. Returns
    /// whether that ran out and due timers are left.
    fn expire(&mut self, now_ns: u64, work: Option<NonZeroUsize>, mut expire: impl FnMut(KeyId, u64)) -> bool {
        let fire = |deadline_ns, key| expire(key, deadline_ns);
        match work {
            Some(work) => self.advance_with_budget(now_ns, &mut Budget::of_work(work.get()), fire),
            None => {
                self.advance(now_ns, fire);
                false
            }
        }
    }
}

impl<Q: queue::Queue<KeyId>> Queue for Q {}
