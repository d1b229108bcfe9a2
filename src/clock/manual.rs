//! A clock that is moved by hand.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Clock, TimeSource, nanoseconds};
use crate::sync::{Mutex, Thread, lock, thread};

/// A clock that moves only when it is told to, so that tests need not sleep.
///
/// Clones show the same time. Moving the clock wakes the timers whose wake-up it reaches, and
/// [`Timer::settle`] waits until they have run all due jobs.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::sync::Arc;
/// use std::time::Duration;
/// use timer_wheel::{ManualClock, Timer};
///
/// let clock = ManualClock::new();
/// let timer = Timer::builder().clock(clock.clone()).start()?;
/// let rang = Arc::new(AtomicBool::new(false));
/// let bell = Arc::clone(&rang);
/// timer.schedule_after(Duration::from_secs(3_600), move || bell.store(true, Ordering::Relaxed))?;
///
/// clock.advance(Duration::from_secs(3_599));
/// timer.settle()?;
/// assert!(!rang.load(Ordering::Relaxed));
/// clock.advance(Duration::from_secs(1));
/// timer.settle()?;
/// assert!(rang.load(Ordering::Relaxed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
#[cfg_attr(feature = "timer", doc = "[`Timer::settle`]: crate::Timer::settle")]
/// [`Timer::settle`]: crate#features
#[derive(Clone)]
pub struct ManualClock {
    origin: Instant,
    face: Arc<Mutex<Face>>,
}

/// The state that all clones share.
///
/// Invariant: a thread checks the time and joins `sleepers` under one lock, so it misses no move of the clock.
struct Face {
    now: u64,
    sleepers: Vec<Sleeper>,
}

/// A thread that waits for a time.
struct Sleeper {
    thread: Thread,
    until: u64,
}

impl ManualClock {
    /// A clock that shows 0, and whose origin is this call. O(1).
    ///
    /// ```
    /// use timer_wheel::ManualClock;
    ///
    /// let clock = ManualClock::new();
    /// assert_eq!((clock.now(), clock.clone().now()), (0, 0));
    /// ```
    pub fn new() -> Self {
        Self { origin: Instant::now(), face: Arc::new(Mutex::new(Face { now: 0, sleepers: Vec::new() })) }
    }

    /// Moves the clock on, at most to the end of time. O(threads that wait for it).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::ManualClock;
    ///
    /// let clock = ManualClock::new();
    /// clock.advance(Duration::from_millis(2));
    /// assert_eq!(clock.now(), 2_000_000);
    /// ```
    pub fn advance(&self, by: Duration) {
        self.turn(|now| now.saturating_add(nanoseconds(by)));
    }

    /// Sets the clock to a time since its origin, which may be earlier than the present one, to
    /// test a program against a clock that runs backwards. O(threads that wait for it).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::ManualClock;
    ///
    /// let clock = ManualClock::new();
    /// clock.set(Duration::from_millis(2));
    /// clock.set(Duration::from_millis(1));
    /// assert_eq!(clock.now(), 1_000_000);
    /// ```
    pub fn set(&self, time: Duration) {
        self.turn(|_| nanoseconds(time));
    }

    /// The time in nanoseconds since the origin. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::ManualClock;
    ///
    /// let clock = ManualClock::new();
    /// clock.advance(Duration::from_micros(3));
    /// assert_eq!(clock.now(), 3_000);
    /// ```
    pub fn now(&self) -> u64 {
        lock(&self.face).now
    }

    fn turn(&self, to: impl FnOnce(u64) -> u64) {
        let mut face = lock(&self.face);
        face.now = to(face.now);
        for sleeper in &face.sleepers {
            if sleeper.until <= face.now {
                sleeper.thread.unpark();
            }
        }
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeSource for ManualClock {
    type Instant = Instant;

    fn now(&self) -> u64 {
        self.now()
    }

    fn deadline_at(&self, instant: Instant) -> u64 {
        nanoseconds(instant.saturating_duration_since(self.origin))
    }
}

impl Clock for ManualClock {
    fn origin(&self) -> Instant {
        self.origin
    }

    fn park_until(&self, time: u64) {
        let me = thread::current();
        {
            let mut face = lock(&self.face);
            if face.now >= time {
                return;
            }
            face.sleepers.push(Sleeper { thread: me.clone(), until: time });
        }
        thread::park();
        let mut face = lock(&self.face);
        face.sleepers.retain(|sleeper| sleeper.thread.id() != me.id());
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").field("now", &Duration::from_nanos(self.now())).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sleeper_that_wakes_leaves_the_others_asleep_and_nothing_behind() {
        let clock = ManualClock::new();
        let sleepers = || lock(&clock.face).sleepers.len();
        let sleep_until = |time: u64| {
            let clock = clock.clone();
            std::thread::spawn(move || {
                while clock.now() < time {
                    clock.park_until(time);
                }
            })
        };
        let (first, second) = (sleep_until(1), sleep_until(2));
        while sleepers() < 2 {
            std::thread::yield_now();
        }
        clock.set(Duration::from_nanos(1));
        first.join().unwrap();
        assert_eq!(sleepers(), 1);
        clock.set(Duration::from_nanos(2));
        second.join().unwrap();
        assert_eq!(sleepers(), 0);
    }
}
