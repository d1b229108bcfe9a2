//! The wheel for indexes of one's own as a queue: a cache key's number is the index of its timer.

use std::num::NonZeroUsize;

use timer_wheel::index::IndexWheel;
use timer_wheel::{Budget, Geometry};

use super::{Backlog, Queue};
use crate::trace::KeyId;

/// The index wheel, advanced in one call or in calls that spend no more than a budget.
///
/// A cache might keep a renewed deadline to itself and rearm the timer that fires too early. Timers of equal deadline
/// would then fire in another order than on the other queues, so this queue tells the wheel of every renewal.
pub(crate) struct Index<G: Geometry> {
    wheel: IndexWheel<G>,
    budget: Budget,
}

impl<G: Geometry> Index<G> {
    /// An empty queue at a time in nanoseconds, with the budget of one call in work units if there is one.
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

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        let mut advance = self.wheel.advance_with_budget(now_ns, self.budget);
        for due in &mut advance {
            expire(KeyId(due.index), due.deadline);
        }
        match advance.has_backlog() {
            true => Backlog::Remains,
            false => Backlog::Done,
        }
    }

    fn len(&self) -> usize {
        self.wheel.len()
    }
}
