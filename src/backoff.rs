//! How the wait between two attempts grows.

use core::time::Duration;

use crate::clock::nanoseconds;

/// How the delay before a retry grows with the attempts. With feature `retry` or `ttl`.
///
/// ```
/// use core::time::Duration;
/// use timer_wheel::Backoff;
/// use timer_wheel::retry::{RetryConfig, RetryQueue};
///
/// let mut config = RetryConfig::default();
/// config.backoff = Backoff::Exponential { cap: Duration::from_secs(30) };
/// assert!(RetryQueue::<&str>::new(0).set_config(config).is_ok());
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Backoff {
    /// Always the retry delay.
    #[default]
    Constant,
    /// Twice as long each time, up to `cap`.
    Exponential {
        /// The longest delay.
        cap: Duration,
    },
    /// Like `Exponential`, then shortened by up to a half, but never below the retry delay. So entries that failed
    /// together are not retried together.
    ///
    /// The reduction depends only on the attempt and on the entry: its log index, or its key in a retry queue. The same
    /// calls give the same delays on every machine.
    Jittered {
        /// The longest delay.
        cap: Duration,
    },
}

impl Backoff {
    /// How long to wait after attempt number `attempt` has failed, the first being 1, before the next one is made.
    /// O(1).
    ///
    /// For programs that keep their retries in a table of their own; [`RetryQueue`] and [`TtlSet`] use the
    /// same delays. The same arguments give the same delay on every machine. Jitter is derived from `seed`, such as the
    /// id of the row; the other backoffs ignore it. An attempt of 0 counts as 1.
    ///
    /// | backoff | the delay |
    /// |---|---|
    /// | `Constant` | `retry_delay` |
    /// | `Exponential` | `retry_delay` doubled `attempt - 1` times, or `cap` if that is shorter |
    /// | `Jittered` | at most the same, at least half of it, and not below `retry_delay` unless `cap` is |
    ///
    /// Never panics. Durations above 2^64 - 1 nanoseconds (584 years) are capped there.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::Backoff;
    ///
    /// let second = Duration::from_secs(1);
    /// let doubling = Backoff::Exponential { cap: 60 * second };
    /// assert_eq!([1, 2, 3, 99].map(|attempt| doubling.delay(second, 0, attempt).as_secs()), [1, 2, 4, 60]);
    ///
    /// let row = 17; // an id
    /// let delay = Backoff::Jittered { cap: 60 * second }.delay(second, row, 3);
    /// assert!((2 * second..=4 * second).contains(&delay));
    /// ```
    ///
    #[cfg_attr(feature = "retry", doc = "[`RetryQueue`]: crate::retry::RetryQueue")]
    #[cfg_attr(feature = "ttl", doc = "[`TtlSet`]: crate::ttl::TtlSet")]
    /// [`RetryQueue`]: crate#features
    /// [`TtlSet`]: crate#features
    pub fn delay(self, retry_delay: Duration, seed: u64, attempt: u32) -> Duration {
        Duration::from_nanos(self.delay_ns(retry_delay, seed, attempt))
    }

    /// The longest delay, for entries that first wait for `retry_delay`.
    pub(crate) fn longest(self, retry_delay: Duration) -> Duration {
        match self {
            Self::Constant => retry_delay,
            Self::Exponential { cap } | Self::Jittered { cap } => cap,
        }
    }

    /// Rejects settings that cannot work, with the reason.
    pub(crate) fn check(self, retry_delay: Duration, pending_timeout: Duration) -> Result<(), &'static str> {
        if retry_delay.min(pending_timeout).is_zero() {
            Err("the retry delay and the pending timeout must not be 0")
        } else if self.longest(retry_delay) < retry_delay {
            Err("the cap of the backoff must not be below the retry delay")
        } else {
            Ok(())
        }
    }

    /// How long to wait after attempt number `attempt` has failed, in nanoseconds. Jitter follows from `seed`.
    pub(crate) fn delay_ns(self, retry_delay: Duration, seed: u64, attempt: u32) -> u64 {
        let base = nanoseconds(retry_delay);
        let cap = nanoseconds(self.longest(retry_delay));
        let factor = 1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
        let grown = base.saturating_mul(factor).min(cap);
        if !matches!(self, Self::Jittered { .. }) {
            return grown;
        }
        // A cap below the retry delay leaves nothing to shorten.
        let spread = grown.saturating_sub(base.max(grown / 2));
        let seed = seed ^ u64::from(attempt).rotate_left(32);
        grown - scattered(seed) % (spread + 1)
    }
}

/// A hash of the seed: the finalizer of Steele, Lea and
/// Flood's SplitMix64 (2014).
fn scattered(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    const CAP: Duration = Duration::from_secs(20);

    const JITTERED: Backoff = Backoff::Jittered { cap: CAP };

    /// The delay after an attempt, with a retry delay of a second.
    fn delay_ns(backoff: Backoff, seed: u64, attempt: u32) -> u64 {
        backoff.delay_ns(Duration::from_secs(1), seed, attempt)
    }

    /// Extreme arguments, and the bounds that the public method documents.
    #[test]
    fn delay_of_any_arguments_keeps_its_bounds() {
        const SECOND: Duration = Duration::from_secs(1);
        const MOST: Duration = Duration::from_nanos(u64::MAX);
        let spans = [Duration::ZERO, Duration::from_nanos(1), SECOND, 3 * SECOND, MOST / 2, MOST, Duration::MAX];
        for (base, cap) in spans.iter().flat_map(|&base| spans.map(|cap| (base, cap))) {
            for attempt in [0, 1, 2, 3, 63, 64, 65, u32::MAX] {
                let mut grown = base.min(MOST);
                (1..attempt.min(70)).for_each(|_| grown = grown.saturating_mul(2).min(MOST));
                let grown = grown.min(cap);
                let least = grown.min(base.max(grown / 2));
                for seed in [0, 1, 1 << 32, u64::MAX] {
                    assert_eq!(Backoff::Constant.delay(base, seed, attempt), base.min(MOST));
                    assert_eq!(Backoff::Exponential { cap }.delay(base, seed, attempt), grown);
                    let jittered = Backoff::Jittered { cap }.delay(base, seed, attempt);
                    assert!((least..=grown).contains(&jittered), "{jittered:?} of {base:?}, {cap:?}, {attempt}");
                }
            }
        }
    }

    #[test]
    fn constant_backoff_never_grows() {
        for attempt in [0, 1, 2, 63, 64, 65, u32::MAX] {
            assert_eq!(delay_ns(Backoff::Constant, 7, attempt), 1_000 * MS);
        }
    }

    #[test]
    fn exponential_backoff_doubles_up_to_its_cap() {
        let doubling = Backoff::Exponential { cap: CAP };
        for (attempt, ms) in [(1, 1_000), (2, 2_000), (5, 16_000), (6, 20_000)] {
            assert_eq!(delay_ns(doubling, 7, attempt), ms * MS);
        }
        assert_eq!(delay_ns(doubling, 7, u32::MAX), 20_000 * MS);
    }

    #[test]
    fn jittered_backoff_doubles_within_its_bounds() {
        for index in [0, 1, 77, u64::MAX] {
            assert_eq!(delay_ns(JITTERED, index, 1), 1_000 * MS);
            for (attempt, grown) in [(2, 2_000), (3, 4_000), (5, 16_000), (6, 20_000)] {
                let delay = delay_ns(JITTERED, index, attempt);
                assert!((grown / 2 * MS..=grown * MS).contains(&delay));
            }
            let last = delay_ns(JITTERED, index, u32::MAX);
            assert!((10_000 * MS..=20_000 * MS).contains(&last));
        }
    }

    #[test]
    fn jitter_is_the_same_every_time_and_different_for_each_entry() {
        let delays = |attempt| [1, 2, 3, 4].map(|index| delay_ns(JITTERED, index, attempt));
        assert_eq!(delays(6), delays(6));
        assert_ne!(delays(6), delays(7));
        let mut distinct = delays(6).to_vec();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
    }

    /// Replicas and releases must agree on the jitter: the numbers are those of SplitMix64 from seed 0.
    #[test]
    fn jitter_follows_from_index_and_attempt_as_written_down() {
        assert_eq!(scattered(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(scattered(0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
        let spread = 10_000 * MS;
        let expected = 20_000 * MS - scattered(0) % (spread + 1);
        assert_eq!(delay_ns(JITTERED, 6 << 32, 6), expected);
        let expected = 20_000 * MS - scattered(3 << 32) % (spread + 1);
        assert_eq!(delay_ns(JITTERED, 5 << 32, 6), expected);
    }
}
