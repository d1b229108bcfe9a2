//! The wheel over slots of your own: for a program that already has a record for each timer.
//!
//! A [`Wheel`](crate::Wheel) owns its values and hands out keys. A cache that keeps its entries in a slab of
//! its own would then have every entry twice, and look one up to find the other. Here the program puts a
//! [`Timer`] of 24 bytes into its own record, says by the trait [`Timers`] where the record of an index is, and
//! passes its store to each call, as `hashbrown::HashTable` is passed the hasher. Exactness, order, costs and
//! budgets are those of [`Wheel`](crate::Wheel), which is built on the same core.
//!
//! ```
//! use slab::Slab;
//! use timer_wheel::index::{IndexWheel, Timer};
//!
//! struct Session {
//!     user: &'static str,
//!     timer: Timer,
//! }
//!
//! impl AsRef<Timer> for Session {
//!     fn as_ref(&self) -> &Timer {
//!         &self.timer
//!     }
//! }
//!
//! impl AsMut<Timer> for Session {
//!     fn as_mut(&mut self) -> &mut Timer {
//!         &mut self.timer
//!     }
//! }
//!
//! let mut sessions = Slab::new();
//! let mut wheel = IndexWheel::new(0);
//! for (user, deadline) in [("ada", 30), ("bob", 10)] {
//!     let index = sessions.insert(Session { user, timer: Timer::new() });
//!     wheel.schedule(&mut sessions, index as u32, deadline);
//! }
//! // A call that finds the record anyway costs no other look-up to put its timer off.
//! wheel.schedule(&mut sessions, 1, 40);
//!
//! while let Some((index, deadline)) = wheel.pop_expired(&mut sessions, 35) {
//!     let session = sessions.remove(index as usize);
//!     assert_eq!((session.user, deadline), ("ada", 30));
//! }
//! assert_eq!(wheel.len(), 1);
//! ```
//!
//! # What the store has to do
//!
//! Nothing but to keep a [`Timer`] at its index as long as it is scheduled, and to [cancel] it before the record
//! is freed or goes to another index. A store that does otherwise loses the expiry of *that* record, or gets it
//! at a wrong time, and harms no other: every entry of the wheel and the `Timer` it is of name each other, and
//! an entry is dropped as soon as it is seen that its `Timer` is gone or says otherwise. Until then it counts
//! in [`len`](IndexWheel::len). To pass another store than the one that the timers are in is to lie about every
//! record that the two differ in. Nothing panics but [`schedule`](IndexWheel::schedule), on an index without a
//! record or beyond what a wheel holds, and [`reserve`](IndexWheel::reserve). Should the *store* panic, the timer
//! that the call was for, and those that were just being sorted or moved, may be lost and count until a
//! [`clear`](IndexWheel::clear). Their records may say that they are scheduled all the same: [cancel] those, which
//! answers `false`, before they are scheduled again.
//!
//! [cancel]: IndexWheel::cancel

mod store;

use core::fmt;

pub use self::store::{Timer, Timers};

use self::store::Foreign;
use crate::budget::Budget;
use crate::geometry::{Geometry, Millis};
use crate::hierarchy::{Due, Hierarchy};
use crate::key::SlotIndex;
use crate::slots::MAX_TIMERS;
use crate::wheel::advance::{Progress, Verdict};

/// A hierarchical timer wheel that knows timers by index and keeps its notes in the caller's records.
///
/// Each call that touches timers takes the store, which must be the same one every time. See the [module's
/// page](self) for what it has to do, and for an example.
///
/// ```
/// use timer_wheel::index::{IndexWheel, Timer};
///
/// let mut timers = vec![Timer::new()];
/// let mut wheel = IndexWheel::new(0);
/// wheel.schedule(&mut timers, 0, 500);
/// assert_eq!(wheel.pop_expired(&mut timers, 500), Some((0, 500)));
/// ```
pub struct IndexWheel<G: Geometry = Millis> {
    hierarchy: Hierarchy<G>,
    /// Entries, whether the store still has the records they are of or not.
    len: usize,
}

impl IndexWheel {
    /// An empty wheel of the default geometry, whose clock shows `now` nanoseconds. Asks for no memory.
    ///
    /// ```
    /// let wheel = timer_wheel::index::IndexWheel::new(1_000);
    /// assert_eq!((wheel.now(), wheel.len()), (1_000, 0));
    /// ```
    pub fn new(now: u64) -> Self {
        Self::with_geometry(now)
    }
}

impl<G: Geometry> IndexWheel<G> {
    /// An empty wheel of any geometry, whose clock shows `now` nanoseconds.
    ///
    /// ```
    /// use timer_wheel::{Caffeine, index::IndexWheel};
    ///
    /// let wheel = IndexWheel::<Caffeine>::with_geometry(0);
    /// assert!(wheel.is_empty());
    /// ```
    pub fn with_geometry(now: u64) -> Self {
        Self {
            hierarchy: Hierarchy::new(now),
            len: 0,
        }
    }

    /// Schedules the timer at an index for `deadline`, in nanoseconds, whether it is scheduled already or
    /// not. Any `u64` will do; what has passed is due at once. O(1), or O(log k) in a near heap of k timers;
    /// a deadline later than before is usually only written down.
    ///
    /// # Panics
    ///
    /// If the store has no record at the index, if that is `u32::MAX`, or if there are more than 1.6 billion
    /// timers.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = [Timer::new(), Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers[..], 1, 500);
    /// wheel.schedule(&mut timers[..], 1, 900);
    /// assert_eq!(timers[1].deadline(), Some(900));
    /// assert_eq!(wheel.len(), 1);
    /// ```
    #[inline]
    #[track_caller]
    pub fn schedule<S: Timers + ?Sized>(&mut self, store: &mut S, index: u32, deadline: u64) {
        let Some(timer) = store.timer_mut(index) else {
            no_record(index)
        };
        if !self.hierarchy.postpone(timer.header_mut(), deadline) {
            self.move_to(store, index, deadline);
        }
    }

    #[track_caller]
    fn move_to<S: Timers + ?Sized>(&mut self, store: &mut S, index: u32, deadline: u64) {
        assert!(
            index != u32::MAX && self.len < MAX_TIMERS,
            "a timer wheel holds at most {MAX_TIMERS} timers, and u32::MAX is the index of none"
        );
        self.cancel(store, index);
        self.len += 1;
        let mut headers = Foreign::new(store, &mut self.len);
        let slot = SlotIndex::from_bits(index);
        self.hierarchy.schedule(&mut headers, slot, deadline);
    }

    /// Cancels the timer at an index. `false` if it is not scheduled, or there is no record. O(1),
    /// O(log k) from the near heap.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert!(wheel.cancel(&mut timers, 0));
    /// assert!(!wheel.cancel(&mut timers, 0));
    /// assert!(!wheel.cancel(&mut timers, 7));
    /// ```
    // As `Hierarchy::cancel`.
    #[inline(always)]
    pub fn cancel<S: Timers + ?Sized>(&mut self, store: &mut S, index: u32) -> bool {
        let timer = store.timer_mut(index);
        let Some(timer) = timer.filter(|timer| timer.is_scheduled()) else {
            return false;
        };
        let header = *timer.header_mut();
        timer.set_unscheduled();
        // Counted first, lest a store that panics on the way leave a timer too many.
        let len = self.len;
        self.len = len.saturating_sub(1);
        let mut headers = Foreign::new(store, &mut self.len);
        // Whatever the store says, only an entry of this very record is taken out.
        let slot = SlotIndex::from_bits(index);
        let is_held = self.hierarchy.cancel(&mut headers, slot, header);
        if !is_held {
            self.len = len;
        }
        is_held
    }

    /// Moves the clock to `now`, unless it is later already, and takes out the first timer that is due: its
    /// index and its deadline. `None` when nothing more is due. The timer is no longer scheduled.
    ///
    /// Amortized O(1) a timer. What it costs when nothing is due is said at
    /// [`Wheel::advance`](crate::Wheel::advance).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert_eq!(wheel.pop_expired(&mut timers, 499), None);
    /// assert_eq!(wheel.pop_expired(&mut timers, 500), Some((0, 500)));
    /// assert!(!timers[0].is_scheduled());
    /// ```
    #[inline]
    pub fn pop_expired<S: Timers + ?Sized>(
        &mut self,
        store: &mut S,
        now: u64,
    ) -> Option<(u32, u64)> {
        let mut budget = Budget::UNLIMITED;
        let due = self.next_due(store, now, &mut budget)?;
        Some(self.fire(store, due))
    }

    /// Moves the clock to `now`, unless it is later already, and shows the first timer that is due, to be
    /// removed or given a new deadline. If the handle is dropped, it stays due. `None` when nothing is due.
    /// Amortized O(1).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new(), Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// wheel.schedule(&mut timers, 1, 600);
    /// let mut fired = Vec::new();
    /// while let Some(due) = wheel.peek_expired(&mut timers, 1_000) {
    ///     if due.index() == 0 && due.deadline() == 500 {
    ///         due.rearm(700); // Once more.
    ///     } else {
    ///         fired.push(due.remove());
    ///     }
    /// }
    /// assert_eq!(fired, [(1, 600), (0, 700)]);
    /// ```
    pub fn peek_expired<'a, S: Timers + ?Sized>(
        &'a mut self,
        store: &'a mut S,
        now: u64,
    ) -> Option<DueIndex<'a, S, G>> {
        let mut budget = Budget::UNLIMITED;
        let due = self.next_due(store, now, &mut budget)?;
        Some(DueIndex {
            wheel: self,
            store,
            due,
        })
    }

    /// Moves the clock to `now`, unless it is later already, and calls `f` with each timer that is due, its
    /// index and its deadline, until the budget is used up: what it says becomes of the timer. In the call the
    /// store is free to be changed; whoever frees the record there answers [`Verdict::Remove`].
    ///
    /// Should `f` panic, that timer stays due.
    ///
    /// ```
    /// use slab::Slab;
    /// use timer_wheel::{Verdict, index::{IndexWheel, Timer}};
    ///
    /// let mut timers = Slab::new();
    /// let mut wheel = IndexWheel::new(0);
    /// for deadline in [10, 20, 30] {
    ///     let index = timers.insert(Timer::new());
    ///     wheel.schedule(&mut timers, index as u32, deadline);
    /// }
    /// let progress = wheel.advance_with(&mut timers, 25, usize::MAX, |timers, index, deadline| {
    ///     if deadline == 10 {
    ///         return Verdict::Rearm(40);
    ///     }
    ///     timers.remove(index as usize);
    ///     Verdict::Remove
    /// });
    /// assert_eq!((progress.fired, timers.len(), wheel.len()), (2, 2, 2));
    /// ```
    pub fn advance_with<S: Timers + ?Sized>(
        &mut self,
        store: &mut S,
        now: u64,
        budget: impl Into<Budget>,
        mut f: impl FnMut(&mut S, u32, u64) -> Verdict,
    ) -> Progress {
        let mut budget = budget.into();
        let mut fired = 0;
        while let Some(due) = self.next_due(store, now, &mut budget) {
            match f(store, due.slot.to_bits(), due.deadline) {
                Verdict::Remove => drop(self.fire(store, due)),
                Verdict::Rearm(deadline) => self.rearm(store, due, deadline),
                Verdict::Stop => break,
            }
            fired += 1;
            budget.pay_for_fire();
        }
        Progress {
            fired,
            unused: budget.work,
            has_backlog: self.has_backlog(),
        }
    }

    /// Takes out the earliest timer, due or not: its index and its deadline. The clock stays. Amortized O(1)
    /// while time goes on, as finding it prepares what comes next.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new(), Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 900);
    /// wheel.schedule(&mut timers, 1, 500);
    /// assert_eq!(wheel.peek_first(&mut timers), Some((1, 500)));
    /// assert_eq!(wheel.pop_first(&mut timers), Some((1, 500)));
    /// assert_eq!(wheel.pop_first(&mut timers), Some((0, 900)));
    /// assert_eq!(wheel.pop_first(&mut timers), None);
    /// ```
    pub fn pop_first<S: Timers + ?Sized>(&mut self, store: &mut S) -> Option<(u32, u64)> {
        let due = self.first(store)?;
        Some(self.fire(store, due))
    }

    /// The earliest timer, due or not: its index and its deadline. Costs as [`IndexWheel::pop_first`].
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert_eq!(wheel.peek_first(&mut timers), Some((0, 500)));
    /// assert!(timers[0].is_scheduled());
    /// ```
    pub fn peek_first<S: Timers + ?Sized>(&mut self, store: &mut S) -> Option<(u32, u64)> {
        let due = self.first(store)?;
        Some((due.slot.to_bits(), due.deadline))
    }

    fn first<S: Timers + ?Sized>(&mut self, store: &mut S) -> Option<Due> {
        self.hierarchy
            .first(&mut Foreign::new(store, &mut self.len))
    }

    #[inline]
    fn next_due<S: Timers + ?Sized>(
        &mut self,
        store: &mut S,
        now: u64,
        budget: &mut Budget,
    ) -> Option<Due> {
        self.hierarchy.set_now(now);
        if self.hierarchy.is_idle() {
            return None;
        }
        let mut headers = Foreign::new(store, &mut self.len);
        self.hierarchy.next_due(&mut headers, budget)
    }

    /// Takes a timer that is at the head out.
    #[inline]
    fn fire<S: Timers + ?Sized>(&mut self, store: &mut S, due: Due) -> (u32, u64) {
        let index = due.slot.to_bits();
        if let Some(timer) = store.timer_mut(index) {
            timer.set_unscheduled();
        }
        self.len -= 1;
        let mut headers = Foreign::new(store, &mut self.len);
        self.hierarchy.take_first(&mut headers);
        (index, due.deadline)
    }

    /// Gives a timer that is at the head a new deadline, if its record is still there.
    fn rearm<S: Timers + ?Sized>(&mut self, store: &mut S, due: Due, deadline: u64) {
        let (index, _) = self.fire(store, due);
        if store.timer(index).is_some() {
            self.move_to(store, index, deadline);
        }
    }

    /// How many nanoseconds may pass before there is anything to do. `None` when no timer is scheduled.
    /// Never later than the earliest deadline; see
    /// [`Wheel::expiration_delay`](crate::Wheel::expiration_delay). O(1).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert_eq!(wheel.expiration_delay(), Some(500));
    /// ```
    #[inline]
    pub fn expiration_delay(&self) -> Option<u64> {
        let delay = self.hierarchy.wake().saturating_sub(self.now());
        (self.len != 0).then_some(delay)
    }

    /// Whether something is left to do by the time the clock shows: timers to fire, or buckets to open. O(1).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert_eq!(wheel.peek_expired(&mut timers, 500).map(|due| due.index()), Some(0));
    /// assert!(wheel.has_backlog());
    /// ```
    pub fn has_backlog(&self) -> bool {
        self.hierarchy.has_backlog()
    }

    /// The time that the clock shows, in nanoseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert_eq!(wheel.pop_expired(&mut timers, 300), None);
    /// assert_eq!(wheel.now(), 300);
    /// ```
    #[inline]
    pub fn now(&self) -> u64 {
        self.hierarchy.now()
    }

    /// The number of timers that are scheduled. O(1).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert_eq!(wheel.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no timer is scheduled. O(1).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert!(!wheel.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes room for `additional` more timers, if they fill their blocks. O(additional).
    ///
    /// # Panics
    ///
    /// If the wheel would hold more than 1.6 billion timers.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// wheel.reserve(10_000);
    /// assert!(wheel.bytes() >= 4 * 10_000);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        assert!(
            additional <= MAX_TIMERS.saturating_sub(self.len),
            "a timer wheel holds at most {MAX_TIMERS} timers"
        );
        self.hierarchy.reserve(additional);
    }

    /// Cancels all timers. Keeps the clock, and memory for as many. O(n).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new(), Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// wheel.clear(&mut timers);
    /// assert!(wheel.is_empty() && !timers[0].is_scheduled());
    /// ```
    pub fn clear<S: Timers + ?Sized>(&mut self, store: &mut S) {
        for slot in self.hierarchy.slots() {
            if let Some(timer) = store.timer_mut(slot.to_bits()) {
                timer.set_unscheduled();
            }
        }
        self.hierarchy.clear();
        self.len = 0;
    }

    /// Gives back the memory that is not needed for the timers at hand. O(n).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// wheel.reserve(10_000);
    /// wheel.shrink_to_fit(&mut timers);
    /// assert!(wheel.bytes() < 1_000);
    /// ```
    pub fn shrink_to_fit<S: Timers + ?Sized>(&mut self, store: &mut S) {
        let mut headers = Foreign::new(store, &mut self.len);
        self.hierarchy.shrink_to_fit(&mut headers);
    }

    /// The heap memory of the wheel in bytes; that of the records is the store's. O(pages) of timers that have
    /// been sorted, and O(1) besides.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert!(wheel.bytes() > 0);
    /// ```
    pub fn bytes(&self) -> usize {
        self.hierarchy.bytes()
    }

    /// Panics if a law of the wheel is broken. For a store that has done all it has to.
    #[doc(hidden)]
    pub fn check_invariants<S: Timers + ?Sized>(&self, store: &mut S) {
        let mut len = self.len;
        let headers = Foreign::new(store, &mut len);
        self.hierarchy.check(&headers, self.len);
    }
}

/// The law that a timer is scheduled in a record.
#[cold]
#[inline(never)]
#[track_caller]
fn no_record(index: u32) -> ! {
    panic!("the store has no record at index {index}");
}

impl<G: Geometry> Default for IndexWheel<G> {
    /// An empty wheel whose clock shows 0.
    fn default() -> Self {
        Self::with_geometry(0)
    }
}

impl<G: Geometry> fmt::Debug for IndexWheel<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexWheel")
            .field("now", &self.now())
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// A timer that is due: what [`IndexWheel::peek_expired`] shows. If it is dropped, the timer stays due.
///
/// ```
/// use timer_wheel::index::{IndexWheel, Timer};
///
/// let mut timers = vec![Timer::new()];
/// let mut wheel = IndexWheel::new(0);
/// wheel.schedule(&mut timers, 0, 500);
/// drop(wheel.peek_expired(&mut timers, 700));
/// assert_eq!(wheel.pop_expired(&mut timers, 700), Some((0, 500)));
/// ```
pub struct DueIndex<'a, S: Timers + ?Sized, G: Geometry = Millis> {
    wheel: &'a mut IndexWheel<G>,
    store: &'a mut S,
    due: Due,
}

impl<S: Timers + ?Sized, G: Geometry> DueIndex<'_, S, G> {
    /// The index of its record.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// let due = wheel.peek_expired(&mut timers, 700).expect("it is due");
    /// assert_eq!(due.index(), 0);
    /// ```
    pub fn index(&self) -> u32 {
        self.due.slot.to_bits()
    }

    /// When it is due, in nanoseconds.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// let due = wheel.peek_expired(&mut timers, 700).expect("it is due");
    /// assert_eq!(due.deadline(), 500);
    /// ```
    pub fn deadline(&self) -> u64 {
        self.due.deadline
    }

    /// The store, to look at the record.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// let due = wheel.peek_expired(&mut timers, 700).expect("it is due");
    /// assert_eq!(due.store()[0].deadline(), Some(500));
    /// ```
    pub fn store(&self) -> &S {
        self.store
    }

    /// The store, to change the record. Whoever frees it then [removes](DueIndex::remove) the timer.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// let mut due = wheel.peek_expired(&mut timers, 700).expect("it is due");
    /// due.store_mut().push(Timer::new());
    /// assert_eq!(due.remove(), (0, 500));
    /// assert_eq!(timers.len(), 2);
    /// ```
    pub fn store_mut(&mut self) -> &mut S {
        self.store
    }

    /// Takes the timer out: its index and its deadline. O(1), O(log k) from the near heap.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// let due = wheel.peek_expired(&mut timers, 700).expect("it is due");
    /// assert_eq!(due.remove(), (0, 500));
    /// assert!(wheel.is_empty());
    /// ```
    pub fn remove(self) -> (u32, u64) {
        self.wheel.fire(self.store, self.due)
    }

    /// Gives the timer a new deadline, in nanoseconds; one that has passed is due again at once, behind those
    /// of the same deadline. O(1), O(log k) in the near heap.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// let due = wheel.peek_expired(&mut timers, 700).expect("it is due");
    /// due.rearm(900);
    /// assert_eq!(wheel.expiration_delay(), Some(200));
    /// ```
    pub fn rearm(self, deadline: u64) {
        self.wheel.rearm(self.store, self.due, deadline);
    }
}

impl<S: Timers + ?Sized, G: Geometry> fmt::Debug for DueIndex<'_, S, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueIndex")
            .field("index", &self.index())
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}
