//! The entries and the two wheels they may be on: by deadline, or in flight by timeout or retry.
//!
//! An entry in flight is not on the wheel of deadlines, but its node there keeps its deadline and its place in the
//! order. So a change of role puts it back exactly where it was.

use alloc::vec::{self, Vec};
use core::iter::Peekable;
use core::mem;

use slab::Slab;

use super::entry::{Entry, Phase, TtlKey};
use crate::budget::Budget;
use crate::geometry::Geometry;
use crate::hierarchy::search::Ascent;
use crate::index::IndexWheel;
use crate::node::{MAX_TIMERS, NodeIndex, Ordered};
use crate::pages::Pages;
use crate::slots::{Slot, Slots};

/// Why the slot of an entry is taken.
const TAKEN: &str = "the slot of an entry is taken";

/// Why an entry that is in flight has a flight.
const FLIGHT: &str = "an entry in flight and its flight name each other";

/// The state of an entry in flight: proposed, or waiting to be proposed again.
#[derive(Copy, Clone, Debug)]
pub(super) struct Flight {
    pub(super) entry: NodeIndex,
    /// [`Phase::Pending`] or [`Phase::Retrying`].
    pub(super) phase: Phase,
    pub(super) attempts: u32,
    /// When the entry was last proposed.
    pub(super) proposed_ns: u64,
}

/// An entry and its flight, if it is in flight.
#[derive(Clone)]
struct Held<K> {
    entry: Entry<K>,
    flight: Option<u32>,
}

/// All entries, each on one of two wheels.
///
/// Invariants: an entry is on the wheel of deadlines if and only if it is not in flight; the flight of an entry names
/// it, and is on the wheel of flights by when it times out or is tried again.
#[derive(Clone)]
pub(super) struct Entries<K, G: Geometry> {
    entries: Pages<Slot<Held<K>>, 256>,
    slots: Slots,
    len: usize,
    /// The entries that have not been proposed, by slot.
    deadlines: IndexWheel<G>,
    flights: Slab<Flight>,
    /// All flights, by their indexes in the slab.
    in_flight: IndexWheel<G>,
    retrying: usize,
}

impl<K, G: Geometry> Entries<K, G> {
    pub(super) fn new(now: u64) -> Self {
        Self {
            entries: Pages::new(),
            slots: Slots::new(0),
            len: 0,
            deadlines: IndexWheel::with_geometry(now),
            flights: Slab::new(),
            in_flight: IndexWheel::with_geometry(now),
            retrying: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn in_flight_len(&self) -> usize {
        self.flights.len()
    }

    pub(super) fn retrying_len(&self) -> usize {
        self.retrying
    }

    /// Whether there is room for `additional` more entries.
    pub(super) fn has_room(&self, additional: usize) -> bool {
        additional <= MAX_TIMERS - self.len - self.slots.retired()
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        let free = self.entries.len() - self.len - self.slots.retired();
        let lacking = additional.saturating_sub(free);
        self.entries.reserve(lacking);
        self.slots.make_room_to_free(self.entries.capacity());
        self.deadlines.reserve(lacking);
    }

    /// The entry of a key, unless the key is stale. O(1).
    #[inline]
    pub(super) fn find(&self, key: TtlKey) -> Option<NodeIndex> {
        let slot = self.entries.get(key.0.index().get())?;
        slot.is_of(key.0).then(|| key.0.index())
    }

    pub(super) fn key(&self, slot: NodeIndex) -> TtlKey {
        TtlKey(self.entries.at(slot.get()).timer(slot).expect(TAKEN).0)
    }

    fn held(&self, slot: NodeIndex) -> &Held<K> {
        self.entries.at(slot.get()).get().expect(TAKEN)
    }

    fn held_mut(&mut self, slot: NodeIndex) -> &mut Held<K> {
        self.entries.at_mut(slot.get()).timer_mut(slot).expect(TAKEN).1
    }

    pub(super) fn entry(&self, slot: NodeIndex) -> &Entry<K> {
        &self.held(slot).entry
    }

    pub(super) fn entry_mut(&mut self, slot: NodeIndex) -> &mut Entry<K> {
        &mut self.held_mut(slot).entry
    }

    #[inline]
    pub(super) fn deadline(&self, slot: NodeIndex) -> u64 {
        self.deadlines.last_order(slot.to_bits()).deadline
    }

    /// All that are in flight, in no particular order.
    pub(super) fn flights(&self) -> impl Iterator<Item = &Flight> + '_ {
        self.flights.iter().map(|(_, flight)| flight)
    }

    /// The flight of an entry, if it is in flight.
    #[inline]
    pub(super) fn flight(&self, slot: NodeIndex) -> Option<&Flight> {
        self.flights.get(self.held(slot).flight? as usize)
    }

    /// The slots of all entries, in no order that means anything. O(slots).
    pub(super) fn slots(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let slots = (0..self.entries.len()).map(NodeIndex::new);
        slots.filter(|slot| self.entries.at(slot.get()).get().is_some())
    }

    /// Adds an entry, for which there must be room. O(1).
    pub(super) fn insert(&mut self, entry: Entry<K>, deadline_ns: u64) -> TtlKey {
        self.len += 1;
        let slot = self.slots.vacant(self.entries.len(), || self.entries.push_any());
        let held = Held { entry, flight: None };
        let key = self.slots.fill(slot, self.entries.at_mut(slot.get()), held);
        self.deadlines.set(slot.to_bits(), deadline_ns);
        TtlKey(key)
    }

    /// Gives an entry another deadline and ends its flight, if it was in flight. O(1).
    pub(super) fn reschedule(&mut self, slot: NodeIndex, deadline_ns: u64) -> Option<Flight> {
        let flight = self.land(slot);
        self.deadlines.set(slot.to_bits(), deadline_ns);
        flight
    }

    /// Removes an entry, wherever it is. O(1).
    pub(super) fn remove(&mut self, slot: NodeIndex) -> (Option<Entry<K>>, Option<Flight>) {
        let flight = self.land(slot);
        self.deadlines.cancel(slot.to_bits());
        let vacated = self.entries.at_mut(slot.get()).vacate(slot);
        let entry = vacated.map(|(key, held)| {
            self.len -= 1;
            self.slots.freed(key);
            held.entry
        });
        (entry, flight)
    }

    /// Takes entries that are due off the wheel, in order, up to the length of `batch` and within the budget. If nothing
    /// of the budget is left, there may be more. They are to be [launched](Self::launch).
    pub(super) fn take_due(&mut self, now: u64, budget: &mut Budget, batch: &mut [NodeIndex]) -> usize {
        let mut taken = 0;
        for (slot, due) in batch.iter_mut().zip(self.deadlines.advance_with_budget(now, budget)) {
            *slot = NodeIndex::from_bits(due.index);
            taken += 1;
        }
        taken
    }

    /// Begins a flight until `until_ns` for each of some entries that are on neither wheel. O(flights).
    ///
    /// It writes to all entries and then to the wheel, so the processor fetches them at once, not one after the other.
    pub(super) fn launch(&mut self, slots: &[NodeIndex], until_ns: u64, flight: Flight) {
        for &entry in slots {
            let index = self.flights.insert(Flight { entry, ..flight }) as u32;
            self.held_mut(entry).flight = Some(index);
        }
        for &entry in slots {
            let index = self.held(entry).flight.expect(FLIGHT);
            self.in_flight.set(index, until_ns);
        }
        if flight.phase == Phase::Retrying {
            self.retrying += slots.len();
        }
    }

    /// Ends the flight of an entry that is in flight, which then is on neither wheel. O(1).
    pub(super) fn land(&mut self, slot: NodeIndex) -> Option<Flight> {
        let index = self.held_mut(slot).flight.take()?;
        self.in_flight.cancel(index);
        let flight = self.flights.try_remove(index as usize).expect(FLIGHT);
        self.retrying -= usize::from(flight.phase == Phase::Retrying);
        Some(flight)
    }

    /// The entry whose flight ended first, if one has ended by `now` and is found within the budget. If nothing of the
    /// budget is left, there may be one. The flight stays.
    pub(super) fn ended_flight(&mut self, now: u64, budget: &mut Budget) -> Option<NodeIndex> {
        let ended = self.in_flight.peek_expired_with_budget(now, budget)?.index();
        budget.refund_fire();
        let flight = self.flights.get(ended as usize)?;
        Some(flight.entry)
    }

    /// Puts an entry that is in flight back to where it was in the order of deadlines. O(1).
    pub(super) fn put_back(&mut self, slot: NodeIndex) {
        self.land(slot);
        self.deadlines.put_back(slot.to_bits());
    }

    /// Puts all that is in flight back to where it was in the order of deadlines, and shows each
    /// flight to `visit`. O(n log n) for the n in flight.
    pub(super) fn put_all_back(&mut self, mut visit: impl FnMut(Flight)) {
        for (_, flight) in mem::take(&mut self.flights) {
            visit(flight);
            self.held_mut(flight.entry).flight = None;
            self.deadlines.put_back(flight.entry.to_bits());
        }
        self.in_flight.clear();
        self.retrying = 0;
    }

    /// Drops all entries and gives their memory back. O(slots).
    pub(super) fn clear(&mut self, now: u64) {
        self.deadlines = IndexWheel::with_geometry(now);
        self.in_flight = IndexWheel::with_geometry(now);
        self.flights = Slab::new();
        self.retrying = 0;
        // Last, because keys may panic when they are dropped: `rest` then drops the others.
        let mut rest = Clear { entries: self, next: 0 };
        while rest.drop_next() {}
    }

    /// A time that is not after the earliest deadline on the wheel. O(1).
    pub(super) fn deadline_bound(&self) -> Option<u64> {
        self.deadlines.wake_at()
    }

    /// A time that is not after the end of the first flight. O(1).
    pub(super) fn flight_bound(&self) -> Option<u64> {
        self.in_flight.wake_at()
    }

    /// A walk through all entries in order of deadline, wherever they are. O(n log n) for the n in flight.
    pub(super) fn walk(&self) -> Walk<'_, G> {
        let flights = self.flights.iter().map(|(_, flight)| flight.entry);
        let order = flights.map(|slot| self.deadlines.last_order(slot.to_bits()));
        let mut in_flight: Vec<Ordered> = order.collect();
        in_flight.sort_unstable();
        Walk { queued: self.deadlines.ascent().peekable(), in_flight: in_flight.into_iter().peekable() }
    }

    /// Checks the invariants by name. O(n log n).
    pub(super) fn check(&self) {
        self.slots.check(self.entries.iter());
        self.deadlines.check_invariants();
        self.in_flight.check_invariants();
        for slot in self.slots() {
            assert_eq!(
                self.flight(slot).is_none(),
                self.deadlines.deadline(slot.to_bits()).is_some(),
                "an entry is on the wheel of deadlines or in flight"
            );
        }
        let mut retrying = 0;
        for (index, flight) in &self.flights {
            let of_entry = self.held(flight.entry).flight;
            assert_eq!(of_entry, Some(index as u32), "{FLIGHT}");
            assert_ne!(flight.phase, Phase::Queued, "an entry that is queued is not in flight");
            assert!(self.in_flight.deadline(index as u32).is_some(), "all flights are in order");
            retrying += usize::from(flight.phase == Phase::Retrying);
        }
        assert_eq!(
            (self.flights.len(), self.deadlines.len()),
            (self.in_flight.len(), self.len() - self.flights.len()),
            "nothing else is on a wheel"
        );
        assert_eq!(self.retrying, retrying, "retries are counted");
    }
}

/// Drops all entries, the rest of them also if a key panics then.
struct Clear<'a, K, G: Geometry> {
    entries: &'a mut Entries<K, G>,
    next: usize,
}

impl<K, G: Geometry> Clear<'_, K, G> {
    /// Drops the entry of the next slot. `false` if there is no slot left.
    fn drop_next(&mut self) -> bool {
        let Entries { entries, slots, len, .. } = &mut *self.entries;
        if self.next == entries.len() {
            return false;
        }
        let index = NodeIndex::new(self.next);
        self.next += 1;
        let slot = entries.at_mut(index.get());
        let is_taken = slot.get().is_some();
        if let Some((key, held)) = is_taken.then(|| slot.vacate(index)).flatten() {
            *len -= 1;
            slots.freed(key);
            drop(held);
        }
        true
    }
}

impl<K, G: Geometry> Drop for Clear<'_, K, G> {
    fn drop(&mut self) {
        while self.drop_next() {}
        let Entries { entries, slots, .. } = &mut *self.entries;
        let len = slots.shrink_to_fit(entries.len(), |index| entries.at(index));
        entries.truncate(len);
        slots.make_room_to_free(entries.capacity());
    }
}

/// A walk through all entries in order of deadline, from [`Entries::walk`].
#[derive(Clone)]
pub(super) struct Walk<'a, G: Geometry> {
    queued: Peekable<Ascent<'a, (), G>>,
    in_flight: Peekable<vec::IntoIter<Ordered>>,
}

impl<G: Geometry> Iterator for Walk<'_, G> {
    type Item = NodeIndex;

    fn next(&mut self) -> Option<NodeIndex> {
        let queued = self.queued.peek().copied();
        let is_next = |it: &Ordered| queued.is_none_or(|queued| it.precedes(&queued));
        let next = self.in_flight.next_if(is_next);
        Some(next.or_else(|| self.queued.next())?.node)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.queued.len() + self.in_flight.len();
        (left, Some(left))
    }
}

impl<G: Geometry> ExactSizeIterator for Walk<'_, G> {}
