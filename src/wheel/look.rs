//! Queries about one timer, and about the wheel as a whole.

use crate::engine::geometry::Geometry;
use crate::wheel::Wheel;
use crate::wheel::key::TimerKey;
use crate::wheel::slots::Slot;
use crate::wheel::timer::TimerRef;

impl<T, G: Geometry> Wheel<T, G> {
    /// The value of a live timer, or `None` if the key is stale. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<&str>::new(0);
    /// let key = wheel.schedule(10, "value");
    /// assert_eq!(wheel.get(key), Some(&"value"));
    /// wheel.cancel(key);
    /// assert_eq!(wheel.get(key), None);
    /// ```
    #[inline]
    pub fn get(&self, key: TimerKey) -> Option<&T> {
        self.find(key)?.1.get()
    }

    /// The value of a live timer, to be changed, or `None` if the key is stale. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// let key = wheel.schedule(10, 1);
    /// *wheel.get_mut(key).unwrap() += 1;
    /// assert_eq!(wheel.get(key), Some(&2));
    /// ```
    #[inline]
    pub fn get_mut(&mut self, key: TimerKey) -> Option<&mut T> {
        let (current, value) = self.hierarchy.value_mut(key.index())?.timer_mut(key.index())?;
        (current == key).then_some(value)
    }

    /// The deadline of a live timer in nanoseconds, or `None` if the key is stale. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<()>::new(0);
    /// let key = wheel.schedule(10, ());
    /// wheel.reschedule(key, 25);
    /// assert_eq!(wheel.deadline(key), Some(25));
    /// wheel.cancel(key);
    /// assert_eq!(wheel.deadline(key), None);
    /// ```
    #[inline]
    pub fn deadline(&self, key: TimerKey) -> Option<u64> {
        Some(self.find(key)?.0)
    }

    /// A live timer, its deadline and its value, or `None` if the key is stale. O(1), with one look-up.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// let key = wheel.schedule(10, "value");
    /// assert_eq!(wheel.timer(key).map(|timer| (timer.deadline, *timer.value)), Some((10, "value")));
    /// wheel.cancel(key);
    /// assert_eq!(wheel.timer(key), None);
    /// ```
    #[inline]
    pub fn timer(&self, key: TimerKey) -> Option<TimerRef<'_, T>> {
        self.contains(key).then(|| self.timer_in(key.index()))
    }

    /// Whether the key's timer is live. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<()>::new(0);
    /// let key = wheel.schedule(10, ());
    /// assert!(wheel.contains(key));
    /// assert_eq!(wheel.advance(10).count(), 1);
    /// assert!(!wheel.contains(key), "it has fired");
    /// ```
    #[inline]
    pub fn contains(&self, key: TimerKey) -> bool {
        self.find(key).is_some()
    }

    /// The absolute time in nanoseconds at which the next advance has something to do: [`now`](Wheel::now) plus
    /// [`expiration_delay`](Wheel::expiration_delay). `None` exactly when no timer is live, or all are
    /// [held](crate::DueTimer::hold). O(1): it reads a field.
    ///
    /// A driver sleeps until this time of its own clock. It compares the time before and after a `schedule` to learn
    /// whether it must wake up sooner. The time is never later than the earliest deadline, but may be earlier.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(1_000, "soon");
    /// let clock = 400; // the wheel was last advanced to 0
    /// let sleep = wheel.wake_at().map(|at| at.saturating_sub(clock));
    /// assert_eq!((wheel.expiration_delay(), sleep), (Some(1_000), Some(600)));
    /// ```
    #[inline]
    pub fn wake_at(&self) -> Option<u64> {
        let at = self.hierarchy.wake_ns().max(self.now());
        (!self.hierarchy.is_unscheduled()).then_some(at)
    }

    /// How long the caller may sleep before the next advance, in nanoseconds from [`now`](Wheel::now); `None` exactly
    /// when no timer is live, or all are [held](crate::DueTimer::hold). O(1): it reads a field.
    ///
    /// The delay counts from the last advance. A caller whose clock has run on since then should use
    /// [`wake_at`](Wheel::wake_at).
    ///
    /// The delay never ends later than the earliest deadline, but may end earlier. The advance then opens a bucket,
    /// looks at a postponed timer, or moves at least 256 timers of a crowded bucket ahead. So an advance after the
    /// delay always makes progress, and cancelled timers cause no wake-ups. The delay is exact in a wheel that never
    /// needed a bucket, and 0 while there is a [backlog](Wheel::has_backlog).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<&str>::new(0);
    /// assert_eq!(wheel.expiration_delay(), None);
    /// wheel.schedule(80_000_000, "in 80 ms");
    /// let before = wheel.expiration_delay();
    /// assert!(before <= Some(80_000_000));
    ///
    /// wheel.schedule(5_000_000, "in 5 ms");
    /// assert!(wheel.expiration_delay() < before, "a sleeping caller must be woken");
    /// wheel.schedule(0, "now");
    /// assert_eq!(wheel.expiration_delay(), Some(0));
    /// ```
    #[inline]
    pub fn expiration_delay(&self) -> Option<u64> {
        Some(self.wake_at()?.saturating_sub(self.now()))
    }

    /// The earliest deadline of all live timers but those that are [held](crate::DueTimer::hold), in nanoseconds, exact
    /// even when timers were postponed.
    ///
    /// O(1) while the earliest timer is in the [near heap](crate::inspect::Stats::near). Otherwise O(timers in the
    /// first occupied bucket), and O(n) at worst: it reads on while every timer read so far was postponed beyond the
    /// next bucket. For a loop use [`wake_at`](Wheel::wake_at), or [`peek_first`](Wheel::peek_first), which
    /// searches once.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<()>::new(0);
    /// let key = wheel.schedule(5_000_000_000, ());
    /// wheel.schedule(9_000_000_000, ());
    /// assert_eq!(wheel.next_deadline(), Some(5_000_000_000));
    /// wheel.reschedule(key, 7_000_000_000);
    /// assert_eq!(wheel.next_deadline(), Some(7_000_000_000));
    /// ```
    pub fn next_deadline(&self) -> Option<u64> {
        self.hierarchy.next_deadline()
    }

    /// The delay in nanoseconds until a level's next occupied bucket falls due, or `None` when the
    /// level is empty or there is no such level. O(1).
    ///
    /// Level 0 is the finest and includes the timers that are in no bucket; level 4 has the timers beyond the others.
    /// The least of all levels is never before [`expiration_delay`](Wheel::expiration_delay). It is later only when
    /// part of a crowded bucket (more than 512 timers in [`Millis`](crate::Millis)) must be moved first. Caffeine's
    /// `peekAhead` looks at the very next bucket of a level; this method finds the next occupied one.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// (0..32).for_each(|_| _ = wheel.schedule(5 << 20, ())); // the first few need no bucket
    /// wheel.schedule(3 << 20, ());
    /// wheel.schedule(3_600_000_000_000, ());
    /// assert_eq!(wheel.peek_ahead(0), Some(3 << 20));
    /// assert!(wheel.peek_ahead(1).is_none() && wheel.peek_ahead(2) > Some(3_500_000_000_000));
    /// ```
    pub fn peek_ahead(&self, level: usize) -> Option<u64> {
        let wake = self.hierarchy.level_wake(level)?;
        Some(wake.saturating_sub(self.now()))
    }

    /// Whether work that is due by [`now`](Wheel::now) is left: timers to fire, or buckets to open and move down.
    /// O(1).
    ///
    /// ```
    /// use timer_wheel::{Budget, Wheel};
    ///
    /// let mut wheel = Wheel::new(0);
    /// (0..100).for_each(|value| _ = wheel.schedule(7, value));
    /// assert_eq!(wheel.advance_with_budget(7, &mut Budget::of_work(10)).count(), 10);
    /// assert!(wheel.has_backlog());
    /// assert_eq!(wheel.advance(7).count(), 90);
    /// assert!(!wheel.has_backlog());
    /// ```
    pub fn has_backlog(&self) -> bool {
        self.hierarchy.has_backlog()
    }

    /// The latest time that the wheel has been advanced to, in nanoseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<()>::new(500);
    /// assert_eq!(wheel.advance(900).count(), 0);
    /// assert_eq!(wheel.now(), 900);
    /// assert_eq!(wheel.advance(700).count(), 0);
    /// assert_eq!(wheel.now(), 900, "time does not run backwards");
    /// ```
    #[inline]
    pub fn now(&self) -> u64 {
        self.hierarchy.now()
    }

    /// The number of live timers, including held timers and due timers that have not been yielded. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<()>::new(0);
    /// wheel.schedule(10, ());
    /// wheel.schedule(20, ());
    /// let _ = wheel.advance(20).next();
    /// assert_eq!(wheel.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.hierarchy.len()
    }

    /// Whether no timer is live. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<()>::new(0);
    /// assert!(wheel.is_empty());
    /// wheel.schedule(10, ());
    /// assert!(!wheel.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The deadline and the slot of a key, or `None` if the key is stale.
    #[inline]
    fn find(&self, key: TimerKey) -> Option<(u64, &Slot<T>)> {
        self.hierarchy.timer(key.index()).filter(|(_, slot)| slot.is_of(key))
    }
}
