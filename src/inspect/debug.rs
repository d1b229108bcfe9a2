//! How a wheel prints: the clock, the next wake-up and the levels that hold timers, never the timers.

use core::fmt;
use core::time::Duration;

use super::Level;
use crate::engine::geometry::{Geometry, LEVELS};
use crate::wheel::Wheel;

impl<T, G: Geometry> fmt::Debug for Wheel<T, G> {
    /// Prints the state of the wheel in a line, or with `{:#?}` in a few, however many timers there
    /// are. O(buckets).
    ///
    /// `near` are the timers of the near heap, which are in no bucket. Levels without timers are left out. A level has
    /// the buckets of two rotations, 256 each in [`Millis`](crate::Millis): "of 512 buckets". This is unrelated to a
    /// crowd, which is a single bucket with more than 512 timers.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<&str>::new(0);
    /// (0..100).for_each(|_| _ = wheel.schedule(60_000_000_000, "in a minute"));
    /// wheel.schedule(1_000_000, "soon");
    /// assert_eq!(
    ///     format!("{wheel:?}"),
    ///     "Wheel { now: 0ns, len: 101, expiration_delay: Some(1ms), near: 2, \
    ///      levels: {1: 99 timers in 1 of 512 buckets}, .. }"
    /// );
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = self.levels();
        // As `Duration`, because that prints in a suitable unit.
        f.debug_struct("Wheel")
            .field("now", &Duration::from_nanos(self.now()))
            .field("len", &self.len())
            .field("expiration_delay", &self.expiration_delay().map(Duration::from_nanos))
            .field("near", &self.hierarchy.near_len())
            .field("levels", &Occupied(&levels))
            .finish_non_exhaustive()
    }
}

/// The levels that hold timers, each by its name.
struct Occupied<'a>(&'a [Level]);

impl fmt::Debug for Occupied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (number, level) in self.0.iter().enumerate().filter(|(_, level)| level.timers != 0) {
            match number {
                LEVELS => map.entry(&format_args!("far"), level),
                _ => map.entry(&number, level),
            };
        }
        map.finish()
    }
}
