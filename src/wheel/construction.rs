//! The constructors of a wheel.

use crate::engine::geometry::Geometry;
use crate::engine::hierarchy::Hierarchy;
use crate::wheel::Wheel;
use crate::wheel::slots::Slots;

impl<T> Wheel<T> {
    /// Makes an empty wheel of the geometry [`Millis`](crate::Millis) whose clock stands at `now` nanoseconds. O(1).
    ///
    /// For another geometry, use [`with_geometry`](Wheel::with_geometry).
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

    /// Makes an empty wheel of the geometry [`Millis`](crate::Millis) with memory for `capacity` timers, as
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
    /// An empty wheel takes less than a kilobyte. With more than 32 timers (or fewer, if level 0 has fewer buckets),
    /// its buckets take 36 bytes each, up to the highest level in use. That is at most 74 KB, or 19 KB in
    /// [`Compact`](crate::Compact) and 12 KB in [`Caffeine`](crate::Caffeine) geometry. [`reserve`](Wheel::reserve)
    /// allocates memory for timers in advance.
    ///
    /// ```
    /// use timer_wheel::{Caffeine, Wheel};
    ///
    /// let mut wheel = Wheel::<String, Caffeine>::with_geometry(1_000);
    /// wheel.reserve(500);
    /// assert_eq!((wheel.now(), wheel.len()), (1_000, 0));
    /// ```
    pub fn with_geometry(now: u64) -> Self {
        Self { hierarchy: Hierarchy::new(now), slots: Slots::new(0) }
    }
}
