//! Deliveries that are repeated until they are acknowledged: webhooks, mails, messages.
//!
//! The caller passes a [`RetryQueue`] the time and the outcome of each delivery. The queue says what to deliver and
//! when to ask again. It reads no clock and performs no I/O. It [survives a restart](RetryQueue#restarts).
//!
//! ```
//! use timer_wheel::Budget;
//! use timer_wheel::retry::{RetryEvent, RetryQueue};
//!
//! let mut mails = RetryQueue::new(0);
//! let key = mails.push("hello", 500);
//! let mut budget = Budget::of_work(100);
//! assert!(matches!(mails.poll(500, &mut budget), Some(RetryEvent::Deliver { .. })));
//! assert_eq!(mails.done(key), Some("hello")); // acknowledged
//! ```

mod config;
#[cfg(feature = "serde")]
mod serde;

pub use self::config::{RetryConfig, RetryError};
use crate::clock::{NEVER, nanoseconds};
use crate::{Budget, TimerKey, Wheel};

/// What the caller should do with a value now, from [`RetryQueue::poll`].
///
/// ```
/// use timer_wheel::Budget;
/// use timer_wheel::retry::{RetryEvent, RetryQueue};
///
/// let mut queue = RetryQueue::new(0);
/// queue.push("mail", 0);
/// let event = queue.poll(0, &mut Budget::of_work(100));
/// assert!(matches!(event, Some(RetryEvent::Deliver { attempt: 1, .. })));
/// ```
// Exhaustive: a loop that ignored an event of a new kind would lose values.
#[derive(Debug, PartialEq, Eq)]
pub enum RetryEvent<'a, T> {
    /// Deliver the value. Answer with [`done`](RetryQueue::done) or [`failed`](RetryQueue::failed).
    Deliver {
        /// The key to answer with.
        key: TimerKey,
        /// The number of this attempt, from 1 on.
        attempt: u32,
        /// The value, which stays in the queue.
        value: &'a mut T,
    },
    /// The last attempt has failed or had no answer in time. The value has left the queue.
    GaveUp {
        /// The key, which is stale now.
        key: TimerKey,
        /// The attempts that were made.
        attempts: u32,
        /// The value.
        value: T,
    },
}

/// A value, and how often it was delivered.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(::serde::Serialize, ::serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
struct Delivery<T> {
    value: T,
    attempts: u32,
    /// A delivery is pending before this time. 0 from its failure on, and before the first.
    pending_until: u64,
}

/// A queue of values to be delivered, each at its time, and again until it is acknowledged.
///
/// A value *waits* until it is due. [`poll`](Self::poll) yields it, and the delivery is *pending* until
/// [`done`](Self::done) or [`failed`](Self::failed) answers for it. A delivery that has no answer within the
/// [`pending_timeout`](RetryConfig::pending_timeout) counts as failed. After a failure the value waits for the retry
/// delay. After its last attempt has failed, a poll hands it back.
///
/// Times are nanoseconds since an origin of the caller's choice. The queue's clock stands at the latest time that was
/// passed to any call, so a time that goes backwards counts as standing still. There is one timer for each value, in a
/// [`Wheel`]; a [`TimerKey`] identifies the value, and is stale for ever once the value has left the queue.
///
/// ```
/// use timer_wheel::Budget;
/// use timer_wheel::retry::{RetryEvent, RetryQueue};
///
/// const SECOND: u64 = 1_000_000_000;
///
/// let mut queue = RetryQueue::new(0);
/// let key = queue.push("mail", 5 * SECOND);
/// assert_eq!(queue.wake_at(), Some(5 * SECOND));
///
/// let mut budget = Budget::of_work(1_000);
/// while let Some(RetryEvent::Deliver { value, .. }) = queue.poll(5 * SECOND, &mut budget) {
///     assert_eq!(*value, "mail"); // send it
/// }
/// assert_eq!(queue.failed(key, 5 * SECOND), Some(6 * SECOND)); // again after a second
/// assert!(queue.poll(6 * SECOND, &mut budget).is_some());
/// assert_eq!(queue.done(key), Some("mail"));
/// assert!(queue.is_empty());
/// ```
///
/// # Restarts
///
/// Use an origin that outlives the process: count nanoseconds since the Unix epoch. Store the queue after each change,
/// or at intervals. Later changes are lost in a crash: values put in since are gone, and values taken out since are
/// delivered again.
///
/// - With feature `serde`, `RetryQueue<T>` can be stored and loaded: clock, keys, values, attempts and times. Bad input
///   is an error. Settings are not stored: a loaded queue has the default ones until [`set_config`](Self::set_config).
///   A key that was issued after the queue was stored may identify another value of the loaded queue.
/// - Without it, store what [`iter`](Self::iter) shows, and give it to [`push_again`](Self::push_again). Keys are new
///   then.
///
/// A delivery that was pending is due after a restart, because its outcome is unknown; if it was the last attempt, the
/// value is handed back. Attempts go on counting.
///
/// ```
/// use timer_wheel::Budget;
/// use timer_wheel::retry::{RetryEvent, RetryQueue};
///
/// let mut queue = RetryQueue::new(0);
/// queue.push("mail".to_owned(), 0);
/// assert!(queue.poll(0, &mut Budget::of_work(100)).is_some());
///
/// let stored = serde_json::to_string(&queue)?;
/// let mut queue: RetryQueue<String> = serde_json::from_str(&stored)?;
/// // queue.set_config(..)
/// let event = queue.poll(0, &mut Budget::of_work(100));
/// assert!(matches!(event, Some(RetryEvent::Deliver { attempt: 2, .. })));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct RetryQueue<T> {
    deliveries: Wheel<Delivery<T>>,
    config: RetryConfig,
}

impl<T> RetryQueue<T> {
    /// Makes an empty queue with the default settings, whose clock stands at `now` nanoseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// assert!(RetryQueue::<u32>::new(0).is_empty());
    /// ```
    pub fn new(now: u64) -> Self {
        Self { deliveries: Wheel::new(now), config: RetryConfig::default() }
    }

    /// Adds a value to be delivered at `at` nanoseconds. O(1).
    ///
    /// # Panics
    ///
    /// As [`Wheel::schedule`].
    ///
    /// ```
    /// use timer_wheel::Budget;
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// let mut queue = RetryQueue::new(0);
    /// queue.push("mail", 500);
    /// assert!(queue.poll(499, &mut Budget::of_work(100)).is_none());
    /// assert!(queue.poll(500, &mut Budget::of_work(100)).is_some());
    /// ```
    #[track_caller]
    pub fn push(&mut self, value: T, at: u64) -> TimerKey {
        self.push_again(value, 0, at)
    }

    /// Adds a value that was delivered `attempts` times before, to be delivered again at `at` nanoseconds. If it has
    /// no attempt left, a poll hands it back then. O(1).
    ///
    /// # Panics
    ///
    /// As [`Wheel::schedule`].
    ///
    /// ```
    /// use timer_wheel::Budget;
    /// use timer_wheel::retry::{RetryEvent, RetryQueue};
    ///
    /// let mut queue = RetryQueue::new(0);
    /// queue.push_again("mail", 3, 500);
    /// let event = queue.poll(500, &mut Budget::of_work(100));
    /// assert!(matches!(event, Some(RetryEvent::Deliver { attempt: 4, .. })));
    /// ```
    #[track_caller]
    pub fn push_again(&mut self, value: T, attempts: u32, at: u64) -> TimerKey {
        self.deliveries.schedule(at, Delivery { value, attempts, pending_until: 0 })
    }

    /// Moves the clock to `now` nanoseconds and yields the next value to deliver or to give up. Call it
    /// in a loop.
    ///
    /// Values come in order of their due times, and equal ones in the order in which they were added or last tried. A
    /// loop at one time delivers a value once, because its delivery is pending before it is yielded. There are
    /// no retries at `u64::MAX`: a value that was never delivered is delivered there, and any other is handed back.
    ///
    /// Each call subtracts its work from the budget. A unit of work is an event, a value moved or sorted on its way
    /// there, or a bucket opened, as for [`Wheel::advance_with_budget`]; an event also takes a fire. `None` if no value
    /// is due, or if the budget is used up: then [`expiration_delay`](Self::expiration_delay) is 0, and the next poll
    /// goes on.
    ///
    /// O(budget.work), plus O(log n) for each value of an unsorted crowd that shares a tick.
    ///
    /// ```
    /// use timer_wheel::Budget;
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// let mut queue = RetryQueue::new(0);
    /// (0..100).for_each(|value| _ = queue.push(value, 10));
    /// let mut delivered = 0;
    /// while queue.expiration_delay() == Some(0) || delivered == 0 {
    ///     let mut budget = Budget::of_work(32);
    ///     while let Some(_event) = queue.poll(10, &mut budget) {
    ///         delivered += 1;
    ///     } // else serve requests
    /// }
    /// assert_eq!(delivered, 100);
    /// ```
    pub fn poll(&mut self, now: u64, budget: &mut Budget) -> Option<RetryEvent<'_, T>> {
        let now = now.max(self.deliveries.now());
        let mut timer = self.deliveries.peek_expired_with_budget(now, budget)?;
        let (key, due) = (timer.key(), timer.deadline());
        let delivery = timer.get_mut();
        if delivery.attempts >= self.config.attempts || (delivery.attempts != 0 && due == NEVER) {
            let Delivery { value, attempts, .. } = timer.remove().value;
            return Some(RetryEvent::GaveUp { key, attempts, value });
        }
        delivery.attempts += 1;
        let attempt = delivery.attempts;
        delivery.pending_until = now.saturating_add(nanoseconds(self.config.pending_timeout));
        // One timer serves for the timeout and the retry after it.
        let again = self.config.retry_at(delivery.pending_until, key, attempt);
        timer.rearm(again);
        let value = &mut self.deliveries.get_mut(key)?.value;
        Some(RetryEvent::Deliver { key, attempt, value })
    }

    /// Takes a value out, because it was delivered or is no longer wanted. `None` if the key is stale. O(1), or O(log
    /// k) among the k values that are due.
    ///
    /// The state of the value does not matter. The answer may come after the timeout, while the value waits for another
    /// attempt. A value that was never delivered is cancelled.
    ///
    /// ```
    /// use timer_wheel::Budget;
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// let mut queue = RetryQueue::new(0);
    /// let keys = [queue.push("mail", 0), queue.push("reminder", 500)];
    /// let _ = queue.poll(0, &mut Budget::of_work(100));
    /// assert_eq!((queue.done(keys[0]), queue.done(keys[0])), (Some("mail"), None));
    /// assert_eq!(queue.done(keys[1]), Some("reminder")); // never delivered
    /// ```
    pub fn done(&mut self, key: TimerKey) -> Option<T> {
        Some(self.deliveries.cancel(key)?.value)
    }

    /// Reports that the pending delivery of a value has failed by `now` nanoseconds, and moves the clock there. Costs
    /// the same as [`done`](Self::done).
    ///
    /// Returns when a poll yields the value next: after the retry delay, or at once if that was the last attempt and
    /// the value is handed back. Returns `None`, and leaves the value as it is, if no delivery of it is pending. That is
    /// so if the key is stale, the value was not delivered, its delivery has failed already, or its timeout has ended by
    /// `now`. If a value was delivered again, the call counts for the latest delivery.
    ///
    /// ```
    /// use timer_wheel::Budget;
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// const SECOND: u64 = 1_000_000_000;
    ///
    /// let mut queue = RetryQueue::new(0);
    /// let keys = [queue.push("mail", 0), queue.push("mail", 0)];
    /// assert_eq!(queue.failed(keys[0], 0), None); // it was not delivered yet
    /// while queue.poll(0, &mut Budget::of_work(100)).is_some() {}
    /// assert_eq!(queue.failed(keys[0], 0), Some(SECOND));
    /// assert_eq!(queue.failed(keys[1], 10 * SECOND), None); // it has timed out
    /// assert_eq!(queue.wake_at(), Some(10 * SECOND));
    /// ```
    pub fn failed(&mut self, key: TimerKey, now: u64) -> Option<u64> {
        _ = self.deliveries.advance(now); // Not pulled, it only moves the clock.
        let now = self.deliveries.now();
        let delivery = self.deliveries.get_mut(key).filter(|delivery| now < delivery.pending_until)?;
        delivery.pending_until = 0;
        let again = self.config.retry_at(now, key, delivery.attempts);
        self.deliveries.reschedule(key, again);
        Some(again)
    }

    /// A value in the queue, or `None` if the key is stale. O(1).
    ///
    /// ```
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// let mut queue = RetryQueue::new(0);
    /// let key = queue.push("mail", 500);
    /// assert_eq!(queue.get(key), Some(&"mail"));
    /// ```
    pub fn get(&self, key: TimerKey) -> Option<&T> {
        Some(&self.deliveries.get(key)?.value)
    }

    /// The data that a [restart](#restarts) needs: each value with its key, the number of its deliveries, and its due
    /// time in nanoseconds. A value whose delivery is pending is due by the queue's clock. In order of due
    /// time, except that a pending value is placed by the time of its retry. O(n log n).
    ///
    /// ```
    /// use timer_wheel::Budget;
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// let mut queue = RetryQueue::new(0);
    /// queue.push("reminder", 500);
    /// queue.push("mail", 0);
    /// let _ = queue.poll(0, &mut Budget::of_work(100));
    ///
    /// let mut restarted = RetryQueue::new(0);
    /// for (_, value, attempts, at) in queue.iter() {
    ///     restarted.push_again(*value, attempts, at);
    /// }
    /// let times: Vec<_> = restarted.iter().map(|(_, value, attempts, at)| (*value, attempts, at)).collect();
    /// assert_eq!(times, [("mail", 1, 0), ("reminder", 0, 500)]);
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (TimerKey, &T, u32, u64)> + '_ {
        let now = self.deliveries.now();
        self.deliveries.ascending().map(move |timer| {
            let Delivery { value, attempts, pending_until } = timer.value;
            let at = if now < *pending_until { now } else { timer.deadline };
            (timer.key, value, *attempts, at)
        })
    }

    /// When to poll again, in nanoseconds; `None` exactly when the queue is empty. Never late, but may be early. O(1).
    ///
    /// ```
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// let mut queue = RetryQueue::new(100);
    /// assert_eq!(queue.wake_at(), None);
    /// queue.push("mail", 500);
    /// assert_eq!((queue.wake_at(), queue.expiration_delay()), (Some(500), Some(400)));
    /// ```
    pub fn wake_at(&self) -> Option<u64> {
        self.deliveries.wake_at()
    }

    /// [`wake_at`](Self::wake_at) as a delay, in nanoseconds from the queue's clock. O(1).
    ///
    /// ```
    /// use timer_wheel::Budget;
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// let mut queue = RetryQueue::new(0);
    /// queue.push("mail", 500);
    /// assert!(queue.poll(200, &mut Budget::of_work(100)).is_none());
    /// assert_eq!(queue.expiration_delay(), Some(300));
    /// ```
    pub fn expiration_delay(&self) -> Option<u64> {
        self.deliveries.expiration_delay()
    }

    /// The number of values in the queue, the pending ones included. O(1).
    ///
    /// ```
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// let mut queue = RetryQueue::new(0);
    /// queue.push("mail", 500);
    /// assert_eq!(queue.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.deliveries.len()
    }

    /// Whether there is no value in the queue. O(1).
    ///
    /// ```
    /// use timer_wheel::retry::RetryQueue;
    ///
    /// assert!(RetryQueue::<u32>::new(0).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
    }

    /// Changes the settings from the next call on. Times that have been set already stay. O(1).
    ///
    /// # Errors
    ///
    /// [`RetryError::InvalidConfig`] if the retry delay or the pending timeout is 0, if there is no attempt, or if the
    /// cap of the backoff is below the retry delay.
    ///
    /// ```
    /// use core::time::Duration;
    /// use timer_wheel::retry::{RetryConfig, RetryQueue};
    ///
    /// let mut config = RetryConfig::default();
    /// config.pending_timeout = Duration::from_secs(2);
    /// let mut queue = RetryQueue::<u32>::new(0);
    /// assert!(queue.set_config(config).is_ok());
    /// config.retry_delay = Duration::ZERO;
    /// assert!(queue.set_config(config).is_err());
    /// ```
    pub fn set_config(&mut self, config: RetryConfig) -> Result<(), RetryError> {
        config.check()?;
        self.config = config;
        Ok(())
    }
}
