//! A future that waits for a time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::shard::Shard;
use super::wait::Wait;
use super::{Reason, Timer};

/// A future that is ready at a deadline: from [`Timer::sleep`] and [`Timer::sleep_until`].
///
/// It runs on any executor: the timer thread calls the waker of its task. At its first poll it takes a place in the
/// timer without an allocation, and counts as a job. A poll with another waker replaces the old one. Dropping the sleep
/// gives the place back. Each of these is O(1). [`reset`](Sleep::reset) moves the deadline.
///
/// A sleep that is due when it is first polled is ready at once. It does not yield to other tasks, so a loop around
/// `timer.sleep(Duration::ZERO)` must yield by other means.
///
/// A sleep does not keep the timer running. If the timer is shut down, or its last clone dropped, the result is
/// [`Reason::ShutDown`], unless the sleep was due. With a [limit](super::Builder::limit) it may be
/// [`Reason::Full`]. Polled again, it gives its result again.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::Timer;
/// use timer_wheel::timer::{Reason, Sleep};
///
/// async fn twice(timer: &Timer) -> Result<(), Reason> {
///     let sleep: Sleep = timer.sleep(Duration::from_millis(1));
///     sleep.await?;
///     timer.sleep(Duration::from_millis(1)).await
/// }
///
/// let timer = Timer::new()?;
/// pollster::block_on(twice(&timer))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a future does nothing until it is polled"]
pub struct Sleep {
    /// A shard has its own count of references: see `TimerHandle`.
    pub(super) wait: Wait<Arc<Shard>>,
}

impl Timer {
    /// Waits for `delay` from now, to the nanosecond of the clock. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// pollster::block_on(timer.sleep(Duration::from_millis(5)))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sleep(&self, delay: Duration) -> Sleep {
        Sleep::new(self, self.shared().time_after(delay))
    }

    /// Waits until `instant`. O(1).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// let instant = Instant::now() + Duration::from_millis(5);
    /// pollster::block_on(timer.sleep_until(instant))?;
    /// assert!(Instant::now() >= instant);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sleep_until(&self, instant: Instant) -> Sleep {
        Sleep::new(self, self.shared().clock.deadline_at(instant))
    }
}

impl Sleep {
    pub(super) fn new(timer: &Timer, deadline: u64) -> Self {
        Self { wait: Wait::new(Arc::clone(timer.shards().own()), deadline) }
    }

    /// Moves the deadline to `instant`, whether the sleep waits, is over, or was never polled: for the idle timeout of
    /// a connection, with each message. O(1).
    ///
    /// The sleep is not ready before the `instant` of the last `reset` that has returned. If the deadline had passed,
    /// or the sleep had given its result, even an error, it starts anew. It must then be polled again to wake its task.
    ///
    /// A reset to a later time takes no lock and does not allocate, except the first one of a sleep that waits, which
    /// does both. A reset to an earlier time takes the lock that a poll takes. Neither is counted in
    /// [`rescheduled`](super::TimerStats::rescheduled).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{Clock, ManualClock, Timer};
    ///
    /// const IDLE: Duration = Duration::from_secs(60);
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// let mut idle = timer.sleep(IDLE);
    /// for message in 1..=3 {
    ///     clock.advance(Duration::from_secs(40));
    ///     idle.reset(clock.origin() + message * Duration::from_secs(40) + IDLE);
    /// }
    /// assert!(!idle.is_elapsed(), "after two minutes");
    /// clock.advance(IDLE);
    /// pollster::block_on(idle)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&mut self, instant: Instant) {
        self.wait.reset(self.wait.shard.shared.clock.deadline_at(instant));
    }

    /// The deadline, or `None` if it is never, or too far ahead for an [`Instant`]. O(1).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::Timer;
    ///
    /// let instant = Instant::now() + Duration::from_secs(5);
    /// assert_eq!(Timer::new()?.sleep_until(instant).deadline(), Some(instant));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn deadline(&self) -> Option<Instant> {
        self.wait.shard.shared.clock.instant_at(self.wait.deadline)
    }

    /// Whether its deadline has passed, polled or not. O(1): it reads the clock.
    ///
    /// The timer thread may wake the task a moment later, and a poll may be pending until then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// let sleep = timer.sleep(Duration::from_secs(1));
    /// assert!(!sleep.is_elapsed());
    /// clock.advance(Duration::from_secs(1));
    /// assert!(sleep.is_elapsed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_elapsed(&self) -> bool {
        self.wait.deadline <= self.wait.shard.shared.now()
    }
}

impl Future for Sleep {
    type Output = Result<(), Reason>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.wait.poll(context.waker())
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}
