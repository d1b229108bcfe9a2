//! The state that shards, timer thread and running jobs of one timer share.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use super::{Shutdown, TimerStats, trace};
use crate::align::align;
use crate::clock::{Clock, NEVER, nanoseconds};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, Thread, lock, thread, thread_local, wait};

/// The latest time that a clock may show, so that [`NEVER`] is never reached.
const LATEST: u64 = NEVER - 1;

/// The alarm of a thread that is awake, or about to be.
pub(super) const AWAKE: u64 = 0;

/// No call has this number.
pub(super) const ENDED: u64 = u64::MAX;

/// The hook that is called with the payload when a job panics.
pub(super) type PanicHook = Box<dyn Fn(&(dyn Any + Send)) + Send + Sync>;

thread_local! {
    /// The timers whose jobs this thread is running, by their addresses, the innermost last.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro has no such form")]
    static RUNNING: RefCell<Vec<usize>> = RefCell::new(Vec::new());
}

/// Callers only read it, except for `times` when they wake the thread.
pub(super) struct Shared {
    pub(super) clock: Box<dyn Clock>,
    /// Set by the timer thread itself, before anything else.
    pub(super) thread: OnceLock<Thread>,
    panic_hook: PanicHook,
    late_after_ns: u64,
    /// How long the thread may sleep beyond the wake-up time of its shards.
    slack_ns: u64,
    pub(super) times: Times,
    pub(super) runs: Runs,
    pub(super) calls: Mutex<Calls>,
    /// The thread has settled, or ended.
    pub(super) answered: Condvar,
}

/// Times that the thread sets and callers read, on cache lines that nothing else changes.
#[repr(align(128))]
pub(super) struct Times {
    /// The latest time that the timer thread has seen. The clock may have gone back since.
    floor: AtomicU64,
    /// The time until which the thread sleeps, or [`AWAKE`].
    ///
    /// Invariant: while it is not `AWAKE`, it is at most the slack later than the time of each shard, or a caller is
    /// about to lower it.
    /// The call that lowers it wakes the thread.
    alarm: AtomicU64,
    /// A missed run waits until this time at least: see [`Missed::CatchUp`](super::Missed).
    pub(super) missed_from: AtomicU64,
}

/// Counts of runs.
#[repr(align(128))]
pub(super) struct Runs {
    /// Jobs whose only run has ended.
    pub(super) ended: AtomicUsize,
    pub(super) stats: Mutex<TimerStats>,
}

/// Requests to the timer thread.
#[derive(Default)]
pub(super) struct Calls {
    /// The number of calls so far that wait, or have waited, for the thread to settle.
    pub(super) asked: u64,
    /// The number of these calls that need not wait any longer: [`ENDED`] once the thread has ended.
    pub(super) answered: u64,
    /// How to shut down. It is set after all shards have been closed.
    pub(super) ending: Option<Shutdown>,
}

impl Shared {
    pub(super) fn new(clock: Box<dyn Clock>, hook: PanicHook, late_after_ns: u64, slack_ns: u64) -> Self {
        Self {
            clock,
            thread: OnceLock::new(),
            panic_hook: hook,
            late_after_ns,
            slack_ns,
            times: Times { floor: AtomicU64::new(0), alarm: AtomicU64::new(AWAKE), missed_from: AtomicU64::new(0) },
            runs: Runs { ended: AtomicUsize::new(0), stats: Mutex::default() },
            calls: Mutex::default(),
            answered: Condvar::new(),
        }
    }
}

/// Time.
impl Shared {
    /// The time, but never before a time that the timer thread has acted upon.
    pub(super) fn now(&self) -> u64 {
        let floor = self.times.floor.load(Ordering::Relaxed);
        self.clock.now().min(LATEST).max(floor)
    }

    /// The time, or the latest that the timer thread has seen if the clock panics: for work that must be
    /// done anyway.
    pub(super) fn last_now(&self) -> u64 {
        let mut now = self.times.floor.load(Ordering::Relaxed);
        trace::swallow_panic(|| now = self.now());
        now
    }

    /// The time, for the timer thread to act upon.
    pub(super) fn tick(&self) -> u64 {
        let now = self.now();
        self.times.floor.store(now, Ordering::Relaxed);
        now
    }

    pub(super) fn time_after(&self, delay: Duration) -> u64 {
        self.now().saturating_add(nanoseconds(delay))
    }
}

/// The sleep of the timer thread.
///
/// A caller writes the time at which its shard is to be looked at, and then changes the alarm. The thread changes the
/// alarm, and then reads the shards' times. Of two changes of the alarm, the second sees what was written before the
/// first. So either the thread sees the new time, or the caller sees the alarm and wakes the thread.
impl Shared {
    /// Wakes the thread if it would sleep beyond the new time of a shard and the slack.
    pub(super) fn wake_before(&self, wake: u64) {
        let alarm = self.alarm_for(wake);
        if alarm < self.times.alarm.fetch_min(alarm, Ordering::AcqRel) {
            self.unpark();
        }
    }

    /// The time until which the thread may sleep if it must look at a shard at `wake`. An earlier `wake` has an earlier
    /// alarm, or the same.
    pub(super) fn alarm_for(&self, wake: u64) -> u64 {
        // A job that is overdue has used up its slack, or some of it.
        let is_overdue = wake <= self.times.floor.load(Ordering::Relaxed);
        let slack = if is_overdue { 0 } else { self.slack_ns };
        align(wake, wake.saturating_add(slack))
    }

    /// Announces that the thread is going to sleep. It must look at the shards after that.
    pub(super) fn set_alarm(&self, alarm: u64) {
        self.times.alarm.swap(alarm, Ordering::AcqRel);
    }

    pub(super) fn unpark(&self) {
        // A thread that has not started yet will find the work when it does.
        self.thread.get().map(Thread::unpark);
    }

    /// The time until the thread wakes up by itself; `None` if it is awake or waits for a call.
    pub(super) fn expiration_delay(&self) -> Option<Duration> {
        let alarm = self.times.alarm.load(Ordering::Relaxed);
        let time = Some(alarm).filter(|alarm| ![AWAKE, NEVER].contains(alarm))?;
        Some(Duration::from_nanos(time.saturating_sub(self.now())))
    }

    pub(super) fn settle(&self) {
        let mut calls = lock(&self.calls);
        calls.asked += 1;
        let call = calls.asked;
        drop(calls);
        self.unpark();
        self.wait_for(call);
    }

    /// Waits until the thread has answered a call, or [`ENDED`].
    pub(super) fn wait_for(&self, call: u64) {
        let mut calls = lock(&self.calls);
        while calls.answered < call {
            calls = wait(&self.answered, calls);
        }
    }
}

/// Running code of the user.
impl Shared {
    /// Runs `f` as a job of this timer: its panics are swallowed, and it cannot wait for the timer.
    pub(super) fn guard(&self, f: impl FnOnce()) {
        // A thread that is ending has no thread-locals any more.
        _ = RUNNING.try_with(|running| running.borrow_mut().push(ptr::from_ref(self).addr()));
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.count(|stats| stats.panicked += 1);
            trace::panicked(&*payload);
            trace::swallow_panic(|| (self.panic_hook)(&*payload));
            trace::swallow_panic(|| drop(payload));
        }
        _ = RUNNING.try_with(|running| running.borrow_mut().pop());
    }

    /// Whether this is the timer thread, or a thread that runs a job of this timer.
    pub(super) fn is_inside_job(&self) -> bool {
        let (me, own) = (thread::current().id(), ptr::from_ref(self).addr());
        let is_running = RUNNING.try_with(|running| running.borrow().contains(&own));
        is_running.unwrap_or(false) || self.thread.get().is_some_and(|it| it.id() == me)
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut TimerStats)) {
        count(&mut lock(&self.runs.stats));
    }

    /// Counts a run that begins.
    pub(super) fn count_run(&self, late_ns: u64) {
        let is_late = late_ns > self.late_after_ns;
        self.count(|stats| {
            stats.fired += 1;
            stats.late += u64::from(is_late);
            stats.lateness.record(late_ns);
        });
        if is_late {
            trace::late(late_ns, self.late_after_ns);
        }
    }
}
