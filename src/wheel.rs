//! The timer wheel: values with deadlines, handed back in order when they are due.

pub(crate) mod advance;
pub(crate) mod due;
pub(crate) mod iter;
pub(crate) mod timer;

#[cfg(feature = "serde")]
mod serde;

use alloc::collections::TryReserveError;

use crate::geometry::{Geometry, Millis};
use crate::hierarchy::Hierarchy;
use crate::key::TimerKey;
use crate::near::lanes::Lane;
use crate::node::{MAX_TIMERS, NodeIndex, PAGE};
use crate::slots::{Slot, Slots};
use crate::wheel::timer::TimerRef;

/// A hierarchical timer wheel.
///
/// It behaves like a `BTreeSet` of `(deadline, sequence)` pairs with a value for each, where the
/// sequence counts calls of [`schedule`](Wheel::schedule) and [`reschedule`](Wheel::reschedule).
/// Timers fire in order of deadline, and first in first out among equals. No timer fires before its
/// deadline or after the first advance that reaches it, and none twice.
///
/// Times are nanoseconds since an origin of the caller's choice. Every `u64` is a valid time and a
/// valid deadline.
///
/// # Costs
///
/// Scheduling, cancelling and rescheduling are O(1), and O(log k) among the k timers of the near heap. A timer is
/// moved at most once for each level between where it was scheduled and the finest (beyond the four levels, once for
/// each bit of its deadline above them), and once more for each time it was postponed and the old time came. The
/// timers of one tick are sorted when it is reached. An [`advance`](Wheel::advance) over any span costs O(timers
/// touched), however long the span. Called at least once a tick it has no long pause for what lies ahead, because
/// crowded buckets are moved down a share at a time before they begin.
///
/// Memory is a node for each timer (24 bytes, 4 for the generation of its key, and the value), in pages of 256 that
/// are never moved. After a peak it comes back by itself, a page with each advance. Values are
/// moved in and out: box those above some 200 bytes.
///
/// The geometry `G` sets the tick and the span of the levels. It changes costs only, never what
/// fires when or in what order.
///
/// The idea of five levels with power-of-two ticks is that of
/// [Caffeine](https://github.com/ben-manes/caffeine)'s `TimerWheel`, after Varghese and Lauck,
/// "Hashed and Hierarchical Timing Wheels" (1987).
///
/// # Examples
///
/// A loop that sleeps until there is work:
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<u32>::new(0);
/// wheel.schedule(90_000_000_000, 7);
///
/// let mut wake_ups = 0;
/// let mut fired = Vec::new();
/// while let Some(now) = wheel.wake_at() {
///     wake_ups += 1; // after a sleep until `now`
///     fired.extend(wheel.advance(now).map(|timer| (now, timer.deadline, timer.value)));
/// }
/// assert_eq!(fired, [(90_000_000_000, 90_000_000_000, 7)]);
/// assert!(wake_ups <= 6);
/// ```
pub struct Wheel<T, G: Geometry = Millis> {
    pub(crate) hierarchy: Hierarchy<Slot<T>, G>,
    pub(crate) slots: Slots,
    /// The time at which a page was last given back.
    gave_back_at: u64,
}

impl<T> Wheel<T> {
    /// Makes an empty wheel of the geometry [`Millis`] whose clock stands at `now` nanoseconds. O(1).
    ///
    /// For another geometry there is [`with_geometry`](Wheel::with_geometry).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(1_000);
    /// wheel.schedule(1_500, "soon");
    /// assert_eq!((wheel.now(), wheel.len()), (1_000, 1));
    /// ```
    pub fn new(now: u64) -> Self {
        Self::with_geometry(now)
    }

    /// Makes an empty wheel of the geometry [`Millis`] with memory for `capacity` timers, as
    /// [`reserve`](Wheel::reserve) does. O(capacity).
    ///
    /// # Panics
    ///
    /// If a wheel could never hold that many.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let wheel = Wheel::<u8>::with_capacity(0, 500);
    /// assert!(wheel.capacity() >= 500);
    /// ```
    #[track_caller]
    pub fn with_capacity(now: u64, capacity: usize) -> Self {
        let mut wheel = Self::with_geometry(now);
        wheel.reserve(capacity);
        wheel
    }
}

impl<T, G: Geometry> Wheel<T, G> {
    /// Makes an empty wheel of the geometry `G` whose clock stands at `now` nanoseconds. O(1).
    ///
    /// An empty wheel takes less than a kilobyte. With more than 32 timers (or as many as level 0 has buckets, if it has
    /// fewer), its buckets take 36 bytes each, up to the highest level in use: at most 74 KB, or 19 KB in
    /// [`Compact`](crate::Compact) and 12 KB in [`Caffeine`](crate::Caffeine) geometry. [`reserve`](Wheel::reserve) gets
    /// memory for timers ahead.
    ///
    /// ```
    /// use timer_wheel::{Caffeine, Wheel};
    ///
    /// let mut wheel = Wheel::<String, Caffeine>::with_geometry(1_000);
    /// wheel.reserve(500);
    /// assert_eq!((wheel.now(), wheel.len()), (1_000, 0));
    /// ```
    pub fn with_geometry(now: u64) -> Self {
        Self { hierarchy: Hierarchy::new(now), slots: Slots::new(0), gave_back_at: now }
    }

    /// Schedules `value` to be handed back by the first advance that reaches `deadline`
    /// nanoseconds. O(1).
    ///
    /// The deadline is absolute: the caller's clock plus a delay, not [`now`](Wheel::now), which
    /// stands where the last advance left it. One in the past is due at the next advance, before any
    /// later one.
    ///
    /// # Panics
    ///
    /// If 1,610,612,736 timers are live, which is the most a wheel can hold. A caller that wants a lower bound compares
    /// [`len`](Wheel::len) with it.
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
        let index = self.slots.vacant(&mut self.hierarchy.nodes);
        let slots = &self.slots;
        self.hierarchy.schedule(index, deadline, |slot| slots.fill(index, slot, value))
    }

    /// Adds a [`Lane`], for timers that are scheduled in the order in which they are due. O(1).
    ///
    /// # Panics
    ///
    /// If there are 64, which is the most that a wheel has. A program whose users set the TTLs counts its lanes, and
    /// schedules further TTLs without one.
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

    /// As [`schedule`](Wheel::schedule), at the end of a lane if no timer of the lane is due later, and else as if no lane
    /// were named. O(1).
    ///
    /// The [lane](Lane) changes what it costs, and nothing else.
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
        let index = self.slots.vacant(&mut self.hierarchy.nodes);
        let slots = &self.slots;
        self.hierarchy.schedule_in(lane, index, deadline, |slot| slots.fill(index, slot, value))
    }

    /// As [`schedule`](Wheel::schedule), for a value that needs its own key. O(1).
    ///
    /// `f` is called with the key before anything has changed: if it panics, the wheel is as it
    /// was.
    ///
    /// # Panics
    ///
    /// If `f` does, and as `schedule`.
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
        let nodes = &self.hierarchy.nodes;
        let lowest = self.slots.lowest_free();
        let index = lowest.unwrap_or_else(|| NodeIndex::new(nodes.len()));
        let past = lowest.map_or(0, |free| nodes.at(free.get()).value.generation());
        let key = TimerKey::new(index, self.slots.filled(past));
        let scheduled = self.schedule(deadline, f(key));
        debug_assert!(key == scheduled, "the key that was promised is given out");
        scheduled
    }

    /// Reschedules the timer of the key in `timer`, or schedules `value()` and stores the new key there, if there is
    /// no key or a stale one. Returns the key. O(1), O(log k) among the k timers of the near heap.
    ///
    /// For a caller who keeps a place for a timer that may have fired: a connection, an entry of a cache. It is cheaper
    /// than to cancel and schedule: a later deadline costs one cache line.
    ///
    /// # Panics
    ///
    /// If `value` does, and then the wheel is as it was. Otherwise as
    /// [`schedule`](Wheel::schedule).
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

    /// Cancels a timer and hands its value back, or `None` to a stale key. O(1), O(log k) among the k
    /// timers of the near heap.
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
        let take = |slot: &mut Slot<T>| slot.is_of(key).then(|| slot.vacate(index))?;
        let (_, value) = self.hierarchy.cancel(index, take)?;
        self.slots.freed(key);
        Some(value)
    }

    /// Gives a timer a new deadline, and a new place behind all timers of equal deadline; `false`
    /// to a stale key. O(1), O(log k) among the k timers of the near heap.
    ///
    /// A later deadline costs one cache line: the timer stays in its bucket until its old time comes.
    /// [`expiration_delay`](Wheel::expiration_delay) then still answers for the old time.
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
        self.hierarchy.set(key.index(), deadline, |slot| slot.is_of(key))
    }

    /// As [`reschedule`](Wheel::reschedule), to the end of a lane if no timer of the lane is due later, and else as if no
    /// lane were named. O(1), O(log k) among the k timers of the near heap.
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
        self.hierarchy.set_in(lane, key.index(), deadline, |slot| slot.is_of(key))
    }

    /// The value of a live timer, or `None` to a stale key. O(1).
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

    /// The value of a live timer, to be changed, or `None` to a stale key. O(1).
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

    /// The deadline of a live timer in nanoseconds, or `None` to a stale key. O(1).
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

    /// A live timer, its deadline and its value, or `None` to a stale key. O(1), with one look-up.
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

    /// The deadline and the slot of a key, unless the key is stale.
    #[inline]
    fn find(&self, key: TimerKey) -> Option<(u64, &Slot<T>)> {
        self.hierarchy.timer(key.index()).filter(|(_, slot)| slot.is_of(key))
    }

    /// How long the caller may sleep before the next advance, in nanoseconds from [`now`](Wheel::now); `None` exactly
    /// when no timer is live. O(1): a field is read.
    ///
    /// It counts from the last advance. A caller whose clock has run on since then asks
    /// [`wake_at`](Wheel::wake_at).
    ///
    /// Never later than the earliest deadline. It may be earlier. Then a bucket is to be opened, a postponed
    /// timer is to be looked at, or at least 256 timers of a crowded bucket are to be moved ahead of its
    /// time. So sleeping for it and advancing always makes progress, and a cancelled timer wakes no caller. A
    /// wheel that never needed a bucket answers exactly. The delay is 0 while there is a
    /// [backlog](Wheel::has_backlog).
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

    /// When the next advance has something to do, in nanoseconds, as an absolute time: [`now`](Wheel::now) and
    /// [`expiration_delay`](Wheel::expiration_delay). `None` exactly when no timer is live. O(1): a field is read.
    ///
    /// A driver sleeps until this time of its own clock. It asks before and after a `schedule`, which costs next to
    /// nothing, to learn whether it must wake up sooner.
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
        let at = self.hierarchy.wake().max(self.now());
        (!self.is_empty()).then_some(at)
    }

    /// The earliest deadline of all live timers in nanoseconds, exact even when timers were postponed.
    ///
    /// O(1) while the earliest timer is in the [near heap](crate::inspect::Stats::near). Else O(timers in the first
    /// occupied bucket), and further buckets are looked at as long as every timer so far has been postponed
    /// beyond them: O(n) at worst. A caller that holds the wheel
    /// mutably asks [`peek_first`](Wheel::peek_first), which searches once.
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
    /// Level 0 is the finest and includes the timers that are in no bucket; level 4 has the timers beyond the
    /// others. The least of all levels is never before [`expiration_delay`](Wheel::expiration_delay), and later only
    /// where some timers of a crowded bucket, one of more than 512 (in [`Millis`]) are to be moved ahead first. Caffeine's
    /// `peekAhead` looks at the very next bucket of a level; this one sees them all at once.
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

    /// The number of live timers: timers that are due and not yet yielded included. O(1).
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

    /// Cancels every timer and drops the values. O(n), however many there once were.
    ///
    /// The clock and the memory stay; later advances give the memory back, a page at a time. All keys become stale,
    /// also if a value panics when it is dropped.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<&str>::new(0);
    /// let key = wheel.schedule(10, "value");
    /// wheel.clear();
    /// assert!(wheel.is_empty());
    /// assert_eq!(wheel.cancel(key), None);
    /// ```
    pub fn clear(&mut self) {
        drop(self.drain());
    }

    /// The number of timers that fit before memory for more slots is asked for. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u64>::new(0);
    /// assert_eq!(wheel.capacity(), 0);
    /// wheel.schedule(10, 1);
    /// assert!(wheel.capacity() >= 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.hierarchy.nodes.capacity() - self.slots.retired()
    }

    /// Makes room for `additional` more timers. O(additional).
    ///
    /// The memory asked for later is that of the buckets of a level when it is first used, and of the near heap.
    ///
    /// # Panics
    ///
    /// If the wheel could never hold that many.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u64>::new(0);
    /// wheel.reserve(10_000);
    /// let bytes = wheel.stats().bytes;
    /// for value in 0..10_000 {
    ///     wheel.schedule(1_000_000_000, value);
    /// }
    /// assert!(wheel.stats().bytes < bytes + 40_000, "the buckets of two levels are all that is new");
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        assert!(additional <= MAX_TIMERS - self.len(), "a timer wheel holds at most {MAX_TIMERS} timers");
        let len = self.len();
        let nodes = &mut self.hierarchy.nodes;
        let free = nodes.len() - len - self.slots.retired();
        nodes.reserve(additional.saturating_sub(free));
        self.slots.make_room_to_free(nodes);
    }

    /// As [`reserve`](Wheel::reserve), but returns an error if a wheel could never hold that many timers
    /// or the memory cannot be allocated. O(additional).
    ///
    /// All of the memory is asked for in one piece and given back, and then asked for page by page. A
    /// system that promises more memory than it has is more likely to refuse a large piece.
    ///
    /// # Errors
    ///
    /// [`TryReserveError`], and nothing has changed.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u64>::new(0);
    /// assert!(wheel.try_reserve(usize::MAX).is_err());
    /// assert!(wheel.try_reserve(1_000).is_ok());
    /// assert!(wheel.capacity() >= 1_000);
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        let lacking = additional.saturating_sub(self.capacity() - self.len());
        let is_possible = additional <= MAX_TIMERS - self.len();
        let nodes = &self.hierarchy.nodes;
        nodes.probe(if is_possible { lacking } else { usize::MAX })?;
        self.reserve(additional);
        Ok(())
    }

    /// Gives back at once the memory that the live timers do not need. O(n).
    ///
    /// A timer keeps its slot, so memory is kept up to the highest slot in use. Keys stay valid, and stale ones stale.
    /// Without a call, advances give back a page at a time, while more is free than in use.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u64>::new(0);
    /// let keys: Vec<_> = (0..10_000).map(|value| wheel.schedule(1_000_000, value)).collect();
    /// for key in &keys[1..] {
    ///     wheel.cancel(*key);
    /// }
    /// let before = wheel.stats().bytes;
    /// wheel.shrink_to_fit();
    /// assert!(wheel.stats().bytes < before / 10);
    /// assert_eq!(wheel.get(keys[0]), Some(&0));
    /// ```
    pub fn shrink_to_fit(&mut self) {
        let nodes = &mut self.hierarchy.nodes;
        let slot = |index| &nodes.at(index).value;
        let len = self.slots.shrink_to_fit(nodes.len(), slot);
        nodes.truncate(len);
        self.slots.make_room_to_free(nodes);
        self.hierarchy.shrink_to_fit();
    }

    /// Whether more nodes are free than in use, by more than two pages.
    #[inline]
    fn has_spare_pages(&self) -> bool {
        self.hierarchy.nodes.len() / 2 > self.len() + PAGE
    }

    /// Gives back the last page of nodes if all of it is free, once for each time that the clock comes to. O(nodes of a
    /// page).
    #[cold]
    #[inline(never)]
    fn give_back_page(&mut self) {
        let now = self.now();
        let nodes = &mut self.hierarchy.nodes;
        let last = (nodes.pages() - 1) * PAGE..nodes.len();
        if self.gave_back_at != now && !last.is_empty() {
            self.gave_back_at = now;
            if self.slots.give_back(last, |index| &nodes.at(index).value) {
                nodes.drop_page();
            }
        }
    }
}

/// For the fuzz targets, which are built with `--cfg fuzzing`.
#[cfg(fuzzing)]
impl<T, G: Geometry> Wheel<T, G> {
    /// Leaves no more than `left` sequence numbers before the timers must be renumbered, which
    /// otherwise takes 2^48 calls.
    #[doc(hidden)]
    pub fn exhaust_sequence(&mut self, left: u64) {
        self.hierarchy.exhaust_sequence(left);
    }
}

impl<T: Clone, G: Geometry> Clone for Wheel<T, G> {
    /// Copies the wheel. The keys of the original name the timers of the copy as well.
    fn clone(&self) -> Self {
        Self { hierarchy: self.hierarchy.clone(), slots: self.slots.clone(), gave_back_at: self.gave_back_at }
    }
}

impl<T, G: Geometry> Default for Wheel<T, G> {
    /// An empty wheel at time 0.
    fn default() -> Self {
        Self::with_geometry(0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::geometry::{Caffeine, Compact, Micros};

    /// Every sequence number but three has been given out. What is scheduled now comes after what
    /// is there already, wherever that is.
    #[test]
    fn sequence_that_runs_out_is_renumbered_in_order() {
        let now = 1 << 40;
        let mut wheel: Wheel<u32> = Wheel::new(now);
        let later = now + (50 << 20);
        let mut keys = Vec::new();
        let lane = wheel.add_lane();
        for value in 0..48 {
            // Due, current, on two levels, beyond them all, in a lane; some of them at equal times.
            let deadlines = [0, now + 9, now + 9, later, later + (1 << 30), u64::MAX];
            keys.push(match deadlines.get(value % 8) {
                Some(&deadline) => wheel.schedule(deadline, value as u32),
                None => wheel.schedule_in(lane, later, value as u32),
            });
        }
        assert!(wheel.reschedule(keys[3], later + 1), "postponed in place");
        assert!(wheel.advance(now).next().is_some(), "the others stay in order");
        wheel.hierarchy.exhaust_sequence(3);
        let before: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        for value in 48..60 {
            keys.push(if value % 3 == 0 {
                wheel.schedule(later, value)
            } else {
                wheel.schedule_in(lane, later, value)
            });
            wheel.check_invariants();
        }
        let after: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        let old: Vec<TimerKey> = after.iter().copied().filter(|key| !keys[48..].contains(key)).collect();
        assert_eq!(old, before);
        let at_later: Vec<u32> =
            wheel.ascending().filter(|timer| timer.deadline == later).map(|timer| *timer.value).collect();
        assert!(at_later.is_sorted() && at_later.ends_with(&[58, 59]));
        let fired: Vec<TimerKey> = wheel.advance(u64::MAX).map(|timer| timer.key).collect();
        assert_eq!(fired, after);
    }

    /// A postponement takes the last number, or the first one for which all must be renumbered.
    #[test]
    fn timer_that_is_postponed_when_numbers_run_out_comes_last() {
        for left in [1, 0] {
            let mut wheel = Wheel::new(0);
            let keys: Vec<TimerKey> = (0..40).map(|value| wheel.schedule(50 << 20, value)).collect();
            wheel.hierarchy.exhaust_sequence(left);
            assert!(wheel.reschedule(keys[35], 50 << 20));
            wheel.check_invariants();
            let fired: Vec<u32> = wheel.advance(u64::MAX).map(|timer| timer.value).collect();
            assert_eq!((fired.len(), fired.last()), (40, Some(&35)));
        }
    }

    /// Those of one deadline are told apart by their numbers, and what was cancelled has left holes in the order.
    #[test]
    fn timers_that_are_sorted_already_are_renumbered_with_the_others() {
        let tick = 5 << 20;
        let mut wheel: Wheel<u64> = Wheel::new(0);
        // The later the sooner they were scheduled.
        let deadline = |value| tick + (59 - value) / 6;
        let keys: Vec<TimerKey> = (0..60).map(|value| wheel.schedule(deadline(value), value)).collect();
        assert_eq!(wheel.advance(tick).count(), 6, "the others are sorted");
        // Across two deadlines, within one, and the last of one; none that the near heap holds.
        let cancelled = [52, 53, 42, 43, 45, 41];
        for value in cancelled {
            wheel.cancel(keys[value as usize]);
        }
        wheel.hierarchy.exhaust_sequence(0);
        wheel.schedule(tick + 2, 100);
        wheel.check_invariants();
        let mut expected: Vec<u64> = (0..54).collect();
        expected.retain(|value| !cancelled.contains(value));
        expected.sort_by_key(|&value| deadline(value));
        expected.insert(expected.partition_point(|&it| deadline(it) <= tick + 2), 100);
        let fired: Vec<u64> = wheel.advance(u64::MAX).map(|timer| timer.value).collect();
        assert_eq!(fired, expected);
    }

    /// One slot whose generations are used up is room for nothing.
    #[test]
    fn room_that_is_reserved_does_not_count_a_retired_slot() {
        let mut wheel: Wheel<u32> = Wheel::new(0);
        wheel.schedule(1, 0);
        let Slot::Taken { generation, .. } = &mut wheel.hierarchy.nodes.at_mut(0).value else {
            panic!("the slot is taken");
        };
        *generation = core::num::NonZeroU32::MAX;
        assert_eq!((wheel.advance(1).count(), wheel.slots.retired()), (1, 1));
        wheel.reserve(PAGE);
        assert!(wheel.capacity() >= PAGE, "{}", wheel.capacity());
    }

    #[test]
    fn descending_walk_after_a_renumbering_knows_early_timers() {
        let mut wheel: Wheel<u32> = Wheel::new(0);
        wheel.schedule(300 << 20, 1);
        wheel.schedule(400 << 20, 3);
        assert!(wheel.advance(256 << 20).next().is_none());
        wheel.hierarchy.exhaust_sequence(0);
        wheel.schedule(350 << 20, 2);
        let down: Vec<u32> = wheel.descending().map(|timer| *timer.value).collect();
        assert_eq!(down, [3, 2, 1]);
    }

    #[test]
    fn empty_wheel_is_small() {
        fn bytes<G: Geometry>() -> usize {
            Wheel::<u64, G>::with_geometry(0).stats().bytes
        }
        assert!(bytes::<Millis>() <= 10_000);
        assert!(bytes::<Micros>() <= 10_000);
        assert!(bytes::<Compact>() <= 2_500, "{}", bytes::<Compact>());
        assert!(bytes::<Caffeine>() <= 2_500);
    }
}
