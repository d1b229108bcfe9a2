//! The roundest time in a window.

/// The time from `earliest` to `latest` that has the most trailing zero bits, for a timer that may be late. O(1).
///
/// Timers that are scheduled at round times often share them, so a driver wakes up less often. A window that begins and
/// ends later than another never gets an earlier time. Therefore timers with the same slack keep the order of their
/// deadlines, except that some of them become equal. Linux had this for the timers of its wheel, as `apply_slack`.
///
/// Both times may be any `u64`, in any unit. A window that begins at 0 gives 0, all of whose bits are zero. If `latest`
/// is before `earliest` the window is empty, and the answer is `earliest`: no timer is early.
///
/// ```
/// use timer_wheel::{Wheel, align};
///
/// assert_eq!(align(1_000, 1_100), 1_024);
/// assert_eq!(align(1_030, 1_100), 1_088, "17 times 64");
/// assert_eq!((align(7, 7), align(7, 3)), (7, 7));
///
/// let mut wheel = Wheel::new(0);
/// for earliest in [1_000, 1_010, 1_020] {
///     wheel.schedule(align(earliest, earliest + earliest / 10), earliest);
/// }
/// assert_eq!(wheel.wake_at(), Some(1_024));
/// assert_eq!(wheel.advance(1_024).count(), 3);
/// ```
#[inline]
#[must_use = "the time in the window is the answer"]
pub const fn align(earliest: u64, latest: u64) -> u64 {
    if earliest == 0 || latest < earliest {
        return earliest;
    }
    // The times after `before`, up to `latest`, agree with both down to the highest bit in which the two differ. There
    // `latest` has a one: with zeros below it, it is after `before`, and any time with more zeros is not.
    let before = earliest - 1;
    let zeros = (before ^ latest).ilog2();
    latest & (u64::MAX << zeros)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cmp::Reverse;

    use quickcheck::quickcheck;

    use super::align;

    /// Looks at every time.
    fn searched(earliest: u64, latest: u64) -> u64 {
        let zeros = |time: &u64| Reverse(time.trailing_zeros());
        (earliest..=latest).min_by_key(zeros).unwrap_or(earliest)
    }

    /// Every window of small numbers, and the same at the end of time.
    #[test]
    fn align_of_small_windows_is_the_time_that_a_search_finds() {
        for (one, other) in (0..200).flat_map(|one| (0..200).map(move |other| (one, other))) {
            assert_eq!(align(one, other), searched(one, other), "from {one} to {other}");
            let (one, other) = (u64::MAX - one, u64::MAX - other);
            assert_eq!(align(one, other), searched(one, other), "from {one} to {other}");
        }
    }

    quickcheck! {
        /// Anywhere in time, around round times too.
        fn align_of_a_window_anywhere_is_the_time_that_a_search_finds(base: u64, shift: u8, before: u16, length: u16) -> bool {
            let earliest = (base >> (shift % 64) << (shift % 64)).saturating_sub(u64::from(before % 512));
            let latest = earliest.saturating_add(u64::from(length % 1_024));
            align(earliest, latest) == searched(earliest, latest)
        }

        fn align_of_any_two_times_is_between_them_or_the_first(earliest: u64, latest: u64) -> bool {
            let time = align(earliest, latest);
            if latest < earliest { time == earliest } else { (earliest..=latest).contains(&time) }
        }

        /// A sleep with slack relies on this.
        fn align_with_one_slack_keeps_the_order(one: u64, other: u64, slack: u64) -> bool {
            let aligned = |time: u64| align(time, time.saturating_add(slack));
            aligned(one.min(other)) <= aligned(one.max(other))
        }
    }

    #[test]
    fn align_of_times_at_the_ends_does_not_panic() {
        assert_eq!(align(0, 0), 0);
        assert_eq!(align(0, u64::MAX), 0);
        assert_eq!(align(1, u64::MAX), 1 << 63);
        assert_eq!(align(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(align(u64::MAX, 0), u64::MAX);
        assert_eq!(align(u64::MAX - 1, u64::MAX), u64::MAX - 1);
        assert_eq!(align(1, 0), 1);
    }
}
