//! A clock that is set once per turn of a loop.

use alloc::rc::Rc;
use core::cell::Cell;

use crate::clock::TimeSource;

/// Shows the time that it was last set to, usually the start of a turn of the loop. Clones show the same time.
///
/// A loop that sets it from the system's clock once per turn saves a reading of that clock for every sleep. Delays
/// count from the start of the turn. It is also a clock for tests, and for browsers and chips without `std`.
///
/// A new clock shows 0. Set it before the first sleep is made, as each turn of the loop does before it polls tasks:
/// otherwise the sleep counts from 0, and may be over as soon as the clock is set.
///
/// ```
/// use timer_wheel::local::TurnClock;
/// use timer_wheel::{Clock, SystemClock};
///
/// let (system, turn) = (SystemClock::new(), TurnClock::new());
/// let clock = turn.clone();
/// turn.set(system.now());
/// assert_eq!(clock.now(), turn.now());
/// ```
#[derive(Clone, Debug, Default)]
pub struct TurnClock(Rc<Cell<u64>>);

impl TurnClock {
    /// A clock that shows 0. O(1).
    ///
    /// ```
    /// use timer_wheel::local::TurnClock;
    ///
    /// assert_eq!(TurnClock::new().now(), 0);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time in nanoseconds. O(1).
    ///
    /// The time should not go back: a [`LocalTimer`](super::LocalTimer) treats an earlier time as the latest that it
    /// has seen.
    ///
    /// ```
    /// use timer_wheel::local::TurnClock;
    ///
    /// let clock = TurnClock::new();
    /// clock.set(1_000_000);
    /// assert_eq!(clock.now(), 1_000_000);
    /// ```
    pub fn set(&self, now: u64) {
        self.0.set(now);
    }

    /// The time in nanoseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::local::TurnClock;
    ///
    /// let clock = TurnClock::new();
    /// clock.set(5);
    /// assert_eq!(clock.now(), 5);
    /// ```
    #[inline]
    pub fn now(&self) -> u64 {
        self.0.get()
    }
}

impl TimeSource for TurnClock {
    /// Nanoseconds, as the clock shows them.
    type Instant = u64;

    #[inline]
    fn now(&self) -> u64 {
        self.now()
    }

    #[inline]
    fn deadline_at(&self, instant: u64) -> u64 {
        instant
    }
}
