//! The handle of a job.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::queue::Entry;
use super::shard::Shard;
use crate::wheel::key::TimerKey;

/// Cancels or reschedules one job of a [`Timer`](super::Timer).
///
/// Dropping the handle does *not* cancel the job. Clones are handles to the same job. A handle
/// does not keep its timer running.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::{Timer, TimerHandle};
///
/// let timer = Timer::new()?;
/// let handle: TimerHandle = timer.schedule_after(Duration::from_secs(9), || unreachable!())?;
/// let other = handle.clone();
/// drop(handle);
/// assert!(other.is_live());
/// assert!(other.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TimerHandle {
    /// Each shard has its own count of references: threads with different shards share none.
    shard: Arc<Shard>,
    pub(super) key: TimerKey,
}

impl TimerHandle {
    pub(super) fn new(shard: Arc<Shard>, key: TimerKey) -> Self {
        Self { shard, key }
    }

    /// Cancels the job. Returns whether that prevented its run: `true` exactly if the job does not
    /// run, because of this call. O(1), and it never waits for a job.
    ///
    /// So the answer is `false` when the job has started, was cancelled before, or was dropped by an
    /// executor. It may be called while the job is being fired, and from within jobs. A periodic job
    /// can be cancelled at any time, also while it runs: `true` then says that it does not run
    /// again.
    ///
    /// The closure is dropped here, unless it is running.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// let handle = timer.schedule_after(Duration::from_secs(9), || unreachable!())?;
    /// assert!(handle.cancel());
    /// assert!(!handle.cancel(), "it was cancelled before");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) -> bool {
        self.take().is_some()
    }

    /// Cancels the job, and leaves its closure to be dropped when the caller holds no lock.
    pub(super) fn take(&self) -> Option<Entry> {
        // The thread need not look: a cancel makes no deadline earlier.
        self.shard.queue().cancel(self.key)
    }

    /// Reschedules a waiting job to `delay` from now. Returns `false` if the job is due and was handed
    /// out, has run or was cancelled, or the timer is shut down. O(1).
    ///
    /// After `true` the job does not run at its old deadline. It has a new place behind all jobs of
    /// equal deadline. A periodic job's next run is moved, and the runs after it
    /// follow at whole periods.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// let handle = timer.schedule_after(Duration::from_secs(9), || unreachable!())?;
    /// assert!(handle.reschedule_after(Duration::from_secs(90)));
    /// handle.cancel();
    /// assert!(!handle.reschedule_after(Duration::from_secs(9)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reschedule_after(&self, delay: Duration) -> bool {
        self.reschedule(self.shard.shared.time_after(delay))
    }

    /// Reschedules a waiting job to `instant`. Returns whether it did. O(1).
    ///
    /// See [`reschedule_after`](TimerHandle::reschedule_after).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// let handle = timer.schedule_after(Duration::from_secs(9), || unreachable!())?;
    /// assert!(handle.reschedule_at(Instant::now() + Duration::from_secs(90)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reschedule_at(&self, instant: Instant) -> bool {
        self.reschedule(self.shard.shared.clock.deadline_at(instant))
    }

    pub(super) fn reschedule(&self, deadline: u64) -> bool {
        self.shard.change(|queue| queue.reschedule(self.key, deadline))
    }

    /// Whether the job can still be cancelled: it waits, or was handed out and has not started, or
    /// is periodic and was not cancelled. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// let handle = timer.schedule_after(Duration::from_secs(9), || unreachable!())?;
    /// assert!(handle.is_live());
    /// handle.cancel();
    /// assert!(!handle.is_live());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_live(&self) -> bool {
        self.shard.queue().wheel.contains(self.key)
    }

    /// When the job is due, or was if it has been handed out or is a periodic one that runs; `None` when
    /// it is not live, and for never. O(1).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// let instant = Instant::now() + Duration::from_secs(9);
    /// let handle = timer.schedule_at(instant, || unreachable!())?;
    /// assert_eq!(handle.deadline(), Some(instant));
    /// handle.cancel();
    /// assert_eq!(handle.deadline(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deadline(&self) -> Option<Instant> {
        let deadline = self.shard.queue().job(self.key)?.deadline;
        self.shard.shared.clock.instant_at(deadline)
    }
}

/// Handles are equal if they are of the same job.
impl PartialEq for TimerHandle {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && Arc::ptr_eq(&self.shard, &other.shard)
    }
}

impl Eq for TimerHandle {}

impl Hash for TimerHandle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl fmt::Debug for TimerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerHandle").field("is_live", &self.is_live()).finish_non_exhaustive()
    }
}
