//! How a timer ends.

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
