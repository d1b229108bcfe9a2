//! Scheduling, rescheduling and cancelling timers, with or without a lane.

use crate::engine::geometry::Geometry;
use crate::engine::near::lane::Lane;
use crate::engine::node::NodeIndex;
use crate::wheel::Wheel;
use crate::wheel::key::TimerKey;
use crate::wheel::slots::Slot;

impl<T, G: Geometry> Wheel<T, G> {
    /// Schedules `value` to be handed back by the first advance that reaches `deadline` nanoseconds. O(1). O(log k),
    /// with k timers in the near heap, if the deadline lies in the current tick or earlier.
    ///
    /// The deadline is absolute: the caller's clock plus a delay, not [`now`](Wheel::now), which
    /// stands where the last advance left it. A deadline in the past is due at the next advance, before any
    /// later one.
    ///
    /// # Panics
    ///
    /// If 1,610,612,736 timers are live, the most a wheel can hold. To enforce a lower limit, check
    /// [`len`](Wheel::len).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<&str>::new(100);
    /// wheel.schedule(150, "soon");
    /// wheel.schedule(50, "overdue");
    /// wheel.schedule(u64::MAX, "at the end of time");
    /// let fired: Vec<&str> = wheel.advance(150).map(|timer| timer.value).collect();
    /// assert_eq!(fired, ["overdue", "soon"]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn schedule(&mut self, deadline: u64, value: T) -> TimerKey {
        let index = self.slots.vacant(|| self.hierarchy.add_node());
        let slots = &self.slots;
        self.hierarchy.schedule(None, index, deadline, |slot| slots.fill(index, slot, value))
    }

    /// Like [`schedule`](Wheel::schedule), for a value that needs its own key. O(1).
    ///
    /// `f` is called with the key before anything changes: if it panics, the wheel is as it
    /// was.
    ///
    /// # Panics
    ///
    /// If `f` panics, and as `schedule` does.
    ///
    /// ```
    /// use timer_wheel::{TimerKey, Wheel};
    ///
    /// struct Job {
    ///     id: TimerKey,
    /// }
    ///
    /// let mut jobs = Wheel::new(0);
    /// let key = jobs.schedule_with(10, |id| Job { id });
    /// assert_eq!(jobs.get(key).map(|job| job.id), Some(key));
    /// ```
    #[inline]
    #[track_caller]
    pub fn schedule_with(&mut self, deadline: u64, f: impl FnOnce(TimerKey) -> T) -> TimerKey {
        let nodes = self.hierarchy.nodes();
        let lowest = self.slots.lowest_free();
        let index = lowest.unwrap_or_else(|| NodeIndex::new(nodes.len()));
        let past = lowest.map_or(0, |free| nodes.at(free.get()).value.generation());
        let key = TimerKey::new(index, self.slots.filled(past));
        let scheduled = self.schedule(deadline, f(key));
        debug_assert!(key == scheduled, "the key that was promised is given out");
        scheduled
    }

    /// Gives a timer a new deadline, and a new place behind all timers of equal deadline. Returns `false` if the key is
    /// stale. O(1), or O(log k) in the near heap of k timers.
    ///
    /// A later deadline costs one cache line: the timer stays in its bucket until its old deadline.
    /// [`expiration_delay`](Wheel::expiration_delay) still counts to the old deadline until then.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<&str>::new(0);
    /// let key = wheel.schedule(10, "refreshed");
    /// assert!(wheel.reschedule(key, 30));
    /// assert_eq!(wheel.advance(20).count(), 0);
    /// assert_eq!(wheel.advance(30).count(), 1);
    /// assert!(!wheel.reschedule(key, 40));
    /// ```
    #[inline]
    pub fn reschedule(&mut self, key: TimerKey, deadline: u64) -> bool {
        self.hierarchy.reschedule(None, key.index(), deadline, |slot| slot.is_of(key))
    }

    /// Reschedules the timer of the key in `timer`, or schedules `value()` and stores the new key there, if there is
    /// no key or a stale one. Returns the key. O(1), or O(log k) in the near heap of k timers.
    ///
    /// For a record that keeps the key of a timer that may have fired: a connection, an entry of a cache. It is cheaper
    /// than cancelling and scheduling: a later deadline costs one cache line.
    ///
    /// # Panics
    ///
    /// If `value` panics, which leaves the wheel as it was, and as [`schedule`](Wheel::schedule) does.
    ///
    /// ```
    /// use timer_wheel::{TimerKey, Wheel};
    ///
    /// struct Connection {
    ///     idle: Option<TimerKey>,
    /// }
    ///
    /// let mut timers = Wheel::new(0);
    /// let mut connection = Connection { idle: None };
    /// for now in [0, 50, 200] {
    ///     let _ = timers.advance(now).count();
    ///     timers.reschedule_or_insert(&mut connection.idle, now + 100, || "idle for 100 ns");
    /// }
    /// assert_eq!((timers.len(), timers.next_deadline()), (1, Some(300)));
    /// ```
    #[inline]
    #[track_caller]
    pub fn reschedule_or_insert(
        &mut self,
        timer: &mut Option<TimerKey>,
        deadline: u64,
        value: impl FnOnce() -> T,
    ) -> TimerKey {
        match *timer {
            Some(key) if self.reschedule(key, deadline) => key,
            _ => *timer.insert(self.schedule(deadline, value())),
        }
    }

    /// Puts a [held](crate::DueTimer::hold) timer back at its old deadline and its old place in the order. Returns
    /// `false` if the key is stale or the timer is not held. O(1), or O(log k) in the near heap of k timers.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// let first = wheel.schedule(10, "first");
    /// wheel.schedule(10, "second");
    /// wheel.peek_expired(10).unwrap().hold();
    /// assert!(wheel.release(first));
    /// assert!(!wheel.release(first), "it is not held any more");
    /// assert!(wheel.advance(10).map(|timer| timer.value).eq(["first", "second"]));
    /// ```
    pub fn release(&mut self, key: TimerKey) -> bool {
        self.hierarchy.release(key.index(), |slot| slot.is_of(key))
    }

    /// Cancels a timer and returns its value, or `None` if the key is stale. O(1), or O(log k) in the near heap of k
    /// timers.
    ///
    /// The timer's slot can be used again at once.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<&str>::new(0);
    /// let key = wheel.schedule(10, "value");
    /// assert_eq!(wheel.cancel(key), Some("value"));
    /// assert_eq!(wheel.cancel(key), None);
    /// ```
    #[inline]
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        let index = key.index();
        let take = move |slot: &mut Slot<T>| slot.is_of(key).then(|| slot.vacate(index))?;
        let (_, value) = self.hierarchy.cancel(index, take)?;
        self.slots.freed(key);
        Some(value)
    }

    /// Adds a [`Lane`], for timers that are scheduled in the order in which they are due. O(1).
    ///
    /// # Panics
    ///
    /// If the wheel already has 64 lanes, the maximum. A program whose users set the TTLs should count its lanes, and
    /// schedule further TTLs without one.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut entries = Wheel::new(0);
    /// let (short, long) = (entries.add_lane(), entries.add_lane());
    /// entries.schedule_in(short, 1_000, "for a second");
    /// entries.schedule_in(long, 60_000, "for a minute");
    /// ```
    #[track_caller]
    pub fn add_lane(&mut self) -> Lane {
        self.hierarchy.add_lane()
    }

    /// Like [`schedule`](Wheel::schedule), using the lane. If more than four timers of the lane are due later, the lane
    /// is ignored. O(1).
    ///
    /// The [lane](Lane) affects costs only.
    ///
    /// # Panics
    ///
    /// As [`schedule`](Wheel::schedule).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut entries = Wheel::new(0);
    /// let lane = entries.add_lane();
    /// for (now, entry) in [(0, "a"), (1, "b"), (2, "c")] {
    ///     entries.schedule_in(lane, now + 100, entry);
    /// }
    /// entries.schedule_in(lane, 50, "sooner than the lane is");
    /// assert!(entries.advance(101).map(|timer| timer.deadline).eq([50, 100, 101]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn schedule_in(&mut self, lane: Lane, deadline: u64, value: T) -> TimerKey {
        let index = self.slots.vacant(|| self.hierarchy.add_node());
        let slots = &self.slots;
        self.hierarchy.schedule(Some(lane), index, deadline, |slot| slots.fill(index, slot, value))
    }

    /// Like [`reschedule`](Wheel::reschedule), using the lane. If more than four timers of the lane are due later, the
    /// lane is ignored. O(1), or O(log k) in the near heap of k timers.
    ///
    /// The timer may have been in this lane, in another or in none.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut sessions = Wheel::new(0);
    /// let idle = sessions.add_lane();
    /// let ann = sessions.schedule_in(idle, 30, "ann");
    /// sessions.schedule_in(idle, 40, "bob");
    /// assert!(sessions.reschedule_in(idle, ann, 50), "seen again");
    /// assert_eq!(sessions.wake_at(), Some(40));
    /// ```
    #[inline]
    pub fn reschedule_in(&mut self, lane: Lane, key: TimerKey, deadline: u64) -> bool {
        self.hierarchy.reschedule(Some(lane), key.index(), deadline, |slot| slot.is_of(key))
    }
}
