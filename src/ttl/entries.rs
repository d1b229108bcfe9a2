//! The entries and the two orders they may be in: by deadline, or in flight by what happens next.
//!
//! This is all that the layer has to do with the wheel and the arena below it. An entry's header holds
//! its deadline and its place in the order for as long as it has them, also in flight: so a change of
//! role puts it back just where it was.

use alloc::vec::Vec;
use core::{hint, mem};

use super::entry::{Entry, Phase, TtlKey};
use crate::budget::Budget;
use crate::geometry::{FAR, Geometry};
use crate::header::{Headers, Place, Sequence};
use crate::heap::{NearHeap, Ordered};
use crate::hierarchy::Hierarchy;
use crate::hierarchy::search::Ascent;
use crate::key::SlotIndex;
use crate::slots::{MAX_TIMERS, Slots};

/// The most entries that are looked at to find the earliest deadline.
///
/// A longer look costs more than what it may spare, a wake-up for nothing. And whoever refreshes in
/// turn the entries of a crowded bucket, the next to expire first, makes each call look.
const SHORT_LOOK: usize = 256;

/// So many entries are read before they are put back: what is read fits the smallest cache.
const READ_TOGETHER: usize = 32;

/// What is known of an entry in flight: proposed, or to be proposed again.
#[derive(Copy, Clone, Debug)]
pub(super) struct Flight {
    pub(super) entry: SlotIndex,
    /// [`Phase::Pending`] or [`Phase::Retrying`].
    pub(super) phase: Phase,
    pub(super) attempts: u32,
    /// When the entry was last proposed.
    pub(super) proposed_ns: u64,
}

/// All entries, each in one of two orders.
///
/// Invariants: an entry whose header has no place is in flight, and then its header's position is the
/// slot of its flight, which names the entry; every other entry is on the wheel of deadlines.
#[derive(Clone)]
pub(super) struct Entries<K, G> {
    entries: Slots<Entry<K>>,
    /// The entries that have not been proposed, by deadline.
    deadlines: Hierarchy<G>,
    flights: Slots<Flight>,
    /// All flights by when they time out or are tried again, first come first among equals.
    in_flight: NearHeap,
    retrying: usize,
    next_sequence: u64,
}

impl<K, G: Geometry> Entries<K, G> {
    pub(super) fn new(now: u64) -> Self {
        Self {
            entries: Slots::new(0),
            deadlines: Hierarchy::new(now),
            flights: Slots::new(0),
            in_flight: NearHeap::new(),
            retrying: 0,
            next_sequence: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn in_flight_len(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn retrying_len(&self) -> usize {
        self.retrying
    }

    /// Whether there is room for `additional` more entries.
    pub(super) fn has_room(&self, additional: usize) -> bool {
        additional == 0 || additional <= MAX_TIMERS - self.len() && !self.entries.is_full()
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.entries.reserve(additional);
        self.deadlines.reserve(additional);
    }

    /// The entry of a key, unless the key is stale. O(1).
    pub(super) fn find(&self, key: TtlKey) -> Option<SlotIndex> {
        self.entries.get(key.0).map(|_| key.0.slot())
    }

    pub(super) fn key(&self, slot: SlotIndex) -> TtlKey {
        TtlKey(self.entries.key(slot))
    }

    pub(super) fn entry(&self, slot: SlotIndex) -> &Entry<K> {
        self.entries.value(slot)
    }

    pub(super) fn entry_mut(&mut self, slot: SlotIndex) -> &mut Entry<K> {
        self.entries.value_mut(slot)
    }

    pub(super) fn deadline(&self, slot: SlotIndex) -> u64 {
        self.entries.header(slot).deadline
    }

    fn flight_slot(&self, slot: SlotIndex) -> Option<SlotIndex> {
        let header = self.entries.header(slot);
        (header.place == Place::NONE).then(|| SlotIndex::from_bits(header.position))
    }

    /// What is known of an entry's flight, if it is in flight.
    pub(super) fn flight(&self, slot: SlotIndex) -> Option<&Flight> {
        Some(self.flights.value(self.flight_slot(slot)?))
    }

    /// The slots of all entries, in no order that means anything.
    pub(super) fn slots(&self) -> impl Iterator<Item = SlotIndex> {
        self.deadlines.slots().chain(self.slots_in_flight())
    }

    pub(super) fn slots_in_flight(&self) -> impl Iterator<Item = SlotIndex> {
        let flights = self.in_flight.iter();
        flights.map(|(.., flight)| self.flights.value(flight.slot).entry)
    }

    /// Adds an entry, for which there must be room. O(1).
    pub(super) fn insert(&mut self, entry: Entry<K>, deadline_ns: u64) -> TtlKey {
        let key = self.entries.take(entry);
        self.deadlines
            .schedule(&mut self.entries, key.slot(), deadline_ns);
        TtlKey(key)
    }

    /// Gives an entry another deadline and ends its flight, if it was in flight. O(1).
    pub(super) fn reschedule(&mut self, slot: SlotIndex, deadline_ns: u64) -> Option<Flight> {
        let flight = self.withdraw(slot);
        self.deadlines
            .schedule(&mut self.entries, slot, deadline_ns);
        flight
    }

    /// Removes an entry, wherever it is. O(1).
    pub(super) fn remove(&mut self, slot: SlotIndex) -> (Option<Entry<K>>, Option<Flight>) {
        let flight = self.withdraw(slot);
        let released = self.entries.release_slot(slot);
        (released.map(|(_, entry)| entry), flight)
    }

    /// Takes an entry out of the order that it is in.
    fn withdraw(&mut self, slot: SlotIndex) -> Option<Flight> {
        let flight = self.land(slot);
        if flight.is_none() {
            let header = *self.entries.header(slot);
            self.deadlines.cancel(&mut self.entries, slot, header);
        }
        flight
    }

    /// Takes the first entry that is due off the wheel, to be [launched](Self::launch), if the budget
    /// suffices to find it: if nothing of it is left afterwards, there may be one.
    pub(super) fn take_due(&mut self, now: u64, budget: &mut usize) -> Option<SlotIndex> {
        self.deadlines.set_now(now);
        if self.deadlines.is_idle() {
            return None;
        }
        let mut work = Budget::of_work(*budget);
        let due = self.deadlines.next_due(&mut self.entries, &mut work);
        // One unit, which it has left, for an entry that is found.
        *budget = work.work - usize::from(due.is_some());
        let due = due?;
        self.deadlines.take_first(&mut self.entries);
        Some(due.slot)
    }

    /// Takes note of the flight, until then, of an entry that is in neither order. O(log n) for the n in
    /// flight, O(1) for what ends last.
    pub(super) fn launch(&mut self, flight: Flight, until_ns: u64) {
        let slot = self.flights.take(flight).slot();
        let near = Ordered::new(until_ns, Sequence::new(self.next_sequence), slot);
        self.next_sequence += 1;
        near.complete(self.flights.header_mut(slot), None);
        self.in_flight.push(&mut self.flights, near);
        let header = self.entries.header_mut(flight.entry);
        header.set_place(Place::NONE, slot.get() as u32);
        self.retrying += usize::from(flight.phase == Phase::Retrying);
    }

    /// Ends the flight of an entry that is in flight, which then is in neither order. O(log n).
    pub(super) fn land(&mut self, slot: SlotIndex) -> Option<Flight> {
        let slot = self.flight_slot(slot)?;
        let position = self.flights.header(slot).position;
        self.in_flight
            .remove(&mut self.flights, Place::HEAP, position);
        let (_, flight) = self.flights.release_slot(slot)?;
        self.retrying -= usize::from(flight.phase == Phase::Retrying);
        Some(flight)
    }

    /// The entry whose flight ends first, and when. O(1).
    pub(super) fn first_in_flight(&self) -> Option<(u64, SlotIndex)> {
        let first = self.in_flight.first()?;
        Some((first.deadline, self.flights.value(first.slot).entry))
    }

    /// Puts all that is in flight back to where it was in the order of deadlines, and shows each
    /// flight to `visit`. O(n log n) for the n in flight.
    pub(super) fn put_all_back(&mut self, mut visit: impl FnMut(Flight)) {
        let slots: Vec<SlotIndex> = self.slots_in_flight().collect();
        for slots in slots.chunks(READ_TOGETHER) {
            // Whoever waits for one before it asks for the next waits each time.
            hint::black_box(slots.iter().map(|&slot| self.deadline(slot)).max());
            for &slot in slots {
                self.flight(slot).into_iter().copied().for_each(&mut visit);
                self.deadlines.put_back(&mut self.entries, slot);
            }
        }
        self.in_flight.clear();
        self.flights = Slots::new(0);
        self.retrying = 0;
    }

    /// Drops all entries. O(n).
    pub(super) fn clear(&mut self, now: u64) {
        let deadlines = mem::replace(&mut self.deadlines, Hierarchy::new(now));
        let in_flight = mem::replace(&mut self.in_flight, NearHeap::new());
        let flights = mem::replace(&mut self.flights, Slots::new(0));
        self.retrying = 0;
        let slots_in_flight = in_flight
            .iter()
            .map(|(.., near)| flights.value(near.slot).entry);
        // Last, because keys may panic when they are dropped.
        self.entries
            .free_all(deadlines.slots().chain(slots_in_flight));
        self.entries.shrink_to_fit();
    }

    /// The earliest deadline on the wheel; or where too many may be the earliest, when the bucket begins
    /// that they share. O(levels), and a short look.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        let entries = &self.entries;
        let exact = self.deadlines.next_deadline_within(entries, SHORT_LOOK);
        exact.unwrap_or_else(|| {
            let levels = (0..=FAR).filter_map(|level| self.deadlines.level_wake(level));
            levels.min()
        })
    }

    /// A time that is not after the earliest deadline on the wheel. O(1).
    pub(super) fn deadline_bound(&self) -> Option<u64> {
        (self.len() > self.in_flight_len()).then(|| self.deadlines.wake())
    }

    /// A walk through all entries in order of deadline, wherever they are.
    pub(super) fn ascent(&self) -> Ascent {
        Ascent::new(&self.deadlines).with(&self.entries, self.slots_in_flight())
    }

    /// The next entry of a walk.
    pub(super) fn ascend(&self, ascent: &mut Ascent) -> Option<SlotIndex> {
        ascent.next(&self.deadlines, &self.entries)
    }

    /// Reads a little of some entries, so that they are in the cache when they are asked for.
    ///
    /// Whoever waits for an entry before it asks for the next waits each time; these reads wait together.
    #[inline(never)]
    pub(super) fn touch(&self, slots: impl Iterator<Item = SlotIndex>) {
        // Header and entry may lie on different cache lines.
        let read = |slot| self.deadline(slot).max(self.entry(slot).index);
        hint::black_box(slots.map(read).max());
    }

    /// Reads up to so many of the entries that are taken next. O(entries).
    pub(super) fn look_ahead(&self, most: usize) {
        self.touch(self.deadlines.upcoming().take(most));
    }

    /// Checks the invariants by name. O(n log n).
    pub(super) fn check(&self) {
        self.entries.check();
        self.flights.check();
        let queued = self.len() - self.in_flight_len();
        self.deadlines.check(&self.entries, queued);
        let mut retrying = 0;
        self.in_flight.check(&self.flights, |slot| {
            let flight = self.flights.value(slot);
            assert_eq!(
                self.flight_slot(flight.entry),
                Some(slot),
                "an entry in flight and its flight name each other"
            );
            assert_ne!(
                flight.phase,
                Phase::Queued,
                "what is queued is not in flight"
            );
            retrying += usize::from(flight.phase == Phase::Retrying);
        });
        assert_eq!(
            self.flights.len(),
            self.in_flight_len(),
            "all flights are in order"
        );
        assert_eq!(self.retrying, retrying, "retries are counted");
    }
}
