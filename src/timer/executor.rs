//! Where jobs run.

use super::job::Job;

/// Where the jobs of a [`Timer`](super::Timer) run.
///
/// Any `Fn(Job)` is one: it may run the job, send it to a pool, or spawn it. Without one, and with [`Job::run`],
/// jobs run on the timer thread, one after the other.
///
/// It is called on the timer thread, so nothing else fires while it blocks; a pool with a
/// bounded queue should refuse a job rather than wait. A panic of it is caught like one of a job. A job it drops is not
/// run, and counted as abandoned.
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
