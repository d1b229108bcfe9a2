//! Advancing a wheel: lazily, and within a budget.

use core::fmt;
use core::iter::FusedIterator;

use crate::engine::budget::Budget;
use crate::engine::geometry::Geometry;
use crate::engine::node::Next;
use crate::wheel::Wheel;
use crate::wheel::timer::{Expired, TimerRef};

/// Why a timer that is due has a value.
pub(super) const LIVE: &str = "a timer that is due is live";

impl<T, G: Geometry> Wheel<T, G> {
    /// Moves the clock to `now` nanoseconds and yields every timer that is due, in order of
    /// deadline and first in first out among equals.
    ///
    /// The iterator is lazy: it does the work as it is pulled. Dropping it early loses nothing: the timers that it did
    /// not yield come first in the next advance. The clock never goes back: an earlier `now` than before counts as the
    /// latest one.
    ///
    /// Costs O(timers touched), never O(time passed). The first call after a gap of many ticks is a long one, unless [a
    /// budget](Wheel::advance_with_budget) bounds it. `advance(now).next()` takes one timer, for loops that use the
    /// wheel in between.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<char>::new(0);
    /// for (deadline, value) in [(20, 'b'), (10, 'a'), (20, 'c'), (30, 'd')] {
    ///     wheel.schedule(deadline, value);
    /// }
    /// assert_eq!(wheel.advance(20).map(|timer| timer.value).collect::<String>(), "abc");
    ///
    /// while let Some(timer) = wheel.advance(60).next() {
    ///     if timer.value < 'f' {
    ///         wheel.schedule(timer.deadline + 10, (timer.value as u8 + 1) as char);
    ///     }
    /// }
    /// assert!(wheel.is_empty());
    /// ```
    #[inline]
    pub fn advance(&mut self, now: u64) -> Advance<'_, T, G> {
        Advance::new(self, now, None)
    }

    /// Like [`advance`](Wheel::advance), but does no more than `budget` allows. O(budget.work), plus O(log n) for each
    /// timer of an unsorted crowd that shares a tick.
    ///
    /// One unit is one timer visited (fired, moved down a level or sorted into those that fire next) or
    /// one bucket opened. Afterwards the budget holds what is left, so several wheels can share one. Unfinished work is
    /// carried over: call again, at the same or a later time, while [`has_backlog`](Wheel::has_backlog). With any
    /// budget of at least one unit and one fire, repeated calls finish and yield the same timers in the same order as
    /// one call without a budget.
    ///
    /// ```
    /// use timer_wheel::{Budget, Wheel};
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// for value in 0..1_000 {
    ///     wheel.schedule(60_000_000_000, value);
    /// }
    /// let (mut fired, mut calls) = (0, 0);
    /// loop {
    ///     let mut budget = Budget::of_work(64);
    ///     fired += wheel.advance_with_budget(60_000_000_000, &mut budget).count();
    ///     calls += 1;
    ///     if !wheel.has_backlog() {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(fired, 1_000);
    /// assert!(calls >= 1_000 / 64);
    /// ```
    #[inline]
    pub fn advance_with_budget<'a>(&'a mut self, now: u64, budget: &'a mut Budget) -> Advance<'a, T, G> {
        Advance::new(self, now, Some(budget))
    }

    /// Takes the earliest timer out, due or not; the clock stays. For a cache that evicts what expires soonest, and for
    /// simulators that jump from event to event. Amortized O(1) if new timers are due no earlier than the last one
    /// taken.
    ///
    /// The order is that of [`advance`](Wheel::advance). Finding the earliest timer prepares the next calls, so they
    /// are cheap; the first may have a crowded bucket to open. A timer that is then scheduled before the earliest one
    /// waits in a heap. If many do and at most 512 timers (in [`Millis`](crate::Millis)) are in buckets, they move to
    /// buckets. A program that only pops needs no advance, but only advances, [`prepare`](Wheel::prepare) and
    /// [`shrink_to_fit`](Wheel::shrink_to_fit) release memory.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut cache = Wheel::new(0);
    /// for (expires, entry) in [(30, "c"), (10, "a"), (20, "b")] {
    ///     if cache.len() == 2 {
    ///         let evicted = cache.pop_first().unwrap();
    ///         assert_eq!((evicted.deadline, evicted.value), (10, "a"));
    ///     }
    ///     cache.schedule(expires, entry);
    /// }
    /// assert_eq!((cache.len(), cache.now()), (2, 0));
    /// ```
    pub fn pop_first(&mut self) -> Option<Expired<T>> {
        let due = self.hierarchy.bring_first()?;
        Some(self.fire(due))
    }

    /// The earliest timer, due or not. Costs the same as [`pop_first`](Wheel::pop_first). It borrows the wheel mutably
    /// because it prepares the next calls.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(20, "later");
    /// wheel.schedule(10, "sooner");
    /// assert_eq!(wheel.peek_first().map(|timer| *timer.value), Some("sooner"));
    /// assert_eq!(wheel.len(), 2);
    /// ```
    pub fn peek_first(&mut self) -> Option<TimerRef<'_, T>> {
        let due = self.hierarchy.bring_first()?;
        Some(self.timer_in(due.node))
    }

    /// Does in advance the work, except firing, of an [`advance`](Wheel::advance) to `until` nanoseconds: it cascades
    /// the buckets that start by then, within the budget. Nothing fires, and the clock stays. The advance itself then
    /// takes one unit of work for each timer that fires. O(timers moved).
    ///
    /// For a standby that may have to take over at any moment, and for a program that has time now and none later. If
    /// `budget.work` is 0 afterwards, there may be more to prepare. As with an advance, a page of free memory may be
    /// released.
    ///
    /// Do not prepare far ahead: a timer that is later scheduled before `until` waits in a heap of k such timers, at
    /// O(log k), until the clock reaches `until`.
    ///
    /// ```
    /// use timer_wheel::{Budget, Wheel};
    ///
    /// let mut wheel = Wheel::new(0);
    /// (0..1_000).for_each(|value| _ = wheel.schedule(60_000_000_000, value));
    /// wheel.prepare(60_000_000_000, &mut Budget::unlimited()); // while there is nothing else to do
    ///
    /// let mut budget = Budget::of_work(1_000);
    /// assert_eq!(wheel.advance_with_budget(60_000_000_000, &mut budget).count(), 1_000);
    /// ```
    pub fn prepare(&mut self, until: u64, budget: &mut Budget) {
        self.hierarchy.prepare(until, budget);
        if self.has_spare_pages() {
            self.give_back_page();
        }
    }

    /// The next timer that is due. If no more are due, or the budget is used up, a page may be released.
    #[inline]
    pub(super) fn next_due(&mut self, budget: &mut Budget) -> Option<Next> {
        // First, so that an idle advance does not look at the pages.
        if self.hierarchy.is_idle() {
            return None;
        }
        let due = self.hierarchy.next_due(budget);
        if due.is_none() && self.has_spare_pages() {
            self.give_back_page();
        }
        due
    }

    /// Removes the first timer of the near heap.
    #[inline]
    pub(super) fn fire(&mut self, due: Next) -> Expired<T> {
        let vacated = self.hierarchy.fire(due, |slot| slot.vacate(due.node));
        let (key, value) = vacated.expect(LIVE);
        self.slots.freed(key);
        Expired { key, deadline: due.deadline, value }
    }
}

/// The timers that are due, from [`Wheel::advance`] and [`Wheel::advance_with_budget`].
///
/// Lazy: the clock has moved, and all other work happens as the iterator is pulled.
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<char>::new(0);
/// wheel.schedule(10, 'a');
/// wheel.schedule(10, 'b');
/// let _ = wheel.advance(10); // dropped, not pulled: nothing fires, nothing is lost
/// assert_eq!(wheel.len(), 2);
/// assert_eq!(wheel.advance(10).map(|timer| timer.value).collect::<String>(), "ab");
/// ```
// No `Drop`: with one, the body of `while let Some(timer) = wheel.advance(now).next()` could not use the wheel.
#[must_use = "no timer fires until an advance is iterated over"]
pub struct Advance<'a, T, G: Geometry> {
    wheel: &'a mut Wheel<T, G>,
    /// `None` means no bounds.
    budget: Option<&'a mut Budget>,
}

impl<'a, T, G: Geometry> Advance<'a, T, G> {
    #[inline]
    fn new(wheel: &'a mut Wheel<T, G>, now: u64, budget: Option<&'a mut Budget>) -> Self {
        wheel.hierarchy.set_now(now);
        Self { wheel, budget }
    }

    #[inline]
    fn fire_next(&mut self) -> Option<Expired<T>> {
        let mut unlimited = Budget::UNLIMITED;
        let due = self.wheel.next_due(self.budget.as_deref_mut().unwrap_or(&mut unlimited))?;
        Some(self.wheel.fire(due))
    }
}

impl<T, G: Geometry> Iterator for Advance<'_, T, G> {
    type Item = Expired<T>;

    // Most advances are idle. Inlined always, an idle one is a single comparison and no call.
    #[inline(always)]
    fn next(&mut self) -> Option<Expired<T>> {
        if self.wheel.hierarchy.is_idle() {
            return None;
        }
        self.fire_next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let most = self.budget.as_deref().map_or(usize::MAX, |budget| budget.work.min(budget.fires));
        (0, Some(self.wheel.len().min(most)))
    }
}

impl<T, G: Geometry> FusedIterator for Advance<'_, T, G> {}

impl<T, G: Geometry> fmt::Debug for Advance<'_, T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Advance").field("wheel", &self.wheel).field("budget", &self.budget).finish_non_exhaustive()
    }
}
