//! A look at the levels of a wheel: how many timers each bucket holds.

use alloc::vec::Vec;
use core::array;
use core::fmt;

use crate::engine::geometry::{FAR, Geometry, Layout};
use crate::wheel::Wheel;

impl<T, G: Geometry> Wheel<T, G> {
    /// The five levels of the wheel at this moment, the finest first and the far one last. O(buckets).
    ///
    /// For pictures and for choosing a geometry: [`Level`] shows how its timers are spread over its
    /// buckets. The timers of the [near heap](crate::inspect::Stats::near) are on no level. A timer that was postponed
    /// counts in its old bucket until its old deadline.
    ///
    /// ```
    /// use timer_wheel::{Caffeine, Wheel};
    ///
    /// let mut wheel = Wheel::<&str, Caffeine>::with_geometry(0);
    /// (0..32).for_each(|_| _ = wheel.schedule(0, "the first few need no bucket"));
    /// for second in 2..30 {
    ///     wheel.schedule(second * 1_000_000_000, "within a minute or so");
    /// }
    /// wheel.schedule(3_600_000_000_000, "in an hour");
    ///
    /// let timers = wheel.levels().map(|level| level.timers);
    /// assert_eq!(timers, [28, 1, 0, 0, 0]);
    ///
    /// // A row of the picture: `#` where there are timers.
    /// let [finest, ..] = wheel.levels();
    /// let row: String = finest.buckets.iter().map(|&timers| if timers > 0 { '#' } else { '.' }).collect();
    /// assert_eq!(row[..40], *".###########################............");
    /// ```
    pub fn levels(&self) -> [Level; 5] {
        let levels = self.hierarchy.levels();
        array::from_fn(|number| {
            let mut buckets: Vec<usize> = levels.lens(number).collect();
            let cursor = levels.cursor_on(number);
            let rotation = if number == FAR { buckets.len() } else { buckets.len() / 2 };
            // The next rotation comes first in the array every other rotation.
            buckets.rotate_left(cursor - cursor % rotation);
            Level {
                timers: buckets.iter().sum(),
                buckets,
                cursor: cursor % rotation,
                bucket_span: (number != FAR).then(|| 1 << (G::TICK_BITS + Layout::<G>::bits(number))),
            }
        })
    }
}

/// One level of a wheel at one moment, from [`Wheel::levels`].
///
/// ```
/// use timer_wheel::{Compact, Wheel};
///
/// let mut wheel = Wheel::<u32, Compact>::with_geometry(0);
/// (0..32).for_each(|_| _ = wheel.schedule(0, 0)); // the first few need no bucket
/// wheel.schedule(3 << 20, 1);
/// wheel.schedule(3 << 20, 2);
/// wheel.schedule(5 << 20, 3);
/// let [finest, ..] = wheel.levels();
/// assert_eq!((finest.timers, &finest.buckets[..6]), (3, &[0, 0, 0, 2, 0, 1][..]));
/// assert_eq!(format!("{finest:?}"), "3 timers in 2 of 128 buckets");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// The number of timers on the level.
    pub timers: usize,
    /// The number of timers in each bucket, in the order of time: first the buckets of the current rotation, then those
    /// of the next.
    ///
    /// Buckets up to the [cursor](Level::cursor) have been opened and are empty, unless an advance has stopped in the
    /// middle of one. Buckets of the next rotation hold timers only once the bucket above has been opened ahead. The
    /// last level has no rotations: each of its buckets spans twice as much as the one before, from the horizon of the
    /// geometry on.
    pub buckets: Vec<usize>,
    /// The bucket that the wheel has reached on this level, as an index into [`buckets`](Level::buckets).
    ///
    /// This is the bucket of [`now`](Wheel::now). It is an earlier one while there is a backlog, the one before it at
    /// the very end of time, and a later one after [`peek_first`](Wheel::peek_first) or
    /// [`pop_first`](Wheel::pop_first). Meaningless for the last level, where it is 0.
    pub cursor: usize,
    /// The nanoseconds that each of the level's buckets spans; `None` for the last level, whose buckets double.
    pub bucket_span: Option<u64>,
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (timers, s) = (self.timers, if self.timers == 1 { "" } else { "s" });
        if self.bucket_span.is_none() {
            return write!(f, "{timers} timer{s}");
        }
        let occupied = self.buckets.iter().filter(|&&timers| timers != 0).count();
        write!(f, "{timers} timer{s} in {occupied} of {} buckets", self.buckets.len())
    }
}
