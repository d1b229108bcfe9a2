//! A timer before it is started.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::Timer;
use super::executor::{Executor, Inline};
use super::hub::{Hub, PanicHook};
use super::owner::{Owner, STRIPES};
use super::stripe::Stripe;
use super::worker::Worker;
use crate::clock::{Clock, SystemClock};
use crate::sync::thread;

/// The work of one turn of the timer thread, unless told otherwise.
const BUDGET: usize = 1024;

/// How late a run is reported to be late, unless told otherwise.
const LATE_AFTER: Duration = Duration::from_millis(100);

/// Configures a [`Timer`] and starts it.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::Timer;
///
/// let timer = Timer::builder()
///     .name("retries")
///     .late_after(Duration::from_millis(20))
///     .on_panic(|_| eprintln!("a retry has panicked"))
///     .start()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a timer does nothing until it is started"]
pub struct Builder {
    clock: Box<dyn Clock>,
    executor: Box<dyn Executor>,
    panic_hook: Option<PanicHook>,
    late_after: Duration,
    budget: usize,
    name: String,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            clock: Box::new(SystemClock::new()),
            executor: Box::new(Inline),
            panic_hook: None,
            late_after: LATE_AFTER,
            budget: BUDGET,
            name: "timer-wheel".to_owned(),
        }
    }

    /// The time to go by. That of the system, unless told otherwise.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Where jobs run. On the timer thread, unless told otherwise.
    pub fn executor(mut self, executor: impl Executor) -> Self {
        self.executor = Box::new(executor);
        self
    }

    /// What to call, with what it panicked with, on the thread where a job or the executor
    /// panicked. A panic of the hook itself is swallowed.
    pub fn on_panic(mut self, hook: impl Fn(&(dyn Any + Send)) + Send + Sync + 'static) -> Self {
        self.panic_hook = Some(Box::new(hook));
        self
    }

    /// How long after its deadline a run is counted as late, and with the feature `tracing` told
    /// about. 100 ms, unless told otherwise.
    pub fn late_after(mut self, lateness: Duration) -> Self {
        self.late_after = lateness;
        self
    }

    /// How much the thread does before it looks at the clock and at what was scheduled meanwhile:
    /// so many jobs, or moves of jobs within the wheel, and at least 1. 1,024, unless told
    /// otherwise.
    pub fn budget(mut self, budget: usize) -> Self {
        self.budget = budget.max(1);
        self
    }

    /// The name of the timer thread, without a NUL in it. "timer-wheel", unless told otherwise.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into().replace('\0', "");
        self
    }

    /// Starts the timer thread.
    ///
    /// # Errors
    ///
    /// That of the system when it cannot start a thread.
    pub fn start(self) -> io::Result<Timer> {
        let hub = Arc::new(Hub::new(self.clock, self.panic_hook, self.late_after));
        let stripes: Vec<_> = (0..STRIPES)
            .map(|_| Arc::new(Stripe::new(Arc::clone(&hub))))
            .collect();
        let worker = Worker::new(
            Arc::clone(&hub),
            stripes.clone(),
            self.executor,
            self.budget,
        );
        let thread = thread::Builder::new()
            .name(self.name)
            .spawn(move || worker.run())?;
        Ok(Timer {
            owner: Arc::new(Owner::new(hub, stripes, thread)),
        })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("late_after", &self.late_after)
            .field("budget", &self.budget)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
