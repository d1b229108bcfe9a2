//! A future for each tick of a fixed rate.

use core::fmt;
use core::future::poll_fn;
use core::task::{Poll, ready};
use core::time::Duration;

use super::wait::Wait;
use crate::clock::{TimeSource, nanoseconds, next_tick};

/// Ticks at a fixed rate: from [`LocalTimer::interval`] and [`LocalTimer::interval_at`].
///
/// The other ticks are due at whole periods after the first. A late tick replaces the ticks that were missed
/// meanwhile. A period of zero counts as a nanosecond.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::local::{LocalTimer, TurnClock};
///
/// let timer = LocalTimer::new(TurnClock::new());
/// let mut beat = timer.interval(Duration::from_millis(1));
/// timer.clock().set(1_000_000);
/// pollster::block_on(beat.tick());
/// ```
///
/// [`LocalTimer::interval`]: super::LocalTimer::interval
/// [`LocalTimer::interval_at`]: super::LocalTimer::interval_at
#[must_use = "an interval does nothing until it is polled"]
pub struct LocalInterval<C> {
    wait: Wait<C>,
    period_ns: u64,
}

impl<C: TimeSource> LocalInterval<C> {
    pub(super) fn new(wait: Wait<C>, period: Duration) -> Self {
        Self { wait, period_ns: nanoseconds(period).max(1) }
    }

    /// Waits for the next tick. Dropping the returned future loses no tick. O(1) per poll.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// let mut beat = timer.interval_at(0, Duration::from_millis(1));
    /// timer.clock().set(3_500_000);
    /// pollster::block_on(beat.tick()); // for 0, 1, 2 and 3 ms
    /// timer.clock().set(4_000_000);
    /// pollster::block_on(beat.tick());
    /// ```
    pub async fn tick(&mut self) {
        poll_fn(|context| {
            ready!(self.wait.poll(context.waker()));
            let now = self.wait.shared.now();
            self.wait.reset(next_tick(self.wait.deadline, self.period_ns, now));
            Poll::Ready(())
        })
        .await;
    }

    /// Moves the next tick to one period from now, and the others to whole periods after that. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// let mut keep_alive = timer.interval(Duration::from_secs(10));
    /// timer.clock().set(9_000_000_000);
    /// keep_alive.reset(); // a message was sent
    /// timer.clock().set(19_000_000_000);
    /// pollster::block_on(keep_alive.tick());
    /// ```
    pub fn reset(&mut self) {
        let now = self.wait.shared.now();
        self.wait.reset(now.saturating_add(self.period_ns));
    }

    /// The time from one tick to the next, at most the 584 years that a clock can show. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// assert_eq!(timer.interval(Duration::from_millis(250)).period(), Duration::from_millis(250));
    /// ```
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }
}

impl<C> fmt::Debug for LocalInterval<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalInterval").field("period", &Duration::from_nanos(self.period_ns)).finish_non_exhaustive()
    }
}
