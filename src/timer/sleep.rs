//! A future that waits for a time.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::shard::Shard;
use super::{Reason, Timer};
use crate::clock::after;
use crate::key::TimerKey;

/// A future that is ready at a deadline: from [`Timer::sleep`] and [`Timer::sleep_until`].
///
/// It runs on any executor: the timer thread calls the waker of its task. It takes a place in the timer at
/// its first poll, where it counts as a job, with one allocation. A poll with another waker replaces that
/// one. Dropping it gives the place back. Each of these is O(1).
///
/// It does not keep the timer running. If the timer is shut down, or its last clone dropped, the result is
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
    /// Its references are counted by the threads that use the shard: see `TimerHandle`.
    pub(super) shard: Arc<Shard>,
    deadline: u64,
    stage: Stage,
}

#[derive(Copy, Clone)]
enum Stage {
    New,
    /// It was in the wheel when it was last polled.
    Armed(TimerKey),
    Over(Result<(), Reason>),
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
        Self { shard: Arc::clone(timer.shards().own()), deadline, stage: Stage::New }
    }

    /// One that has failed.
    pub(super) fn refused(timer: &Timer, reason: Reason) -> Self {
        let mut sleep = Self::new(timer, 0);
        sleep.stage = Stage::Over(Err(reason));
        sleep
    }

    /// The time for which it waits, or `None` for never, or too far ahead for an [`Instant`]. O(1).
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
        self.shard.shared.clock.instant_at(self.deadline)
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        self.deadline
    }

    /// Waits for another time, from the beginning. It must not be armed.
    pub(super) fn renew(&mut self, deadline: u64) {
        debug_assert!(!matches!(self.stage, Stage::Armed(_)));
        self.deadline = deadline;
        self.stage = Stage::New;
    }

    /// One that has been polled for the first time.
    pub(super) fn started(timer: &Timer, delay: Duration, waker: &Waker) -> Self {
        let now = timer.shared().now();
        let mut sleep = Self::new(timer, after(now, delay));
        sleep.stage = sleep.arm(now, waker);
        sleep
    }

    /// What its last poll has found.
    pub(super) fn state(&self) -> Poll<Result<(), Reason>> {
        match self.stage {
            Stage::Over(result) => Poll::Ready(result),
            _ => Poll::Pending,
        }
    }

    /// Takes its place in the timer, unless it is due by `now`.
    fn arm(&self, now: u64, waker: &Waker) -> Stage {
        if self.deadline <= now {
            return Stage::Over(Ok(()));
        }
        // Cloned with nothing locked: a waker is the executor's.
        let waker = Box::new(waker.clone());
        match self.shard.schedule(self.deadline, waker) {
            Ok(key) => Stage::Armed(key),
            Err(refused) => Stage::Over(Err(refused.reason)),
        }
    }

    /// Lets the timer thread wake `waker`; `false` if it has woken one already.
    fn set_waker(&self, key: TimerKey, waker: &Waker) -> bool {
        let is_set = self.shard.queue().waker(key).map(|set| set.will_wake(waker));
        if is_set != Some(false) {
            return is_set.is_some();
        }
        let mut waker = waker.clone();
        let replaced = self.shard.queue().waker(key).map(|set| mem::swap(set, &mut waker));
        // The old waker is dropped here, with nothing locked.
        replaced.is_some()
    }

    /// How it has ended, now that it is not in the wheel any more.
    fn result(&self) -> Result<(), Reason> {
        let is_ending = self.shard.queue().ending.is_some();
        match is_ending && self.shard.shared.now() < self.deadline {
            true => Err(Reason::ShutDown),
            false => Ok(()),
        }
    }
}

impl Future for Sleep {
    type Output = Result<(), Reason>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.stage = match self.stage {
            Stage::New => self.arm(self.shard.shared.now(), context.waker()),
            Stage::Armed(key) if !self.set_waker(key, context.waker()) => Stage::Over(self.result()),
            stage => stage,
        };
        self.state()
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Stage::Armed(key) = self.stage {
            let cancelled = self.shard.queue().cancel(key);
            // The waker is dropped with nothing locked.
            drop(cancelled);
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}
