//! The wheel of deadlines: the entries that have not been drawn.
//!
//! It is a wheel over the roster's own slots, so that what an update or a poll must know of an
//! entry lies in one place: a [`Wheel`](crate::Wheel) would keep slots of its own, and each
//! operation would miss the cache once more.

use super::floor::{Floor, SHORT_LOOK};
use super::item::{Item, ItemIndex, Rank, touch};
use crate::budget::Budget;
use crate::geometry::Geometry;
use crate::header::Headers;
use crate::hierarchy::search::Ascent;
use crate::hierarchy::{Hierarchy, Spot};
use crate::slots::Slots;

/// Entries read at once before they are drawn: as many as a core fetches side by side, and some.
const AHEAD: usize = 16;

/// The entries that have not been drawn, by deadline.
///
/// Invariant: `floor` is that of their ranks.
#[derive(Clone)]
pub(super) struct Deadlines<G> {
    index: Hierarchy<G>,
    len: usize,
    floor: Floor,
    /// How many of the entries that are drawn next have been read already.
    ahead: usize,
}

impl<G: Geometry> Deadlines<G> {
    pub(super) fn new(now: u64) -> Self {
        Self {
            index: Hierarchy::new(now),
            len: 0,
            floor: Floor::new(),
            ahead: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// No entry's rank is below this.
    #[inline]
    pub(super) fn floor(&self) -> Rank {
        self.floor.rank()
    }

    /// Files an entry that is not filed. O(1).
    #[inline]
    pub(super) fn file<K>(
        &mut self,
        slots: &mut Slots<Item<K>>,
        item: ItemIndex,
        deadline_ns: u64,
    ) {
        self.index.schedule(slots, item, deadline_ns);
        self.filed(deadline_ns);
    }

    /// Gives an entry another deadline. O(1), O(log n) in the current tick.
    ///
    /// Never postponed in place, as a wheel would: entries filed under old times would have to be
    /// gone through by every search for the earliest deadline.
    #[inline]
    pub(super) fn reschedule<K>(
        &mut self,
        slots: &mut Slots<Item<K>>,
        item: ItemIndex,
        deadline_ns: u64,
    ) {
        self.floor.leave(slots.header(item).deadline);
        self.index.reschedule(slots, item, deadline_ns);
        self.floor.file(deadline_ns, self.len);
    }

    /// Takes an entry out. O(1), O(log n) in the current tick.
    #[inline]
    pub(super) fn cancel<K>(&mut self, slots: &mut Slots<Item<K>>, item: ItemIndex) {
        let spot = Spot::of(slots.header(item));
        self.floor.leave(slots.header(item).deadline);
        self.index.cancel(slots, spot);
        self.len -= 1;
    }

    /// Takes out the first entry that is due, if the budget suffices to find it: if nothing of it is
    /// left afterwards, there may be one.
    #[inline]
    pub(super) fn pop<K>(
        &mut self,
        slots: &mut Slots<Item<K>>,
        now: u64,
        budget: &mut usize,
    ) -> Option<ItemIndex> {
        self.index.set_now(now);
        let due = match self.index.is_idle() {
            true => None,
            false => {
                let mut work = Budget::of_work(*budget);
                let due = self.index.next_due(slots, &mut work);
                *budget = work.work;
                due
            }
        };
        let Some(due) = due else {
            if *budget != 0 {
                self.floor.pass(now);
            }
            return None;
        };
        self.look_ahead(slots);
        self.index.take(slots, due);
        self.len -= 1;
        self.floor.take_first(slots.value(due.slot).rank);
        Some(due.slot)
    }

    /// Reads the entries that are drawn next, some at once, so that the cache need not fetch one after
    /// the other. Amortized O(1).
    #[inline]
    fn look_ahead<K>(&mut self, slots: &Slots<Item<K>>) {
        if self.ahead == 0 {
            self.ahead = touch(slots, self.index.upcoming().take(AHEAD));
        }
        self.ahead = self.ahead.saturating_sub(1);
    }

    /// The earliest deadline, or a time before it: see [`TtlQueue::next_wake`](super::TtlQueue::next_wake).
    pub(super) fn soonest<K>(&self, slots: &Slots<Item<K>>) -> Option<u64> {
        let known = self.floor.known().filter(|_| self.len != 0);
        known.or_else(|| self.look_up(slots).or_else(|| self.bound()))
    }

    /// A time that is not after the earliest deadline. O(1).
    pub(super) fn bound(&self) -> Option<u64> {
        if self.len == 0 || self.floor.is_exact() {
            return self.floor.known().filter(|_| self.len != 0);
        }
        Some(self.index.wake().max(self.floor().deadline_ns))
    }

    /// Finds out what the earliest deadline is, if it is not known and that takes no more than a
    /// short look.
    pub(super) fn settle<K>(&mut self, slots: &Slots<Item<K>>) {
        if !self.floor.is_exact() {
            if let Some(earliest) = self.look_up(slots) {
                self.floor.settle(earliest);
            }
        }
    }

    /// The earliest deadline, if there is one and it takes no more than a short look.
    fn look_up<K>(&self, slots: &Slots<Item<K>>) -> Option<u64> {
        self.index.next_deadline_within(slots, SHORT_LOOK)?
    }

    /// A walk through the entries in order of their ranks.
    pub(super) fn ascent<K>(&self, slots: &Slots<Item<K>>) -> Ascent {
        Ascent::new(&self.index, slots)
    }

    /// The next entry of a walk.
    pub(super) fn ascend<K>(
        &self,
        slots: &Slots<Item<K>>,
        ascent: &mut Ascent,
    ) -> Option<ItemIndex> {
        ascent.next(&self.index, slots)
    }

    #[inline]
    fn filed(&mut self, deadline_ns: u64) {
        self.len += 1;
        self.floor.file(deadline_ns, self.len);
    }

    /// Checks the invariants, by name. O(n log n).
    pub(super) fn check<K>(&self, slots: &Slots<Item<K>>) {
        self.index.check(slots, self.len);
        let filed = || {
            let filed = self.index.slots();
            filed.map(|item| (slots.header(item), slots.value(item)))
        };
        for (header, item) in filed() {
            assert_eq!(
                header.deadline, item.rank.deadline_ns,
                "a queued entry is filed at its deadline"
            );
            assert!(
                item.rank >= self.floor(),
                "no entry lies below the floor of the deadlines"
            );
        }
        if self.floor.is_exact() && self.len != 0 {
            assert_eq!(
                self.floor.known(),
                filed().map(|(header, _)| header.deadline).min(),
                "an exact floor is the earliest deadline"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AHEAD;
    use crate::ttl::{Context, Role, TtlConfig, TtlQueue};

    /// Entries that are moved from one crowded bucket to another leave nothing but places behind, and
    /// none of the buckets is ever emptied.
    #[test]
    fn places_left_behind_by_updates_are_swept() {
        let mut queue: TtlQueue<u32> = TtlQueue::new(0, TtlConfig::default());
        let mut bytes = 0;
        for round in 1..=400 {
            for key in 0..200 {
                let ttl_ms = 1_000 << ((u64::from(key) + round) % 4);
                queue.init(round, key, ttl_ms, Context::default()).unwrap();
            }
            if round == 20 {
                bytes = queue.queue.index.bytes();
            }
        }
        assert_eq!(queue.queue.index.bytes(), bytes);
        queue.check_invariants();
    }

    #[test]
    fn entries_are_read_some_at_once_before_they_are_drawn() {
        let mut queue: TtlQueue<usize> = TtlQueue::new(0, TtlConfig::default());
        queue.role_change(Role::Leader, 0);
        // The first few are in the near heap, and those of the run are read while they are drawn.
        let keys = 4 * AHEAD;
        for key in 0..keys {
            queue.init(1, key, 5, Context::default()).unwrap();
        }
        for drawn in 1..=keys {
            assert_eq!(queue.poll(5_000_000).take(1).count(), 1);
            assert_eq!(queue.queue.ahead, (keys - drawn) % AHEAD);
        }
    }
}
