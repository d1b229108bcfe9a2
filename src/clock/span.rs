//! Spans of time as a wheel counts them. No item here reads a clock, so all exist without `std`.

use core::time::Duration;

/// The end of time: later than any time that a driver's clock shows.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::clock::{NEVER, after};
///
/// assert_eq!(after(1, Duration::MAX), NEVER);
/// ```
pub const NEVER: u64 = u64::MAX;

/// A duration in nanoseconds, or [`NEVER`] when there are too many. O(1).
///
/// It can be had at compile time, for constants that say their unit:
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::clock::{NEVER, nanoseconds};
///
/// const TIME_TO_LIVE: u64 = nanoseconds(Duration::from_secs(600));
/// assert_eq!(TIME_TO_LIVE, 600_000_000_000);
/// assert_eq!(nanoseconds(Duration::MAX), NEVER);
/// ```
#[inline]
pub const fn nanoseconds(duration: Duration) -> u64 {
    let nanoseconds = duration.as_nanos();
    if nanoseconds < NEVER as u128 { nanoseconds as u64 } else { NEVER }
}

/// The time `delay` after `time` in nanoseconds, or [`NEVER`]: the deadline of a timeout
/// when the time comes from elsewhere. O(1).
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::Wheel;
/// use timer_wheel::clock::after;
///
/// let mut wheel = Wheel::new(0);
/// let now = 5;
/// wheel.schedule(after(now, Duration::from_micros(2)), "two microseconds from now");
/// assert_eq!(wheel.next_deadline(), Some(2_005));
/// ```
#[inline]
pub const fn after(time: u64, delay: Duration) -> u64 {
    time.saturating_add(nanoseconds(delay))
}
