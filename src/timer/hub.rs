//! What the callers, the timer thread and the running jobs of one timer share.

use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64 as StdAtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::counters::Counters;
use super::shutdown::{InsideJob, Shutdown};
use super::trace;
use crate::clock::{Clock, NEVER, nanoseconds};
use crate::sync::{AtomicU64, Condvar, Mutex, Thread, lock, thread, thread_local, wait};

/// The latest time that a clock may show, so that [`NEVER`] is never reached.
const LATEST: u64 = NEVER - 1;

/// What is called when a job panics, with what it panicked with.
pub(super) type PanicHook = Box<dyn Fn(&(dyn Any + Send)) + Send + Sync>;

thread_local! {
    /// The hub whose job this thread is running, by its address; 0 for none.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro has no such form")]
    static RUNNING: Cell<usize> = Cell::new(0);
}

pub(super) struct Hub {
    clock: Box<dyn Clock>,
    /// The latest time that the timer thread has seen. The clock may have gone back since.
    floor: StdAtomicU64,
    thread: OnceLock<Thread>,
    /// How to shut down: 0 for not at all.
    ending: AtomicU64,
    next_wake: StdAtomicU64,
    settling: Mutex<Settling>,
    settled: Condvar,
    panic_hook: Option<PanicHook>,
    late_after_ns: u64,
    counters: Counters,
}

/// Who waits for the thread to have nothing left to do.
#[derive(Copy, Clone)]
struct Settling {
    asked: u64,
    answered: u64,
    has_ended: bool,
}

impl Hub {
    pub(super) fn new(
        clock: Box<dyn Clock>,
        panic_hook: Option<PanicHook>,
        late_after: Duration,
    ) -> Self {
        Self {
            clock,
            floor: StdAtomicU64::new(0),
            thread: OnceLock::new(),
            ending: AtomicU64::new(0),
            next_wake: StdAtomicU64::new(NEVER),
            settling: Mutex::new(Settling {
                asked: 0,
                answered: 0,
                has_ended: false,
            }),
            settled: Condvar::new(),
            panic_hook,
            late_after_ns: nanoseconds(late_after),
            counters: Counters::new(),
        }
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Time.
impl Hub {
    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

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

    pub(super) fn set_next_wake(&self, time: u64) {
        self.next_wake.store(time, Ordering::Relaxed);
    }

    pub(super) fn next_wake(&self) -> Option<Duration> {
        match self.next_wake.load(Ordering::Relaxed) {
            NEVER => None,
            time => Some(Duration::from_nanos(time.saturating_sub(self.now()))),
        }
    }
}

/// Waking the thread, waiting for it, and ending it.
impl Hub {
    /// Makes the calling thread the timer thread, before it looks at anything.
    pub(super) fn set_thread(&self, thread: Thread) {
        // There is only one.
        let _ = self.thread.set(thread);
    }

    pub(super) fn unpark(&self) {
        // If it has not started it will find what it would be woken for.
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// The number of calls that wait, or have waited, for the thread to settle.
    pub(super) fn asked_to_settle(&self) -> u64 {
        lock(&self.settling).asked
    }

    pub(super) fn settle(&self) {
        let ticket = {
            let mut settling = lock(&self.settling);
            settling.asked += 1;
            settling.asked
        };
        self.unpark();
        let mut settling = lock(&self.settling);
        while settling.answered < ticket && !settling.has_ended {
            settling = wait(&self.settled, settling);
        }
    }

    /// Answers the first `asked` of those calls.
    pub(super) fn answer_settled(&self, asked: u64) {
        let mut settling = lock(&self.settling);
        if settling.answered < asked {
            settling.answered = asked;
            self.settled.notify_all();
        }
    }

    /// The thread is through.
    pub(super) fn set_ended(&self) {
        lock(&self.settling).has_ended = true;
        self.settled.notify_all();
    }

    pub(super) fn wait_for_end(&self) {
        let mut settling = lock(&self.settling);
        while !settling.has_ended {
            settling = wait(&self.settled, settling);
        }
    }

    /// Says how the thread is to end. It looks when it finds a stripe closed, or between two jobs.
    pub(super) fn end(&self, how: Shutdown) {
        self.ending.store(how.to_bits(), Ordering::Release);
    }

    pub(super) fn ending(&self) -> Option<Shutdown> {
        Shutdown::from_bits(self.ending.load(Ordering::Acquire))
    }
}

/// Running what the user wrote.
impl Hub {
    /// Runs `f` as a job of this timer: it panics in vain, and cannot wait for the timer.
    pub(super) fn guard(self: &Arc<Self>, f: impl FnOnce()) {
        let _inside = Inside::enter(self);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.counters.panicked.bump();
            trace::panicked(&*payload);
            if let Some(hook) = &self.panic_hook {
                swallow_panic(|| hook(&*payload));
            }
            swallow_panic(|| drop(payload));
        }
    }

    /// Runs what calls the clock on the timer thread. A panic is the clock's then, as those of jobs
    /// are caught within.
    pub(super) fn guard_clock(self: &Arc<Self>, f: impl FnOnce()) {
        #[cfg(not(all(loom, test)))]
        self.guard(f);
        // Loom tells by a panic what it has found.
        #[cfg(all(loom, test))]
        f();
    }

    /// Counts a run that begins, and how late it is.
    pub(super) fn count_run(&self, deadline: u64) {
        let lateness_ns = self.last_now().saturating_sub(deadline);
        self.counters.record_lateness(lateness_ns);
        if lateness_ns > self.late_after_ns {
            self.counters.late.bump();
            trace::late(lateness_ns, self.late_after_ns);
        }
    }

    pub(super) fn refuse_inside_job(self: &Arc<Self>) -> Result<(), InsideJob> {
        if self.is_inside_job() {
            return Err(InsideJob);
        }
        Ok(())
    }

    /// Whether this is the timer thread, or a thread that runs a job of this timer.
    pub(super) fn is_inside_job(self: &Arc<Self>) -> bool {
        let me = thread::current().id();
        let is_timer_thread = self.thread.get().is_some_and(|thread| thread.id() == me);
        is_timer_thread || RUNNING.with(Cell::get) == address(self)
    }
}

/// What reports a panic may panic, and so may what was panicked with when it is dropped.
fn swallow_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // Dropping it could go on like this for ever.
        mem::forget(payload);
    }
}

fn address(hub: &Arc<Hub>) -> usize {
    Arc::as_ptr(hub).addr()
}

/// While it lives, its thread runs a job of a timer.
struct Inside {
    outer: usize,
}

impl Inside {
    fn enter(hub: &Arc<Hub>) -> Self {
        Self {
            outer: RUNNING.with(|running| running.replace(address(hub))),
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        RUNNING.with(|running| running.set(self.outer));
    }
}
