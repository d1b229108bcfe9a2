//! A wheel for a program that has indexes of its own.
//!
//! A [`Wheel`](crate::Wheel) owns its values and hands out keys. A cache that keeps its entries in a slab would then
//! keep a key in each entry, and use the timer's value to look the entry up. An [`IndexWheel`] has neither values nor
//! keys. The program identifies each timer by a `u32`, usually the place of its record in a slab, and gets the index
//! back when the timer is due. Exactness, order, costs and budgets are those of [`Wheel`](crate::Wheel), which is built
//! on the same core.
//!
//! ```
//! use slab::Slab;
//! use timer_wheel::index::IndexWheel;
//!
//! let mut sessions = Slab::new();
//! let mut wheel = IndexWheel::new(0);
//! for (user, deadline) in [("ada", 30), ("bob", 10)] {
//!     let index = u32::try_from(sessions.insert(user))?; // a slab's indexes are `usize`
//!     wheel.set(index, deadline);
//! }
//! wheel.set(1, 40); // bob again
//!
//! while let Some(due) = wheel.advance(35).next() {
//!     let user = sessions.remove(due.index as usize);
//!     assert_eq!((user, due.deadline), ("ada", 30));
//! }
//! assert_eq!(wheel.len(), 1);
//! # Ok::<(), std::num::TryFromIntError>(())
//! ```
//!
//! # What the program has to do
//!
//! When it frees a record, it [cancels](IndexWheel::cancel) the record's timer. Otherwise the index is yielded when
//! that timer is due, perhaps for another record that has taken the index since. No other timer is affected.
//!
//! Memory is 24 bytes for each index up to the highest that was ever set, in pages of 256, until
//! [`shrink_to_fit`](IndexWheel::shrink_to_fit). So indexes should be dense, as those of a slab are. An index like
//! 1,000,000,000 needs 24 GB.

mod due;
mod iter;

pub use self::due::DueIndex;
pub use self::iter::IndexAdvance;

use core::fmt;

use crate::engine::budget::Budget;
use crate::engine::geometry::{Geometry, Millis};
use crate::engine::hierarchy::Hierarchy;
use crate::engine::near::lane::Lane;
use crate::engine::node::{MAX_TIMERS, Next, NodeIndex};

/// A hierarchical timer wheel whose timers are identified by the caller's indexes.
///
/// The [module's page](self) says when to use it, and what the program has to do.
///
/// ```
/// use timer_wheel::index::{Due, IndexWheel};
///
/// let mut wheel = IndexWheel::new(0);
/// wheel.set(7, 500);
/// assert_eq!(wheel.advance(499).next(), None);
/// assert_eq!(wheel.advance(500).next(), Some(Due { index: 7, deadline: 500 }));
/// ```
pub struct IndexWheel<G: Geometry = Millis> {
    pub(crate) hierarchy: Hierarchy<(), G>,
}

/// A timer of an [`IndexWheel`] that has fired, or was looked at.
///
/// ```
/// use timer_wheel::index::{Due, IndexWheel};
///
/// let mut wheel = IndexWheel::new(0);
/// wheel.set(7, 500);
/// let Due { index, deadline } = wheel.pop_first().unwrap();
/// assert_eq!((index, deadline), (7, 500));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Due {
    /// The caller's index.
    pub index: u32,
    /// When the timer is due, in nanoseconds.
    pub deadline: u64,
}

impl From<Next> for Due {
    #[inline]
    fn from(timer: Next) -> Self {
        Self { index: timer.node.to_bits(), deadline: timer.deadline }
    }
}

impl IndexWheel {
    /// Makes an empty wheel of the geometry [`Millis`] whose clock stands at `now` nanoseconds. O(1). Allocates
    /// nothing.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let wheel = IndexWheel::new(1_000);
    /// assert_eq!((wheel.now(), wheel.len()), (1_000, 0));
    /// ```
    pub fn new(now: u64) -> Self {
        Self::with_geometry(now)
    }

    /// Makes an empty wheel of the geometry [`Millis`] with memory for the indexes below `indexes`, as
    /// [`reserve`](IndexWheel::reserve) does. O(indexes).
    ///
    /// # Panics
    ///
    /// If a wheel could never hold that many.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::with_capacity(0, 500);
    /// let bytes = wheel.stats().bytes;
    /// (0..500).for_each(|index| wheel.set(index, 0));
    /// assert!(wheel.stats().bytes < bytes + 30_000, "the near heap is all that is new");
    /// ```
    #[track_caller]
    pub fn with_capacity(now: u64, indexes: usize) -> Self {
        let mut wheel = Self::with_geometry(now);
        wheel.reserve(indexes);
        wheel
    }
}

impl<G: Geometry> IndexWheel<G> {
    /// Makes an empty wheel of the geometry `G` whose clock stands at `now` nanoseconds. O(1). Allocates
    /// nothing.
    ///
    /// ```
    /// use timer_wheel::{Caffeine, index::IndexWheel};
    ///
    /// let wheel = IndexWheel::<Caffeine>::with_geometry(0);
    /// assert!(wheel.is_empty());
    /// ```
    pub fn with_geometry(now: u64) -> Self {
        Self { hierarchy: Hierarchy::new(now) }
    }

    /// Schedules the timer of an index for `deadline` nanoseconds, or moves it there, behind all timers of equal
    /// deadline. O(1); O(log k), with k timers in the near heap, if the deadline lies in the current tick or earlier;
    /// and O(index) if the index is the highest so far.
    ///
    /// Any `u64` is a valid deadline; a past one is due at once. A later deadline than before is usually only
    /// written to the node; [`expiration_delay`](IndexWheel::expiration_delay) then still counts to the old one.
    ///
    /// # Panics
    ///
    /// If the index is 1,610,612,736 or more. An index far above all others takes much
    /// [memory](self#what-the-program-has-to-do).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(1, 500);
    /// wheel.set(1, 900);
    /// assert_eq!((wheel.len(), wheel.deadline(1)), (1, Some(900)));
    /// ```
    #[inline]
    #[track_caller]
    pub fn set(&mut self, index: u32, deadline: u64) {
        let node = NodeIndex::from_bits(index);
        if !self.hierarchy.reschedule(None, node, deadline, |()| true) {
            self.schedule(index, deadline);
        }
    }

    /// Schedules the timer of an index that has none.
    // Never inlined: a reschedule would take up to two thirds more instructions.
    #[inline(never)]
    #[track_caller]
    fn schedule(&mut self, index: u32, deadline: u64) {
        if self.hierarchy.nodes().len() <= index as usize {
            self.make_node(index);
        }
        self.hierarchy.schedule(None, NodeIndex::from_bits(index), deadline, |()| {});
    }

    /// Adds a [`Lane`], for timers that are scheduled in the order in which they are due. O(1).
    ///
    /// # Panics
    ///
    /// If the wheel already has 64 lanes, the maximum.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// let lane = wheel.add_lane();
    /// (0..10).for_each(|index| wheel.set_in(lane, index, 500));
    /// assert_eq!(wheel.wake_at(), Some(500));
    /// ```
    #[track_caller]
    pub fn add_lane(&mut self) -> Lane {
        self.hierarchy.add_lane()
    }

    /// Like [`set`](IndexWheel::set), using the lane. If more than four timers of the lane are due later, the lane is
    /// ignored. O(1), or O(log k) in the near heap of k timers. The [lane](Lane) affects costs only.
    ///
    /// # Panics
    ///
    /// As [`set`](IndexWheel::set).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// let lane = wheel.add_lane();
    /// for (now, index) in [(0, 1), (1, 2), (2, 1)] {
    ///     wheel.set_in(lane, index, now + 100);
    /// }
    /// assert!(wheel.advance(200).map(|due| due.index).eq([2, 1]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn set_in(&mut self, lane: Lane, index: u32, deadline: u64) {
        let node = NodeIndex::from_bits(index);
        if !self.hierarchy.reschedule(Some(lane), node, deadline, |()| true) {
            self.schedule_in(lane, index, deadline);
        }
    }

    #[inline(never)]
    #[track_caller]
    fn schedule_in(&mut self, lane: Lane, index: u32, deadline: u64) {
        if self.hierarchy.nodes().len() <= index as usize {
            self.make_node(index);
        }
        self.hierarchy.schedule(Some(lane), NodeIndex::from_bits(index), deadline, |()| {});
    }

    #[inline(never)]
    #[track_caller]
    fn make_node(&mut self, index: u32) {
        let index = index as usize;
        assert!(index < MAX_TIMERS, "index {index} is out of range (must be below {MAX_TIMERS})");
        while self.hierarchy.nodes().len() <= index {
            self.hierarchy.add_node();
        }
    }

    /// Cancels the timer of an index. Returns `false` if none is scheduled. O(1), or O(log k) in the near heap of k
    /// timers.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(0, 500);
    /// assert!(wheel.cancel(0));
    /// assert!(!wheel.cancel(0));
    /// assert!(!wheel.cancel(7));
    /// ```
    #[inline]
    pub fn cancel(&mut self, index: u32) -> bool {
        let index = NodeIndex::from_bits(index);
        let Some(()) = self.hierarchy.cancel(index, |()| Some(())) else {
            return false;
        };
        true
    }

    /// Moves the clock to `now` nanoseconds and yields every timer that is due, in order of deadline and first in
    /// first out among equals. Lazy, and at the cost of [`Wheel::advance`](crate::Wheel::advance).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// for (index, deadline) in [(0, 30), (1, 10), (2, 20)] {
    ///     wheel.set(index, deadline);
    /// }
    /// assert!(wheel.advance(25).map(|due| due.index).eq([1, 2]));
    /// ```
    #[inline]
    pub fn advance(&mut self, now: u64) -> IndexAdvance<'_, G> {
        IndexAdvance::new(self, now, None)
    }

    /// Like [`advance`](IndexWheel::advance), but does no more than `budget` allows. See
    /// [`Wheel::advance_with_budget`](crate::Wheel::advance_with_budget).
    #[inline]
    pub fn advance_with_budget<'a>(&'a mut self, now: u64, budget: &'a mut Budget) -> IndexAdvance<'a, G> {
        IndexAdvance::new(self, now, Some(budget))
    }

    /// Moves the clock to `now` nanoseconds and shows the first timer that is due, to be removed or given a new
    /// deadline. If the handle is dropped, the timer stays due. See
    /// [`Wheel::peek_expired`](crate::Wheel::peek_expired).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// // The deadline in each record, which renewals move without a call to the wheel.
    /// let records = [700, 600];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(0, 500);
    /// wheel.set(1, 600);
    /// let mut fired = Vec::new();
    /// while let Some(due) = wheel.peek_expired(1_000) {
    ///     let deadline = records[due.index() as usize];
    ///     if deadline > due.deadline() {
    ///         due.rearm(deadline);
    ///     } else {
    ///         fired.push(due.remove().index);
    ///     }
    /// }
    /// assert_eq!(fired, [1, 0]);
    /// ```
    #[inline]
    pub fn peek_expired(&mut self, now: u64) -> Option<DueIndex<'_, G>> {
        let mut budget = Budget::UNLIMITED;
        self.peek_expired_with_budget(now, &mut budget)
    }

    /// Like [`peek_expired`](IndexWheel::peek_expired), within a budget that several calls share. See
    /// [`Wheel::peek_expired_with_budget`](crate::Wheel::peek_expired_with_budget).
    #[inline]
    pub fn peek_expired_with_budget(&mut self, now: u64, budget: &mut Budget) -> Option<DueIndex<'_, G>> {
        self.hierarchy.set_now(now);
        let due = self.hierarchy.next_due(budget)?;
        Some(DueIndex::new(self, due))
    }

    /// Takes the earliest timer out, due or not; the clock stays. See [`Wheel::pop_first`](crate::Wheel::pop_first).
    pub fn pop_first(&mut self) -> Option<Due> {
        let due = self.hierarchy.bring_first()?;
        Some(self.fire(due))
    }

    /// The earliest timer, due or not. See [`Wheel::peek_first`](crate::Wheel::peek_first).
    pub fn peek_first(&mut self) -> Option<Due> {
        Some(self.hierarchy.bring_first()?.into())
    }

    /// Removes the first timer of the near heap.
    #[inline]
    fn fire(&mut self, due: Next) -> Due {
        self.hierarchy.fire(due, |()| {});
        due.into()
    }

    /// When the timer of an index is due, in nanoseconds, or `None` if none is scheduled. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(0, 500);
    /// assert_eq!((wheel.deadline(0), wheel.deadline(1)), (Some(500), None));
    /// ```
    #[inline]
    pub fn deadline(&self, index: u32) -> Option<u64> {
        self.hierarchy.deadline(NodeIndex::from_bits(index))
    }

    /// The absolute time in nanoseconds at which the next advance has something to do; `None` exactly when no timer is
    /// scheduled. O(1). See [`Wheel::wake_at`](crate::Wheel::wake_at).
    #[inline]
    pub fn wake_at(&self) -> Option<u64> {
        let at = self.hierarchy.wake_ns().max(self.now());
        (!self.is_empty()).then_some(at)
    }

    /// How long the caller may sleep before the next advance, in nanoseconds from [`now`](IndexWheel::now); `None`
    /// exactly when no timer is scheduled. O(1). See [`Wheel::expiration_delay`](crate::Wheel::expiration_delay).
    #[inline]
    pub fn expiration_delay(&self) -> Option<u64> {
        Some(self.wake_at()?.saturating_sub(self.now()))
    }

    /// The earliest deadline of all timers in nanoseconds. See [`Wheel::next_deadline`](crate::Wheel::next_deadline)
    /// for the cost.
    pub fn next_deadline(&self) -> Option<u64> {
        self.hierarchy.next_deadline()
    }

    /// Whether work that is due by [`now`](IndexWheel::now) is left: timers to fire, or buckets to open. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(0, 500);
    /// assert!(wheel.peek_expired(500).is_some());
    /// assert!(wheel.has_backlog());
    /// ```
    pub fn has_backlog(&self) -> bool {
        self.hierarchy.has_backlog()
    }

    /// The latest time that the wheel has been advanced to, in nanoseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// assert_eq!(wheel.advance(300).next(), None);
    /// assert_eq!(wheel.now(), 300);
    /// ```
    #[inline]
    pub fn now(&self) -> u64 {
        self.hierarchy.now()
    }

    /// The number of timers that are scheduled. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(9, 500);
    /// assert_eq!(wheel.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.hierarchy.len()
    }

    /// Whether no timer is scheduled. O(1).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// assert!(wheel.is_empty());
    /// wheel.set(0, 500);
    /// assert!(!wheel.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All timers in the order in which they will fire, without disturbing the wheel. Lazy. See
    /// [`Wheel::ascending`](crate::Wheel::ascending).
    pub fn ascending(&self) -> impl ExactSizeIterator<Item = Due> + Clone + '_ {
        self.hierarchy.ascent().map(|timer| Due { index: timer.node.to_bits(), deadline: timer.deadline })
    }

    /// Makes room for `additional` indexes above the highest that was ever set. O(additional).
    ///
    /// In an empty wheel, this makes room for the indexes below `additional`.
    ///
    /// # Panics
    ///
    /// If the highest would be 1,610,612,736 or more.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(4_999, 10);
    /// wheel.reserve(5_000); // for 5,000 to 9,999
    /// assert!(wheel.stats().bytes >= 24 * 10_000);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        let made = self.hierarchy.nodes().len();
        assert!(additional <= MAX_TIMERS - made, "an index would be out of range (must be below {MAX_TIMERS})");
        self.hierarchy.reserve(additional);
    }

    /// Cancels all timers. Keeps the clock and the memory. O(timers).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(0, 500);
    /// wheel.clear();
    /// assert!(wheel.is_empty() && wheel.deadline(0).is_none());
    /// ```
    pub fn clear(&mut self) {
        while let Some(node) = self.hierarchy.any() {
            self.cancel(node.to_bits());
        }
    }

    /// Gives back the memory above the highest index that is scheduled. O(indexes).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(0, 500);
    /// wheel.reserve(10_000);
    /// wheel.shrink_to_fit();
    /// assert!(wheel.stats().bytes < 1_000);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        let nodes = self.hierarchy.nodes();
        let highest = (0..nodes.len()).rfind(|&index| nodes.at(index).is_scheduled());
        self.hierarchy.shrink_to_fit(highest.map_or(0, |highest| highest + 1));
    }
}

impl<G: Geometry> Clone for IndexWheel<G> {
    fn clone(&self) -> Self {
        Self { hierarchy: self.hierarchy.clone() }
    }
}

impl<G: Geometry> Default for IndexWheel<G> {
    /// An empty wheel at time 0.
    fn default() -> Self {
        Self::with_geometry(0)
    }
}

impl<G: Geometry> fmt::Debug for IndexWheel<G> {
    /// Prints the clock and the number of timers, never the timers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexWheel").field("now", &self.now()).field("len", &self.len()).finish_non_exhaustive()
    }
}
