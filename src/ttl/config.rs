//! The settings of the layer: batches, delays, timeouts and limits. Also the errors that refuse a setting or a TTL.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::Backoff;
use crate::clock::nanoseconds;

/// Milliseconds to nanoseconds.
pub(super) const NS_PER_MS: u64 = 1_000_000;

/// The longest duration that fits in a time of 64 bits, in nanoseconds.
const LONGEST: Duration = Duration::from_nanos(u64::MAX);

/// The settings of a [`TtlSet`](super::TtlSet) or a [`TtlQueue`](super::TtlQueue).
///
/// The defaults are those of Dongting, a Raft engine in Java, and a pending timeout of 10 s. The maximum TTL decides
/// which TTLs are refused, so it must be the same on all replicas; the rest may differ. With feature `serde`,
/// settings that are left out have their defaults.
///
/// ```
/// use core::time::Duration;
/// use timer_wheel::Backoff;
/// use timer_wheel::ttl::{TtlConfig, TtlError, TtlSet};
///
/// let mut config = TtlConfig::default();
/// config.expire_batch = 200;
/// config.backoff = Backoff::Exponential { cap: Duration::from_secs(30) };
/// let mut set: TtlSet<&str> = TtlSet::new(0);
/// set.set_config(config)?;
/// assert_eq!((set.config().expire_batch, set.config().retry_batch), (200, 10));
/// # Ok::<(), TtlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct TtlConfig {
    /// The most first proposals that one poll yields: 50 by default.
    pub expire_batch: usize,
    /// The most retries that one poll yields: 10 by default.
    pub retry_batch: usize,
    /// The most entries in flight, pending or waiting for a retry: 4,096 by default. At the limit, no entry is proposed
    /// for the first time until one of them ends.
    ///
    /// The limit bounds the time of a change of role, and keeps a leader from flooding a log that is behind.
    pub max_pending: usize,
    /// The least time that a failed expiry waits before it is proposed again: 1 s by default.
    pub retry_delay: Duration,
    /// How the retry delay grows with the attempts: not at all by default.
    pub backoff: Backoff,
    /// How long a proposal may go without an answer before it counts as failed: 10 s by default.
    pub pending_timeout: Duration,
    /// The longest TTL that is accepted, in whole milliseconds: 36,500 days by default.
    pub max_ttl: Duration,
    /// The most work that one poll does on the wheels: 4,096 units by default, about 68 for each entry of both batches.
    /// It keeps a poll short even when a million entries must be moved to finer buckets
    /// before the first of them can be proposed.
    ///
    /// The unit is that of [`Wheel::advance_with_budget`](crate::Wheel::advance_with_budget). The next poll does the
    /// rest, and [should come at once](super::TtlSet::wake_at). A timeout or a retry takes a unit only when it is moved
    /// to a finer bucket, like any entry that is not proposed.
    pub poll_budget: usize,
}

impl Default for TtlConfig {
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

impl TtlConfig {
    /// Refuses settings that cannot work.
    pub(super) fn check(&self) -> Result<(), TtlError> {
        let batch = self.expire_batch.min(self.retry_batch);
        let batches = self.expire_batch.checked_add(self.retry_batch);
        let cap = self.backoff.longest(self.retry_delay);
        let longest = self.max_ttl.max(self.pending_timeout).max(cap);
        let reason = if batch.min(self.max_pending) == 0 {
            "a batch, and what may be in flight, must be one entry at least"
        } else if batches.is_none() {
            "both batches together are more than can be counted"
        } else if self.poll_budget == 0 {
            "the budget of a poll must be one unit at least"
        } else if self.max_ttl.as_millis() == 0 {
            "the maximum TTL must be a millisecond at least"
        } else if longest > LONGEST {
            "a duration must not be more than 2^64 nanoseconds"
        } else {
            return self.backoff.check(self.retry_delay, self.pending_timeout).map_err(TtlError::InvalidConfig);
        };
        Err(TtlError::InvalidConfig(reason))
    }

    /// Refuses a TTL that is too long.
    pub(super) fn check_ttl(&self, ttl_ms: u64) -> Result<(), TtlError> {
        let max_ms = nanoseconds(self.max_ttl) / NS_PER_MS;
        if ttl_ms > max_ms { Err(TtlError::TtlTooLong { ttl_ms, max_ms }) } else { Ok(()) }
    }

    /// How long the entry of an index waits after its attempt number `attempt` has failed.
    pub(super) fn retry_delay_ns(&self, index: u64, attempt: u32) -> u64 {
        self.backoff.delay_ns(self.retry_delay, index, attempt)
    }
}

/// Why a TTL, a configuration or a set of entries was refused. Nothing was changed.
///
/// ```
/// use timer_wheel::ttl::{Context, TtlError, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// let refused = queue.init("key", 1, u64::MAX, Context::default());
/// assert!(matches!(refused, Err(TtlError::TtlTooLong { ttl_ms: u64::MAX, .. })));
/// assert!(queue.is_empty());
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TtlError {
    /// The TTL is longer than [`TtlConfig::max_ttl`](super::TtlConfig::max_ttl).
    TtlTooLong {
        /// The TTL asked for, in milliseconds.
        ttl_ms: u64,
        /// The longest one allowed, in milliseconds.
        max_ms: u64,
    },
    /// An entry to be restored has a TTL of 0, which no snapshot holds.
    ZeroTtl,
    /// Two entries to be restored have the same key.
    DuplicateKey,
    /// The set is full: it holds 1,073,741,824 entries.
    Full,
    /// A configuration that cannot work; the text says why.
    InvalidConfig(&'static str),
}

impl fmt::Display for TtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TtlTooLong { ttl_ms, max_ms } => {
                write!(f, "a TTL of {ttl_ms} ms is past the {max_ms} ms allowed")
            }
            Self::ZeroTtl => f.write_str("an entry to be restored has a TTL of 0"),
            Self::DuplicateKey => f.write_str("two entries to be restored have the same key"),
            Self::Full => f.write_str("there are as many entries as there can be"),
            Self::InvalidConfig(reason) => f.write_str(reason),
        }
    }
}

impl Error for TtlError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: impl FnOnce(&mut TtlConfig)) -> TtlConfig {
        let mut config = TtlConfig::default();
        set(&mut config);
        config
    }

    #[cfg(feature = "serde")]
    #[test]
    fn stored_configuration_is_read_again_and_checked_as_another() {
        let cap = Duration::from_secs(20);
        let config = with(|it| (it.expire_batch, it.backoff) = (7, Backoff::Jittered { cap }));
        let stored = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<TtlConfig>(&stored).unwrap(), config);
        let partial: TtlConfig = serde_json::from_str(r#"{"expire_batch":7}"#).unwrap();
        assert_eq!((partial.expire_batch, partial.retry_batch), (7, 10));
        for (json, word) in [
            (r#"{"expire_batch":0}"#, "one entry at least"),
            (r#"{"retry_delay":{"secs":0,"nanos":0}}"#, "must not be 0"),
        ] {
            let refused = serde_json::from_str::<TtlConfig>(json).unwrap().check().unwrap_err();
            assert!(refused.to_string().contains(word), "{refused}");
        }
        let refused = serde_json::from_str::<TtlConfig>(r#"{"expiry_batch":7}"#).unwrap_err();
        assert!(refused.to_string().contains("unknown field"), "{refused}");
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = [
            with(|it| it.expire_batch = 0),
            with(|it| it.retry_batch = 0),
            with(|it| it.max_pending = 0),
            with(|it| it.expire_batch = usize::MAX),
            with(|it| it.poll_budget = 0),
            with(|it| it.retry_delay = Duration::ZERO),
            with(|it| it.retry_delay = Duration::MAX),
            with(|it| it.pending_timeout = Duration::ZERO),
            with(|it| it.pending_timeout = Duration::MAX),
            with(|it| it.max_ttl = Duration::ZERO),
            with(|it| it.max_ttl = Duration::from_micros(999)),
            with(|it| it.max_ttl = Duration::MAX),
            with(|it| it.backoff = Backoff::Exponential { cap: Duration::from_millis(999) }),
            with(|it| it.backoff = Backoff::Exponential { cap: Duration::MAX }),
        ];
        for config in refused {
            assert!(matches!(config.check(), Err(TtlError::InvalidConfig(_))), "{config:?}");
        }
    }

    #[test]
    fn durations_may_be_as_long_as_time() {
        assert_eq!(with(|it| it.pending_timeout = LONGEST).check(), Ok(()));
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
