//! What callers, the timer thread and running jobs of one timer share.

use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::queue::Queue;
use super::refused::{Reason, Refused};
use super::shutdown::{InsideJob, Shutdown};
use super::statistics::Statistics;
use super::trace;
use super::work::Work;
use crate::clock::{Clock, NEVER, nanoseconds};
use crate::key::TimerKey;
use crate::sync::{Condvar, Mutex, MutexGuard, Thread, lock, thread, thread_local, wait};

/// The latest time that a clock may show, so that [`NEVER`] is never reached.
const LATEST: u64 = NEVER - 1;

/// What is called when a job panics, with what it panicked with.
pub(super) type PanicHook = Box<dyn Fn(&(dyn Any + Send)) + Send + Sync>;

thread_local! {
    /// The timer whose job this thread is running, by its address; 0 for none.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro has no such form")]
    static RUNNING: Cell<usize> = Cell::new(0);
}

/// One lock, around the queue. Nothing of the user's runs or is dropped under it: no clock, no job, no
/// hook.
pub(super) struct Shared {
    queue: Mutex<Queue>,
    /// The thread has settled, or ended.
    answered: Condvar,
    clock: Box<dyn Clock>,
    /// The latest time that the timer thread has seen. The clock may have gone back since.
    floor: AtomicU64,
    thread: OnceLock<Thread>,
    panic_hook: Option<PanicHook>,
    late_after_ns: u64,
}

impl Shared {
    pub(super) fn new(
        clock: Box<dyn Clock>,
        panic_hook: Option<PanicHook>,
        late_after: Duration,
    ) -> Self {
        let now = clock.now().min(LATEST);
        Self {
            queue: Mutex::new(Queue::new(now)),
            answered: Condvar::new(),
            clock,
            floor: AtomicU64::new(now),
            thread: OnceLock::new(),
            panic_hook,
            late_after_ns: nanoseconds(late_after),
        }
    }

    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// Changes the queue, and wakes the thread if it must look at it sooner than it was going to.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = self.queue();
        let answer = change(&mut queue);
        let must_wake = queue.must_wake();
        drop(queue);
        if must_wake {
            self.unpark();
        }
        answer
    }

    fn unpark(&self) {
        // If it has not started it will find what it would be woken for.
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(super) fn schedule<W: Work>(&self, deadline: u64, work: W) -> Result<TimerKey, Refused<W>> {
        let work = Box::new(work);
        self.change(|queue| queue.schedule(deadline, work))
            .map_err(|work| Refused::new(Reason::ShutDown, *work))
    }

    pub(super) fn statistics(&self) -> Statistics {
        let now = self.last_now();
        let queue = self.queue();
        let mut statistics = queue.statistics().clone();
        statistics.len = queue.len();
        statistics.next_wake = queue.next_wake().map(|time| until(time, now));
        statistics
    }

    pub(super) fn next_wake(&self) -> Option<Duration> {
        let time = self.queue().next_wake()?;
        Some(until(time, self.now()))
    }
}

fn until(time: u64, now: u64) -> Duration {
    Duration::from_nanos(time.saturating_sub(now))
}

/// Time.
impl Shared {
    /// The time, which never runs backwards from what the timer thread has acted upon.
    pub(super) fn now(&self) -> u64 {
        let floor = self.floor.load(Ordering::Relaxed);
        self.clock.now().min(LATEST).max(floor)
    }

    /// The time, or the latest that the timer thread has seen if the clock panics: for what must be
    /// done all the same.
    pub(super) fn last_now(&self) -> u64 {
        catch_unwind(AssertUnwindSafe(|| self.now())).unwrap_or_else(|payload| {
            swallow_panic(|| drop(payload));
            self.floor.load(Ordering::Relaxed)
        })
    }

    /// The time, for the timer thread to act upon.
    pub(super) fn tick(&self) -> u64 {
        let now = self.now();
        self.floor.store(now, Ordering::Relaxed);
        now
    }

    pub(super) fn time_after(&self, delay: Duration) -> u64 {
        self.now().saturating_add(nanoseconds(delay))
    }

    pub(super) fn deadline_at(&self, instant: Instant) -> u64 {
        self.clock.deadline_at(instant)
    }

    pub(super) fn instant_at(&self, time: u64) -> Option<Instant> {
        self.clock.instant_at(time)
    }

    /// Blocks the timer thread until the clock shows `time`, or it is woken.
    pub(super) fn park_until(&self, time: u64) {
        match time {
            // No clock has to say when that is.
            NEVER => thread::park(),
            _ => self.clock.park_until(time),
        }
    }
}

/// The thread: who it is, waiting for it, and its end.
impl Shared {
    /// Makes the calling thread the timer thread, before it looks at anything.
    pub(super) fn set_thread(&self, thread: Thread) {
        // There is only one.
        let _ = self.thread.set(thread);
    }

    pub(super) fn settle(&self) {
        let call = self.queue().ask_to_settle();
        self.unpark();
        self.wait_until(|queue| queue.has_settled(call));
    }

    pub(super) fn wait_for_end(&self) {
        self.wait_until(Queue::has_ended);
    }

    fn wait_until(&self, is_so: impl Fn(&Queue) -> bool) {
        let mut queue = self.queue();
        while !is_so(&queue) {
            queue = wait(&self.answered, queue);
        }
    }

    /// Nothing is due by `now`: answers the first `asked` of those that wait for that, and says until
    /// when the thread is to sleep, unless something has turned up.
    pub(super) fn fall_asleep(&self, now: u64, asked: u64) -> Option<u64> {
        let mut queue = self.queue();
        let is_news = !queue.has_settled(asked);
        let alarm = queue.fall_asleep(now, asked);
        drop(queue);
        if is_news {
            self.answered.notify_all();
        }
        alarm
    }

    /// The thread is through.
    pub(super) fn set_ended(&self) {
        self.queue().set_ended();
        self.answered.notify_all();
    }

    pub(super) fn end(&self, how: Shutdown) {
        self.queue().end(how);
        self.unpark();
    }
}

/// Running what the user wrote.
impl Shared {
    /// Runs `f` as a job of this timer: it panics in vain, and cannot wait for the timer.
    pub(super) fn guard(&self, f: impl FnOnce()) {
        let _inside = Inside::enter(self);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.queue().statistics_mut().panicked += 1;
            trace::panicked(&*payload);
            if let Some(hook) = &self.panic_hook {
                swallow_panic(|| hook(&*payload));
            }
            swallow_panic(|| drop(payload));
        }
    }

    /// Runs what calls the clock on the timer thread. A panic is the clock's then, as those of jobs
    /// are caught within.
    pub(super) fn guard_clock(&self, f: impl FnOnce()) {
        #[cfg(not(all(loom, test)))]
        self.guard(f);
        // Loom tells by a panic what it has found.
        #[cfg(all(loom, test))]
        f();
    }

    /// Takes the work of a job that was handed out to run it, unless it was cancelled.
    pub(super) fn start(&self, key: TimerKey, deadline: u64) -> Option<Box<dyn Work>> {
        let lateness_ns = self.last_now().saturating_sub(deadline);
        let is_late = lateness_ns > self.late_after_ns;
        let mut queue = self.queue();
        let work = queue.start(key)?;
        queue.statistics_mut().count_run(lateness_ns, is_late);
        drop(queue);
        if is_late {
            trace::late(lateness_ns, self.late_after_ns);
        }
        Some(work)
    }

    /// Gives up the run of a job that was handed out, unless it was cancelled.
    pub(super) fn give_up(&self, key: TimerKey) {
        let mut queue = self.queue();
        let Some(work) = queue.start(key) else {
            return;
        };
        queue.statistics_mut().abandoned += 1;
        drop(queue);
        self.conclude(key, work);
    }

    /// Lets a job that was started wait for its next run, or ends it.
    pub(super) fn conclude(&self, key: TimerKey, work: Box<dyn Work>) {
        let now = work.period().map_or(0, |_| self.last_now());
        let left = self.change(|queue| queue.conclude(key, work, now));
        self.guard(|| drop(left));
    }

    pub(super) fn refuse_inside_job(&self) -> Result<(), InsideJob> {
        if self.is_inside_job() {
            return Err(InsideJob);
        }
        Ok(())
    }

    /// Whether this is the timer thread, or a thread that runs a job of this timer.
    pub(super) fn is_inside_job(&self) -> bool {
        let me = thread::current().id();
        let is_timer_thread = self.thread.get().is_some_and(|thread| thread.id() == me);
        is_timer_thread || RUNNING.with(Cell::get) == self.address()
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// What reports a panic may panic, and so may what was panicked with when it is dropped.
fn swallow_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // Dropping it could go on like this for ever.
        mem::forget(payload);
    }
}

/// While it lives, its thread runs a job of a timer.
struct Inside {
    outer: usize,
}

impl Inside {
    fn enter(shared: &Shared) -> Self {
        Self {
            outer: RUNNING.with(|running| running.replace(shared.address())),
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        RUNNING.with(|running| running.set(self.outer));
    }
}
