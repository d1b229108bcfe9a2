//! The system's monotonic clock.

use std::time::Instant;

use super::{Clock, nanoseconds};

/// The system's monotonic clock, from the moment it was made.
///
/// On Linux and macOS it stands still while the machine is suspended: a timer that waits for ten
/// minutes then waits for ten minutes of the machine being awake. It fires late, never early.
///
/// ```
/// use timer_wheel::clock::{Clock, SystemClock};
///
/// let clock = SystemClock::new();
/// let before = clock.now();
/// assert!(clock.now() >= before);
/// ```
#[derive(Copy, Clone, Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock that shows 0 now. O(1).
    ///
    /// ```
    /// use timer_wheel::{Clock, SystemClock};
    ///
    /// let clock = SystemClock::new();
    /// assert!(clock.now() < 3_600_000_000_000, "less than an hour has passed");
    /// ```
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn origin(&self) -> Instant {
        self.origin
    }

    fn now(&self) -> u64 {
        nanoseconds(self.origin.elapsed())
    }
}
