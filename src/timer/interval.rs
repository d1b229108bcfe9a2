//! A time that comes again and again, to be awaited.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::work::{Missed, Period};
use super::{Reason, Sleep, Timer};
use crate::clock::nanoseconds;

/// Ticks at a fixed rate: from [`Timer::interval`].
///
/// The first tick is due one period after it was made, the others at whole periods after that. A tick that
/// comes late stands for those that were missed meanwhile. With the feature `tokio` it is a `Stream`, which
/// ends after an error.
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
    period: Period,
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
        let sleep = match period.is_zero() {
            true => Sleep::refused(self, Reason::ZeroPeriod),
            false => self.sleep(period),
        };
        let period = Period { ns: nanoseconds(period), missed: Missed::Skip };
        Interval { sleep, period, has_failed: false }
    }
}

impl Interval {
    /// Waits for the next tick. A call whose future is dropped loses none. O(1) a poll.
    ///
    /// # Errors
    ///
    /// [`Reason`], when the timer is shut down or [full](Reason::Full), and for a period of zero.
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

    fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Reason>> {
        let tick = Pin::new(&mut self.sleep).poll(context);
        match tick {
            Poll::Ready(Ok(())) => {
                let now = self.sleep.shard.shared.now();
                let deadline = self.period.next(self.sleep.deadline_ns(), now);
                self.sleep.renew(deadline);
            }
            Poll::Ready(Err(_)) => self.has_failed = true,
            Poll::Pending => {}
        }
        tick
    }
}

#[cfg(feature = "tokio")]
impl futures_core::Stream for Interval {
    type Item = Result<(), Reason>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.has_failed {
            true => Poll::Ready(None),
            false => self.poll_tick(context).map(Some),
        }
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval").field("period", &Duration::from_nanos(self.period.ns)).finish_non_exhaustive()
    }
}
