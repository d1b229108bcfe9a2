//! Clocks, and the conversion of `Duration` and `Instant` to the time of a wheel.
//!
//! A wheel and a [`TimeSource`] count nanoseconds since an origin, in a `u64` that lasts for 584 years. A [`Clock`] is
//! a time source that uses [`Instant`] and that a thread can wait for. `Duration` and `Instant` count nanoseconds too,
//! so no conversion rounds. A time before the origin becomes 0, which is due at once; a time beyond the end becomes
//! [`NEVER`].
//!
//! ```
//! use std::time::Duration;
//! use timer_wheel::{Clock, SystemClock, Wheel};
//!
//! let clock = SystemClock::new();
//! let mut wheel: Wheel<&str> = Wheel::new(clock.now());
//! wheel.schedule(clock.after(Duration::from_millis(2)), "in 2 ms");
//! while let Some(delay) = wheel.expiration_delay() {
//!     clock.sleep_until(wheel.now() + delay); // or wait for something else as well
//!     for timer in wheel.advance(clock.now()) {
//!         println!("{}, {} ns late", timer.value, clock.now() - timer.deadline);
//!     }
//! }
//! ```
#![cfg_attr(not(feature = "std"), doc = "[`Clock`]: crate#features")]
#![cfg_attr(not(feature = "std"), doc = "[`Instant`]: crate#features")]

#[cfg(feature = "std")]
mod manual;
mod source;
mod span;
#[cfg(feature = "std")]
mod system;

#[cfg(feature = "std")]
pub use self::manual::ManualClock;
pub use self::source::TimeSource;
#[cfg(any(feature = "local", feature = "timer"))]
pub(crate) use self::span::next_tick;
pub use self::span::{NEVER, after, nanoseconds};
#[cfg(feature = "std")]
pub use self::system::SystemClock;

#[cfg(feature = "std")]
use std::time::{Duration, Instant};

#[cfg(feature = "std")]
use crate::sync::thread;

/// A time source that uses [`Instant`] and that a thread can wait for: it drives a [`Timer`].
///
/// A driver treats a clock that runs backwards as stopped until it has
/// caught up with itself. So no timer fires twice or early.
///
/// The methods should be O(1), as the provided ones are, because a driver reads the clock in every call.
///
/// A clock should not panic. A panic on the timer thread ends the timer as [`Shutdown::Discard`] does: it is reported
/// to the panic hook, callers are refused, and a shutdown returns the jobs. A panic in a call by another thread passes
/// through that call and changes nothing.
///
/// ```
/// use std::time::{Duration, Instant};
/// use timer_wheel::clock::{Clock, TimeSource, nanoseconds};
///
/// /// Runs a thousand times as fast as the system's.
/// struct Hurried(Instant);
///
/// impl TimeSource for Hurried {
///     type Instant = Instant;
///
///     fn now(&self) -> u64 {
///         nanoseconds(self.0.elapsed()).saturating_mul(1_000)
///     }
///     fn deadline_at(&self, instant: Instant) -> u64 {
///         nanoseconds(instant.saturating_duration_since(self.0))
///     }
/// }
///
/// impl Clock for Hurried {
///     fn origin(&self) -> Instant {
///         self.0
///     }
///     fn park_until(&self, time: u64) {
///         std::thread::park_timeout(self.until(time) / 1_000 + Duration::from_nanos(1));
///     }
/// }
///
/// let clock = Hurried(Instant::now());
/// assert_eq!(clock.deadline_at(clock.origin() + Duration::from_secs(1)), 1_000_000_000);
/// assert!(clock.after(Duration::from_secs(1)) >= nanoseconds(Duration::from_secs(1)));
/// ```
///
#[cfg_attr(feature = "timer", doc = "[`Timer`]: crate::Timer")]
#[cfg_attr(feature = "timer", doc = "[`Shutdown::Discard`]: crate::Shutdown::Discard")]
/// [`Timer`]: crate#features
/// [`Shutdown::Discard`]: crate#features
#[cfg(feature = "std")]
pub trait Clock: TimeSource<Instant = Instant> + Send + Sync + 'static {
    /// The moment at which the clock shows 0.
    ///
    /// ```
    /// use std::time::Instant;
    /// use timer_wheel::{Clock, SystemClock};
    ///
    /// assert!(SystemClock::new().origin() <= Instant::now());
    /// ```
    fn origin(&self) -> Instant;

    /// Blocks the calling thread until the clock shows `time` or the thread is unparked.
    ///
    /// It may return early, because the caller checks the clock again. It must not return late, and must not run
    /// anything that may itself park the thread. The provided method suits every clock that runs at the pace of
    /// [`Instant`]: it calls [`park_timeout`](std::thread::park_timeout).
    ///
    /// ```
    /// use timer_wheel::{Clock, SystemClock};
    ///
    /// let clock = SystemClock::new();
    /// let time = clock.now() + 1_000_000;
    /// while clock.now() < time {
    ///     clock.park_until(time);
    /// }
    /// ```
    fn park_until(&self, time: u64) {
        thread::park_timeout(self.until(time));
    }

    /// Blocks the calling thread until the clock shows `time`, however often it is unparked meanwhile.
    ///
    /// A caller that may have to wake up sooner, because another thread may schedule a timer, should use
    /// [`park_until`](Clock::park_until).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{Clock, SystemClock};
    ///
    /// let clock = SystemClock::new();
    /// let time = clock.after(Duration::from_millis(1));
    /// clock.sleep_until(time);
    /// assert!(clock.now() >= time);
    /// ```
    fn sleep_until(&self, time: u64) {
        while self.now() < time {
            self.park_until(time);
        }
    }

    /// The time `delay` from now in nanoseconds, or [`NEVER`]. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{Clock, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// clock.advance(Duration::from_nanos(7));
    /// assert_eq!(clock.after(Duration::from_nanos(5)), 12);
    /// ```
    fn after(&self, delay: Duration) -> u64 {
        after(self.now(), delay)
    }

    /// The duration until `time`, a deadline or a wake-up; zero once the clock has reached it. O(1).
    ///
    /// ```
    /// use std::sync::mpsc::{RecvTimeoutError, channel};
    /// use std::time::Duration;
    /// use timer_wheel::{Clock, SystemClock};
    ///
    /// let clock = SystemClock::new();
    /// let (_sender, messages) = channel::<()>();
    /// let wake = clock.after(Duration::from_millis(1));
    /// while messages.recv_timeout(clock.until(wake)) != Err(RecvTimeoutError::Timeout) {}
    /// assert_eq!(clock.until(wake), Duration::ZERO);
    /// ```
    fn until(&self, time: u64) -> Duration {
        Duration::from_nanos(time.saturating_sub(self.now()))
    }

    /// The instant at which the clock shows `time`, or `None` if there is none: for [`NEVER`], and for times that an
    /// [`Instant`] cannot represent.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::clock::{Clock, NEVER, SystemClock};
    ///
    /// let clock = SystemClock::new();
    /// assert_eq!(clock.instant_at(5), Some(clock.origin() + Duration::from_nanos(5)));
    /// assert_eq!(clock.instant_at(NEVER), None);
    /// ```
    fn instant_at(&self, time: u64) -> Option<Instant> {
        if time == NEVER {
            return None;
        }
        self.origin().checked_add(Duration::from_nanos(time))
    }
}
