//! The settings of a retry queue: delays, timeouts and attempts.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::TimerKey;
use crate::backoff::Backoff;

/// The settings of a [`RetryQueue`](super::RetryQueue). Durations above 2^64 nanoseconds are capped there.
///
/// ```
/// use core::time::Duration;
/// use timer_wheel::retry::{RetryConfig, RetryQueue};
///
/// let mut config = RetryConfig::default();
/// config.retry_delay = Duration::from_millis(100);
/// config.attempts = 10;
/// let mut queue = RetryQueue::<&str>::new(0);
/// queue.set_config(config)?;
/// # Ok::<(), timer_wheel::retry::RetryError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryConfig {
    /// The least time that a failed delivery waits before it is repeated: 1 s by default.
    pub retry_delay: Duration,
    /// How the retry delay grows with the attempts: not at all by default.
    pub backoff: Backoff,
    /// How long a delivery may go without an answer before it counts as failed: 10 s by default.
    pub pending_timeout: Duration,
    /// The most deliveries of one value: 4,294,967,295 by default. After the last has failed, a poll hands the value
    /// back.
    pub attempts: u32,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            retry_delay: Duration::from_secs(1),
            backoff: Backoff::Constant,
            pending_timeout: Duration::from_secs(10),
            attempts: u32::MAX,
        }
    }
}

impl RetryConfig {
    pub(super) fn check(&self) -> Result<(), RetryError> {
        let checked = self.backoff.check(self.retry_delay, self.pending_timeout);
        let checked = checked.and(if self.attempts == 0 { Err("there must be one attempt at least") } else { Ok(()) });
        checked.map_err(RetryError::InvalidConfig)
    }

    /// When to try again after the attempt number `attempt` has failed at `failed_at`; at once if none is left.
    pub(super) fn retry_at(&self, failed_at: u64, key: TimerKey, attempt: u32) -> u64 {
        if attempt >= self.attempts {
            return failed_at;
        }
        failed_at.saturating_add(self.backoff.delay_ns(self.retry_delay, key.to_bits(), attempt))
    }
}

/// Why [`set_config`](super::RetryQueue::set_config) refused. Nothing was changed.
///
/// ```
/// use timer_wheel::retry::{RetryConfig, RetryError, RetryQueue};
///
/// let mut config = RetryConfig::default();
/// config.attempts = 0;
/// let refused = RetryQueue::<&str>::new(0).set_config(config);
/// assert!(matches!(refused, Err(RetryError::InvalidConfig(_))));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryError {
    /// A configuration that cannot work; the text says why.
    InvalidConfig(&'static str),
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::InvalidConfig(reason) = self;
        f.write_str(reason)
    }
}

impl Error for RetryError {}
