//! The queues of timers that a cache can expire by.

use std::num::NonZeroUsize;

use timer_wheel::index::IndexWheel;
use timer_wheel::{Budget, Geometry, TimerKey, Wheel};
use timer_wheel_bench::queue::{self, Counted, Reschedule};
use timer_wheel_bench::{BTreeQueue, TextbookWheel};

use crate::trace::KeyId;

/// A queue of timers, each for one key of the cache.
///
/// A timer that fired or was cancelled leaves a stale key behind, which must change nothing.
pub(crate) trait Queue {
    /// A timer's name.
    type Key: Copy;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> Self::Key;

    fn cancel(&mut self, timer: Self::Key);

    fn reschedule(&mut self, timer: Self::Key, deadline_ns: u64);

    /// Expires what is due, in order, each with its deadline. Returns whether a budget ran out and due timers are left.
    fn advance(&mut self, now_ns: u64, expire: impl FnMut(KeyId, u64)) -> bool;

    /// How many timers are scheduled.
    fn len(&self) -> usize;
}

/// A rival of the wheel, advanced in one call.
pub(crate) struct Rival<Q>(Q);

/// The wheel of linked lists, in the same geometry: what other wheels do.
pub(crate) type Textbook<G> = Rival<TextbookWheel<KeyId, G>>;

/// An ordered set and a slab, with all the wheel's features: stable keys, and first in first out among equals.
pub(crate) type BTree = Rival<BTreeQueue<KeyId>>;

impl<Q: queue::Queue<KeyId>> Rival<Q> {
    pub(crate) fn new(now_ns: u64) -> Self {
        Self(Q::new(now_ns))
    }
}

impl<Q: Reschedule<KeyId> + Counted<KeyId>> Queue for Rival<Q> {
    type Key = Q::Key;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> Q::Key {
        self.0.schedule(deadline_ns, key)
    }

    fn cancel(&mut self, timer: Q::Key) {
        self.0.cancel(timer);
    }

    /// The keys of all these queues outlive a move.
    fn reschedule(&mut self, mut timer: Q::Key, deadline_ns: u64) {
        self.0.reschedule(&mut timer, deadline_ns);
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> bool {
        self.0.advance(now_ns, |deadline_ns, key| expire(key, deadline_ns));
        false
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// The wheel, advanced in one call or in calls that spend no more than a budget.
pub(crate) struct WheelQueue<G: Geometry> {
    pub(crate) wheel: Wheel<KeyId, G>,
    budget: Option<NonZeroUsize>,
}

impl<G: Geometry> WheelQueue<G> {
    /// An empty wheel, with the budget of one call in work units if there is one.
    pub(crate) fn new(now_ns: u64, budget: Option<NonZeroUsize>) -> Self {
        Self { wheel: Wheel::with_geometry(now_ns), budget }
    }
}

impl<G: Geometry> Queue for WheelQueue<G> {
    type Key = TimerKey;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> TimerKey {
        self.wheel.schedule(deadline_ns, key)
    }

    fn cancel(&mut self, timer: TimerKey) {
        self.wheel.cancel(timer);
    }

    fn reschedule(&mut self, timer: TimerKey, deadline_ns: u64) {
        self.wheel.reschedule(timer, deadline_ns);
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> bool {
        let Some(budget) = self.budget else {
            for due in self.wheel.advance(now_ns) {
                expire(due.value, due.deadline);
            }
            return false;
        };
        let mut advance = self.wheel.advance_with_budget(now_ns, budget.get());
        for due in &mut advance {
            expire(due.value, due.deadline);
        }
        advance.has_backlog()
    }

    fn len(&self) -> usize {
        self.wheel.len()
    }
}

/// The wheel over its caller's indexes, advanced in one call or in calls that spend no more than a budget.
///
/// A cache might keep a renewed deadline to itself and rearm the timer that fires too early. Timers of equal deadline
/// would then fire in another order than on the other queues, so this queue tells the wheel of every renewal.
pub(crate) struct Index<G: Geometry> {
    wheel: IndexWheel<G>,
    budget: Budget,
}

impl<G: Geometry> Index<G> {
    /// An empty wheel, with the budget of one call in work units if there is one.
    pub(crate) fn new(now_ns: u64, budget: Option<NonZeroUsize>) -> Self {
        Self {
            wheel: IndexWheel::with_geometry(now_ns),
            budget: budget.map_or(Budget::UNLIMITED, |budget| budget.get().into()),
        }
    }
}

impl<G: Geometry> Queue for Index<G> {
    /// The cache key itself: a key has at most one timer.
    type Key = KeyId;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> KeyId {
        self.wheel.set(key.0, deadline_ns);
        key
    }

    fn cancel(&mut self, timer: KeyId) {
        self.wheel.cancel(timer.0);
    }

    fn reschedule(&mut self, timer: KeyId, deadline_ns: u64) {
        if self.wheel.is_scheduled(timer.0) {
            self.wheel.set(timer.0, deadline_ns);
        }
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> bool {
        let mut advance = self.wheel.advance_with_budget(now_ns, self.budget);
        for due in &mut advance {
            expire(KeyId(due.index), due.deadline);
        }
        advance.has_backlog()
    }

    fn len(&self) -> usize {
        self.wheel.len()
    }
}
