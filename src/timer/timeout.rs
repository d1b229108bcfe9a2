//! A future with a time limit.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use super::shard::Shard;
use super::wait::Wait;
use super::{Reason, Timer};
use crate::clock::{NEVER, after};

pin_project! {
    /// Waits for another future, with an error if that takes too long: from [`Timer::timeout`] and
    /// [`Timer::timeout_at`].
    ///
    /// The other future is polled first. The clock is read and the timer is locked only when that future is pending for
    /// the first time. So a timeout around a ready future costs no lock and no reference count. To make that possible,
    /// it borrows the timer; a spawned task needs an [`OwnedTimeout`]. A `Timeout` gives its place in the timer back
    /// when it is ready or dropped. A poll costs O(1) more than that of the other future, and does not allocate.
    ///
    /// ```
    /// use std::future::ready;
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// let timeout = timer.timeout(Duration::from_secs(10), ready("in time"));
    /// assert_eq!(pollster::block_on(timeout), Ok("in time"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "a future does nothing until it is polled"]
    pub struct Timeout<'a, F> {
        #[pin]
        future: F,
        timer: &'a Timer,
        limit: Limit,
        // While the other future is pending.
        wait: Option<Wait<&'a Shard>>,
    }
}

pin_project! {
    /// A [`Timeout`] that owns what it needs, and so can be spawned or stored: from [`Timer::timeout_owned`].
    ///
    /// Like a [`Sleep`](super::Sleep) it does not keep the timer running, and it costs one reference count more than a
    /// `Timeout`.
    ///
    /// ```
    /// use std::future::pending;
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    /// use timer_wheel::timer::{OwnedTimeout, TimeoutError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let timer = Timer::new()?;
    /// let never: OwnedTimeout<_> = timer.timeout_owned(Duration::from_millis(5), pending::<()>());
    /// assert_eq!(tokio::spawn(never).await?, Err(TimeoutError::Elapsed));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "a future does nothing until it is polled"]
    pub struct OwnedTimeout<F> {
        #[pin]
        future: F,
        delay: Duration,
        wait: Wait<Arc<Shard>>,
    }
}

/// How long a [`Timeout`] waits.
#[derive(Copy, Clone, Debug)]
enum Limit {
    After(Duration),
    At(Instant),
}

/// Why a [`Timeout`] did not return the result of its future.
///
/// ```
/// use std::future::pending;
/// use std::time::Duration;
/// use timer_wheel::{Shutdown, Timer};
/// use timer_wheel::timer::{Reason, TimeoutError};
///
/// let timer = Timer::new()?;
/// let never = || timer.timeout(Duration::from_millis(1), pending::<()>());
/// assert_eq!(pollster::block_on(never()), Err(TimeoutError::Elapsed));
/// timer.shutdown(Shutdown::Discard)?;
/// assert_eq!(pollster::block_on(never()), Err(TimeoutError::Refused(Reason::ShutDown)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeoutError {
    /// The future was still pending when its time was up.
    Elapsed,
    /// The future was pending and the timer could not time it: it was shut down, or is full.
    Refused(Reason),
}

impl Timer {
    /// Waits for `future`, for at most `delay` from when it is first found pending. O(1), without a
    /// lock.
    ///
    /// ```
    /// use std::future::pending;
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    /// use timer_wheel::timer::TimeoutError;
    ///
    /// let timer = Timer::new()?;
    /// let answer = timer.timeout(Duration::from_millis(5), pending::<()>());
    /// assert_eq!(pollster::block_on(answer), Err(TimeoutError::Elapsed));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn timeout<F: Future>(&self, delay: Duration, future: F) -> Timeout<'_, F> {
        Timeout { future, timer: self, limit: Limit::After(delay), wait: None }
    }

    /// Waits for `future` until `instant`, for example one deadline for several steps. O(1), without a lock.
    ///
    /// The other future is polled first, so one that is ready is no error, however late it is. See [`Timeout`].
    ///
    /// ```
    /// use std::future::{pending, ready};
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::Timer;
    /// use timer_wheel::timer::TimeoutError;
    ///
    /// let timer = Timer::new()?;
    /// let deadline = Instant::now() + Duration::from_millis(5);
    /// pollster::block_on(async {
    ///     assert_eq!(timer.timeout_at(deadline, ready("first step")).await, Ok("first step"));
    ///     assert_eq!(timer.timeout_at(deadline, pending::<()>()).await, Err(TimeoutError::Elapsed));
    /// });
    /// assert!(Instant::now() >= deadline);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn timeout_at<F: Future>(&self, instant: Instant, future: F) -> Timeout<'_, F> {
        Timeout { future, timer: self, limit: Limit::At(instant), wait: None }
    }

    /// Like [`timeout`](Timer::timeout), for a task that is spawned: the returned future borrows nothing. O(1), without
    /// a lock.
    pub fn timeout_owned<F: Future>(&self, delay: Duration, future: F) -> OwnedTimeout<F> {
        OwnedTimeout { future, delay, wait: Wait::new(Arc::clone(self.shards().own()), NEVER) }
    }
}

impl<F: Future> Future for OwnedTimeout<F> {
    type Output = Result<F::Output, TimeoutError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(context) {
            this.wait.leave();
            return Poll::Ready(Ok(output));
        }
        this.wait.poll_within(*this.delay, context.waker()).map(over)
    }
}

impl<F> fmt::Debug for OwnedTimeout<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedTimeout").field("delay", &self.delay).finish_non_exhaustive()
    }
}

/// What a timeout gives when its wait is over.
fn over<T>(result: Result<(), Reason>) -> Result<T, TimeoutError> {
    Err(result.map_or_else(TimeoutError::Refused, |()| TimeoutError::Elapsed))
}

impl<F: Future> Future for Timeout<'_, F> {
    type Output = Result<F::Output, TimeoutError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(context) {
            // The caller may keep the future after its result.
            *this.wait = None;
            return Poll::Ready(Ok(output));
        }
        let result = match this.wait {
            Some(wait) => wait.poll(context.waker()),
            None => {
                let shared = this.timer.shared();
                let now = shared.now();
                let deadline = match *this.limit {
                    Limit::After(delay) => after(now, delay),
                    Limit::At(instant) => shared.clock.deadline_at(instant),
                };
                let wait = this.wait.insert(Wait::new(this.timer.shards().own(), deadline));
                wait.arm(now, context.waker())
            }
        };
        result.map(over)
    }
}

impl<F> fmt::Debug for Timeout<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elapsed => f.write_str("the time is up"),
            Self::Refused(reason) => reason.fmt(f),
        }
    }
}

impl Error for TimeoutError {}
