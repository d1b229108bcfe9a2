//! A source of time, with or without `std`.

/// Tells the time in nanoseconds since an origin of its own.
///
/// It should be monotonic. It needs no `std`: a source may be a hardware counter, a browser's `performance.now()`, or
/// the virtual time of a simulation. With `std`, a [`Clock`] extends it.
///
/// ```
/// use timer_wheel::clock::TimeSource;
///
/// /// What a page reads, in milliseconds.
/// struct Page(fn() -> f64);
///
/// impl TimeSource for Page {
///     type Instant = f64;
///
///     fn now(&self) -> u64 {
///         self.deadline_at((self.0)())
///     }
///     fn deadline_at(&self, instant: f64) -> u64 {
///         (instant * 1e6) as u64 // saturates
///     }
/// }
///
/// let clock = Page(|| 12.5);
/// assert_eq!((clock.now(), clock.deadline_at(-1.0)), (12_500_000, 0));
/// ```
///
#[cfg_attr(feature = "std", doc = "[`Clock`]: super::Clock")]
#[cfg_attr(not(feature = "std"), doc = "[`Clock`]: crate#features")]
pub trait TimeSource {
    /// A point in time as callers represent it: `std::time::Instant` for each [`Clock`].
    ///
    /// ```
    /// use std::time::Instant;
    /// use timer_wheel::clock::{SystemClock, TimeSource};
    ///
    /// let clock = SystemClock::new();
    /// let instant: <SystemClock as TimeSource>::Instant = Instant::now();
    /// assert!(clock.deadline_at(instant) <= clock.now());
    /// ```
    ///
    #[cfg_attr(feature = "std", doc = "[`Clock`]: super::Clock")]
    #[cfg_attr(not(feature = "std"), doc = "[`Clock`]: crate#features")]
    type Instant;

    /// The time in nanoseconds since the origin.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::ManualClock;
    /// use timer_wheel::clock::TimeSource;
    ///
    /// fn microseconds(clock: &impl TimeSource) -> u64 {
    ///     clock.now() / 1_000
    /// }
    ///
    /// let clock = ManualClock::new();
    /// clock.advance(Duration::from_micros(3));
    /// assert_eq!(microseconds(&clock), 3);
    /// ```
    fn now(&self) -> u64;

    /// The time at `instant` in nanoseconds: 0 before the origin, and [`NEVER`](super::NEVER) beyond the end.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::clock::{Clock, SystemClock, TimeSource};
    ///
    /// let clock = SystemClock::new();
    /// assert_eq!(clock.deadline_at(clock.origin() + Duration::from_nanos(5)), 5);
    /// ```
    fn deadline_at(&self, instant: Self::Instant) -> u64;
}
