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

/// A duration in nanoseconds, or [`NEVER`] if it does not fit. O(1).
///
/// It works at compile time, for constants that state their unit:
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

/// The next tick at a fixed rate, with missed ticks skipped: the first time after both `now` and `last` that is a whole
/// number of periods after `last`. A period of zero panics.
#[cfg(any(feature = "local", feature = "timer"))]
pub(crate) const fn next_tick(last: u64, period_ns: u64, now: u64) -> u64 {
    let periods = (now.saturating_sub(last) / period_ns).saturating_add(1);
    last.saturating_add(period_ns.saturating_mul(periods))
}

#[cfg(all(test, not(loom), any(feature = "local", feature = "timer")))]
mod tests {
    use quickcheck::quickcheck;

    use super::{NEVER, next_tick};

    /// Tick after tick.
    fn counted(last: u64, period_ns: u64, now: u64) -> u64 {
        let mut tick = last;
        loop {
            tick = tick.saturating_add(period_ns);
            if tick > now || tick == NEVER {
                return tick;
            }
        }
    }

    quickcheck! {
        fn next_tick_is_the_first_after_now_that_counting_finds(last: u16, period_ns: u8, now: u16) -> bool {
            let (last, period_ns, now) = (u64::from(last), u64::from(period_ns) + 1, u64::from(now));
            let end = NEVER - u64::from(u16::MAX);
            [0, end].iter().all(|from| {
                let (last, now) = (from + last, from + now);
                next_tick(last, period_ns, now) == counted(last, period_ns, now)
            })
        }
    }

    #[test]
    fn next_tick_at_the_end_of_time_is_never() {
        for (last, period_ns, now) in
            [(0, 1, NEVER), (0, NEVER, NEVER), (NEVER, 1, 0), (NEVER, NEVER, NEVER), (1, NEVER, 0)]
        {
            assert_eq!(next_tick(last, period_ns, now), NEVER, "{last}, {period_ns}, {now}");
        }
    }
}
