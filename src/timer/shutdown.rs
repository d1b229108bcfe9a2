//! How a timer ends.

use std::error::Error;
use std::fmt;

/// How [`Timer::shutdown`](super::Timer::shutdown) ends a timer.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::{ManualClock, Shutdown, Timer};
///
/// let clock = ManualClock::new();
/// let timer = Timer::builder().clock(clock.clone()).start()?;
/// timer.schedule_after(Duration::from_secs(1), || println!("runs"))?;
/// timer.schedule_after(Duration::from_secs(2), || println!("does not"))?;
/// clock.advance(Duration::from_secs(1));
/// let unrun = timer.shutdown(Shutdown::Drain)?;
/// assert_eq!((unrun.len(), timer.stats().fired), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// Jobs that are due by now still run, in order; a periodic job once.
    Drain,
    /// No job starts any more, even if it is due.
    Discard,
}

/// A job cannot wait for the timer that runs it.
///
/// From [`Timer::shutdown`](super::Timer::shutdown) and [`Timer::settle`](super::Timer::settle)
/// when they are called from within a job of that timer, or from its panic hook.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use timer_wheel::Timer;
///
/// let timer = Timer::new()?;
/// let (tell, answer) = mpsc::channel();
/// let same = timer.clone();
/// timer.schedule_after(Duration::ZERO, move || tell.send(same.settle()).unwrap())?;
/// assert!(answer.recv()?.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct InsideJob;

impl fmt::Display for InsideJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a job cannot wait for the timer that runs it")
    }
}

impl Error for InsideJob {}
