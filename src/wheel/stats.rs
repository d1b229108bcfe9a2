//! The size and shape of a wheel, in numbers.

use core::mem;

use crate::geometry::{Geometry, LEVELS};
use crate::wheel::Wheel;

/// The size and shape of a wheel at one moment, from [`Wheel::stats`].
///
/// For dashboards and for sizing. Where the timers are, bucket by bucket, is told by
/// [`Wheel::levels`].
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
/// assert_eq!(stats.ready, 0); // the others wait in buckets
/// assert_eq!(stats.slots, 101); // as many as there were at once
/// assert_eq!(stats.occupied, [90, 0, 0, 0, 1]); // a bucket a tick, and a far rotation
/// assert!(stats.bytes < 100_000);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Stats {
    /// Live timers, as [`Wheel::len`] says.
    pub timers: usize,
    /// Timers that are in no bucket: in exact order already, to fire next.
    ///
    /// They are of the current tick or overdue; of a bucket with few timers, sorted at one go; or all there
    /// are, while those are few and there are no buckets.
    pub ready: usize,
    /// Slots that were made and are kept, free ones included: as many as timers were live at once
    /// since the wheel was made or [shrunk](Wheel::shrink_to_fit).
    pub slots: usize,
    /// Buckets that hold timers on each level, the finest first; what lies beyond them counts as one.
    pub occupied: [usize; LEVELS + 1],
    /// All memory of the wheel in bytes, spare memory and the wheel itself included, and what the
    /// values own (as a `String` owns its text) excluded.
    pub bytes: usize,
}

impl<T, G: Geometry> Wheel<T, G> {
    /// The size and shape of the wheel. O(levels).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(5_000_000, ());
    /// let stats = wheel.stats();
    /// assert_eq!((stats.timers, stats.ready), (1, 1));
    /// ```
    pub fn stats(&self) -> Stats {
        Stats {
            timers: self.len(),
            ready: self.hierarchy.ready(),
            slots: self.hierarchy.nodes.len(),
            occupied: core::array::from_fn(|level| self.hierarchy.lists().occupied(level)),
            bytes: mem::size_of::<Self>() + self.hierarchy.bytes() + self.slots.bytes(),
        }
    }
}
