//! What the tests share: a timer on a clock moved by hand, and a log that jobs write to.

use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use timer_wheel::timer::Builder;
use timer_wheel::{Clock, Job, ManualClock, Shutdown, TimeSource, Timer, TimerHandle};

pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// What jobs have written, in the order in which they ran.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u64>>>);

impl Log {
    pub(crate) fn write(&self, number: u64) {
        self.0.lock().unwrap().push(number);
    }

    /// A job that writes a number.
    pub(crate) fn job(&self, number: u64) -> impl FnMut() + Send + 'static {
        let log = self.clone();
        move || log.write(number)
    }

    /// All that was written so far.
    pub(crate) fn read(&self) -> Vec<u64> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A timer and the clock that moves it.
pub(crate) struct Bench {
    pub(crate) timer: Timer,
    pub(crate) clock: ManualClock,
    pub(crate) log: Log,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(configure: impl FnOnce(Builder) -> Builder) -> Self {
        let clock = ManualClock::new();
        let builder = Timer::builder().clock(clock.clone());
        let timer = configure(builder).start().expect("a thread can be started");
        Self { timer, clock, log: Log::default() }
    }

    /// On an executor that hands all jobs out.
    pub(crate) fn with_pool() -> (Self, mpsc::Receiver<Job>) {
        let (queue, jobs) = mpsc::channel();
        (Self::with(|builder| builder.executor(move |job| queue.send(job).unwrap())), jobs)
    }

    /// Schedules a job that writes a number.
    pub(crate) fn schedule(&self, delay: Duration, number: u64) -> TimerHandle {
        self.timer.schedule_after(delay, self.log.job(number)).unwrap()
    }

    /// Holds the thread up with a job that has begun, until something is sent or nobody is left to send. The job does
    /// the rest then.
    pub(crate) fn hold_up(&self, rest: impl FnOnce() + Send + 'static) -> mpsc::Sender<()> {
        let (at_work, has_begun) = mpsc::channel();
        let (let_go, may_go_on) = mpsc::channel();
        let job = move || {
            at_work.send(()).unwrap();
            _ = may_go_on.recv();
            rest();
        };
        self.timer.schedule_after(Duration::ZERO, job).unwrap();
        has_begun.recv().unwrap();
        let_go
    }

    /// A shutdown that has begun: callers are refused. It has not ended if the thread is held up.
    pub(crate) fn begin_shutdown(&self, how: Shutdown) -> JoinHandle<Vec<Job>> {
        let timer = self.timer.clone();
        let ending = thread::spawn(move || timer.shutdown(how).unwrap());
        while self.timer.schedule_after(1_000 * HOUR, || ()).is_ok_and(|handle| handle.cancel()) {
            thread::yield_now();
        }
        ending
    }

    /// Moves the clock, and returns once all that is due has run.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.settle();
    }

    pub(crate) fn settle(&self) {
        self.timer.settle().expect("this is no job");
    }

    /// When the thread wakes up next, once it sleeps: it may be up for a settling that it has answered before.
    pub(crate) fn expiration_delay(&self) -> Duration {
        loop {
            if let Some(delay) = self.timer.expiration_delay() {
                return delay;
            }
            thread::yield_now();
        }
    }

    /// How far the clock has moved.
    pub(crate) fn clock_shows(&self) -> Duration {
        Duration::from_nanos(self.clock.now())
    }
}

/// What a clock is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Origin,
    Now,
    Park,
}

/// A clock moved by hand that calls a function whenever it is asked.
pub(crate) struct Hooked<F>(pub(crate) ManualClock, pub(crate) F);

impl<F: Fn(Asked) + Send + Sync + 'static> TimeSource for Hooked<F> {
    type Instant = Instant;

    fn now(&self) -> u64 {
        (self.1)(Asked::Now);
        self.0.now()
    }

    fn deadline_at(&self, instant: Instant) -> u64 {
        (self.1)(Asked::Origin);
        self.0.deadline_at(instant)
    }
}

impl<F: Fn(Asked) + Send + Sync + 'static> Clock for Hooked<F> {
    fn origin(&self) -> Instant {
        (self.1)(Asked::Origin);
        self.0.origin()
    }

    fn park_until(&self, time: u64) {
        (self.1)(Asked::Park);
        self.0.park_until(time);
    }
}
