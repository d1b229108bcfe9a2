//! A look inside a wheel: sizes, levels and invariants.
//!
//! For dashboards, for pictures, for choosing a geometry, and for tests. The results describe the structure as it
//! is today, and may change with any version.
//!
//! ```
//! use timer_wheel::Wheel;
//! use timer_wheel::inspect::Stats;
//!
//! let mut wheel = Wheel::new(0);
//! (0..100).for_each(|n| _ = wheel.schedule(n << 20, n));
//! let Stats { timers, bytes, .. } = wheel.stats();
//! assert!(timers == 100 && bytes < 50_000);
//! wheel.check_invariants();
//! ```

mod debug;
mod levels;

pub use self::levels::Level;

use core::{array, mem};

use crate::engine::geometry::{Geometry, LEVELS};
use crate::engine::hierarchy::Hierarchy;
use crate::index::IndexWheel;
use crate::wheel::Wheel;

/// The size and shape of a wheel at one moment, from [`Wheel::stats`] and [`IndexWheel::stats`].
///
/// [`Wheel::levels`] says where the timers are, bucket by bucket.
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::new(0);
/// (1..=100).for_each(|n| _ = wheel.schedule(n << 20, n));
/// wheel.schedule(u64::MAX, 0);
/// let _ = wheel.advance(10 << 20).count(); // the first ten fire
///
/// let stats = wheel.stats();
/// assert_eq!(stats.timers, 91);
/// assert_eq!(stats.near, 0); // the others wait in buckets
/// assert_eq!(stats.slots, 101); // as many as there were at once
/// assert_eq!(stats.occupied, [90, 0, 0, 0, 1]); // one bucket per tick, and one beyond the horizon
/// assert!(stats.bytes < 100_000);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Stats {
    /// Live timers, as [`Wheel::len`] says.
    pub timers: usize,
    /// Timers of the near heap: in no bucket but in exact order already, to fire next.
    ///
    /// They are due in the current tick or overdue, come from a bucket that was opened and sorted, or are in a
    /// [lane](crate::Lane). In a wheel with few timers, all timers are here.
    pub near: usize,
    /// Timers that are [held](crate::DueTimer::hold): live, and neither in the near heap nor in a bucket.
    pub held: usize,
    /// Lanes that have timers.
    pub lanes: usize,
    /// Slots in memory, free ones included: the most timers that were live at once, less the slots
    /// that were given back since. In an [`IndexWheel`], the indexes up to the highest.
    pub slots: usize,
    /// Buckets that hold timers on each level, the finest first.
    pub occupied: [usize; LEVELS + 1],
    /// All memory of the wheel in bytes, including spare memory and the wheel itself, but not what the values own (as a
    /// `String` owns its text).
    pub bytes: usize,
}

impl Stats {
    /// The stats of a hierarchy, with its bytes on the heap.
    fn of<V, G: Geometry>(hierarchy: &Hierarchy<V, G>) -> Self {
        Self {
            timers: hierarchy.len(),
            near: hierarchy.near_len(),
            held: hierarchy.held_len(),
            lanes: hierarchy.lanes_in_use(),
            slots: hierarchy.nodes().len(),
            occupied: array::from_fn(|level| hierarchy.levels().lens(level).filter(|&len| len != 0).count()),
            bytes: hierarchy.bytes(),
        }
    }
}

impl<T, G: Geometry> Wheel<T, G> {
    /// The size and shape of the wheel. O(buckets).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(5_000_000, ());
    /// let stats = wheel.stats();
    /// assert_eq!((stats.timers, stats.near), (1, 1));
    /// ```
    pub fn stats(&self) -> Stats {
        let stats = Stats::of(&self.hierarchy);
        let own = mem::size_of::<Self>() + self.slots.bytes();
        Stats { bytes: stats.bytes + own, ..stats }
    }

    /// Checks every invariant of the structure. O(n log n). For tests and fuzzing: a wheel that is used through its
    /// public API always passes.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// let key = wheel.schedule(5_000_000, ());
    /// wheel.check_invariants();
    /// wheel.cancel(key);
    /// wheel.check_invariants();
    /// ```
    pub fn check_invariants(&self) {
        self.slots.check(self.hierarchy.nodes().iter().map(|node| &node.value));
        self.hierarchy.check();
    }
}

impl<G: Geometry> IndexWheel<G> {
    /// The size and shape of the wheel. O(buckets).
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(999, 5_000_000);
    /// let stats = wheel.stats();
    /// assert_eq!((stats.timers, stats.slots), (1, 1_000));
    /// assert!(stats.bytes >= 24 * 1_000);
    /// ```
    pub fn stats(&self) -> Stats {
        let stats = Stats::of(&self.hierarchy);
        Stats { bytes: stats.bytes + mem::size_of::<Self>(), ..stats }
    }

    /// Checks every invariant of the structure, as [`Wheel::check_invariants`] does. O(n log n).
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    ///
    /// ```
    /// use timer_wheel::index::IndexWheel;
    ///
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.set(7, 5_000_000);
    /// wheel.check_invariants();
    /// ```
    pub fn check_invariants(&self) {
        self.hierarchy.check();
    }
}
