//! The size and shape of a wheel, in numbers.

use crate::geometry::{Geometry, LEVELS};
use crate::wheel::Wheel;

/// The size and shape of a wheel at one moment, from [`Wheel::stats`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Live timers.
    pub timers: usize,
    /// Timers that were put off to a later tick and not looked at since.
    pub postponed: usize,
    /// Entries of timers that an advance has brought up to fire next and that have not fired yet,
    /// those of timers cancelled since included.
    pub due: usize,
    /// Slots that were made and are kept, free ones included.
    pub slots: usize,
    /// Blocks of 32 entries in use.
    pub blocks: usize,
    /// Occupied buckets on each level; the last is the overflow bucket.
    pub occupied: [usize; LEVELS + 1],
    /// All memory of the wheel in bytes, the wheel itself included and what the values own
    /// excluded.
    pub bytes: usize,
}

impl<T, G: Geometry> Wheel<T, G> {
    /// The size and shape of the wheel. O(slots / 4096).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<()>::new(0);
    /// wheel.schedule(5_000_000, ());
    /// wheel.schedule(u64::MAX, ());
    /// let stats = wheel.stats();
    /// assert_eq!((stats.timers, stats.occupied), (2, [1, 0, 0, 0, 1]));
    /// ```
    pub fn stats(&self) -> Stats {
        Stats {
            timers: self.len(),
            postponed: self.filing.postponed(),
            due: self.filing.due_len(),
            slots: self.slots.made(),
            blocks: self.filing.blocks(),
            occupied: core::array::from_fn(|level| self.filing.occupied(level)),
            bytes: size_of::<Self>() + self.filing.bytes() + self.slots.bytes(),
        }
    }
}
