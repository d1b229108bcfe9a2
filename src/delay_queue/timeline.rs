//! The tokio clock in the wheel's terms: nanoseconds since long before the queue was made.

use std::time::Duration;

use tokio::time::Instant;

use crate::clock::nanoseconds;

/// Converts between instants and the wheel's time, which saturates at both ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    /// When the queue was made.
    origin: Instant,
}

impl Timeline {
    /// The wheel's time when the queue was made. It leaves 36 years before it, because a queue may be made where a
    /// paused clock has run ahead, and be used where the clock is behind that. It leaves 548 years after it.
    pub(super) const ORIGIN: u64 = 1 << 60;

    pub(super) fn from_now() -> Self {
        Self { origin: Instant::now() }
    }

    pub(super) fn now(self) -> u64 {
        self.at(Instant::now())
    }

    pub(super) fn at(self, instant: Instant) -> u64 {
        match instant.checked_duration_since(self.origin) {
            Some(after) => Self::ORIGIN.saturating_add(nanoseconds(after)),
            None => Self::ORIGIN.saturating_sub(nanoseconds(self.origin.duration_since(instant))),
        }
    }

    pub(super) fn after(self, delay: Duration) -> u64 {
        self.now().saturating_add(nanoseconds(delay))
    }

    /// The instant of a time, or one far in the future where an `Instant` does not reach as far
    /// as a `u64` does: some platforms count in fewer bits.
    pub(super) fn instant(self, time: u64) -> Instant {
        if time < Self::ORIGIN {
            // There is such an instant, unless the time is the earliest of all.
            let before = self.origin.checked_sub(Duration::from_nanos(Self::ORIGIN - time));
            return before.unwrap_or(self.origin);
        }
        let mut since_origin = Duration::from_nanos(time - Self::ORIGIN);
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
        for time in [0, 1, 999_999, 1_000_000_007, 1 << 50, 1 << 60, u64::MAX - Timeline::ORIGIN] {
            let time = Timeline::ORIGIN + time;
            assert_eq!(timeline.at(timeline.instant(time)), time);
        }
        let before = timeline.origin.checked_sub(Duration::from_secs(1)).expect("the machine has run for a second");
        assert_eq!(timeline.at(before), Timeline::ORIGIN - 1_000_000_000);
        assert_eq!(timeline.instant(timeline.at(before)), before);
    }

    #[test]
    fn timeline_saturates_at_both_ends() {
        let timeline = Timeline::from_now();
        assert_eq!(timeline.after(Duration::MAX), u64::MAX);
        assert_eq!(timeline.after(Duration::from_nanos(u64::MAX)), u64::MAX);
        assert_eq!(nanoseconds(Duration::from_secs(600 * 366 * 86_400)), u64::MAX);
        if let Some(before) = timeline.origin.checked_sub(Duration::from_secs(50 * 366 * 86_400)) {
            assert_eq!(timeline.at(before), 0);
        }
    }
}
