//! How many expiries a poll may yield, and how patient it is with their answers.

use core::time::Duration;

use super::error::TtlError;
use crate::clock::nanoseconds;

/// Milliseconds to nanoseconds.
pub(super) const NS_PER_MS: u64 = 1_000_000;

/// The longest TTL unless another is set: 36,500 days.
const MAX_TTL: Duration = Duration::from_secs(36_500 * 24 * 3600);

/// The longest duration that is as many nanoseconds as a time can be.
const LONGEST: Duration = Duration::from_nanos(u64::MAX);

/// Units of work for each entry that a poll has room for. To bring one down all levels takes about a
/// dozen; the rest is for entries that come down with it and are not due yet.
const BUDGET_OF_AN_ENTRY: usize = 64;

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
#[non_exhaustive]
pub enum Backoff {
    /// Always the retry delay.
    #[default]
    Constant,
    /// Twice as long each time, up to `cap`, then shortened by up to a half so that entries that
    /// failed together do not come back together, and never below the retry delay.
    ///
    /// What is taken off follows from the entry's index and the attempt alone: the same calls give
    /// the same delays on every machine.
    Exponential {
        /// The longest delay.
        cap: Duration,
    },
}

/// The settings of a [`TtlSet`](super::TtlSet) or a [`TtlQueue`](super::TtlQueue). Every method is O(1).
///
/// The defaults are those of Dongting, and a pending timeout of 10 s. The maximum TTL decides what
/// is refused, so it must be the same on all replicas; the rest may differ.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlConfig {
    expire_batch: usize,
    retry_batch: usize,
    max_pending: usize,
    retry_delay: Duration,
    backoff: Backoff,
    pending_timeout: Duration,
    max_ttl: Duration,
    poll_budget: usize,
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

    /// The most first proposals that one poll yields: 50 by default.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().expire_batch(), 50);
    /// ```
    pub fn expire_batch(&self) -> usize {
        self.expire_batch
    }

    /// The most retries that one poll yields: 10 by default.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().retry_batch(), 10);
    /// ```
    pub fn retry_batch(&self) -> usize {
        self.retry_batch
    }

    /// The most entries in flight, pending or waiting for a retry: 4,096 by default.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().max_pending(), 4_096);
    /// ```
    pub fn max_pending(&self) -> usize {
        self.max_pending
    }

    /// How long a failed expiry waits before it is proposed again, at least: 1 s by default.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().retry_delay(), Duration::from_secs(1));
    /// ```
    pub fn retry_delay(&self) -> Duration {
        self.retry_delay
    }

    /// How the retry delay grows: not at all by default.
    ///
    /// ```
    /// use timer_wheel::ttl::{Backoff, TtlConfig};
    ///
    /// assert_eq!(TtlConfig::default().backoff(), Backoff::Constant);
    /// ```
    pub fn backoff(&self) -> Backoff {
        self.backoff
    }

    /// How long a proposal may go without an answer before it counts as failed: 10 s by default.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().pending_timeout(), Duration::from_secs(10));
    /// ```
    pub fn pending_timeout(&self) -> Duration {
        self.pending_timeout
    }

    /// The longest TTL that is accepted: 36,500 days by default.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().max_ttl(), Duration::from_secs(36_500 * 24 * 3_600));
    /// ```
    pub fn max_ttl(&self) -> Duration {
        self.max_ttl
    }

    /// The most work on the wheels that one poll does: by default 64 units for each entry that both
    /// batches have room for.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// assert_eq!(TtlConfig::default().poll_budget(), 64 * (50 + 10));
    /// ```
    pub fn poll_budget(&self) -> usize {
        self.poll_budget
    }

    /// Refuses a TTL that is too long.
    pub(super) fn check_ttl(&self, ttl_ms: u64) -> Result<(), TtlError> {
        let max_ms = nanoseconds(self.max_ttl) / NS_PER_MS;
        if ttl_ms > max_ms {
            return Err(TtlError::TtlTooLong { ttl_ms, max_ms });
        }
        Ok(())
    }

    /// How long the entry of an index waits after its attempt number `attempt` has failed.
    pub(super) fn retry_delay_ns(&self, index: u64, attempt: u32) -> u64 {
        backoff_ns(self.backoff, self.retry_delay, index, attempt)
    }
}

impl Default for TtlConfig {
    fn default() -> Self {
        let (expire_batch, retry_batch) = (50, 10);
        Self {
            expire_batch,
            retry_batch,
            max_pending: 4_096,
            retry_delay: Duration::from_secs(1),
            backoff: Backoff::Constant,
            pending_timeout: Duration::from_secs(10),
            max_ttl: MAX_TTL,
            poll_budget: (expire_batch + retry_batch) * BUDGET_OF_AN_ENTRY,
        }
    }
}

/// How long to wait after the attempt number `attempt` has failed, in nanoseconds. What is taken off follows from `seed`.
pub(super) fn backoff_ns(backoff: Backoff, retry_delay: Duration, seed: u64, attempt: u32) -> u64 {
    let base = nanoseconds(retry_delay);
    let cap = match backoff {
        Backoff::Constant => return base,
        Backoff::Exponential { cap } => nanoseconds(cap),
    };
    // Past 63 doublings every delay is at its cap.
    let doublings = attempt.saturating_sub(1).min(63);
    let grown = base.saturating_mul(1 << doublings).min(cap);
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
pub struct TtlConfigBuilder {
    /// As asked for, whether that makes sense or not.
    config: TtlConfig,
    poll_budget: Option<usize>,
}

impl TtlConfigBuilder {
    /// The most first proposals that one poll yields.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// let config = TtlConfig::builder().expire_batch(500).build()?;
    /// assert_eq!(config.expire_batch(), 500);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn expire_batch(mut self, entries: usize) -> Self {
        self.config.expire_batch = entries;
        self
    }

    /// The most retries that one poll yields.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// let config = TtlConfig::builder().retry_batch(100).build()?;
    /// assert_eq!(config.retry_batch(), 100);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn retry_batch(mut self, entries: usize) -> Self {
        self.config.retry_batch = entries;
        self
    }

    /// The most entries in flight: pending, or waiting for a retry. At that many nothing is proposed for the
    /// first time until one of them ends.
    ///
    /// It bounds what a change of role takes, and keeps a leader from flooding a log that is behind.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// let config = TtlConfig::builder().max_pending(100).build()?;
    /// assert_eq!(config.max_pending(), 100);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn max_pending(mut self, entries: usize) -> Self {
        self.config.max_pending = entries;
        self
    }

    /// How long a failed expiry waits before it is proposed again, at least.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// let config = TtlConfig::builder().retry_delay(Duration::from_millis(200)).build()?;
    /// assert_eq!(config.retry_delay(), Duration::from_millis(200));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.config.retry_delay = delay;
        self
    }

    /// How the retry delay grows with the attempts.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::{Backoff, TtlConfig};
    ///
    /// let config = TtlConfig::builder().backoff(Backoff::Exponential { cap: Duration::from_secs(9) }).build()?;
    /// assert_eq!(config.backoff(), Backoff::Exponential { cap: Duration::from_secs(9) });
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.config.backoff = backoff;
        self
    }

    /// How long a proposal may go without an answer before it counts as failed.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// let config = TtlConfig::builder().pending_timeout(Duration::from_secs(3)).build()?;
    /// assert_eq!(config.pending_timeout(), Duration::from_secs(3));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn pending_timeout(mut self, timeout: Duration) -> Self {
        self.config.pending_timeout = timeout;
        self
    }

    /// The longest TTL that is accepted, in whole milliseconds.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// let config = TtlConfig::builder().max_ttl(Duration::from_secs(3_600)).build()?;
    /// assert_eq!(config.max_ttl(), Duration::from_secs(3_600));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn max_ttl(mut self, ttl: Duration) -> Self {
        self.config.max_ttl = ttl;
        self
    }

    /// The most work on the wheels that one poll does. A poll takes a short time even when a million entries must be
    /// moved to finer buckets before the first of them can be proposed.
    ///
    /// The unit is that of [`Wheel::advance_with_budget`](crate::Wheel::advance_with_budget). The next poll does the
    /// rest, and [is to come at once](super::Due::next_wake). A timeout or a retry takes no unit, except to be moved to
    /// a finer bucket like an entry that is not proposed.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlConfig;
    ///
    /// let config = TtlConfig::builder().poll_budget(256).build()?;
    /// assert_eq!(config.poll_budget(), 256);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn poll_budget(mut self, units: usize) -> Self {
        self.poll_budget = Some(units);
        self
    }

    /// The configuration, if it makes sense.
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
        let mut config = self.config;
        let batches = config.expire_batch.checked_add(config.retry_batch);
        let budget = batches.map(|batches| batches.saturating_mul(BUDGET_OF_AN_ENTRY));
        config.poll_budget = self.poll_budget.or(budget).unwrap_or(0);
        let cap = match config.backoff {
            Backoff::Constant => config.retry_delay,
            Backoff::Exponential { cap } => cap,
        };
        let batch = config.expire_batch.min(config.retry_batch);
        let soonest = config.retry_delay.min(config.pending_timeout);
        let longest = config.max_ttl.max(config.pending_timeout).max(cap);
        let reason = if batch.min(config.max_pending) == 0 {
            "a batch, and what may be in flight, must be one entry at least"
        } else if batches.is_none() {
            "both batches together are more than can be counted"
        } else if config.poll_budget == 0 {
            "the budget of a poll must be one unit at least"
        } else if soonest.is_zero() {
            "the retry delay and the pending timeout must not be 0"
        } else if config.max_ttl.as_millis() == 0 {
            "the maximum TTL must be a millisecond at least"
        } else if cap < config.retry_delay {
            "the cap of the backoff must not be below the retry delay"
        } else if longest > LONGEST {
            "a duration must not be more than 2^64 nanoseconds"
        } else {
            return Ok(config);
        };
        Err(TtlError::InvalidConfig(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = NS_PER_MS;

    fn exponential() -> TtlConfig {
        let cap = Duration::from_secs(20);
        TtlConfig::builder()
            .backoff(Backoff::Exponential { cap })
            .build()
            .unwrap()
    }

    #[test]
    fn defaults_are_those_of_dongting() {
        let built = TtlConfig::builder().build().unwrap();
        assert_eq!(built, TtlConfig::default());
        assert_eq!((built.expire_batch(), built.retry_batch()), (50, 10));
        assert_eq!(built.max_pending(), 4_096);
        assert_eq!(built.retry_delay(), Duration::from_secs(1));
        assert_eq!(built.backoff(), Backoff::Constant);
        assert_eq!(built.pending_timeout(), Duration::from_secs(10));
        assert_eq!(built.max_ttl(), Duration::from_secs(36_500 * 86_400));
        assert_eq!(built.poll_budget(), 64 * 60);
    }

    #[test]
    fn constant_backoff_never_grows() {
        let config = TtlConfig::default();
        for attempt in [0, 1, 2, 63, 64, 65, u32::MAX] {
            assert_eq!(config.retry_delay_ns(7, attempt), 1_000 * MS);
        }
    }

    #[test]
    fn exponential_backoff_doubles_within_its_bounds() {
        let config = exponential();
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
        let config = exponential();
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
        assert_eq!(exponential().retry_delay_ns(6 << 32, 6), expected);
        let expected = 20_000 * MS - scattered(3 << 32) % (spread + 1);
        assert_eq!(exponential().retry_delay_ns(5 << 32, 6), expected);
    }

    #[test]
    fn budget_follows_the_batches_unless_it_was_set() {
        let builder = || TtlConfig::builder().expire_batch(3).retry_batch(1);
        let budget = |builder: TtlConfigBuilder| builder.build().unwrap().poll_budget();
        assert_eq!(budget(builder()), 4 * 64);
        assert_eq!(budget(builder().poll_budget(1)), 1);
        assert_eq!(budget(builder().expire_batch(usize::MAX - 1)), usize::MAX);
    }

    #[test]
    fn settings_are_what_was_set() {
        let backoff = Backoff::Exponential {
            cap: Duration::from_secs(9),
        };
        let config = TtlConfig::builder()
            .expire_batch(2)
            .retry_batch(3)
            .max_pending(7)
            .retry_delay(Duration::from_millis(4))
            .backoff(backoff)
            .pending_timeout(Duration::from_millis(5))
            .max_ttl(Duration::from_millis(1))
            .poll_budget(6)
            .build()
            .unwrap();
        assert_eq!((config.expire_batch(), config.retry_batch()), (2, 3));
        assert_eq!((config.poll_budget(), config.max_pending()), (6, 7));
        assert_eq!(config.retry_delay(), Duration::from_millis(4));
        assert_eq!(config.backoff(), backoff);
        assert_eq!(config.pending_timeout(), Duration::from_millis(5));
        assert_eq!(config.max_ttl(), Duration::from_millis(1));
        assert_eq!(TtlConfig::default().backoff(), Backoff::Constant);
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
            builder().backoff(Backoff::Exponential {
                cap: Duration::from_millis(999),
            }),
            builder().backoff(Backoff::Exponential { cap: Duration::MAX }),
        ];
        for builder in refused {
            let refusal = builder.clone().build();
            assert!(
                matches!(refusal, Err(TtlError::InvalidConfig(_))),
                "{builder:?}"
            );
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
