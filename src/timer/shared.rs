//! What callers, the timer thread and running jobs of one timer share.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::panics::swallow_panic;
use super::queue::Queue;
use super::work::AnyWork;
use super::{Shutdown, Statistics, trace};
use crate::clock::{Clock, NEVER, nanoseconds};
use crate::key::TimerKey;
use crate::sync::{Condvar, Mutex, MutexGuard, Thread, lock, thread, thread_local, wait};

/// The latest time that a clock may show, so that [`NEVER`] is never reached.
const LATEST: u64 = NEVER - 1;

/// What is called when a job panics, with what it panicked with.
pub(super) type PanicHook = Box<dyn Fn(&(dyn Any + Send)) + Send + Sync>;

thread_local! {
    /// The timers whose jobs this thread is running, by their addresses, one within the other.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro has no such form")]
    static RUNNING: RefCell<Vec<usize>> = RefCell::new(Vec::new());
}

/// One lock, around the queue. Nothing of the user's runs or is dropped under it: no clock, no job, no
/// hook.
pub(super) struct Shared {
    queue: Mutex<Queue>,
    /// The thread has settled, or ended.
    pub(super) answered: Condvar,
    pub(super) clock: Box<dyn Clock>,
    /// The latest time that the timer thread has seen. The clock may have gone back since.
    floor: AtomicU64,
    /// Jobs whose only run has ended.
    ended: AtomicUsize,
    /// Set by the timer thread itself, before it looks at anything.
    pub(super) thread: OnceLock<Thread>,
    panic_hook: PanicHook,
    late_after_ns: u64,
}

impl Shared {
    pub(super) fn new(clock: Box<dyn Clock>, hook: PanicHook, late_after_ns: u64) -> Self {
        Self {
            queue: Mutex::new(Queue::new()),
            answered: Condvar::new(),
            clock,
            floor: AtomicU64::new(0),
            ended: AtomicUsize::new(0),
            thread: OnceLock::new(),
            panic_hook: hook,
            late_after_ns,
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
        self.thread.get().map(Thread::unpark);
    }

    pub(super) fn statistics(&self) -> Statistics {
        let next_wake = self.next_wake();
        let queue = self.queue();
        let mut statistics = queue.statistics.clone();
        (statistics.len, statistics.next_wake) = (self.live(&queue), next_wake);
        statistics
    }

    pub(super) fn live(&self, queue: &Queue) -> usize {
        queue.wheel.len() + queue.begun.wrapping_sub(self.ended.load(Ordering::Relaxed))
    }

    pub(super) fn next_wake(&self) -> Option<Duration> {
        let time = self.queue().next_wake()?;
        Some(Duration::from_nanos(time.saturating_sub(self.now())))
    }
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
        let mut now = self.floor.load(Ordering::Relaxed);
        swallow_panic(|| now = self.now());
        now
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
}

/// The thread: who it is, waiting for it, and its end.
impl Shared {
    pub(super) fn settle(&self) {
        let mut queue = self.queue();
        queue.asked += 1;
        let call = queue.asked;
        drop(queue);
        self.unpark();
        self.wait_for(call);
    }

    /// Waits until the thread has answered a call, or [`ENDED`](super::queue::ENDED).
    pub(super) fn wait_for(&self, call: u64) {
        let mut queue = self.queue();
        while queue.answered < call {
            queue = wait(&self.answered, queue);
        }
    }

    /// Refuses whatever comes from now on. Who says so first says how.
    pub(super) fn end(&self, how: Shutdown) {
        self.queue().ending.get_or_insert(how);
        self.unpark();
    }
}

/// Running what the user wrote.
impl Shared {
    /// Runs `f` as a job of this timer: it panics in vain, and cannot wait for the timer.
    pub(super) fn guard(&self, f: impl FnOnce()) {
        // A thread that is ending has none any more.
        _ = RUNNING.try_with(|running| running.borrow_mut().push(ptr::from_ref(self).addr()));
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.queue().statistics.panicked += 1;
            trace::panicked(&*payload);
            swallow_panic(|| (self.panic_hook)(&*payload));
            swallow_panic(|| drop(payload));
        }
        _ = RUNNING.try_with(|running| running.borrow_mut().pop());
    }

    /// Counts a run that begins, and releases the lock.
    pub(super) fn count_run(&self, mut queue: MutexGuard<'_, Queue>, late_ns: u64) {
        let is_late = late_ns > self.late_after_ns;
        let statistics = &mut queue.statistics;
        statistics.fired += 1;
        statistics.late += u64::from(is_late);
        statistics.lateness.nanoseconds.saturating_record(late_ns);
        drop(queue);
        if is_late {
            trace::late(late_ns, self.late_after_ns);
        }
    }

    pub(super) fn run(&self, key: TimerKey, mut work: AnyWork) {
        self.guard(|| work.run());
        self.conclude(key, work);
    }

    /// Lets a job that was started wait for its next run, or ends it.
    pub(super) fn conclude(&self, key: TimerKey, work: AnyWork) {
        let left = if work.period().is_some() {
            let now = self.last_now();
            self.change(|queue| queue.conclude(key, work, now))
        } else {
            self.ended.fetch_add(1, Ordering::Relaxed);
            Some(work)
        };
        self.guard(|| drop(left));
    }

    /// Whether this is the timer thread, or a thread that runs a job of this timer.
    pub(super) fn is_inside_job(&self) -> bool {
        let (me, own) = (thread::current().id(), ptr::from_ref(self).addr());
        let is_running = RUNNING.try_with(|running| running.borrow().contains(&own));
        is_running.unwrap_or(false) || self.thread.get().is_some_and(|it| it.id() == me)
    }
}
