//! The timers of an async runtime: a deadline and a `Waker` each, moved with every request, hardly ever fired.
//!
//! A task locks the wheel itself, moves its timer, and compares `wake_at` before and after. It notifies the thread that
//! waits for the next timer only if that time has become earlier. No operation goes through a queue.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel`

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use timer_wheel::{Budget, Clock, SystemClock, TimerKey, Wheel};

/// What one turn of the reactor may do under the lock, so that tasks do not wait long for it.
const TURN: Budget = Budget::of_work(1_000).with_fires(64);

#[derive(Default)]
struct Reactor {
    clock: SystemClock,
    timers: Mutex<Wheel<Waker>>,
    /// Stands for the poller: a runtime waits in epoll or kqueue, and notifies it through an eventfd or a pipe.
    poller: Condvar,
    notifications: AtomicUsize,
    is_done: AtomicBool,
}

impl Reactor {
    fn lock(&self) -> MutexGuard<'_, Wheel<Waker>> {
        self.timers.lock().expect("no code that panics runs under the lock")
    }

    /// Schedules or moves a task's timer.
    fn arm(&self, timer: &mut Option<TimerKey>, deadline: u64, waker: &Waker) {
        let mut timers = self.lock();
        let before = wake_at(&timers);
        let key = timers.reschedule_or_insert(timer, deadline, || waker.clone());
        if let Some(known) = timers.get_mut(key) {
            known.clone_from(waker); // does nothing for the same task
        }
        let is_sooner = wake_at(&timers) < before;
        drop(timers);
        if is_sooner {
            self.notify();
        }
    }

    /// A cancel makes no wake-up earlier, so no notification is needed.
    fn disarm(&self, timer: &mut Option<TimerKey>) {
        if let Some(key) = timer.take() {
            self.lock().cancel(key);
        }
    }

    fn notify(&self) {
        self.notifications.fetch_add(1, Ordering::Relaxed);
        self.poller.notify_one();
    }

    /// Wakes tasks whose timers are due, until the program ends.
    fn run(&self) {
        let mut timers = self.lock();
        while !self.is_done.load(Ordering::Acquire) {
            let mut budget = TURN;
            let due = timers.advance_with_budget(self.clock.now(), &mut budget);
            let due: Vec<Waker> = due.map(|timer| timer.value).collect();
            if due.is_empty() {
                // Zero while there is a backlog.
                let wait = self.clock.until(wake_at(&timers));
                timers = self.poller.wait_timeout(timers, wait).expect("as in `lock`").0;
            } else {
                // A waker is foreign code, and may lock the timers.
                drop(timers);
                due.into_iter().for_each(Waker::wake);
                timers = self.lock();
            }
        }
    }

    fn stop(&self) {
        let _timers = self.lock(); // the reactor is waiting, or has yet to look at `is_done`
        self.is_done.store(true, Ordering::Release);
        self.poller.notify_one();
    }
}

/// The end of time for an empty wheel.
fn wake_at(timers: &Wheel<Waker>) -> u64 {
    timers.wake_at().unwrap_or(u64::MAX)
}

/// Wakes a task, which has a thread of its own here.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Sends requests with a timeout each. All are answered at once but the last, which times out.
fn connection(reactor: &Reactor) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut timer = None;
    for _ in 1..REQUESTS {
        reactor.arm(&mut timer, reactor.clock.after(Duration::from_secs(60)), &waker);
    }
    let deadline = reactor.clock.after(Duration::from_millis(5));
    reactor.arm(&mut timer, deadline, &waker);
    while reactor.clock.now() < deadline {
        thread::park();
    }
    reactor.disarm(&mut timer); // its key is stale, unless something else has unparked the thread
}

const CONNECTIONS: usize = 4;
const REQUESTS: usize = 10_000;

fn main() {
    let reactor = Reactor::default();
    thread::scope(|scope| {
        let poller = scope.spawn(|| reactor.run());
        let connections: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(|| connection(&reactor))).collect();
        connections.into_iter().for_each(|connection| connection.join().expect("no connection panics"));
        reactor.stop();
        poller.join().expect("the reactor does not panic");
    });

    assert!(reactor.lock().is_empty(), "a timer that fired or was cancelled is gone");
    // The first timer of a connection may be the earliest, and so is the short one. All others are moved to later.
    let notifications = reactor.notifications.into_inner();
    assert!((1..=2 * CONNECTIONS).contains(&notifications));
    println!("{} timers scheduled or moved, {notifications} notifications", CONNECTIONS * REQUESTS);
}
