//! The system's monotonic clock.

use std::time::{Duration, Instant, SystemTime};

use super::{Clock, NEVER, TimeSource, nanoseconds};

/// The system's monotonic clock, from the moment it was made or from the Unix epoch.
///
/// On Linux and macOS it stands still while the machine is suspended: a timer that waits for ten
/// minutes then waits for ten minutes of the machine being awake. It fires late, never early.
///
/// On `wasm32-unknown-unknown` its constructors panic, because [`Instant`] does: pass the wheel times of your own,
/// or implement [`TimeSource`].
///
/// ```
/// use timer_wheel::SystemClock;
///
/// let clock = SystemClock::new();
/// let before = clock.now();
/// assert!(clock.now() >= before);
/// ```
#[derive(Copy, Clone, Debug)]
pub struct SystemClock {
    start: Instant,
    /// What the clock showed at its start.
    start_ns: u64,
}

impl SystemClock {
    /// A clock that shows 0 now. O(1).
    ///
    /// ```
    /// use timer_wheel::SystemClock;
    ///
    /// let clock = SystemClock::new();
    /// assert!(clock.now() < 3_600_000_000_000, "less than an hour has passed");
    /// ```
    pub fn new() -> Self {
        Self { start: Instant::now(), start_ns: 0 }
    }

    /// A clock that shows the nanoseconds since the start of 1970: for deadlines that are stored or sent. O(1).
    ///
    /// It reads the system's time of day once, in this call. From then on it is monotonic, and does not follow when the
    /// time of day is set. If the time of day is before 1970, it shows 0 now.
    ///
    /// On systems where [`Instant`] does not reach back to 1970, such as Windows, [`origin`](Clock::origin) gives the
    /// moment of this call. All other methods are exact there too.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use timer_wheel::SystemClock;
    ///
    /// let clock = SystemClock::since_epoch();
    /// let time_of_day = SystemTime::UNIX_EPOCH + Duration::from_nanos(clock.now());
    /// println!("{time_of_day:?}");
    /// ```
    pub fn since_epoch() -> Self {
        let time_of_day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), start_ns: nanoseconds(time_of_day) }
    }

    /// The time in nanoseconds since the origin. O(1).
    ///
    /// ```
    /// use timer_wheel::{SystemClock, Wheel};
    ///
    /// let clock = SystemClock::new();
    /// let mut wheel: Wheel<&str> = Wheel::new(clock.now());
    /// assert_eq!(wheel.advance(clock.now()).count(), 0);
    /// ```
    pub fn now(&self) -> u64 {
        self.start_ns.saturating_add(nanoseconds(self.start.elapsed()))
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeSource for SystemClock {
    type Instant = Instant;

    fn now(&self) -> u64 {
        self.now()
    }

    fn deadline_at(&self, instant: Instant) -> u64 {
        match instant.checked_duration_since(self.start) {
            Some(later) => self.start_ns.saturating_add(nanoseconds(later)),
            None => self.start_ns.saturating_sub(nanoseconds(self.start.duration_since(instant))),
        }
    }
}

impl Clock for SystemClock {
    fn origin(&self) -> Instant {
        self.start.checked_sub(Duration::from_nanos(self.start_ns)).unwrap_or(self.start)
    }

    fn instant_at(&self, time: u64) -> Option<Instant> {
        match time.checked_sub(self.start_ns) {
            _ if time == NEVER => None,
            Some(later) => self.start.checked_add(Duration::from_nanos(later)),
            None => self.start.checked_sub(Duration::from_nanos(self.start_ns - time)),
        }
    }
}
