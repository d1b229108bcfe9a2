//! Deliveries that are tried again until they are acknowledged.

use core::time::Duration;

use super::error::TtlError;
use crate::backoff::Backoff;
use crate::clock::nanoseconds;
use crate::key::TimerKey;
use crate::wheel::Wheel;

/// How patient a [`RetryQueue`] is. Every method is O(1).
///
/// Durations above 2^64 nanoseconds count as that.
///
/// ```
/// use core::time::Duration;
/// use timer_wheel::Backoff;
/// use timer_wheel::ttl::{RetryConfig, RetryQueue};
///
/// let config = RetryConfig::default()
///     .retry_delay(Duration::from_millis(100))
///     .backoff(Backoff::Exponential { cap: Duration::from_secs(5) })
///     .timeout(Duration::from_secs(2))
///     .attempts(10);
/// let queue = RetryQueue::<&str>::new(0, config)?;
/// assert!(queue.is_empty());
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RetryConfig {
    retry_delay: Duration,
    backoff: Backoff,
    timeout: Duration,
    attempts: u32,
}

impl RetryConfig {
    /// How long a failed delivery waits until it is tried again, at least.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue, TtlError};
    ///
    /// let never = RetryConfig::default().retry_delay(Duration::ZERO);
    /// let refused = RetryQueue::<&str>::new(0, never).unwrap_err();
    /// assert!(matches!(refused, TtlError::InvalidConfig(_)));
    /// ```
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.retry_delay = delay;
        self
    }

    /// How the retry delay grows with the attempts.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::Backoff;
    /// use timer_wheel::ttl::RetryConfig;
    ///
    /// let doubling = Backoff::Exponential { cap: Duration::from_secs(60) };
    /// assert_ne!(RetryConfig::default().backoff(doubling), RetryConfig::default());
    /// ```
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// How long a delivery may go without an answer until it counts as failed.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::ttl::RetryConfig;
    ///
    /// assert_ne!(RetryConfig::default().timeout(Duration::from_secs(3)), RetryConfig::default());
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The most attempts for one value. After the last has failed, the queue hands the value back.
    ///
    /// ```
    /// use timer_wheel::ttl::RetryConfig;
    ///
    /// assert_ne!(RetryConfig::default().attempts(3), RetryConfig::default());
    /// ```
    pub fn attempts(mut self, most: u32) -> Self {
        self.attempts = most;
        self
    }

    fn check(&self) -> Result<(), TtlError> {
        let reason = if self.retry_delay.min(self.timeout).is_zero() {
            "the retry delay and the timeout must not be 0"
        } else if self.attempts == 0 {
            "there must be one attempt at least"
        } else if self.backoff.longest(self.retry_delay) < self.retry_delay {
            "the cap of the backoff must not be below the retry delay"
        } else {
            return Ok(());
        };
        Err(TtlError::InvalidConfig(reason))
    }

    /// When to try again after a failure at `now`; at once if there is no attempt left.
    fn retry_at(&self, now: u64, key: TimerKey, attempt: u32, left: u32) -> u64 {
        if left == 0 {
            return now;
        }
        let delay = self.backoff.delay_ns(self.retry_delay, key.to_bits(), attempt);
        now.saturating_add(delay)
    }
}

impl Default for RetryConfig {
    /// A retry after 1 s each time, a timeout of 10 s, and no limit of attempts.
    fn default() -> Self {
        Self {
            retry_delay: Duration::from_secs(1),
            backoff: Backoff::Constant,
            timeout: Duration::from_secs(10),
            attempts: u32::MAX,
        }
    }
}

/// Names one value in one [`RetryQueue`]. Eight bytes; once the value has left the queue, the key is stale for ever.
///
/// ```
/// use timer_wheel::ttl::{RetryConfig, RetryQueue};
///
/// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
/// let key = queue.push("mail", 0);
/// assert_eq!((queue.done(key), queue.done(key)), (Some("mail"), None));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetryKey(TimerKey);

/// What the caller should do with a value now, from [`RetryQueue::poll`].
///
/// ```
/// use timer_wheel::ttl::{RetryConfig, RetryEvent, RetryQueue};
///
/// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
/// queue.push("mail", 0);
/// assert!(matches!(queue.poll(0), Some(RetryEvent::Deliver { attempt: 1, .. })));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryEvent<'a, T> {
    /// Deliver the value. Answer with [`done`](RetryQueue::done) or [`failed`](RetryQueue::failed).
    Deliver {
        /// The key to answer with.
        key: RetryKey,
        /// The number of this attempt, from 1 on.
        attempt: u32,
        /// The value, which stays in the queue.
        value: &'a mut T,
    },
    /// The last attempt has had no answer in time. The value has left the queue.
    GaveUp {
        /// The key, which is stale now.
        key: RetryKey,
        /// The attempts that were made.
        attempts: u32,
        /// The value.
        value: T,
    },
}

/// The result of [`RetryQueue::failed`].
///
/// ```
/// use timer_wheel::ttl::{Retry, RetryConfig, RetryQueue};
///
/// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
/// let key = queue.push("mail", 0);
/// let _ = queue.poll(0);
/// assert_eq!(queue.failed(key, 0), Retry::At(1_000_000_000)); // in a second
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry<T> {
    /// The value is delivered again at this time, in nanoseconds.
    At(u64),
    /// That was the last attempt. The value has left the queue.
    GaveUp(T),
    /// The key is stale, or its value is not on delivery: nothing has changed.
    Stale,
}

/// Counts since a [`RetryQueue`] was made, from [`RetryQueue::stats`].
///
/// ```
/// use timer_wheel::ttl::{RetryConfig, RetryQueue};
///
/// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
/// let key = queue.push("mail", 0);
/// let _ = queue.poll(0);
/// queue.done(key);
/// assert_eq!((queue.stats().delivered, queue.stats().done), (1, 1));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryStats {
    /// Deliveries, retries included.
    pub delivered: u64,
    /// Values that were acknowledged.
    pub done: u64,
    /// Deliveries that were refused.
    pub failed: u64,
    /// Deliveries that had no answer in time.
    pub timed_out: u64,
    /// Values that were handed back after their last attempt.
    pub gave_up: u64,
}

/// A value, and how often it was delivered.
#[derive(Debug)]
struct Entry<T> {
    value: T,
    attempts: u32,
    /// Attempts that are left.
    left: u32,
    is_on_delivery: bool,
}

/// A queue of values to be delivered, each at its time, and again until it is acknowledged.
///
/// For webhooks, mails and messages of one process; values are not stored on disk. It reads no clock and does no
/// input or output. It is told the time and the outcome of each delivery, and says what to deliver and when to ask
/// again.
///
/// A value waits in a [`Wheel`] until it is due, and so does a value on delivery until its timeout. A delivery without
/// an answer is due again after the timeout and the retry delay; so there is one timer for each value. Times are
/// nanoseconds since an origin of the caller's choice; a time that goes backwards counts as standing still.
///
/// ```
/// use timer_wheel::ttl::{RetryConfig, RetryEvent, RetryQueue};
///
/// const SECOND: u64 = 1_000_000_000;
///
/// let mut queue = RetryQueue::new(0, RetryConfig::default().attempts(2))?;
/// let key = queue.push("mail", 5 * SECOND);
/// assert_eq!(queue.next_wake(0), Some(5 * SECOND));
///
/// while let Some(RetryEvent::Deliver { value, .. }) = queue.poll(5 * SECOND) {
///     assert_eq!(*value, "mail"); // send it
/// }
/// queue.failed(key, 5 * SECOND);
/// assert!(queue.poll(6 * SECOND).is_some(), "again after a second");
/// assert_eq!(queue.done(key), Some("mail"));
/// assert!(queue.is_empty());
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Debug)]
pub struct RetryQueue<T> {
    entries: Wheel<Entry<T>>,
    config: RetryConfig,
    stats: RetryStats,
}

impl<T> RetryQueue<T> {
    /// Makes an empty queue whose clock stands at `now` nanoseconds. O(1).
    ///
    /// # Errors
    ///
    /// [`TtlError::InvalidConfig`] if the retry delay or the timeout is 0, if there is no attempt, or if the cap of the
    /// backoff is below the retry delay.
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// assert!(RetryQueue::<u32>::new(0, RetryConfig::default()).is_ok());
    /// assert!(RetryQueue::<u32>::new(0, RetryConfig::default().attempts(0)).is_err());
    /// ```
    pub fn new(now: u64, config: RetryConfig) -> Result<Self, TtlError> {
        config.check()?;
        Ok(Self { entries: Wheel::new(now), config, stats: RetryStats::default() })
    }

    /// Puts in a value that is to be delivered at `at` nanoseconds. O(1).
    ///
    /// # Panics
    ///
    /// As [`Wheel::schedule`].
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
    /// queue.push("mail", 500);
    /// assert!(queue.poll(499).is_none());
    /// assert!(queue.poll(500).is_some());
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    #[track_caller]
    pub fn push(&mut self, value: T, at: u64) -> RetryKey {
        let entry = Entry { value, attempts: 0, left: self.config.attempts, is_on_delivery: false };
        RetryKey(self.entries.schedule(at, entry))
    }

    /// The next value that is to be delivered by `now`, or to be given up; `None` if there is no other. Call it in a
    /// loop. Amortized O(1).
    ///
    /// Values come in order of the time at which they are due, and equal ones in the order in which they were put in or
    /// tried last. A loop sees a value once: the value is on delivery before it is handed out. At the very end of
    /// time there is no later time to try again at, and the value's next event is that it is given up.
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryEvent, RetryQueue};
    ///
    /// const SECOND: u64 = 1_000_000_000;
    ///
    /// let mut queue = RetryQueue::new(0, RetryConfig::default().attempts(1))?;
    /// queue.push("mail", 0);
    /// assert!(matches!(queue.poll(0), Some(RetryEvent::Deliver { attempt: 1, .. })));
    /// assert_eq!(queue.poll(0), None); // it is on delivery
    /// assert!(matches!(queue.poll(10 * SECOND), Some(RetryEvent::GaveUp { value: "mail", .. })));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn poll(&mut self, now: u64) -> Option<RetryEvent<'_, T>> {
        let now = self.now(now);
        let mut timer = self.entries.peek_expired(now)?;
        let key = timer.key();
        let entry = timer.get_mut();
        self.stats.timed_out += u64::from(entry.is_on_delivery);
        if entry.left == 0 {
            self.stats.gave_up += 1;
            let Entry { value, attempts, .. } = timer.remove().value;
            let key = RetryKey(key);
            return Some(RetryEvent::GaveUp { key, attempts, value });
        }
        entry.attempts += 1;
        entry.left -= 1;
        entry.is_on_delivery = true;
        let attempt = entry.attempts;
        let retry_at = self.config.retry_at(now, key, entry.attempts, entry.left);
        let due_again = retry_at.saturating_add(nanoseconds(self.config.timeout));
        if due_again == now {
            entry.left = 0; // At the end of time: it would be delivered again and again.
        }
        timer.rearm(due_again);
        self.stats.delivered += 1;
        let value = &mut self.entries.get_mut(key)?.value;
        let key = RetryKey(key);
        Some(RetryEvent::Deliver { key, attempt, value })
    }

    /// The value was delivered: takes it out. `None` to a stale key. O(1); O(log k) among the k values that are due.
    ///
    /// Also right for an answer that comes after the timeout, while the value waits for another attempt.
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
    /// let key = queue.push("mail", 0);
    /// let _ = queue.poll(0);
    /// assert_eq!(queue.done(key), Some("mail"));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn done(&mut self, key: RetryKey) -> Option<T> {
        let value = self.cancel(key)?;
        self.stats.done += 1;
        Some(value)
    }

    /// The delivery was refused: the value is delivered again after the retry delay, or handed back after its last
    /// attempt. Costs what [`done`](RetryQueue::done) does.
    ///
    /// ```
    /// use timer_wheel::ttl::{Retry, RetryConfig, RetryQueue};
    ///
    /// let mut queue = RetryQueue::new(0, RetryConfig::default().attempts(1))?;
    /// let key = queue.push("mail", 0);
    /// assert_eq!(queue.failed(key, 0), Retry::Stale); // it was not delivered yet
    /// let _ = queue.poll(0);
    /// assert_eq!(queue.failed(key, 0), Retry::GaveUp("mail"));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn failed(&mut self, key: RetryKey, now: u64) -> Retry<T> {
        let Some(entry) = self.entries.get_mut(key.0).filter(|entry| entry.is_on_delivery) else {
            return Retry::Stale;
        };
        entry.is_on_delivery = false;
        self.stats.failed += 1;
        let (left, attempts) = (entry.left, entry.attempts);
        if left == 0 {
            self.stats.gave_up += 1;
            return self.cancel(key).map_or(Retry::Stale, Retry::GaveUp);
        }
        let at = self.config.retry_at(self.now(now), key.0, attempts, left);
        self.entries.reschedule(key.0, at);
        Retry::At(at)
    }

    /// Takes a value out, whether it waits or is on delivery. `None` to a stale key. Costs what
    /// [`done`](RetryQueue::done) does.
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
    /// let key = queue.push("mail", 500);
    /// assert_eq!((queue.cancel(key), queue.cancel(key)), (Some("mail"), None));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn cancel(&mut self, key: RetryKey) -> Option<T> {
        Some(self.entries.cancel(key.0)?.value)
    }

    /// A value in the queue, or `None` to a stale key. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
    /// let key = queue.push("mail", 500);
    /// assert_eq!(queue.get(key), Some(&"mail"));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn get(&self, key: RetryKey) -> Option<&T> {
        Some(&self.entries.get(key.0)?.value)
    }

    /// How many nanoseconds after `now` to poll again; `None` exactly when the queue is empty. Never late, and may be
    /// early. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
    /// assert_eq!(queue.next_wake(0), None);
    /// queue.push("mail", 500);
    /// assert_eq!((queue.next_wake(100), queue.next_wake(600)), (Some(400), Some(0)));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn next_wake(&self, now: u64) -> Option<u64> {
        Some(self.entries.wake_at()?.saturating_sub(self.now(now)))
    }

    /// The number of values in the queue, those on delivery included. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// let mut queue = RetryQueue::new(0, RetryConfig::default())?;
    /// queue.push("mail", 500);
    /// assert_eq!(queue.len(), 1);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no value in the queue. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// let queue = RetryQueue::<u32>::new(0, RetryConfig::default())?;
    /// assert!(queue.is_empty());
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Counts since the queue was made. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{RetryConfig, RetryQueue};
    ///
    /// let queue = RetryQueue::<u32>::new(0, RetryConfig::default())?;
    /// assert_eq!(queue.stats().delivered, 0);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn stats(&self) -> RetryStats {
        self.stats
    }

    /// The latest time that was heard of.
    fn now(&self, now: u64) -> u64 {
        now.max(self.entries.now())
    }
}
