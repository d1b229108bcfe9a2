//! A future with a time limit.

use core::error::Error;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;

use super::wait::Wait;
use crate::clock::{TimeSource, after};

pin_project! {
    /// Waits for another future, with an error if that takes too long: from [`LocalTimer::timeout`] and
    /// [`LocalTimer::timeout_at`].
    ///
    /// The other future is polled first; the clock is read when it is pending for the first time. A timeout owns a
    /// handle to the timer, so it may be spawned. Once it is ready it has no place in the timer. A poll costs O(1) more
    /// than that of the other future.
    ///
    /// ```
    /// use std::future::ready;
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// assert_eq!(pollster::block_on(timer.timeout(Duration::ZERO, ready(7))), Ok(7));
    /// ```
    ///
    /// [`LocalTimer::timeout`]: super::LocalTimer::timeout
    /// [`LocalTimer::timeout_at`]: super::LocalTimer::timeout_at
    #[must_use = "a future does nothing until it is polled"]
    pub struct LocalTimeout<F, C> {
        #[pin]
        future: F,
        // The delay of the wait, until the other future is first pending.
        delay: Option<Duration>,
        wait: Wait<C>,
    }
}

impl<F, C> LocalTimeout<F, C> {
    #[inline]
    pub(super) fn new(wait: Wait<C>, delay: Option<Duration>, future: F) -> Self {
        Self { future, delay, wait }
    }
}

impl<F: Future, C: TimeSource> Future for LocalTimeout<F, C> {
    type Output = Result<F::Output, Elapsed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(context) {
            // The caller may keep the future after its result.
            this.wait.disarm();
            return Poll::Ready(Ok(output));
        }
        let wait = match this.delay.take() {
            None => this.wait.poll(context.waker()),
            Some(delay) => {
                let now = this.wait.shared.now();
                this.wait.deadline = after(now, delay);
                this.wait.arm(now, context.waker())
            }
        };
        wait.map(|()| Err(Elapsed(())))
    }
}

impl<F, C> fmt::Debug for LocalTimeout<F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTimeout").finish_non_exhaustive()
    }
}

/// The future in a [`LocalTimeout`] was still pending when its time was up.
///
/// ```
/// use std::future::pending;
/// use std::time::Duration;
/// use timer_wheel::local::{Elapsed, LocalTimer, TurnClock};
///
/// let timer = LocalTimer::new(TurnClock::new());
/// let late: Result<(), Elapsed> = pollster::block_on(timer.timeout(Duration::ZERO, pending()));
/// assert_eq!(late.unwrap_err().to_string(), "the time is up");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time is up")
    }
}

impl Error for Elapsed {}
