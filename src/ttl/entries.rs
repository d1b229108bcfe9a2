//! The entries, on a wheel by deadline; and the flights of proposed entries, on another wheel by timeout or retry.
//!
//! An entry in flight is held: it keeps its handle, its deadline and its place in the order. So a change of role puts
//! the entry back exactly where it was.

use alloc::vec::Vec;
use core::iter;

use super::entry::{Entry, Phase, TtlKey};
use crate::{Budget, Geometry, TimerKey, Wheel};

/// Why an entry that is in flight has a flight.
const FLIGHT: &str = "an entry in flight and its flight name each other";

/// How far ahead of the clock a replica that proposes nothing cascades deadlines, and the least time between two polls
/// for that.
const AHEAD_NS: u64 = 60_000_000_000;

/// The state of an entry in flight: proposed, or waiting to be proposed again.
#[derive(Copy, Clone, Debug)]
pub(super) struct Flight {
    pub(super) entry: TtlKey,
    /// Counts flights: among equal deadlines, the entry that was proposed first comes first.
    pub(super) nth: u64,
    /// [`Phase::Pending`] or [`Phase::Retrying`].
    pub(super) phase: Phase,
    pub(super) attempts: u32,
    /// When the entry was last proposed.
    pub(super) proposed_ns: u64,
}

/// The most entries. Well below the most timers of a wheel, because a few of its slots are retired over the years.
pub(super) const MAX_ENTRIES: usize = 1 << 30;

/// An entry and its flight, if it is in flight.
#[derive(Clone)]
pub(super) struct Record<K> {
    pub(super) entry: Entry<K>,
    flight: Option<TimerKey>,
}

/// All entries.
///
/// Invariants: an entry is held if and only if it is in flight; a flight and its entry refer to each other; a flight is
/// on its wheel at the time of its timeout or retry.
#[derive(Clone)]
pub(super) struct Entries<K, G: Geometry> {
    pub(super) deadlines: Wheel<Record<K>, G>,
    pub(super) flights: Wheel<Flight, G>,
    /// The number of flights in which the entry waits for a retry.
    pub(super) retrying: usize,
    launched: u64,
    /// The time up to which deadlines were prepared, in nanoseconds; `None` if the last budget was used up before.
    prepared_ns: Option<u64>,
}

impl<K, G: Geometry> Entries<K, G> {
    pub(super) fn new(now: u64) -> Self {
        let (deadlines, flights) = (Wheel::with_geometry(now), Wheel::with_geometry(now));
        Self { deadlines, flights, retrying: 0, launched: 0, prepared_ns: Some(now) }
    }

    pub(super) fn len(&self) -> usize {
        self.deadlines.len()
    }

    /// Whether there is room for `additional` more entries.
    pub(super) fn has_room(&self, additional: usize) -> bool {
        additional <= MAX_ENTRIES - self.len()
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.deadlines.reserve(additional);
    }

    /// The entry of a key and its deadline, or `None` if the key is stale. O(1).
    #[inline]
    pub(super) fn get(&self, key: TtlKey) -> Option<(&Record<K>, u64)> {
        self.deadlines.timer(key.0).map(|timer| (timer.value, timer.deadline))
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: TtlKey) -> Option<&mut Record<K>> {
        self.deadlines.get_mut(key.0)
    }

    /// The flight of an entry, if it is in flight.
    #[inline]
    pub(super) fn flight(&self, record: &Record<K>) -> Option<&Flight> {
        self.flights.get(record.flight?)
    }

    /// All entries, in no particular order. O(n), however many there once were.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<K>> + '_ {
        self.deadlines.iter().map(|timer| &timer.value.entry)
    }

    /// Adds an entry, for which there must be room. O(1).
    #[inline]
    pub(super) fn insert(&mut self, entry: Entry<K>, deadline_ns: u64) -> TtlKey {
        TtlKey(self.deadlines.schedule(deadline_ns, Record { entry, flight: None }))
    }

    /// Gives an entry another deadline and ends its flight, if it is in flight. O(1).
    #[inline]
    pub(super) fn reschedule(&mut self, key: TtlKey, deadline_ns: u64) -> Option<Flight> {
        let flight = self.land(key);
        self.deadlines.reschedule(key.0, deadline_ns);
        flight
    }

    /// Removes an entry, wherever it is, unless the key is stale. O(1).
    pub(super) fn remove(&mut self, key: TtlKey) -> Option<(Entry<K>, Option<Flight>)> {
        let Record { entry, flight } = self.deadlines.cancel(key.0)?;
        Some((entry, flight.map(|flight| self.end_flight(flight))))
    }

    /// Gives back a page of memory, if more is free than in use. O(entries of a page).
    pub(super) fn give_back(&mut self) {
        self.deadlines.prepare(0, &mut Budget::of_work(0));
    }

    /// Holds the next entry that is due, within the budget, to be [launched](Self::launch). If the budget is used up,
    /// more may be due.
    #[inline]
    pub(super) fn hold_due(&mut self, now: u64, budget: &mut Budget) -> Option<TtlKey> {
        Some(TtlKey(self.deadlines.peek_expired_with_budget(now, budget)?.hold()))
    }

    /// Makes a held entry pending from `now` until `until_ns`. O(1).
    pub(super) fn launch(&mut self, entry: TtlKey, now: u64, until_ns: u64) {
        self.launched += 1;
        let flight = Flight { entry, nth: self.launched, phase: Phase::Pending, attempts: 1, proposed_ns: now };
        let flight = self.flights.schedule(until_ns, flight);
        self.get_mut(entry).expect(FLIGHT).flight = Some(flight);
    }

    /// Changes the flight of an entry, which goes on until `until_ns`. O(1).
    pub(super) fn go_on(&mut self, to: Flight, until_ns: u64) {
        let key = self.get_mut(to.entry).and_then(|record| record.flight).expect(FLIGHT);
        let flight = self.flights.get_mut(key).expect(FLIGHT);
        self.retrying += usize::from(to.phase == Phase::Retrying);
        self.retrying -= usize::from(flight.phase == Phase::Retrying);
        *flight = to;
        self.flights.reschedule(key, until_ns);
    }

    /// Ends the flight of an entry, if it is in flight. The entry stays held. O(1).
    #[inline]
    fn land(&mut self, key: TtlKey) -> Option<Flight> {
        let flight = self.get_mut(key)?.flight.take()?;
        Some(self.end_flight(flight))
    }

    fn end_flight(&mut self, key: TimerKey) -> Flight {
        let flight = self.flights.cancel(key).expect(FLIGHT);
        self.retrying -= usize::from(flight.phase == Phase::Retrying);
        flight
    }

    /// The first flight that has ended by `now`, if it is found within the budget. If the budget is used up, there may
    /// be one. The flight stays.
    pub(super) fn ended_flight(&mut self, now: u64, budget: &mut Budget) -> Option<Flight> {
        let ended = *self.flights.peek_expired_with_budget(now, budget)?.get();
        // A refund: the peek charged the flight as a timer that fires.
        (budget.work, budget.fires) = (budget.work + 1, budget.fires + 1);
        Some(ended)
    }

    /// Puts an entry back at its place in the order of deadlines, if it is in flight. O(1).
    #[inline]
    pub(super) fn put_back(&mut self, key: TtlKey) -> Option<Flight> {
        let flight = self.land(key)?;
        self.deadlines.release(key.0);
        Some(flight)
    }

    /// Puts all entries in flight back at their places in the order of deadlines. O(n log n) for the n in flight.
    pub(super) fn put_all_back(&mut self) -> Vec<Flight> {
        let flights: Vec<Flight> = self.flights.iter().map(|timer| *timer.value).collect();
        flights.iter().for_each(|flight| _ = self.put_back(flight.entry));
        flights
    }

    /// Drops all entries and gives their memory back. O(n), however many there once were.
    pub(super) fn clear(&mut self, now: u64) {
        self.flights.clear();
        self.retrying = 0;
        self.deadlines.clear();
        self.deadlines.shrink_to_fit();
        self.flights.shrink_to_fit();
        // Moves the wheel's clock, so that the next entries are placed relative to `now`.
        _ = self.deadlines.peek_expired(now);
        self.prepared_ns = Some(now);
    }

    /// Cascades the deadlines up to a minute from now, within the budget. Due entries stay in place.
    pub(super) fn prepare(&mut self, now: u64, budget: &mut Budget) {
        let until_ns = now.saturating_add(AHEAD_NS);
        self.deadlines.prepare(until_ns, budget);
        self.prepared_ns = (budget.work != 0).then_some(until_ns);
    }

    /// When to prepare again, if there is an entry that is not in flight. O(1).
    pub(super) fn prepare_at(&self) -> Option<u64> {
        let at = self.deadlines.wake_at()?;
        Some(self.prepared_ns.map_or(0, |prepared_ns| at.saturating_sub(AHEAD_NS).max(prepared_ns)))
    }

    /// A walk through all entries in order of deadline, in flight or not. O(n log n) for the n in flight.
    pub(super) fn walk(&self) -> impl ExactSizeIterator<Item = TtlKey> + '_ {
        let flights = self.flights.iter().map(|timer| timer.value);
        let flights = flights.filter_map(|it| Some((self.get(it.entry)?.1, it.nth, it.entry)));
        let mut in_flight: Vec<(u64, u64, TtlKey)> = flights.collect();
        in_flight.sort_unstable_by_key(|&(deadline, nth, _)| (deadline, nth));
        let mut in_flight = in_flight.into_iter().peekable();
        let mut queued = self.deadlines.ascending().peekable();
        let timers = iter::from_fn(move || {
            // An entry in flight comes before all queued entries of its deadline.
            let next = queued.peek().map(|timer| timer.deadline);
            let is_next = |&(deadline, ..): &(u64, u64, TtlKey)| next.is_none_or(|next| deadline <= next);
            let first = in_flight.next_if(is_next).map(|(.., key)| key);
            first.or_else(|| queued.next().map(|timer| TtlKey(timer.key)))
        });
        let mut timers = timers;
        (0..self.len()).map(move |_| timers.next().expect("each entry is in flight or queued"))
    }

    /// Checks the invariants by name. O(n log n).
    pub(super) fn check(&self) {
        self.deadlines.check_invariants();
        self.flights.check_invariants();
        for timer in self.flights.iter() {
            let record = self.deadlines.get(timer.value.entry.0);
            assert_eq!(record.and_then(|record| record.flight), Some(timer.key), "{FLIGHT}");
            assert_ne!(timer.value.phase, Phase::Queued, "an entry that is queued is not in flight");
        }
        let in_flight = self.deadlines.iter().filter(|timer| timer.value.flight.is_some());
        assert_eq!(in_flight.count(), self.flights.len(), "{FLIGHT}");
        let queued = self.deadlines.ascending();
        assert_eq!(queued.len() + self.flights.len(), self.len(), "an entry is held if and only if it is in flight");
        assert!(queued.into_iter().all(|timer| timer.value.flight.is_none()), "what is in flight is held");
        let retrying = self.flights.iter().filter(|timer| timer.value.phase == Phase::Retrying);
        assert_eq!(retrying.count(), self.retrying, "retries are counted");
    }
}
