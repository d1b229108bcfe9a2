//! A timer as a wheel yields it, and as it shows it.

use crate::wheel::key::TimerKey;

/// A timer that has fired.
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<&str>::new(0);
/// let key = wheel.schedule(10, "value");
/// let fired = wheel.advance(25).next().unwrap();
/// assert_eq!((fired.key, fired.deadline, fired.value), (key, 10, "value"));
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

/// A live timer, as the iterators of a [`Wheel`](crate::Wheel) show it.
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<&str>::new(0);
/// let key = wheel.schedule(10, "value");
/// let first = wheel.ascending().next().unwrap();
/// assert_eq!((first.key, first.deadline, *first.value), (key, 10, "value"));
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

impl<T> Clone for TimerRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TimerRef<'_, T> {}
