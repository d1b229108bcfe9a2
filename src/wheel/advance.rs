//! Advancing a wheel: lazily, within a budget, one timer at a time, or in place.

use core::fmt;
use core::iter::FusedIterator;

use crate::budget::Budget;
use crate::geometry::Geometry;
use crate::key::TimerKey;
use crate::node::Ordered;
use crate::wheel::Wheel;
use crate::wheel::timer::{Expired, TimerRef};

/// Why a timer that is due has a value.
pub(super) const LIVE: &str = "a timer that is due is live";

/// The answer of a callback of [`Wheel::advance_with`]: what happens to the due timer.
///
/// ```
/// use timer_wheel::{Verdict, Wheel};
///
/// // An entry in use is looked at again in 50 ns, any other goes.
/// let mut wheel = Wheel::<bool>::new(0);
/// let in_use = wheel.schedule(100, true);
/// wheel.schedule(100, false);
/// wheel.advance_with(100, usize::MAX, |_, deadline, is_used| match *is_used {
///     true => Verdict::Rearm(deadline + 50),
///     false => Verdict::Remove,
/// });
/// assert_eq!((wheel.len(), wheel.deadline(in_use)), (1, Some(150)));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Remove the timer and drop its value.
    Remove,
    /// Keep the timer, under the same key, until this new deadline in nanoseconds.
    Rearm(u64),
    /// Leave the timer due, as if it had not been asked about, and end the call.
    Stop,
}

/// The result of [`Wheel::advance_with`].
///
/// ```
/// use timer_wheel::{Progress, Verdict, Wheel};
///
/// let mut wheel = Wheel::<u32>::new(0);
/// wheel.schedule(10, 1);
/// wheel.schedule(20, 2);
/// let progress = wheel.advance_with(10, usize::MAX, |_, _, _| Verdict::Remove);
/// let Progress { fired, has_backlog, .. } = progress;
/// assert_eq!((fired, has_backlog), (1, false));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of timers that the callback removed or rearmed.
    pub fired: usize,
    /// The part of the budget of work that was not needed.
    pub unused: usize,
    /// Whether work that is due by now is left for another call.
    pub has_backlog: bool,
}

impl<T, G: Geometry> Wheel<T, G> {
    /// Moves the clock to `now` nanoseconds and yields every timer that is due, in order of
    /// deadline and first in first out among equals.
    ///
    /// The iterator is lazy: it does the work as it is pulled. Dropping it early loses nothing;
    /// what it did not yield comes first in the next advance. A `now` before that of an earlier
    /// advance counts as that one.
    ///
    /// Costs O(timers touched), never O(time passed).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<char>::new(0);
    /// for (deadline, value) in [(20, 'b'), (10, 'a'), (20, 'c'), (30, 'd')] {
    ///     wheel.schedule(deadline, value);
    /// }
    /// assert_eq!(wheel.advance(20).map(|timer| timer.value).collect::<String>(), "abc");
    /// ```
    #[inline]
    pub fn advance(&mut self, now: u64) -> Advance<'_, T, G> {
        self.advance_with_budget(now, Budget::UNLIMITED)
    }

    /// As [`advance`](Wheel::advance), but does no more than `budget` allows: a number of units of work,
    /// or a [`Budget`] that bounds the timers fired as well. O(budget.work), and O(log n) for each timer
    /// of a crowd that shares a tick and comes in no order.
    ///
    /// One unit is one timer visited (fired, moved down a level or sorted into those that fire next) or
    /// one bucket opened. What is left is
    /// carried over: call again, at the same or a later time, while
    /// [`has_backlog`](Advance::has_backlog). With any budget of at least 1, repeated calls finish
    /// and yield the same timers in the same order as one call without a budget.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// for value in 0..1_000 {
    ///     wheel.schedule(60_000_000_000, value);
    /// }
    /// let (mut fired, mut calls) = (0, 0);
    /// loop {
    ///     let mut advance = wheel.advance_with_budget(60_000_000_000, 64);
    ///     fired += advance.by_ref().count();
    ///     calls += 1;
    ///     if !advance.has_backlog() {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(fired, 1_000);
    /// assert!(calls >= 1_000 / 64);
    /// ```
    #[inline]
    pub fn advance_with_budget(&mut self, now: u64, budget: impl Into<Budget>) -> Advance<'_, T, G> {
        self.hierarchy.set_now(now);
        Advance { is_done: self.hierarchy.is_idle(), wheel: self, budget: budget.into() }
    }

    /// Moves the clock to `now` nanoseconds and takes the first timer that is due, if there is
    /// one: for loops that use the wheel in between. Costs what the first step of an
    /// [`advance`](Wheel::advance) does: O(timers touched).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// wheel.schedule(10, 3);
    /// let mut fired = 0;
    /// while let Some(timer) = wheel.pop_expired(100) {
    ///     fired += 1;
    ///     if timer.value > 0 {
    ///         wheel.schedule(timer.deadline + 10, timer.value - 1);
    ///     }
    /// }
    /// assert_eq!(fired, 4);
    /// ```
    #[inline]
    pub fn pop_expired(&mut self, now: u64) -> Option<Expired<T>> {
        self.advance(now).next()
    }

    /// As [`pop_expired`](Wheel::pop_expired), within a budget that several calls share: each takes from it what the call
    /// does.
    ///
    /// `None` when nothing is due, or when the budget is used up; [`has_backlog`](Wheel::has_backlog) tells which.
    ///
    /// ```
    /// use timer_wheel::{Budget, Wheel};
    ///
    /// let mut wheel = Wheel::new(0);
    /// (0..100).for_each(|value| _ = wheel.schedule(10, value));
    /// let mut budget = Budget::UNLIMITED.with_fires(30);
    /// while let Some(timer) = wheel.pop_expired_with_budget(10, &mut budget) {
    ///     wheel.schedule(timer.deadline + 10, timer.value);
    /// }
    /// assert_eq!((wheel.len(), wheel.has_backlog()), (100, true));
    /// ```
    #[inline]
    pub fn pop_expired_with_budget(&mut self, now: u64, budget: &mut Budget) -> Option<Expired<T>> {
        Some(self.peek_expired_with_budget(now, budget)?.remove())
    }

    /// Takes the earliest timer out, due or not; the clock stays. For a cache that evicts what expires
    /// soonest, and for simulators that jump from event to event. Amortized O(1) while time goes on.
    ///
    /// The order is that of [`advance`](Wheel::advance). Finding the earliest timer prepares the next
    /// calls, so they are cheap; the first may have a crowded bucket to open. A timer that is scheduled
    /// before the earliest one from then on is kept in a heap.
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
        let due = self.hierarchy.first()?;
        Some(self.fire(due))
    }

    /// The earliest timer, due or not. Costs what [`pop_first`](Wheel::pop_first) does; the wheel
    /// is borrowed mutably because it prepares what comes next.
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
        let due = self.hierarchy.first()?;
        Some(self.timer_in(due.node))
    }

    /// Whether work that is due by [`now`](Wheel::now) is left: timers to fire, or buckets to open.
    /// O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// (0..100).for_each(|value| _ = wheel.schedule(7, value));
    /// assert_eq!(wheel.advance_with_budget(7, 10).count(), 10);
    /// assert!(wheel.has_backlog());
    /// assert_eq!(wheel.advance(7).count(), 90);
    /// assert!(!wheel.has_backlog());
    /// ```
    pub fn has_backlog(&self) -> bool {
        self.hierarchy.has_backlog()
    }

    /// Removes the first timer of the near heap.
    #[inline]
    pub(super) fn fire(&mut self, due: Ordered) -> Expired<T> {
        let vacated = self.hierarchy.fire(due, |slot| slot.vacate(due.node));
        let (key, value) = vacated.expect(LIVE);
        self.slots.freed(key);
        Expired { key, deadline: due.deadline, value }
    }

    /// Moves the clock to `now` nanoseconds and hands each due timer to `f`, in order and in
    /// place, within a budget as that of [`advance_with_budget`](Wheel::advance_with_budget).
    ///
    /// `f` gets the timer's key, deadline and value, and answers whether the timer is removed or
    /// kept under the same key with a new deadline, for a cache entry that refuses to be evicted or
    /// a periodic job. No slot is freed and taken again. A timer that is rearmed for a time that
    /// has come fires again in the same call, in its place in the order. Only the budget and
    /// [`Verdict::Stop`] bound how often. O(timers touched), and no more than the budget.
    ///
    /// Where a callback is in the way, [`peek_expired`](Wheel::peek_expired) does the same in a loop.
    ///
    /// # Panics
    ///
    /// If `f` does, and then the timer it was called for is still due.
    ///
    /// ```
    /// use timer_wheel::{Verdict, Wheel};
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// let key = wheel.schedule(1_000, 0);
    /// let progress = wheel.advance_with(3_500, usize::MAX, |_, deadline, runs| {
    ///     *runs += 1;
    ///     Verdict::Rearm(deadline + 1_000)
    /// });
    /// assert_eq!((progress.fired, progress.has_backlog), (3, false));
    /// assert_eq!((wheel.get(key), wheel.deadline(key)), (Some(&3), Some(4_000)));
    /// ```
    pub fn advance_with(
        &mut self,
        now: u64,
        budget: impl Into<Budget>,
        mut f: impl FnMut(TimerKey, u64, &mut T) -> Verdict,
    ) -> Progress {
        let mut fired = 0;
        let mut advance = self.advance_with_budget(now, budget);
        while let Some(due) = advance.next_due() {
            let wheel = &mut *advance.wheel;
            let slot = &mut wheel.hierarchy.node_mut(due.node).value;
            let (key, value) = slot.timer_mut(due.node).expect(LIVE);
            match f(key, due.deadline, value) {
                // The value is dropped here, with the wheel in order should that panic.
                Verdict::Remove => drop(wheel.fire(due)),
                Verdict::Rearm(deadline) => wheel.hierarchy.rearm(due, deadline),
                Verdict::Stop => break,
            }
            fired += 1;
            advance.budget.pay_for_fire();
        }
        Progress { fired, unused: advance.unused(), has_backlog: advance.has_backlog() }
    }
}

/// The timers that are due, from [`Wheel::advance`] and [`Wheel::advance_with_budget`].
///
/// Lazy: the clock has moved, and the rest happens as it is pulled.
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
#[must_use = "no timer fires until an advance is iterated over"]
pub struct Advance<'a, T, G: Geometry> {
    pub(super) wheel: &'a mut Wheel<T, G>,
    budget: Budget,
    /// Whether nothing more is due.
    is_done: bool,
}

impl<T, G: Geometry> Advance<'_, T, G> {
    /// Whether work that is due by now is left: timers to fire, or buckets to open and move down. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// for value in 0..100 {
    ///     wheel.schedule(7, value);
    /// }
    /// let mut advance = wheel.advance_with_budget(7, 10);
    /// while advance.next().is_some() {}
    /// assert!(advance.has_backlog());
    /// let mut advance = wheel.advance(7);
    /// while advance.next().is_some() {}
    /// assert!(!advance.has_backlog());
    /// ```
    pub fn has_backlog(&self) -> bool {
        self.wheel.has_backlog()
    }

    /// The part of the budget of work that has not been used, in units. O(1).
    ///
    /// Several wheels can share a budget: pass it from one to the next.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheels = [Wheel::<u32>::new(0), Wheel::new(0)];
    /// wheels[0].schedule(7, 1);
    /// wheels[1].schedule(7, 2);
    /// let mut budget = 1_000;
    /// for wheel in &mut wheels {
    ///     let mut advance = wheel.advance_with_budget(7, budget);
    ///     assert_eq!(advance.by_ref().count(), 1);
    ///     budget = advance.unused();
    /// }
    /// assert!(budget < 1_000);
    /// ```
    pub fn unused(&self) -> usize {
        self.budget.work
    }

    /// The timer that fires next, if there is one and there is budget to fire it.
    #[inline]
    pub(super) fn next_due(&mut self) -> Option<Ordered> {
        if self.is_done {
            return None;
        }
        let due = self.wheel.hierarchy.next_due(&mut self.budget);
        self.is_done = due.is_none();
        due
    }

    fn next_expired(&mut self) -> Option<Expired<T>> {
        let due = self.next_due()?;
        let fired = self.wheel.fire(due);
        self.budget.pay_for_fire();
        // Mostly there is no need to be asked again.
        self.is_done = self.wheel.hierarchy.is_idle();
        Some(fired)
    }
}

impl<T, G: Geometry> Iterator for Advance<'_, T, G> {
    type Item = Expired<T>;

    #[inline]
    fn next(&mut self) -> Option<Expired<T>> {
        if self.is_done {
            return None;
        }
        self.next_expired()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let most = self.budget.work.min(self.budget.fires);
        (0, Some(self.wheel.len().min(most)))
    }
}

impl<T, G: Geometry> FusedIterator for Advance<'_, T, G> {}

impl<T, G: Geometry> fmt::Debug for Advance<'_, T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Advance").field("wheel", &self.wheel).field("budget", &self.budget).finish_non_exhaustive()
    }
}
