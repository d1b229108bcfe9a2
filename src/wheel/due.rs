//! A handle for the first timer that is due: to look at it, change it, remove it or keep it.

use core::fmt;

use crate::engine::budget::Budget;
use crate::engine::geometry::Geometry;
use crate::engine::near::lane::Lane;
use crate::engine::node::Next;
use crate::wheel::Wheel;
use crate::wheel::advance::LIVE;
use crate::wheel::key::TimerKey;
use crate::wheel::timer::Expired;

impl<T, G: Geometry> Wheel<T, G> {
    /// Moves the clock to `now` nanoseconds and shows the first timer that is due, if there is one,
    /// without firing it. For loops that decide what to do with each timer, and when to stop.
    ///
    /// Dropping the [`DueTimer`] changes nothing: the timer stays due, and is shown again by the next
    /// call. Costs what the first step of an [`advance`](Wheel::advance) does, O(timers touched);
    /// another call before anything has been changed is O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut uploads = Wheel::new(0);
    /// for (deadline, bytes) in [(10, 700), (20, 600), (30, 500)] {
    ///     uploads.schedule(deadline, bytes);
    /// }
    /// let mut room = 1_000;
    /// while let Some(upload) = uploads.peek_expired(25) {
    ///     if *upload.get() > room {
    ///         break; // enough for now: it is still due
    ///     }
    ///     room -= upload.remove().value;
    /// }
    /// assert_eq!((room, uploads.len(), uploads.has_backlog()), (300, 2, true));
    /// ```
    #[inline]
    pub fn peek_expired(&mut self, now: u64) -> Option<DueTimer<'_, T, G>> {
        let mut budget = Budget::UNLIMITED;
        self.peek_expired_with_budget(now, &mut budget)
    }

    /// Like [`peek_expired`](Wheel::peek_expired), within a budget that several calls share. Each call subtracts its
    /// work, and one fire for the timer that it shows, removed or not.
    ///
    /// `None` when nothing is due, or when the budget is used up; [`has_backlog`](Wheel::has_backlog) tells which.
    /// For loops that remove some timers, rearm others, and are bounded.
    ///
    /// ```
    /// use timer_wheel::{Budget, Wheel};
    ///
    /// let mut cache = Wheel::new(0);
    /// (0..100).for_each(|entry| _ = cache.schedule(10, entry));
    /// let mut budget = Budget::of_fires(30);
    /// let mut evicted = Vec::new();
    /// while let Some(timer) = cache.peek_expired_with_budget(10, &mut budget) {
    ///     match timer.get() % 2 {
    ///         0 => evicted.push(timer.remove().value),
    ///         _ => timer.rearm(1_000), // in use
    ///     }
    /// }
    /// assert_eq!((evicted.len(), cache.len(), cache.has_backlog()), (15, 85, true));
    /// ```
    #[inline]
    pub fn peek_expired_with_budget(&mut self, now: u64, budget: &mut Budget) -> Option<DueTimer<'_, T, G>> {
        self.hierarchy.set_now(now);
        let due = self.next_due(budget)?;
        Some(DueTimer { wheel: self, due })
    }
}

/// The first timer that is due, still in the wheel, from [`Wheel::peek_expired`].
///
/// It can be [removed](DueTimer::remove), [kept](DueTimer::rearm) with a new deadline, or [held](DueTimer::hold). If
/// the handle is dropped, even by a panic, the timer stays due, and changes to its value remain.
///
/// ```
/// use timer_wheel::Wheel;
///
/// struct Entry {
///     name: &'static str,
///     users: u32,
/// }
///
/// let mut entries = Wheel::new(0);
/// entries.schedule(10, Entry { name: "in use", users: 1 });
/// entries.schedule(10, Entry { name: "idle", users: 0 });
///
/// let mut removed = Vec::new();
/// while let Some(timer) = entries.peek_expired(10) {
///     if timer.get().users == 0 {
///         removed.push(timer.remove().value.name);
///     } else {
///         let again = timer.deadline() + 50;
///         timer.rearm(again);
///     }
/// }
/// assert_eq!((removed, entries.next_deadline()), (vec!["idle"], Some(60)));
/// ```
#[must_use = "a due timer stays due unless it is removed, rearmed or held"]
pub struct DueTimer<'a, T, G: Geometry> {
    wheel: &'a mut Wheel<T, G>,
    due: Next,
}

impl<T, G: Geometry> DueTimer<'_, T, G> {
    /// Fires the timer: takes it out and hands it back, as [`Wheel::advance`] would. O(1), or O(log k) in the near heap
    /// of k timers.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(10, "value");
    /// let timer = wheel.peek_expired(10).unwrap();
    /// assert_eq!(timer.remove().value, "value");
    /// assert!(wheel.is_empty());
    /// ```
    pub fn remove(self) -> Expired<T> {
        self.wheel.fire(self.due)
    }

    /// Keeps the timer under the same key until a new deadline in nanoseconds, behind all timers of
    /// equal deadline. If the new deadline has passed, it fires again in its place in the order. Costs the same as
    /// [`Wheel::reschedule`].
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// let key = wheel.schedule(100, "every 100 ns");
    /// let mut runs = 0;
    /// while let Some(timer) = wheel.peek_expired(350) {
    ///     runs += 1;
    ///     let next = timer.deadline() + 100;
    ///     timer.rearm(next);
    /// }
    /// assert_eq!((runs, wheel.deadline(key)), (3, Some(400)));
    /// ```
    pub fn rearm(self, deadline: u64) {
        self.wheel.hierarchy.move_to(None, self.due.node, deadline);
    }

    /// Like [`rearm`](DueTimer::rearm), using the lane. If more than four timers of the lane are due later, the lane is
    /// ignored. O(1), or O(log k) in the near heap of k timers.
    ///
    /// For a deadline that is a whole TTL from now. A deadline that comes from a record usually lies before the end of
    /// the lane: use [`rearm`](DueTimer::rearm) for it.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut leases = Wheel::new(0);
    /// let lane = leases.add_lane();
    /// for (now, name) in [(0, "in use"), (10, "idle")] {
    ///     leases.schedule_in(lane, now + 100, name);
    /// }
    /// while let Some(timer) = leases.peek_expired(110) {
    ///     match *timer.get() {
    ///         "in use" => timer.rearm_in(lane, 110 + 100),
    ///         _ => drop(timer.remove()),
    ///     }
    /// }
    /// assert_eq!(leases.wake_at(), Some(210));
    /// ```
    pub fn rearm_in(self, lane: Lane, deadline: u64) {
        self.wheel.hierarchy.move_to(Some(lane), self.due.node, deadline);
    }

    /// Holds the timer: it stays live under its key, is no longer due, and causes no wake-up. Returns the key. O(1), or
    /// O(log k) in the near heap of k timers.
    ///
    /// For work that is handed out and may come back: [`Wheel::release`] makes the timer due again, in its old place in
    /// the order; [`Wheel::reschedule`] schedules it anew; [`Wheel::cancel`] ends it. Until then it counts in
    /// [`len`](Wheel::len), and everything related to time skips it: [`advance`](Wheel::advance),
    /// [`wake_at`](Wheel::wake_at), [`next_deadline`](Wheel::next_deadline), [`ascending`](Wheel::ascending).
    ///
    /// The idea comes from Dongting's `TtlManager`, which sets entries aside while their expiry is proposed.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut jobs = Wheel::new(0);
    /// jobs.schedule(10, "send mail");
    /// let in_flight = jobs.peek_expired(10).unwrap().hold();
    /// assert_eq!((jobs.get(in_flight), jobs.len()), (Some(&"send mail"), 1));
    /// assert_eq!((jobs.wake_at(), jobs.advance(20).count()), (None, 0));
    ///
    /// jobs.release(in_flight); // it has failed: due again
    /// assert_eq!(jobs.advance(20).map(|job| job.value).next(), Some("send mail"));
    /// ```
    pub fn hold(self) -> TimerKey {
        let key = self.key();
        self.wheel.hierarchy.hold(self.due.node);
        key
    }

    /// The timer's key. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// let key = wheel.schedule(10, "value");
    /// assert_eq!(wheel.peek_expired(10).map(|timer| timer.key()), Some(key));
    /// ```
    pub fn key(&self) -> TimerKey {
        self.wheel.timer_in(self.due.node).key
    }

    /// When the timer was due, in nanoseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(10, "value");
    /// assert_eq!(wheel.peek_expired(25).map(|timer| timer.deadline()), Some(10));
    /// ```
    pub fn deadline(&self) -> u64 {
        self.due.deadline
    }

    /// The timer's value. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(10, "value");
    /// assert_eq!(wheel.peek_expired(10).map(|timer| *timer.get()), Some("value"));
    /// ```
    pub fn get(&self) -> &T {
        self.wheel.timer_in(self.due.node).value
    }

    /// The timer's value, to be changed. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(10, 0);
    /// for _ in 0..3 {
    ///     *wheel.peek_expired(10).unwrap().get_mut() += 1; // dropped: it stays due
    /// }
    /// assert_eq!(wheel.advance(10).next().map(|timer| timer.value), Some(3));
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        let slot = self.wheel.hierarchy.value_mut(self.due.node);
        slot.and_then(|slot| slot.timer_mut(self.due.node)).expect(LIVE).1
    }
}

impl<T: fmt::Debug, G: Geometry> fmt::Debug for DueTimer<'_, T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueTimer")
            .field("key", &self.key())
            .field("deadline", &self.deadline())
            .field("value", self.get())
            .finish()
    }
}
