//! The size and shape of a wheel, in numbers.

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
/// let mut wheel = Wheel::<u64>::new(0);
/// let keys: Vec<_> = (1..=100).map(|n| wheel.schedule(n << 20, n)).collect();
/// wheel.schedule(u64::MAX, 0);
/// wheel.reschedule(keys[99], 1 << 40); // put off: still filed under its old time
/// wheel.cancel(keys[98]);
/// let _ = wheel.advance(10 << 20).count(); // the first ten fire
///
/// let stats = wheel.stats();
/// assert_eq!(stats.timers, 90);
/// assert_eq!(stats.postponed, 1);
/// assert_eq!(stats.due, 0); // none of them was left half-way
/// assert_eq!(stats.slots, 101); // as many as there were at once
/// assert_eq!(stats.occupied, [89, 0, 0, 0, 1]); // a bucket a tick, and the overflow
/// assert_eq!(stats.blocks, 90); // one for each of the buckets
/// assert!(stats.bytes < 100_000);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Live timers, as [`Wheel::len`] says.
    pub timers: usize,
    /// Timers that were put off to a later tick and not looked at since.
    ///
    /// Each is looked at once at its old time, and filed again. As long as there are some,
    /// [`Wheel::descending`] reads all slots first, and [`Wheel::expiration_delay`] may be early.
    pub postponed: usize,
    /// Entries that an advance has brought up to fire next and that have not fired yet.
    ///
    /// They are of timers that are due, but left over by an advance with a budget or by one that
    /// was dropped half-way; of the current tick, later in it; or of a bucket with few timers, all
    /// brought up at once. Those of timers that were cancelled since are among them until they are
    /// passed, or swept: by a cancel that finds them to outnumber the live ones by more than 32.
    pub due: usize,
    /// Slots that were made and are kept, free ones included: as many as timers were live at once
    /// since the wheel was made or [shrunk](Wheel::shrink_to_fit).
    pub slots: usize,
    /// Blocks of 32 entries in use.
    ///
    /// A bucket fills its last block only in part, so few timers in many buckets take more blocks
    /// than as many timers in few. Cancelled timers leave entries behind, which are swept when more
    /// blocks are needed and half of those there are is taken up by them.
    pub blocks: usize,
    /// Buckets that hold timers on each level, the finest first; the last is the overflow bucket.
    pub occupied: [usize; LEVELS + 1],
    /// All memory of the wheel in bytes, spare memory and the wheel itself included, and what the
    /// values own (as a `String` owns its text) excluded.
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
