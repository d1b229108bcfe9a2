//! Runs jobs later: timeouts, retries, heartbeats, from any thread.
//!
//! ```
//! use std::sync::mpsc;
//! use std::time::Duration;
//! use timer_wheel::Timer;
//!
//! let timer = Timer::new()?;
//! let (sender, answer) = mpsc::channel();
//! let timeout = timer.schedule_after(Duration::from_millis(5), move || _ = sender.send("late"))?;
//! assert_eq!(answer.recv()?, "late");
//! assert!(!timeout.cancel(), "it has run");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | run something once | [`Timer::schedule_after`], [`Timer::schedule_at`] |
//! | run it periodically | [`Timer::every`]; [`Missed`] says what happens to missed runs |
//! | cancel or postpone it | the [`TimerHandle`] that these return |
//! | wait in a task, on any executor | [`Timer::sleep`], [`Timer::timeout`], [`Timer::interval`] |
//! | bound a task that is spawned | [`Timer::timeout_owned`] |
//! | move a deadline with each message | [`Sleep::reset`], [`TimerHandle::reschedule_at`] |
//! | have a key for each job, and one job per key | [`KeyedTimer`] |
//! | run jobs elsewhere than on the timer's thread | [`Builder::executor`]: any `Fn(Job)` |
//! | know how late jobs are | [`Timer::stats`] |
//! | let jobs be late, for fewer wake-ups | [`Builder::slack`] |
//! | stop, and get back the jobs that have not run | [`Timer::shutdown`] |
//! | test without sleeping | [`ManualClock`](crate::ManualClock), [`Timer::settle`] |
//!
//! Each [`Timer`] has one thread, a [`Clock`](crate::Clock), and several shards. A shard is a [`Wheel`](crate::Wheel)
//! behind a lock of its own. Callers and the timer thread hold a lock for one short call to the wheel, and under
//! it no job or closure is run or dropped, and no clock is read.

// The protocol between callers and the timer thread.
//
// *Shards*, each with one lock around a `Queue`: the wheel with the jobs, and the counts. A thread
// schedules in its own shard, and a handle names the shard of its job. A
// job is in the wheel exactly as long as it can be cancelled. So a cancel returns true exactly if it took the job out
// of the wheel, and the call that takes a job out owns its closure. The key of a job's timer is its handle. Unless
// there is a limit, a schedule or a cancel writes only to its own shard: its lock, counts and references.
//
// *A limit* is one count of free places for all shards. An occupant has a place for as long as it is in a wheel. The
// call that inserts it takes a place atomically, and the call that removes it frees the place, both under the lock of
// its shard. A job that replaces the job of its key takes over that job's place, which is never free in between.
//
// *Waiting, handed out, running.* The thread takes due jobs in pieces: a lock is held for at most
// `PIECE` units of the wheel's work, or until one job has been handed out. A job that has been handed to
// an executor stays in the wheel, at the end of time, until the executor starts it. Then a job that runs once leaves. A
// periodic one stays without its work, which comes back when the run has ended. A job that runs on the timer thread is
// started where it is handed out.
//
// *Letting callers in.* Between two pieces the thread unlocks a shard for nanoseconds, and its lock is not fair. So a
// caller that finds the lock taken counts itself. Before its next piece, the thread waits until the callers counted by
// then have had the lock: `Shard::queue_after_others`. It does not wait for later callers, so they cannot starve it.
//
// *Tasks that sleep* have an occupant in the wheel as jobs have, with the waker in it, and leave when they are fired.
// Once such an occupant has been reset, its deadline is in an atomic that the task shares with the thread: see
// `SharedDeadline`.
//
// *Sleeping.* Each shard has a time at which the thread is to look at it, `Shard::wake`. The thread sleeps
// until the first of these, its *alarm*, `Times::alarm`. A call that changes a queue lowers the shard's time if
// the wheel needs the thread sooner, and then the alarm; a call that lowers the alarm unparks the thread. The
// thread sets the alarm and then looks at all the times once more before it parks. All changes of the alarm
// are read-modify-writes, so of two the second sees what was written before the first: no wake-up is lost.
// With a slack, the alarm is the roundest time between the first of the shards' times and the end of the slack after
// it. `align` keeps the order of times, so that is the first of the alarms that each shard by itself would need. A
// thread that is awake goes by the shards' times, not by the alarm: it runs all due jobs.
// An unpark that comes before the park makes the park return at once. Between the alarm and the park no other code may
// park, because that would use up the unpark. Calls to settle and to shut down always unpark.
//
// *Order.* The thread reads the clock first and takes jobs off the wheels afterwards. So every job that was
// scheduled before the clock showed a time is in its wheel when that time is due. It looks at the first job of each
// shard that has due jobs, runs the earliest, and looks at the next job of that shard. Missed runs of periodic
// jobs that catch up take their place in order within the first turn of a backlog. In later turns, each waits behind
// the jobs that were due when its turn began: `Times::missed_from`.
//
// *Shutting down* closes all shards before the thread learns of it, so a drain runs all jobs that were due.
//
// *Locks nest in one order*: a map of a keyed timer; the calls; a queue, one at a time.

// rustdoc shows the methods of `Timer` in the order of these modules, and those of this file last.
mod builder;
mod handle;
mod sleep;
mod timeout;

mod interval;

mod job;
mod keyed;
mod owner;
mod queue;
mod refused;
mod shard;
mod shared;
mod stats;
mod trace;
mod wait;
mod worker;

#[cfg(all(loom, test))]
mod model;

pub use self::builder::Builder;
pub use self::handle::TimerHandle;
pub use self::interval::Interval;
pub use self::job::{Executor, Job};
pub use self::keyed::KeyedTimer;
pub use self::queue::Missed;
pub use self::refused::{Reason, Refused, Shutdown};
pub use self::sleep::Sleep;
pub use self::stats::TimerStats;
pub use self::timeout::{OwnedTimeout, Timeout, TimeoutError};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::owner::{Owner, Shards};
use self::shared::Shared;

/// Runs jobs when they are due, on a thread of its own or on an [`Executor`] of yours.
///
/// A `Timer` is a handle to one timer thread: clone it, send it, share it. When the last clone is
/// dropped the thread ends, and jobs that have not started are discarded; see
/// [`shutdown`](Timer::shutdown) for a gentler way. A job that holds a clone keeps the timer
/// alive for as long as it waits.
///
/// Dropping the last clone waits until the thread has ended, except within a job. On Windows, do not drop it in the
/// destructor of a thread-local variable; shut the timer down before. There, no thread can end while another runs such
/// destructors ([std](std::thread::LocalKey#platform-specific-behavior)), so the drop would wait for ever.
///
/// # Promises
///
/// - No job starts before its deadline on the timer's clock.
/// - Jobs start in order of their deadlines. Jobs with equal deadlines start in the order in which they
///   were scheduled if one thread has scheduled them without keys, or if there is only one [shard](Builder::shards). A
///   pool gets jobs in that order, but may run them in any order.
/// - Every job runs once, is cancelled by a call that returned `true`, or is returned by
///   [`shutdown`](Timer::shutdown), unless the last drop or an executor discards it.
/// - No call waits for a job, except [`settle`](Timer::settle), [`shutdown`](Timer::shutdown) and the last drop. A call
///   waits at most for other callers and for one piece of the thread's work. A piece is 256 units of the wheel's work:
///   some microseconds, and up to 0.5 ms where memory is cold.
/// - A periodic job that catches up missed runs holds up no other job for long: see [`Missed::CatchUp`].
/// - An idle timer never wakes.
/// - A job that panics harms no other: it is counted and reported.
///
/// Punctuality is not promised. Without an executor, jobs run on the timer thread, and a job that blocks holds up those
/// after it. The lateness in [`stats`](Timer::stats) shows this.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use timer_wheel::Timer;
///
/// let timer = Timer::new()?;
/// let (done, rang) = mpsc::channel();
/// timer.schedule_after(Duration::from_millis(5), move || done.send("five ms").unwrap())?;
/// let never = timer.schedule_after(Duration::from_secs(60), || unreachable!())?;
/// assert!(never.cancel());
/// assert_eq!(rang.recv()?, "five ms");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Timer {
    owner: Arc<Owner>,
}

impl Timer {
    /// The number of live jobs (waiting, taken by an executor, or running) and sleeping tasks. O(shards).
    ///
    /// It reads the shards one after the other. While other threads schedule and cancel, the sum is not a consistent
    /// snapshot, and may exceed the [limit](Builder::limit).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// timer.schedule_after(Duration::from_secs(1), || ())?;
    /// timer.schedule_after(Duration::from_secs(2), || ())?;
    /// clock.advance(Duration::from_secs(1));
    /// timer.settle()?;
    /// assert_eq!(timer.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.shards().live()
    }

    /// Whether no job is live. O(shards).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    ///
    /// let timer = Timer::new()?;
    /// let handle = timer.schedule_after(Duration::from_secs(9), || ())?;
    /// assert!(!timer.is_empty());
    /// handle.cancel();
    /// assert!(timer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time until the thread wakes up next by itself, or `None` while it waits for a call or is awake. It may wake
    /// up without a job to run: to move jobs within its wheel, or at the time of a job that was cancelled. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// timer.settle()?;
    /// assert_eq!(timer.expiration_delay(), None, "nothing to wait for");
    /// let _job = timer.schedule_after(Duration::from_secs(60), || ())?;
    /// timer.settle()?;
    /// assert!(timer.expiration_delay() <= Some(Duration::from_secs(60)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expiration_delay(&self) -> Option<Duration> {
        self.shared().expiration_delay()
    }

    /// Counts of the timer's work, and how late its jobs were. It copies a histogram of about 40 KB, and runs that
    /// begin meanwhile wait for the copy.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// timer.schedule_after(Duration::from_secs(1), || ())?;
    /// clock.advance(Duration::from_secs(1));
    /// timer.settle()?;
    /// let stats = timer.stats();
    /// assert_eq!((stats.scheduled, stats.fired, stats.late), (1, 1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> TimerStats {
        self.shards().stats()
    }

    /// Blocks until the thread has run, or handed to its executor, all jobs that are due by now. Returns at
    /// once after a shutdown.
    ///
    /// For tests with a [`ManualClock`](crate::ManualClock). With a clock that moves by itself, some job may always be
    /// due, and the call may never return.
    ///
    /// # Errors
    ///
    /// [`Reason::InsideJob`] within a job of this timer, which would wait for itself.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{ManualClock, Timer};
    ///
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// let handle = timer.schedule_after(Duration::from_secs(60), || println!("a minute later"))?;
    /// clock.advance(Duration::from_secs(60));
    /// timer.settle()?;
    /// assert!(!handle.is_live(), "it has run");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle(&self) -> Result<(), Reason> {
        self.refuse_inside_job()?;
        self.shared().settle();
        Ok(())
    }

    /// Ends the timer, waits until its thread has ended, and returns the jobs that have not
    /// started, in order of their deadlines. O(n log n) in those.
    ///
    /// With [`Shutdown::Drain`] jobs that are due by now still run; with [`Shutdown::Discard`] no further job does.
    /// Each job that is returned can be run, dropped, or cancelled by its handle. Tasks that wait in a
    /// [`Sleep`], a [`Timeout`] or an [`Interval`] are not among the jobs: they are woken, and get
    /// [`Reason::ShutDown`] unless they were due. Jobs that an executor has taken belong to it. A periodic job whose
    /// run is under way ends with it. A second call, or one from another thread meanwhile, waits for the first and
    /// returns no jobs.
    ///
    /// The call blocks, even while a job runs on the thread. From a task, make it on another thread:
    /// [a recipe](crate::guide::drivers#shutting-down-from-a-task).
    ///
    /// # Errors
    ///
    /// [`Reason::InsideJob`] when it is called from within a job of this timer, which cannot wait for its
    /// own end; the timer goes on. Dropping the last `Timer` within a job is fine: the thread
    /// ends after that job.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::Timer;
    /// use timer_wheel::timer::{Reason, Shutdown};
    ///
    /// let timer = Timer::new()?;
    /// timer.schedule_after(Duration::from_secs(60), || println!("later"))?;
    /// let unrun = timer.shutdown(Shutdown::Drain)?;
    /// assert_eq!(unrun.len(), 1);
    /// for job in unrun {
    ///     job.run(); // or drop it
    /// }
    /// let refused = timer.schedule_after(Duration::ZERO, || ()).unwrap_err();
    /// assert_eq!(refused.reason, Reason::ShutDown);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> Result<Vec<Job>, Reason> {
        self.refuse_inside_job()?;
        Ok(self.owner.shut_down(how))
    }

    fn refuse_inside_job(&self) -> Result<(), Reason> {
        match self.shared().is_inside_job() {
            true => Err(Reason::InsideJob),
            false => Ok(()),
        }
    }

    fn shards(&self) -> &Shards {
        &self.owner.shards
    }

    fn shared(&self) -> &Shared {
        &self.owner.shards.shared
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("len", &self.len())
            .field("expiration_delay", &self.expiration_delay())
            .finish_non_exhaustive()
    }
}
