//! A job that is due, and where it runs.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::shard::Shard;
use crate::TimerKey;

/// A job that has left the timer: an [`Executor`](super::Executor) got it because it was due, or
/// [`Timer::shutdown`](super::Timer::shutdown) returned it because it had not started.
///
/// Until it runs it can still be cancelled by its handle. Dropping it gives the run up, which is
/// counted as [`abandoned`](super::TimerStats::abandoned).
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use timer_wheel::{Job, Timer};
///
/// let (queue, jobs) = mpsc::channel::<Job>();
/// let timer = Timer::builder().executor(move |job| queue.send(job).unwrap()).start()?;
/// let handle = timer.schedule_after(Duration::ZERO, || unreachable!())?;
/// let job = jobs.recv()?;
/// assert!(handle.cancel(), "it was handed out, and has not started");
/// job.run(); // does nothing
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a job that is dropped is not run"]
pub struct Job {
    shard: Arc<Shard>,
    key: TimerKey,
    pub(super) deadline: u64,
    /// Whether the job was neither run nor abandoned.
    is_open: bool,
}

impl Job {
    /// A job that was just handed out.
    pub(super) fn new(shard: Arc<Shard>, key: TimerKey, deadline: u64) -> Self {
        Self { shard, key, deadline, is_open: true }
    }

    /// Runs the job on this thread, unless it was cancelled. A panic is caught, counted and
    /// reported to the timer's hook. A periodic job then waits for its next run, unless its timer has been shut down.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use timer_wheel::{Shutdown, Timer};
    ///
    /// let timer = Timer::new()?;
    /// let (sender, done) = mpsc::channel();
    /// timer.schedule_after(Duration::from_secs(60), move || sender.send("done").unwrap())?;
    /// for job in timer.shutdown(Shutdown::Discard)? {
    ///     job.run(); // now rather than in a minute
    /// }
    /// assert_eq!(done.recv()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(mut self) {
        self.is_open = false;
        let shared = &self.shard.shared;
        let now = shared.last_now();
        let work = self.shard.queue().start(self.key);
        if let Some(work) = work {
            shared.count_run(now.saturating_sub(self.deadline));
            self.shard.run(self.key, work);
        }
    }

    /// When the job was due; `None` if never, or too far ahead for an [`Instant`]. O(1).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::{Shutdown, Timer};
    ///
    /// let timer = Timer::new()?;
    /// let instant = Instant::now() + Duration::from_secs(60);
    /// timer.schedule_at(instant, || ())?;
    /// timer.schedule_after(Duration::MAX, || ())?;
    /// let deadlines: Vec<_> = timer.shutdown(Shutdown::Drain)?.iter().map(|job| job.deadline()).collect();
    /// assert_eq!(deadlines, [Some(instant), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deadline(&self) -> Option<Instant> {
        self.shard.shared.clock.instant_at(self.deadline)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let work = self.shard.queue().start(self.key);
        if let Some(work) = work {
            self.shard.shared.count(|stats| stats.abandoned += 1);
            self.shard.conclude(self.key, work);
        }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}

/// Where the jobs of a [`Timer`](super::Timer) run.
///
/// Any `Fn(Job)` is one: it may run the job, send it to a pool, or spawn it. Without an executor, or with [`Job::run`]
/// as the executor, jobs run on the timer thread, one after the other.
///
/// The executor is called on the timer thread, so no other job fires while it blocks: a pool with a bounded queue
/// should refuse a job rather than wait. A panic of the executor is caught like that of a job. A job that it drops is
/// not run, and is counted as abandoned.
///
/// ```
/// use std::sync::mpsc;
/// use std::thread;
/// use std::time::Duration;
/// use timer_wheel::{Job, Timer};
///
/// // A pool of one thread.
/// let (queue, jobs) = mpsc::channel::<Job>();
/// let pool = thread::spawn(move || jobs.into_iter().for_each(Job::run));
///
/// let timer = Timer::builder().executor(move |job| queue.send(job).unwrap()).start()?;
/// let (sender, result) = mpsc::channel();
/// timer.schedule_after(Duration::ZERO, move || sender.send(thread::current().id()).unwrap())?;
/// assert_eq!(result.recv()?, pool.thread().id());
///
/// drop(timer); // and the executor with it, so that the pool ends
/// pool.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Executor: Send + 'static {
    /// Runs the job, or passes it on to be run.
    ///
    /// ```
    /// use std::sync::mpsc::{SyncSender, sync_channel};
    /// use timer_wheel::{Executor, Job, Timer};
    ///
    /// /// A queue that refuses a job rather than hold up the timer thread.
    /// struct Bounded(SyncSender<Job>);
    ///
    /// impl Executor for Bounded {
    ///     fn execute(&self, job: Job) {
    ///         if let Err(refused) = self.0.try_send(job) {
    ///             drop(refused); // counted as abandoned
    ///         }
    ///     }
    /// }
    ///
    /// let (queue, jobs) = sync_channel(100);
    /// let timer = Timer::builder().executor(Bounded(queue)).start()?;
    /// timer.schedule_after(std::time::Duration::ZERO, || println!("run by us"))?;
    /// jobs.recv()?.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn execute(&self, job: Job);
}

impl<F: Fn(Job) + Send + 'static> Executor for F {
    fn execute(&self, job: Job) {
        self(job);
    }
}
