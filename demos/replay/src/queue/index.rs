//! The wheel over records of one's own as a queue: each record is a cache key and its timer.

use std::num::NonZeroUsize;

use slab::Slab;
use timer_wheel::index::{IndexWheel, Timer};
use timer_wheel::{Budget, Geometry, Verdict};

use super::{Backlog, Queue};
use crate::trace::KeyId;

/// The index wheel beside a slab of records, advanced in one call or in calls that spend no more than a budget.
pub(crate) struct Index<G: Geometry> {
    wheel: IndexWheel<G>,
    records: Slab<Record>,
    set: u64,
    budget: Budget,
}

struct Record {
    key: KeyId,
    /// How many timers were set before: a stale name has another number.
    number: u64,
    timer: Timer,
}

/// A timer's name: where its record is, and its number.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    index: u32,
    number: u64,
}

impl AsRef<Timer> for Record {
    fn as_ref(&self) -> &Timer {
        &self.timer
    }
}

impl AsMut<Timer> for Record {
    fn as_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

impl<G: Geometry> Index<G> {
    /// An empty queue at a time in nanoseconds, with the budget of one call in work units if there is one.
    pub(crate) fn new(now_ns: u64, budget: Option<NonZeroUsize>) -> Self {
        Self {
            wheel: IndexWheel::with_geometry(now_ns),
            records: Slab::new(),
            set: 0,
            budget: budget.map_or(Budget::UNLIMITED, |budget| budget.get().into()),
        }
    }

    fn is_set(&self, timer: Name) -> bool {
        let record = self.records.get(timer.index as usize);
        record.is_some_and(|record| record.number == timer.number)
    }
}

impl<G: Geometry> Queue for Index<G> {
    type Key = Name;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> Name {
        self.set += 1;
        let (number, timer) = (self.set, Timer::new());
        let index = self.records.insert(Record { key, number, timer }) as u32;
        self.wheel.schedule(&mut self.records, index, deadline_ns);
        Name { index, number }
    }

    fn cancel(&mut self, timer: Name) {
        if self.is_set(timer) {
            self.wheel.cancel(&mut self.records, timer.index);
            self.records.remove(timer.index as usize);
        }
    }

    fn reschedule(&mut self, timer: Name, deadline_ns: u64) {
        if self.is_set(timer) {
            self.wheel
                .schedule(&mut self.records, timer.index, deadline_ns);
        }
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        let records = &mut self.records;
        let advance = |records: &mut Slab<Record>, index: u32, deadline_ns: u64| {
            expire(records.remove(index as usize).key, deadline_ns);
            Verdict::Remove
        };
        let progress = self
            .wheel
            .advance_with(records, now_ns, self.budget, advance);
        if progress.has_backlog {
            Backlog::Remains
        } else {
            Backlog::Done
        }
    }

    fn len(&self) -> usize {
        self.wheel.len()
    }
}
