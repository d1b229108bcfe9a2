//! Sleeps and timeouts for tasks on one thread, driven by a loop of your own: no lock, no thread, no `std`.
//!
//! A [`LocalTimer`] is for the owner of a loop: an executor on each core, a reactor, a game, a page in a browser. The
//! loop waits until [`wake_at`](LocalTimer::wake_at) and calls [`fire`](LocalTimer::fire), which wakes the tasks whose
//! sleeps are due. [`Timer`] has a thread that does both, and its tasks may move between threads.
//!
//! ```
//! use std::future::Future;
//! use std::pin::pin;
//! use std::task::{Context, Poll, Waker};
//! use std::time::Duration;
//! use timer_wheel::Budget;
//! use timer_wheel::local::{LocalTimer, TurnClock};
//!
//! let clock = TurnClock::new();
//! let timer = LocalTimer::new(clock.clone());
//! let mut sleep = pin!(timer.sleep(Duration::from_millis(5)));
//! let mut context = Context::from_waker(Waker::noop());
//! assert!(sleep.as_mut().poll(&mut context).is_pending());
//!
//! while let Some(wake) = timer.wake_at() {
//!     clock.set(wake); // a loop would wait until then
//!     timer.fire(wake, &mut Budget::of_fires(100));
//! }
//! assert_eq!(clock.now(), 5_000_000);
//! assert_eq!(sleep.poll(&mut context), Poll::Ready(()));
//! ```
//!
#![cfg_attr(feature = "timer", doc = "[`Timer`]: crate::Timer")]
#![cfg_attr(not(feature = "timer"), doc = "[`Timer`]: crate#features")]

mod interval;
mod sleep;
mod timeout;
mod turn_clock;
mod wait;

pub use self::interval::LocalInterval;
pub use self::sleep::LocalSleep;
pub use self::timeout::{Elapsed, LocalTimeout};
pub use self::turn_clock::TurnClock;

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;
use core::future::Future;
use core::task::Waker;
use core::time::Duration;

use self::wait::Wait;
use crate::clock::{NEVER, TimeSource, after};
use crate::{Budget, Wheel};

/// Wakes tasks of one thread when their sleeps are due. Clones are handles to the same timer.
///
/// Its futures have the names of `Timer`'s and do the same, but cannot fail: a sleeping task owns a handle to the
/// timer, so the timer outlives it. They take a place in the timer when they are first pending, without an allocation
/// of their own.
///
/// A clock that runs backwards counts as stopped until it passes the latest time that the timer has read from it, or
/// that was passed to [`fire`](LocalTimer::fire). [`new`](LocalTimer::new) takes the first reading. A sleep until
/// [`NEVER`] never fires.
///
/// A waker may use the timer: while it is woken, cloned or dropped it may poll, reset and drop sleeps, call `fire` and
/// `clear`, and drop the last handle. If it panics while it is woken, `fire` passes the panic on, and the other sleeps
/// keep their places.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::SystemClock;
/// use timer_wheel::local::LocalTimer;
///
/// async fn twice(timer: &LocalTimer<SystemClock>) {
///     timer.sleep(Duration::from_millis(1)).await;
///     timer.sleep(Duration::from_millis(1)).await;
/// }
///
/// let timer = LocalTimer::new(SystemClock::new());
/// let task = twice(&timer); // for the executor
/// # drop(task);
/// ```
pub struct LocalTimer<C> {
    shared: Rc<Shared<C>>,
}

/// What a timer and its sleeps share.
///
/// Invariant: no waker is woken, cloned or dropped while the wheel is borrowed, because it may use the timer.
struct Shared<C> {
    clock: C,
    /// The latest time that was read from the clock or passed by the loop.
    latest: Cell<u64>,
    wheel: RefCell<Wheel<Waker>>,
}

impl<C: TimeSource> Shared<C> {
    #[inline]
    fn now(&self) -> u64 {
        self.reach(self.clock.now())
    }

    /// The latest of `time` and all times before it.
    #[inline]
    fn reach(&self, time: u64) -> u64 {
        // So that `NEVER` is never reached.
        let latest = self.latest.get().max(time.min(NEVER - 1));
        self.latest.set(latest);
        latest
    }
}

/// For tasks.
impl<C: TimeSource> LocalTimer<C> {
    /// A timer without sleeps. It reads the clock. O(1).
    ///
    /// ```
    /// use timer_wheel::SystemClock;
    /// use timer_wheel::local::LocalTimer;
    ///
    /// let timer = LocalTimer::new(SystemClock::new());
    /// assert!(timer.is_empty());
    /// ```
    pub fn new(clock: C) -> Self {
        let now = clock.now().min(NEVER - 1);
        let wheel = RefCell::new(Wheel::new(now));
        Self { shared: Rc::new(Shared { clock, latest: Cell::new(now), wheel }) }
    }

    /// Waits for `delay` from now, to the nanosecond of the clock. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// assert_eq!(timer.sleep(Duration::from_millis(5)).deadline(), 5_000_000);
    /// ```
    #[inline]
    pub fn sleep(&self, delay: Duration) -> LocalSleep<C> {
        LocalSleep { wait: self.wait(after(self.shared.now(), delay)) }
    }

    /// Waits until `instant`. O(1).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::SystemClock;
    /// use timer_wheel::local::LocalTimer;
    ///
    /// let timer = LocalTimer::new(SystemClock::new());
    /// let sleep = timer.sleep_until(Instant::now() + Duration::from_millis(5));
    /// assert!(sleep.deadline() >= 5_000_000);
    /// ```
    #[inline]
    pub fn sleep_until(&self, instant: C::Instant) -> LocalSleep<C> {
        LocalSleep { wait: self.wait(self.shared.clock.deadline_at(instant)) }
    }

    /// Waits for `future`, for at most `delay` from when it is first found pending. O(1).
    ///
    /// ```
    /// use std::future::ready;
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// let timeout = timer.timeout(Duration::from_secs(10), ready("in time"));
    /// assert_eq!(pollster::block_on(timeout), Ok("in time"));
    /// ```
    #[inline]
    pub fn timeout<F: Future>(&self, delay: Duration, future: F) -> LocalTimeout<F, C> {
        LocalTimeout::new(self.wait(0), Some(delay), future)
    }

    /// Waits for `future` until `instant`, for example one deadline for several steps. O(1).
    ///
    /// The other future is polled first, so one that is ready is no error, however late it is.
    ///
    /// ```
    /// use std::future::{pending, ready};
    /// use timer_wheel::local::{Elapsed, LocalTimer, TurnClock};
    ///
    /// let clock = TurnClock::new();
    /// let timer = LocalTimer::new(clock.clone());
    /// clock.set(8);
    /// assert_eq!(pollster::block_on(timer.timeout_at(7, ready("first step"))), Ok("first step"));
    /// let late: Result<(), Elapsed> = pollster::block_on(timer.timeout_at(7, pending()));
    /// assert!(late.is_err());
    /// ```
    #[inline]
    pub fn timeout_at<F: Future>(&self, instant: C::Instant, future: F) -> LocalTimeout<F, C> {
        LocalTimeout::new(self.wait(self.shared.clock.deadline_at(instant)), None, future)
    }

    /// Ticks at a fixed rate, the first time one `period` from now. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::SystemClock;
    /// use timer_wheel::local::LocalTimer;
    ///
    /// async fn beat(timer: LocalTimer<SystemClock>) {
    ///     let mut beat = timer.interval(Duration::from_secs(1));
    ///     loop {
    ///         beat.tick().await;
    ///         println!("tick");
    ///     }
    /// }
    /// # drop(beat(LocalTimer::new(SystemClock::new())));
    /// ```
    pub fn interval(&self, period: Duration) -> LocalInterval<C> {
        let mut interval = LocalInterval::new(self.wait(NEVER), period);
        interval.reset();
        interval
    }

    /// Ticks at a fixed rate, the first time at `start`, and at once if that has passed. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// pollster::block_on(timer.interval_at(0, Duration::from_secs(60)).tick());
    /// ```
    pub fn interval_at(&self, start: C::Instant, period: Duration) -> LocalInterval<C> {
        LocalInterval::new(self.wait(self.shared.clock.deadline_at(start)), period)
    }

    /// The clock that delays count from. O(1).
    ///
    /// ```
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// timer.clock().set(7);
    /// assert_eq!(timer.clock().now(), 7);
    /// ```
    pub fn clock(&self) -> &C {
        &self.shared.clock
    }

    #[inline]
    fn wait(&self, deadline: u64) -> Wait<C> {
        Wait::new(Rc::clone(&self.shared), deadline)
    }
}

/// For the loop.
impl<C: TimeSource> LocalTimer<C> {
    /// Wakes the tasks whose sleeps are due by `now`, in order, within `budget`. Returns how many. Costs the same as an
    /// advance of the wheel.
    ///
    /// If the budget is used up first, [`wake_at`](LocalTimer::wake_at) is a time that has passed, so that the loop
    /// comes back at once after it has looked at its sockets. A sleep that is polled after the start of `fire` does not
    /// prolong it: its deadline is later than `now`, or it is ready and does not wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    /// use timer_wheel::{Budget, Clock, SystemClock};
    ///
    /// /// A turn of a loop.
    /// fn turn(system: &SystemClock, timer: &LocalTimer<TurnClock>) -> usize {
    ///     timer.clock().set(system.now());
    ///     let woken = timer.fire(timer.clock().now(), &mut Budget::of_fires(1_000));
    ///     // Here the tasks that were woken are polled. Then wait for sockets in place of this:
    ///     std::thread::sleep(timer.wake_at().map_or(Duration::ZERO, |at| system.until(at)));
    ///     woken
    /// }
    ///
    /// assert_eq!(turn(&SystemClock::new(), &LocalTimer::new(TurnClock::new())), 0);
    /// ```
    pub fn fire(&self, now: u64, budget: &mut Budget) -> usize {
        let now = self.shared.reach(now);
        let mut fired = 0;
        loop {
            // Fire one timer per borrow: a waker may drop another due sleep, and its panic must not lose other timers.
            let next = self.shared.wheel.borrow_mut().advance_with_budget(now, budget).next();
            let Some(timer) = next else {
                return fired;
            };
            fired += 1;
            timer.value.wake();
        }
    }

    /// The time until which [`fire`](LocalTimer::fire) has nothing to do, or `None` if no sleep waits. O(1).
    ///
    /// It is never late, but may be early: then `fire` wakes no task, and the next time is later. A poll or a reset
    /// may make it earlier, so ask last, just before the loop waits.
    ///
    /// ```
    /// use std::future::Future;
    /// use std::pin::pin;
    /// use std::task::{Context, Waker};
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// assert_eq!(timer.wake_at(), None);
    /// let mut sleep = pin!(timer.sleep_until(3_000));
    /// assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    /// assert!(timer.wake_at() <= Some(3_000));
    /// ```
    pub fn wake_at(&self) -> Option<u64> {
        self.shared.wheel.borrow().wake_at()
    }

    /// How long the loop may wait, or `None` for ever: from the clock's time to [`wake_at`](LocalTimer::wake_at). O(1).
    ///
    /// A [`TurnClock`] shows the start of the turn: with it, use `Clock::until` of the clock that it was set from.
    ///
    /// ```
    /// use timer_wheel::SystemClock;
    /// use timer_wheel::local::LocalTimer;
    ///
    /// let timer = LocalTimer::new(SystemClock::new());
    /// // The timeout of `mio::Poll::poll`, which waits for ever without one.
    /// assert_eq!(timer.until_next(), None);
    /// ```
    pub fn until_next(&self) -> Option<Duration> {
        let wake = self.wake_at()?;
        Some(Duration::from_nanos(wake.saturating_sub(self.shared.now())))
    }

    /// How many sleeps wait: those that were polled and neither woken nor dropped. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// let timer = LocalTimer::new(TurnClock::new());
    /// let sleep = timer.sleep(Duration::from_secs(1));
    /// assert_eq!(timer.len(), 0, "it was not polled");
    /// # drop(sleep);
    /// ```
    pub fn len(&self) -> usize {
        self.shared.wheel.borrow().len()
    }

    /// Whether no sleep waits. O(1).
    ///
    /// ```
    /// use timer_wheel::local::{LocalTimer, TurnClock};
    ///
    /// assert!(LocalTimer::new(TurnClock::new()).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops the wakers of all sleeps: for the end of an executor whose tasks are kept alive by their wakers. O(n).
    ///
    /// Otherwise a task, its sleep, the timer and the task's waker keep each other alive. A sleep that is polled
    /// afterwards takes its place again.
    ///
    /// ```
    /// use timer_wheel::SystemClock;
    /// use timer_wheel::local::LocalTimer;
    ///
    /// struct Executor {
    ///     timer: LocalTimer<SystemClock>,
    /// }
    ///
    /// impl Drop for Executor {
    ///     fn drop(&mut self) {
    ///         self.timer.clear();
    ///     }
    /// }
    /// # drop(Executor { timer: LocalTimer::new(SystemClock::new()) });
    /// ```
    pub fn clear(&self) {
        let wakers: Vec<Waker> = self.shared.wheel.borrow_mut().drain().map(|timer| timer.value).collect();
        drop(wakers);
    }
}

impl<C> Clone for LocalTimer<C> {
    #[inline]
    fn clone(&self) -> Self {
        Self { shared: Rc::clone(&self.shared) }
    }
}

impl<C> fmt::Debug for LocalTimer<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTimer").field("len", &self.shared.wheel.borrow().len()).finish_non_exhaustive()
    }
}
