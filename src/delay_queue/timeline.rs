//! The tokio clock in the wheel's terms: nanoseconds since the queue was made.

use std::time::Duration;

use tokio::time::Instant;

use crate::clock::nanoseconds;

/// Converts between instants and the wheel's time.
///
/// The wheel's time saturates at both ends: nothing lies before the origin, and what lies further
/// than 584 years after it lies there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    origin: Instant,
}

impl Timeline {
    pub(super) fn from_now() -> Self {
        Self { origin: Instant::now() }
    }

    pub(super) fn now(self) -> u64 {
        self.at(Instant::now())
    }

    pub(super) fn at(self, instant: Instant) -> u64 {
        nanoseconds(instant.saturating_duration_since(self.origin))
    }

    pub(super) fn after(self, delay: Duration) -> u64 {
        // Not from `now()`: the clock of a paused runtime may be behind the origin, which is time 0.
        Instant::now().checked_add(delay).map_or(u64::MAX, |instant| self.at(instant))
    }

    /// The instant of a time, or one far in the future where an `Instant` does not reach as far
    /// as a `u64` does: some platforms count in fewer bits.
    pub(super) fn instant(self, time: u64) -> Instant {
        let mut since_origin = Duration::from_nanos(time);
        loop {
            // At most 64 rounds: then the duration is zero.
            match self.origin.checked_add(since_origin) {
                Some(instant) => return instant,
                None => since_origin /= 2,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeline_converts_there_and_back() {
        let timeline = Timeline::from_now();
        for time in [0, 1, 999_999, 1_000_000_007, 1 << 50, 1 << 60, u64::MAX] {
            assert_eq!(timeline.at(timeline.instant(time)), time);
        }
    }

    #[test]
    fn timeline_saturates_at_both_ends() {
        let timeline = Timeline::from_now();
        assert_eq!(timeline.after(Duration::MAX), u64::MAX);
        assert_eq!(timeline.after(Duration::from_nanos(u64::MAX)), u64::MAX);
        assert_eq!(nanoseconds(Duration::from_secs(600 * 366 * 86_400)), u64::MAX);
        if let Some(before) = timeline.origin.checked_sub(Duration::from_secs(1)) {
            assert_eq!(timeline.at(before), 0);
        }
    }
}
