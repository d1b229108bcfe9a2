//! A wheel of entries by when they are to be proposed again.

use super::floor::{Floor, SHORT_LOOK};
use super::item::{ItemIndex, Rank};
use crate::geometry::Geometry;
use crate::key::TimerKey;
use crate::wheel::Wheel;

/// The entries that wait to be proposed again, by when.
///
/// Invariant: `floor` is that of their times.
#[derive(Clone)]
pub(super) struct Retries<G: Geometry> {
    wheel: Wheel<ItemIndex, G>,
    floor: Floor,
}

impl<G: Geometry> Retries<G> {
    pub(super) fn new(now: u64) -> Self {
        Self {
            wheel: Wheel::with_geometry(now),
            floor: Floor::new(),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.wheel.len()
    }

    /// Adds an entry. O(1).
    pub(super) fn schedule(&mut self, at_ns: u64, item: ItemIndex) -> TimerKey {
        let timer = self.wheel.schedule(at_ns, item);
        self.floor.file(at_ns, self.len());
        timer
    }

    /// Removes an entry. O(1).
    pub(super) fn cancel(&mut self, timer: TimerKey) {
        if let Some(at_ns) = self.wheel.deadline(timer) {
            self.floor.leave(at_ns);
        }
        let cancelled = self.wheel.cancel(timer);
        debug_assert!(cancelled.is_some(), "a waiting retry has a timer");
    }

    /// Takes the first entry whose time has come, if the budget suffices to find it: if nothing of it
    /// is left afterwards, there may be one.
    #[inline]
    pub(super) fn pop(&mut self, now: u64, budget: &mut usize) -> Option<ItemIndex> {
        let mut advance = self.wheel.advance_with_budget(now, *budget);
        let next = advance.next();
        *budget = advance.unused();
        let Some(retry) = next else {
            if *budget != 0 {
                self.floor.pass(now);
            }
            return None;
        };
        self.floor.take_first(Rank::first_at(retry.deadline));
        Some(retry.value)
    }

    /// The earliest time, or one before it: see [`TtlQueue::next_wake`](super::TtlQueue::next_wake).
    pub(super) fn soonest(&self) -> Option<u64> {
        let known = self.floor.known().filter(|_| self.len() != 0);
        known.or_else(|| self.look_up().or_else(|| self.bound()))
    }

    /// A time that is not after the earliest. O(1).
    pub(super) fn bound(&self) -> Option<u64> {
        let delay = self.wheel.expiration_delay()?;
        let wake = self.wheel.now().saturating_add(delay);
        let known = self.floor.known();
        Some(known.unwrap_or(wake.max(self.floor.rank().deadline_ns)))
    }

    /// Finds out what the earliest time is, if it is not known and that takes no more than a short
    /// look.
    pub(super) fn settle(&mut self) {
        if !self.floor.is_exact() {
            if let Some(earliest) = self.look_up() {
                self.floor.settle(earliest);
            }
        }
    }

    /// The earliest time, if there is one and it takes no more than a short look.
    fn look_up(&self) -> Option<u64> {
        self.wheel.next_deadline_within(SHORT_LOOK)?
    }

    /// The entry of a timer, if it is live.
    pub(super) fn item(&self, timer: TimerKey) -> Option<ItemIndex> {
        self.wheel.get(timer).copied()
    }

    /// Checks the invariant, by name. O(n).
    pub(super) fn check(&self) {
        self.wheel.check_invariants();
        let floor = self.floor.rank();
        assert!(
            self.wheel
                .iter()
                .all(|timer| Rank::first_at(timer.deadline) >= floor),
            "no entry lies below the floor of the retries"
        );
        if self.floor.is_exact() && self.len() != 0 {
            assert_eq!(
                self.wheel.next_deadline(),
                self.floor.known(),
                "an exact floor is the earliest retry"
            );
        }
    }
}
