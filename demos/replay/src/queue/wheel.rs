//! The timer wheel as a queue, in one call an advance or in calls of bounded work.

use std::num::NonZeroUsize;

use timer_wheel::{Geometry, TimerKey, Wheel};

use super::{Backlog, Queue};
use crate::trace::KeyId;

/// The wheel, advanced in one call.
pub(crate) struct PlainWheel<G: Geometry>(Wheel<KeyId, G>);

impl<G: Geometry> PlainWheel<G> {
    /// An empty wheel at a time in nanoseconds.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self(Wheel::with_geometry(now_ns))
    }
}

impl<G: Geometry> Queue for PlainWheel<G> {
    type Key = TimerKey;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> TimerKey {
        self.0.schedule(deadline_ns, key)
    }

    fn cancel(&mut self, timer: TimerKey) {
        self.0.cancel(timer);
    }

    fn reschedule(&mut self, timer: TimerKey, deadline_ns: u64) {
        self.0.reschedule(timer, deadline_ns);
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        for expired in self.0.advance(now_ns) {
            expire(expired.value, expired.deadline);
        }
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

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        let mut call = self.wheel.0.advance_with_budget(now_ns, self.budget);
        for expired in call.by_ref() {
            expire(expired.value, expired.deadline);
        }
        if call.has_backlog() {
            Backlog::Remains
        } else {
            Backlog::Done
        }
    }

    fn len(&self) -> usize {
        self.wheel.len()
    }
}
