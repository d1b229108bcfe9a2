//! A future for each tick of a fixed rate.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{Reason, Sleep, Timer};
use crate::clock::{nanoseconds, next_tick};

/// Ticks at a fixed rate: from [`Timer::interval`] and [`Timer::interval_at`].
///
/// The other ticks are due at whole periods after the first. A late tick replaces the ticks that were missed
/// meanwhile. With the feature `tokio` an interval is a `Stream`, which ends after an error other than
/// [`Reason::Full`].
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::Timer;
///
/// let timer = Timer::new()?;
/// let mut beat = timer.interval(Duration::from_millis(1));
/// for _ in 0..3 {
///     pollster::block_on(beat.tick())?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "an interval does nothing until it is polled"]
pub struct Interval {
    sleep: Sleep,
    period_ns: u64,
    #[cfg_attr(not(feature = "tokio"), allow(dead_code, reason = "for the stream"))]
    has_failed: bool,
}

impl Timer {
    /// Ticks at a fixed rate, the first time one `period` from now. O(1).
    ///
    /// A period of zero makes each tick an error, [`Reason::ZeroPeriod`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    /// use timer_wheel::timer::Reason;
    ///
    /// let timer = Timer::new()?;
    /// let mut beat = timer.interval(Duration::from_millis(1));
    /// pollster::block_on(beat.tick())?;
    ///
    /// let mut never = timer.interval(Duration::ZERO);
    /// assert_eq!(pollster::block_on(never.tick()), Err(Reason::ZeroPeriod));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interval(&self, period: Duration) -> Interval {
        Interval::new(self.sleep(period), period)
    }

    /// Ticks at a fixed rate, the first time at `start`, and at once if that has passed. O(1).
    ///
    /// A period of zero makes each tick an error, [`Reason::ZeroPeriod`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// // At once, like tokio's, and then every minute.
    /// let mut beat = timer.interval_at(Instant::now(), Duration::from_secs(60));
    /// pollster::block_on(beat.tick())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interval_at(&self, start: Instant, period: Duration) -> Interval {
        Interval::new(self.sleep_until(start), period)
    }
}

impl Interval {
    fn new(sleep: Sleep, period: Duration) -> Self {
        Self { sleep, period_ns: nanoseconds(period), has_failed: false }
    }

    /// Waits for the next tick. Dropping the returned future loses no tick. O(1) per poll.
    ///
    /// # Errors
    ///
    /// - [`Reason::Full`] if the timer is full. No tick is lost: the next call waits for the same tick again, and
    ///   returns it at once if it is due by then. A loop that calls again at once spins until there
    ///   is room.
    /// - [`Reason::ShutDown`] and, for a period of zero, [`Reason::ZeroPeriod`]: each later call returns the same
    ///   error.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{Shutdown, Timer};
    /// use timer_wheel::timer::Reason;
    ///
    /// let timer = Timer::new()?;
    /// let mut beat = timer.interval(Duration::from_millis(1));
    /// pollster::block_on(beat.tick())?;
    /// timer.shutdown(Shutdown::Discard)?;
    /// let mut beat = timer.interval(Duration::from_secs(60));
    /// assert_eq!(pollster::block_on(beat.tick()), Err(Reason::ShutDown));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn tick(&mut self) -> Result<(), Reason> {
        poll_fn(|context| self.poll_tick(context)).await
    }

    /// Moves the next tick to one period from now, and the others to whole periods after that. O(1).
    ///
    /// For a keep-alive that is due a period after the last message: see [`Sleep::reset`] for the cost.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{Clock, ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// let mut keep_alive = timer.interval(Duration::from_secs(10));
    /// clock.advance(Duration::from_secs(9));
    /// keep_alive.reset(); // a message was sent
    /// clock.advance(Duration::from_secs(10));
    /// pollster::block_on(keep_alive.tick())?;
    /// assert_eq!(clock.now(), 19_000_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&mut self) {
        let wait = &mut self.sleep.wait;
        wait.reset(wait.shard.shared.now().saturating_add(self.period_ns));
    }

    /// The time from one tick to the next, at most the 584 years that a clock can show. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let beat = Timer::new()?.interval(Duration::from_millis(250));
    /// assert_eq!(beat.period(), Duration::from_millis(250));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }

    fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Reason>> {
        let wait = &mut self.sleep.wait;
        let tick = match self.period_ns {
            0 => Poll::Ready(Err(Reason::ZeroPeriod)),
            _ => wait.poll(context.waker()),
        };
        let tick = match tick {
            // Otherwise a caller who is late for each tick would never see that the timer has ended.
            Poll::Ready(Ok(())) if wait.is_ending() => Poll::Ready(Err(Reason::ShutDown)),
            tick => tick,
        };
        match tick {
            Poll::Ready(Ok(())) => wait.reset(next_tick(wait.deadline, self.period_ns, wait.shard.shared.now())),
            // The same tick again: there may be a free place by the next call.
            Poll::Ready(Err(Reason::Full)) => wait.reset(wait.deadline),
            Poll::Ready(Err(_)) => self.has_failed = true,
            Poll::Pending => {}
        }
        tick
    }
}

#[cfg(feature = "tokio")]
impl futures_core::Stream for Interval {
    type Item = Result<(), Reason>;

    fn poll_next(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.has_failed {
            true => Poll::Ready(None),
            false => self.poll_tick(context).map(Some),
        }
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval").field("period", &self.period()).finish_non_exhaustive()
    }
}
