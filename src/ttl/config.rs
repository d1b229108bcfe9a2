//! How many expiries a poll may yield, and how patient it is with their answers.

use core::time::Duration;

use super::error::TtlError;
use crate::clock::nanoseconds;

/// Milliseconds to nanoseconds.
pub(super) const NS_PER_MS: u64 = 1_000_000;

/// The longest duration that is as many nanoseconds as a time can be.
const LONGEST: Duration = Duration::from_nanos(u64::MAX);

/// How the delay before a retry grows with the attempts.
///
/// ```
/// use core::time::Duration;
/// use timer_wheel::ttl::{Backoff, TtlConfig};
///
/// let doubling = Backoff::Exponential { cap: Duration::from_secs(30) };
/// let config = TtlConfig::builder().backoff(doubling).build()?;
/// assert_eq!(config.backoff(), doubling);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
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
    /// As `Exponential`, then shortened by up to a half, so that entries that failed together do not come back
    /// together, and never below the retry delay.
    ///
    /// What is taken off follows from the entry's index and the attempt alone: the same calls give
    /// the same delays on every machine.
    Jittered {
        /// The longest delay.
        cap: Duration,
    },
}

impl Backoff {
    /// The longest delay, for entries that first wait for `retry_delay`.
    pub(super) fn longest(self, retry_delay: Duration) -> Duration {
        match self {
            Self::Constant => retry_delay,
            Self::Exponential { cap } | Self::Jittered { cap } => cap,
        }
    }
}

/// Makes for each setting a method that reads it, and a method of the builder that sets it.
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl TtlConfig {
            $($(#[$doc])* pub fn $name(&self) -> $type {
                self.0.$name
            })*
        }

        impl TtlConfigBuilder {
            $($(#[$doc])* pub fn $name(mut self, $name: $type) -> Self {
                self.0.$name = $name;
                self
            })*
        }
    };
}

/// The settings of a [`TtlSet`](super::TtlSet) or a [`TtlQueue`](super::TtlQueue). Every method is O(1).
///
/// The defaults are those of Dongting, and a pending timeout of 10 s. The maximum TTL decides what
/// is refused, so it must be the same on all replicas; the rest may differ. With feature `serde`,
/// settings that are left out have their defaults, and settings that cannot work are refused.
///
/// ```
/// use core::time::Duration;
/// use timer_wheel::ttl::{Backoff, TtlConfig, TtlError};
///
/// let config = TtlConfig::builder()
///     .expire_batch(200)
///     .backoff(Backoff::Exponential { cap: Duration::from_secs(30) })
///     .build()?;
/// assert_eq!((config.expire_batch(), config.retry_batch()), (200, 10));
/// assert!(TtlConfig::builder().expire_batch(0).build().is_err());
/// # Ok::<(), TtlError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Settings"))]
pub struct TtlConfig(Settings);

/// Collects the settings of a [`TtlConfig`] and checks them at the end. Every method is O(1).
///
/// ```
/// use core::time::Duration;
/// use timer_wheel::ttl::TtlConfig;
///
/// let config = TtlConfig::builder()
///     .retry_batch(20)
///     .pending_timeout(Duration::from_secs(3))
///     .build()?;
/// assert_eq!(config.retry_batch(), 20);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder builds nothing until `build` is called"]
pub struct TtlConfigBuilder(Settings);

/// What is set, whether it can work or not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
struct Settings {
    expire_batch: usize,
    retry_batch: usize,
    max_pending: usize,
    retry_delay: Duration,
    backoff: Backoff,
    pending_timeout: Duration,
    max_ttl: Duration,
    poll_budget: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            expire_batch: 50,
            retry_batch: 10,
            max_pending: 4_096,
            retry_delay: Duration::from_secs(1),
            backoff: Backoff::Constant,
            pending_timeout: Duration::from_secs(10),
            max_ttl: Duration::from_secs(36_500 * 24 * 3_600),
            poll_budget: 4_096,
        }
    }
}

settings! {
    /// The most first proposals that one poll yields: 50 by default.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().expire_batch(), 50);
    /// assert_eq!(TtlConfig::builder().expire_batch(200).build()?.expire_batch(), 200);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    expire_batch: usize;

    /// The most retries that one poll yields: 10 by default.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().retry_batch(), 10);
    /// assert_eq!(TtlConfig::builder().retry_batch(20).build()?.retry_batch(), 20);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    retry_batch: usize;

    /// The most entries in flight, pending or waiting for a retry: 4,096 by default. At that many nothing is proposed for
    /// the first time until one of them ends.
    ///
    /// It bounds what a change of role takes, and keeps a leader from flooding a log that is behind.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().max_pending(), 4_096);
    /// assert_eq!(TtlConfig::builder().max_pending(100).build()?.max_pending(), 100);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    max_pending: usize;

    /// How long a failed expiry waits before it is proposed again, at least: 1 s by default.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().retry_delay(), Duration::from_secs(1));
    /// let delay = Duration::from_millis(100);
    /// assert_eq!(TtlConfig::builder().retry_delay(delay).build()?.retry_delay(), delay);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    retry_delay: Duration;

    /// How the retry delay grows with the attempts: not at all by default.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::{Backoff, TtlConfig};
    ///
    /// assert_eq!(TtlConfig::default().backoff(), Backoff::Constant);
    /// let doubling = Backoff::Exponential { cap: Duration::from_secs(60) };
    /// assert_eq!(TtlConfig::builder().backoff(doubling).build()?.backoff(), doubling);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    backoff: Backoff;

    /// How long a proposal may go without an answer before it counts as failed: 10 s by default.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().pending_timeout(), Duration::from_secs(10));
    /// let timeout = Duration::from_secs(3);
    /// assert_eq!(TtlConfig::builder().pending_timeout(timeout).build()?.pending_timeout(), timeout);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pending_timeout: Duration;

    /// The longest TTL that is accepted, in whole milliseconds: 36,500 days by default.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().max_ttl(), Duration::from_secs(36_500 * 24 * 3_600));
    /// let hour = Duration::from_secs(3_600);
    /// assert_eq!(TtlConfig::builder().max_ttl(hour).build()?.max_ttl(), hour);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    max_ttl: Duration;

    /// The most work on the wheels that one poll does: 4,096 units by default, which are tens of units for each entry that
    /// both batches have room for. So a poll takes a short time even when a million entries must be moved to finer buckets
    /// before the first of them can be proposed.
    ///
    /// The unit is that of [`Wheel::advance_with_budget`](crate::Wheel::advance_with_budget). The next poll does the
    /// rest, and [is to come at once](super::TtlSet::wake_at). A timeout or a retry takes no unit, except to be moved
    /// to a finer bucket like an entry that is not proposed.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().poll_budget(), 4_096);
    /// assert_eq!(TtlConfig::builder().poll_budget(256).build()?.poll_budget(), 256);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    poll_budget: usize;
}

impl TtlConfig {
    /// Starts from the defaults.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::builder().build(), Ok(TtlConfig::default()));
    /// ```
    pub fn builder() -> TtlConfigBuilder {
        TtlConfigBuilder::default()
    }

    /// Refuses a TTL that is too long.
    pub(super) fn check_ttl(&self, ttl_ms: u64) -> Result<(), TtlError> {
        let max_ms = nanoseconds(self.max_ttl()) / NS_PER_MS;
        if ttl_ms > max_ms {
            return Err(TtlError::TtlTooLong { ttl_ms, max_ms });
        }
        Ok(())
    }

    /// How long the entry of an index waits after its attempt number `attempt` has failed.
    pub(super) fn retry_delay_ns(&self, index: u64, attempt: u32) -> u64 {
        backoff_ns(self.backoff(), self.retry_delay(), index, attempt)
    }
}

impl TtlConfigBuilder {
    /// The configuration, if it can work.
    ///
    /// # Errors
    ///
    /// [`TtlError::InvalidConfig`] if a batch or the most in flight is 0, or the batches' sum overflows; if
    /// the budget of a poll, the retry delay or the pending timeout is 0; if the maximum TTL is less than a
    /// millisecond; if the cap of the backoff is below the retry delay; if a duration is more than 2^64
    /// nanoseconds.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::{TtlConfig, TtlError};
    ///
    /// assert!(TtlConfig::builder().build().is_ok());
    /// let refused = TtlConfig::builder().retry_delay(Duration::ZERO).build();
    /// assert!(matches!(refused, Err(TtlError::InvalidConfig(_))));
    /// ```
    pub fn build(self) -> Result<TtlConfig, TtlError> {
        self.0.try_into()
    }
}

impl TryFrom<Settings> for TtlConfig {
    type Error = TtlError;

    fn try_from(settings: Settings) -> Result<Self, TtlError> {
        let batch = settings.expire_batch.min(settings.retry_batch);
        let batches = settings.expire_batch.checked_add(settings.retry_batch);
        let soonest = settings.retry_delay.min(settings.pending_timeout);
        let cap = settings.backoff.longest(settings.retry_delay);
        let longest = settings.max_ttl.max(settings.pending_timeout).max(cap);
        let reason = if batch.min(settings.max_pending) == 0 {
            "a batch, and what may be in flight, must be one entry at least"
        } else if batches.is_none() {
            "both batches together are more than can be counted"
        } else if settings.poll_budget == 0 {
            "the budget of a poll must be one unit at least"
        } else if soonest.is_zero() {
            "the retry delay and the pending timeout must not be 0"
        } else if settings.max_ttl.as_millis() == 0 {
            "the maximum TTL must be a millisecond at least"
        } else if cap < settings.retry_delay {
            "the cap of the backoff must not be below the retry delay"
        } else if longest > LONGEST {
            "a duration must not be more than 2^64 nanoseconds"
        } else {
            return Ok(Self(settings));
        };
        Err(TtlError::InvalidConfig(reason))
    }
}

/// How long to wait after the attempt number `attempt` has failed, in nanoseconds. What is taken off follows from `seed`.
pub(super) fn backoff_ns(backoff: Backoff, retry_delay: Duration, seed: u64, attempt: u32) -> u64 {
    let base = nanoseconds(retry_delay);
    let cap = nanoseconds(backoff.longest(retry_delay));
    // Past 63 doublings every delay is at its cap.
    let doublings = attempt.saturating_sub(1).min(63);
    let grown = base.saturating_mul(1 << doublings).min(cap);
    if !matches!(backoff, Backoff::Jittered { .. }) {
        return grown;
    }
    let spread = grown - base.max(grown / 2);
    let seed = seed ^ u64::from(attempt).rotate_left(32);
    grown - scattered(seed) % (spread + 1)
}

/// A number that follows from the seed and looks unlike it: the finalizer of Steele, Lea and
/// Flood's SplitMix64 (2014).
pub(super) fn scattered(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = NS_PER_MS;

    const CAP: Duration = Duration::from_secs(20);

    fn with(backoff: Backoff) -> TtlConfig {
        TtlConfig::builder().backoff(backoff).build().unwrap()
    }

    fn jittered() -> TtlConfig {
        with(Backoff::Jittered { cap: CAP })
    }

    #[test]
    fn constant_backoff_never_grows() {
        let config = TtlConfig::default();
        for attempt in [0, 1, 2, 63, 64, 65, u32::MAX] {
            assert_eq!(config.retry_delay_ns(7, attempt), 1_000 * MS);
        }
    }

    #[test]
    fn exponential_backoff_doubles_up_to_its_cap() {
        let config = with(Backoff::Exponential { cap: CAP });
        for (attempt, ms) in [(1, 1_000), (2, 2_000), (5, 16_000), (6, 20_000)] {
            assert_eq!(config.retry_delay_ns(7, attempt), ms * MS);
        }
        assert_eq!(config.retry_delay_ns(7, u32::MAX), 20_000 * MS);
    }

    #[test]
    fn jittered_backoff_doubles_within_its_bounds() {
        let config = jittered();
        for index in [0, 1, 77, u64::MAX] {
            assert_eq!(config.retry_delay_ns(index, 1), 1_000 * MS);
            for (attempt, grown) in [(2, 2_000), (3, 4_000), (5, 16_000), (6, 20_000)] {
                let delay = config.retry_delay_ns(index, attempt);
                assert!((grown / 2 * MS..=grown * MS).contains(&delay));
            }
            let last = config.retry_delay_ns(index, u32::MAX);
            assert!((10_000 * MS..=20_000 * MS).contains(&last));
        }
    }

    #[test]
    fn jitter_is_the_same_every_time_and_different_for_each_entry() {
        let config = jittered();
        let delays = |attempt| [1, 2, 3, 4].map(|index| config.retry_delay_ns(index, attempt));
        assert_eq!(delays(6), delays(6));
        assert_ne!(delays(6), delays(7));
        let mut distinct = delays(6).to_vec();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
    }

    /// Replicas and releases agree on it: the numbers are those of SplitMix64 from seed 0.
    #[test]
    fn jitter_follows_from_index_and_attempt_as_written_down() {
        assert_eq!(scattered(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(scattered(0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
        let spread = 10_000 * MS;
        let expected = 20_000 * MS - scattered(0) % (spread + 1);
        assert_eq!(jittered().retry_delay_ns(6 << 32, 6), expected);
        let expected = 20_000 * MS - scattered(3 << 32) % (spread + 1);
        assert_eq!(jittered().retry_delay_ns(5 << 32, 6), expected);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn stored_configuration_is_checked_as_a_built_one_is() {
        let config = TtlConfig::builder().expire_batch(7).backoff(Backoff::Jittered { cap: CAP });
        let config = config.build().unwrap();
        let stored = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<TtlConfig>(&stored).unwrap(), config);
        let partial: TtlConfig = serde_json::from_str(r#"{"expire_batch":7}"#).unwrap();
        assert_eq!((partial.expire_batch(), partial.retry_batch()), (7, 10));
        for (json, word) in [
            (r#"{"expire_batch":0}"#, "one entry at least"),
            (r#"{"retry_delay":{"secs":0,"nanos":0}}"#, "must not be 0"),
            (r#"{"expiry_batch":7}"#, "unknown field"),
        ] {
            let refused = serde_json::from_str::<TtlConfig>(json).unwrap_err();
            assert!(refused.to_string().contains(word), "{refused}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let builder = TtlConfig::builder;
        let refused = [
            builder().expire_batch(0),
            builder().retry_batch(0),
            builder().max_pending(0),
            builder().expire_batch(usize::MAX),
            builder().poll_budget(0),
            builder().retry_delay(Duration::ZERO),
            builder().retry_delay(Duration::MAX),
            builder().pending_timeout(Duration::ZERO),
            builder().pending_timeout(Duration::MAX),
            builder().max_ttl(Duration::ZERO),
            builder().max_ttl(Duration::from_micros(999)),
            builder().max_ttl(Duration::MAX),
            builder().backoff(Backoff::Exponential { cap: Duration::from_millis(999) }),
            builder().backoff(Backoff::Exponential { cap: Duration::MAX }),
        ];
        for builder in refused {
            let refusal = builder.clone().build();
            assert!(matches!(refusal, Err(TtlError::InvalidConfig(_))), "{builder:?}");
        }
    }

    #[test]
    fn durations_may_be_as_long_as_time() {
        let builder = TtlConfig::builder().pending_timeout(LONGEST);
        assert_eq!(builder.build().unwrap().pending_timeout(), LONGEST);
    }

    #[test]
    fn ttl_is_refused_only_past_the_maximum() {
        let config = TtlConfig::default();
        let max_ms = 36_500 * 86_400_000;
        assert!(config.check_ttl(max_ms).is_ok());
        let ttl_ms = max_ms + 1;
        let refusal = TtlError::TtlTooLong { ttl_ms, max_ms };
        assert_eq!(config.check_ttl(ttl_ms), Err(refusal));
    }
}
