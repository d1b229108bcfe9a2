//! A timer as a wheel hands it out, and as it shows it.

use crate::key::TimerKey;

/// A timer that has fired.
///
/// ```
/// use timer_wheel::{Expired, Wheel};
///
/// let mut wheel = Wheel::<&str>::new(0);
/// let key = wheel.schedule(10, "value");
/// let fired = wheel.advance(25).next();
/// assert_eq!(fired, Some(Expired::new(key, 10, "value")));
/// assert!(!wheel.contains(key));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expired<T> {
    /// The timer's key, which is stale now.
    pub key: TimerKey,
    /// When the timer was due, in nanoseconds.
    pub deadline: u64,
    /// The value that was scheduled.
    pub value: T,
}

impl<T> Expired<T> {
    /// Makes one, for tests. O(1).
    ///
    /// ```
    /// use timer_wheel::{Expired, Wheel};
    ///
    /// let key = Wheel::new(0).schedule(10, "value");
    /// assert_eq!(Expired::new(key, 10, "value").deadline, 10);
    /// ```
    pub const fn new(key: TimerKey, deadline: u64, value: T) -> Self {
        Self { key, deadline, value }
    }
}

/// A live timer, as the iterators of a [`Wheel`](crate::Wheel) show it.
///
/// ```
/// use timer_wheel::{TimerRef, Wheel};
///
/// let mut wheel = Wheel::<&str>::new(0);
/// let key = wheel.schedule(10, "value");
/// assert_eq!(wheel.ascending().next(), Some(TimerRef::new(key, 10, &"value")));
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimerRef<'a, T> {
    /// The timer's key.
    pub key: TimerKey,
    /// When the timer is due, in nanoseconds.
    pub deadline: u64,
    /// The value that was scheduled.
    pub value: &'a T,
}

impl<'a, T> TimerRef<'a, T> {
    /// Makes one, for tests. O(1).
    ///
    /// ```
    /// use timer_wheel::{TimerRef, Wheel};
    ///
    /// let key = Wheel::new(0).schedule(10, 7);
    /// assert_eq!(TimerRef::new(key, 10, &7).deadline, 10);
    /// ```
    pub const fn new(key: TimerKey, deadline: u64, value: &'a T) -> Self {
        Self { key, deadline, value }
    }
}

impl<T> Clone for TimerRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TimerRef<'_, T> {}
