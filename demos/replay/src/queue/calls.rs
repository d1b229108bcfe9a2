//! Queues that an advance empties in one call, and the wheel in calls of bounded work.

use std::num::NonZeroUsize;

use timer_wheel::{Geometry, Wheel};
use timer_wheel_bench::queue::{self, Budgeted, Counted, Reschedule};
use timer_wheel_bench::{BTreeQueue, TextbookWheel};

use super::{Backlog, Queue};
use crate::trace::KeyId;

/// A queue, advanced in one call.
pub(crate) struct InOneCall<Q>(Q);

/// The wheel.
pub(crate) type PlainWheel<G> = InOneCall<Wheel<KeyId, G>>;

/// The list-based wheel, in the same geometry: what other wheels do.
pub(crate) type Textbook<G> = InOneCall<TextbookWheel<KeyId, G>>;

/// The ordered set, with all the wheel's features, which is what a program does without one: keys that last,
/// and first come first among equals.
pub(crate) type BTree = InOneCall<BTreeQueue<KeyId>>;

impl<Q: queue::Queue<KeyId>> InOneCall<Q> {
    /// An empty queue at a time in nanoseconds.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self(Q::new(now_ns))
    }
}

impl<Q: Reschedule<KeyId> + Counted<KeyId>> Queue for InOneCall<Q> {
    type Key = Q::Key;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> Q::Key {
        self.0.schedule(deadline_ns, key)
    }

    fn cancel(&mut self, timer: Q::Key) {
        self.0.cancel(timer);
    }

    /// All of these queues' keys outlive a move.
    fn reschedule(&mut self, mut timer: Q::Key, deadline_ns: u64) {
        self.0.reschedule(&mut timer, deadline_ns);
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        self.0
            .advance(now_ns, |deadline_ns, key| expire(key, deadline_ns));
        Backlog::Done
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// The wheel, advanced in calls that spend no more than a budget each.
pub(crate) struct BudgetedWheel<G: Geometry> {
    wheel: PlainWheel<G>,
    budget: usize,
}

impl<G: Geometry> BudgetedWheel<G> {
    /// An empty wheel at a time in nanoseconds, with the budget of one call in work units.
    pub(crate) fn new(now_ns: u64, budget: NonZeroUsize) -> Self {
        Self {
            wheel: PlainWheel::new(now_ns),
            budget: budget.get(),
        }
    }

    /// The wheel itself, to be looked at.
    pub(crate) fn wheel(&self) -> &Wheel<KeyId, G> {
        &self.wheel.0
    }
}

impl<G: Geometry> Queue for BudgetedWheel<G> {
    type Key = <PlainWheel<G> as Queue>::Key;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> Self::Key {
        self.wheel.schedule(deadline_ns, key)
    }

    fn cancel(&mut self, timer: Self::Key) {
        self.wheel.cancel(timer);
    }

    fn reschedule(&mut self, timer: Self::Key, deadline_ns: u64) {
        self.wheel.reschedule(timer, deadline_ns);
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        let wheel = &mut self.wheel.0;
        let call = Budgeted::advance_with_budget(wheel, now_ns, self.budget, |deadline_ns, key| {
            expire(key, deadline_ns);
        });
        match call.has_backlog {
            true => Backlog::Remains,
            false => Backlog::Done,
        }
    }

    fn len(&self) -> usize {
        self.wheel.len()
    }
}
