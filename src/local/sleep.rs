//! A future that waits for a time.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::wait::Wait;
use crate::clock::TimeSource;

/// A future that is ready at a deadline: from [`LocalTimer::sleep`] and [`LocalTimer::sleep_until`].
///
/// It takes a place in the timer at its first poll. A poll with another waker replaces the old one. Dropping the sleep
/// gives the place back. Each of these is O(1). Polled again after its end, it is ready again.
///
/// A sleep that is due at its first poll is ready at once. A task that awaits only such sleeps starves the loop.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::local::{LocalTimer, TurnClock};
///
/// let timer = LocalTimer::new(TurnClock::new());
/// pollster::block_on(timer.sleep(Duration::ZERO));
/// ```
///
/// [`LocalTimer::sleep`]: super::LocalTimer::sleep
/// [`LocalTimer::sleep_until`]: super::LocalTimer::sleep_until
#[must_use = "a future does nothing until it is polled"]
pub struct LocalSleep<C> {
    pub(super) wait: Wait<C>,
}

impl<C: TimeSource> LocalSleep<C> {
    /// Moves the deadline to `instant`, whether the sleep waits, is over, or was never polled: for the idle timeout of
    /// a connection, with each message. O(1).
    ///
    /// If the task was woken, or the sleep has been ready, it starts anew. It must then be polled again to wake its
    /// task.
    ///
    /// ```
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// let mut idle = timer.sleep_until(60_000_000_000);
    /// idle.reset(100_000_000_000); // a message came at 40 s
    /// timer.clock().set(99_999_999_999);
    /// assert!(!idle.is_elapsed());
    /// ```
    #[inline]
    pub fn reset(&mut self, instant: C::Instant) {
        let deadline = self.wait.shared.clock.deadline_at(instant);
        self.wait.reset(deadline);
    }

    /// The deadline, in nanoseconds of the clock. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::clock::NEVER;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// assert_eq!(timer.sleep(Duration::from_micros(5)).deadline(), 5_000);
    /// assert_eq!(timer.sleep(Duration::MAX).deadline(), NEVER);
    /// ```
    pub fn deadline(&self) -> u64 {
        self.wait.deadline
    }

    /// Whether its deadline has passed, polled or not. O(1): it reads the clock.
    ///
    /// A sleep that was polled is pending until the loop [fires](super::LocalTimer::fire).
    ///
    /// ```
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// let sleep = timer.sleep_until(7);
    /// assert!(!sleep.is_elapsed());
    /// timer.clock().set(7);
    /// assert!(sleep.is_elapsed());
    /// ```
    pub fn is_elapsed(&self) -> bool {
        self.wait.deadline <= self.wait.shared.now()
    }
}

impl<C: TimeSource> Future for LocalSleep<C> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.wait.poll(context.waker())
    }
}

impl<C> fmt::Debug for LocalSleep<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSleep").field("deadline", &self.wait.deadline).finish_non_exhaustive()
    }
}
