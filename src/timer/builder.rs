//! The configuration of a timer before it is started.

use std::any::Any;
use std::fmt;
use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use super::owner::{Owner, Shards};
use super::shared::{PanicHook, Shared};
use super::worker::{self, AnyExecutor};
use super::{Executor, Timer};
use crate::clock::{Clock, SystemClock, nanoseconds};
use crate::sync::{Mutex, thread};

/// The work of one turn of the timer thread, by default.
const BUDGET: usize = 1024;

/// Shards for each core, by default. With as many shards as cores, two threads that run at the
/// same time often share one.
const SHARDS_PER_CORE: usize = 4;

/// The most shards, by default.
const SHARDS: usize = 16;

/// The most shards that can be asked for.
const MOST_SHARDS: usize = 1024;

/// The lateness from which a run is reported as late, beyond the slack, by default.
const LATE_AFTER: Duration = Duration::from_millis(100);

/// Configures a [`Timer`] and starts it. Every method is O(1), and [`start`](Builder::start) starts a thread.
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
    executor: AnyExecutor,
    panic_hook: PanicHook,
    late_after: Option<Duration>,
    slack: Duration,
    budget: usize,
    shards: Option<usize>,
    limit: Option<usize>,
    name: String,
}

impl Timer {
    /// Starts a timer: a thread that runs jobs by the system's clock.
    ///
    /// # Errors
    ///
    /// The system's error if it cannot start a thread.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// timer.schedule_after(Duration::from_secs(1), || println!("a second later"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> io::Result<Self> {
        Self::builder().start()
    }

    /// Configures a timer: its clock, its executor, and more. O(1).
    ///
    /// ```
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let timer = Timer::builder().clock(ManualClock::new()).start()?;
    /// assert!(timer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder() -> Builder {
        Builder {
            clock: Box::new(SystemClock::new()),
            executor: None,
            panic_hook: Box::new(|_| ()),
            late_after: None,
            slack: Duration::ZERO,
            budget: BUDGET,
            shards: None,
            limit: None,
            name: "timer-wheel".to_owned(),
        }
    }
}

impl Builder {
    /// The clock; by default the system's.
    ///
    /// ```
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Where jobs run; by default on the timer thread.
    ///
    /// ```
    /// use std::thread;
    /// use timer_wheel::{Job, Timer};
    ///
    /// // One thread per job: for jobs that block, when there are few.
    /// let on_a_thread = |job: Job| _ = thread::spawn(move || job.run());
    /// let timer = Timer::builder().executor(on_a_thread).start()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn executor(mut self, executor: impl Executor) -> Self {
        self.executor = Some(Box::new(executor));
        self
    }

    /// A function to call when a job or the executor panics, on the same thread, or when a panic of the clock ends the
    /// timer. Its argument is the payload of the panic. A panic of the function itself is swallowed.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let (told, panics) = mpsc::channel();
    /// let hook = move |panic: &(dyn std::any::Any + Send)| {
    ///     _ = told.send(panic.downcast_ref::<&str>().map(|text| text.to_string()));
    /// };
    /// let timer = Timer::builder().on_panic(hook).start()?;
    /// timer.schedule_after(Duration::ZERO, || std::panic::resume_unwind(Box::new("job failed")))?;
    /// assert_eq!(panics.recv()?.as_deref(), Some("job failed"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_panic(mut self, hook: impl Fn(&(dyn Any + Send)) + Send + Sync + 'static) -> Self {
        self.panic_hook = Box::new(hook);
        self
    }

    /// How long after its deadline a run is counted as late, and reported with the feature
    /// `tracing`. By default 100 ms more than the [slack](Builder::slack).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let builder = Timer::builder().clock(clock.clone());
    /// let timer = builder.late_after(Duration::from_millis(20)).start()?;
    /// timer.schedule_after(Duration::from_millis(5), || ())?;
    /// clock.advance(Duration::from_millis(30));
    /// timer.settle()?;
    /// assert_eq!(timer.stats().late, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn late_after(mut self, lateness: Duration) -> Self {
        self.late_after = Some(lateness);
        self
    }

    /// How much later than its deadline a job or a sleep may run, so that the thread wakes up less often; by
    /// default zero.
    ///
    /// The thread sleeps until the roundest time between the next deadline and that deadline plus the slack, as
    /// [`align`] finds it. Then it runs all jobs that are due, in order of their deadlines. So jobs with deadlines
    /// close to each other run at one wake-up. If deadlines are closer than the slack, the thread wakes up once or
    /// twice in each slack.
    ///
    /// No job runs before its deadline. The thread wakes up for a job at the latest at its deadline plus the slack; the
    /// system's sleep and earlier jobs may add to that. Whenever the thread is awake it runs all jobs that are due,
    /// also for [`settle`](Timer::settle) and a [`Drain`](super::Shutdown::Drain).
    ///
    /// Deadlines stay as they are. A periodic job keeps its rate, and the lateness in
    /// [`stats`](Timer::stats) counts from the deadline. With a slack longer than a period, a job may
    /// [miss](super::Missed) runs.
    ///
    /// [`align`]: crate::align
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::builder().slack(Duration::from_millis(20)).start()?;
    /// let (sender, rang) = mpsc::channel();
    /// let deadline = Instant::now() + Duration::from_millis(5);
    /// timer.schedule_at(deadline, move || sender.send(Instant::now()).unwrap())?;
    /// assert!(rang.recv()? >= deadline, "up to 20 ms later");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slack(mut self, slack: Duration) -> Self {
        self.slack = slack;
        self
    }

    /// How much the thread does before it looks at the clock again: a number of jobs, or of moves of jobs
    /// within the wheel. At least 1; the default is 1,024.
    ///
    /// It is also the number of missed runs of periodic jobs that are [caught up](super::Missed::CatchUp) before other
    /// jobs come first. Below 256, it also bounds the work that callers may have to wait for.
    ///
    /// ```
    /// use timer_wheel::Timer;
    ///
    /// // Jobs take long here: look at the clock after every one of them.
    /// let timer = Timer::builder().budget(1).start()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn budget(mut self, budget: usize) -> Self {
        self.budget = budget.max(1);
        self
    }

    /// The number of shards, each with a lock of its own: a power of two up to 1,024. Other numbers are rounded up, and
    /// numbers above 1,024 become 1,024. By default four for each core, at most 16.
    ///
    /// A thread keeps to one shard, and a key to the shard of its hash. Threads with different shards do not wait for
    /// each other. The order is exact among the jobs of one shard, and so for all jobs if there is only one. Jobs of
    /// different shards start in order of their deadlines, as the timer thread sees them when it looks; equal ones
    /// start in any order.
    ///
    /// ```
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::builder().shards(1).start()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards.clamp(1, MOST_SHARDS));
        self
    }

    /// The most jobs that may wait. A call that would add one more fails with [`Reason::Full`], and hands
    /// the job back. By default there is no limit.
    ///
    /// A job counts as long as it can be cancelled: while it waits, and until an executor starts it. A
    /// periodic job counts until it is cancelled. A task that sleeps counts as a job. With a limit, all threads write
    /// one count, even those with different [shards](Builder::shards).
    ///
    /// [`Reason::Full`]: super::Reason::Full
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    /// use timer_wheel::timer::Reason;
    ///
    /// let timer = Timer::builder().limit(1).start()?;
    /// let handle = timer.schedule_after(Duration::from_secs(60), || ())?;
    /// let refused = timer.schedule_after(Duration::from_secs(60), || ()).unwrap_err();
    /// assert_eq!(refused.reason, Reason::Full);
    /// handle.cancel();
    /// timer.schedule_after(Duration::from_secs(60), refused.job)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn limit(mut self, jobs: usize) -> Self {
        self.limit = Some(jobs);
        self
    }

    /// The name of the timer thread, without a NUL in it; by default "timer-wheel".
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::thread;
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::builder().name("retries").start()?;
    /// let (tell, name) = mpsc::channel();
    /// timer.schedule_after(Duration::ZERO, move || {
    ///     tell.send(thread::current().name().map(String::from)).unwrap();
    /// })?;
    /// assert_eq!(name.recv()?.as_deref(), Some("retries"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into().replace('\0', "");
        self
    }

    /// Starts the timer thread.
    ///
    /// # Errors
    ///
    /// The system's error if it cannot start a thread.
    ///
    /// ```
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::builder().start()?;
    /// assert_eq!(timer.len(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start(self) -> io::Result<Timer> {
        let late_after = self.late_after.unwrap_or(self.slack.saturating_add(LATE_AFTER));
        let shared = Shared::new(self.clock, self.panic_hook, nanoseconds(late_after), nanoseconds(self.slack));
        let cores = || available_parallelism().map_or(1, NonZero::get);
        let count = self.shards.unwrap_or_else(|| (SHARDS_PER_CORE * cores()).min(SHARDS));
        let shards = Shards::new(shared, count.next_power_of_two(), self.limit);
        let own = shards.clone();
        let thread =
            thread::Builder::new().name(self.name).spawn(move || worker::run(own, self.executor, self.budget))?;
        let thread = Mutex::new(Some(thread));
        Ok(Timer { owner: Arc::new(Owner { shards, thread }) })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("late_after", &self.late_after)
            .field("slack", &self.slack)
            .field("budget", &self.budget)
            .field("limit", &self.limit)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
