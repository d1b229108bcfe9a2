//! The end of a timer: nothing is lost, nobody hangs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use timer_wheel::timer::{InsideJob, Missed, Reason};
use timer_wheel::{Clock, Job, ManualClock, Shutdown, Timer};

use crate::log::{Bench, HOUR, Log, MS, SECOND};

/// Writes down that it was dropped.
struct Witness(Log, u64);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.write(self.1);
    }
}

/// A job that holds the thread up until something is sent, and does the rest then. It has begun. That nobody
/// is left to send is as good.
fn hold_up(bench: &Bench, rest: impl FnOnce() + Send + 'static) -> mpsc::Sender<()> {
    let (at_work, has_begun) = mpsc::channel();
    let (let_go, may_go_on) = mpsc::channel();
    let job = move || {
        at_work.send(()).unwrap();
        let _ = may_go_on.recv();
        rest();
    };
    bench.timer.schedule_after(Duration::ZERO, job).unwrap();
    has_begun.recv().unwrap();
    let_go
}

#[test]
fn drain_runs_what_is_due_and_returns_the_rest_in_order() {
    let bench = Bench::with(|builder| builder.budget(2));
    for number in [5, 3, 9, 1, 7] {
        let job = bench.log.job(number);
        bench.timer.schedule_after(number as u32 * SECOND, job).unwrap();
    }
    let cancelled = bench.timer.schedule_after(8 * SECOND, bench.log.job(8)).unwrap();
    cancelled.cancel();
    // The thread need not have noticed that the time has come.
    bench.clock.advance(5 * SECOND);
    let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(bench.log.read(), [1, 3, 5]);
    assert_eq!((unrun.len(), bench.timer.len()), (2, 2));
    unrun.into_iter().for_each(Job::run);
    assert_eq!(bench.log.read(), [1, 3, 5, 7, 9]);
    assert_eq!(bench.timer.len(), 0);
}

/// A missed run that waits stands where it was missed, ahead of a job that has come in since.
#[test]
fn missed_run_that_waits_is_returned_in_its_place() {
    let bench = Bench::with(|builder| builder.budget(1));
    let (give, holds) = mpsc::channel::<mpsc::Receiver<()>>();
    let (at_work, has_begun) = mpsc::channel();
    let mut runs = 0;
    let series = move || {
        runs += 1;
        if runs == 5 {
            at_work.send(()).unwrap();
            let _ = holds.recv().unwrap().recv();
        }
    };
    let timer = &bench.timer;
    timer.every_with(SECOND, Missed::CatchUp, series).unwrap();
    timer.every_with(SECOND, Missed::CatchUp, || ()).unwrap();
    bench.clock.advance(100 * SECOND);
    has_begun.recv().unwrap();
    let came_in_since = bench.clock.origin() + 95 * SECOND;
    timer.schedule_at(came_in_since, || ()).unwrap();
    let (let_go, may_go_on) = mpsc::channel();
    give.send(may_go_on).unwrap();
    let ending = thread::spawn({
        let timer = timer.clone();
        move || timer.shutdown(Shutdown::Discard).unwrap()
    });
    while timer.schedule_after(200 * SECOND, || ()).is_ok_and(|handle| handle.cancel()) {
        thread::yield_now();
    }
    let_go.send(()).unwrap();
    let unrun = ending.join().unwrap();
    let deadlines: Vec<_> = unrun.iter().map(Job::deadline).collect();
    assert!(deadlines.len() == 2 && deadlines.is_sorted());
    assert_eq!(deadlines[1], Some(came_in_since));
}

#[test]
fn discard_starts_nothing_more_and_returns_all() {
    let bench = Bench::new();
    let let_go = hold_up(&bench, || ());
    for number in 0..10 {
        bench.timer.schedule_after(2 * MS, bench.log.job(number)).unwrap();
    }
    bench.clock.advance(SECOND);
    let timer = bench.timer.clone();
    let shutdown = thread::spawn(move || timer.shutdown(Shutdown::Discard).unwrap());
    // Once callers are refused the thread has been told.
    while bench.timer.schedule_after(HOUR, || ()).is_ok() {
        thread::yield_now();
    }
    let_go.send(()).unwrap();
    let mut unrun = shutdown.join().unwrap();
    unrun.retain(|job| job.deadline().unwrap() < bench.clock.origin() + HOUR);
    assert_eq!((unrun.len(), bench.log.len()), (10, 0));
}

/// While a job holds up the end, those that wait are still where they were.
#[test]
fn job_is_not_put_off_once_a_shutdown_has_begun() {
    let bench = Bench::new();
    let let_go = hold_up(&bench, || ());
    let handle = bench.timer.schedule_after(SECOND, || ()).unwrap();
    let timer = bench.timer.clone();
    let shutdown = thread::spawn(move || timer.shutdown(Shutdown::Discard).unwrap());
    // Once callers are refused it has begun.
    while bench.timer.schedule_after(HOUR, || ()).is_ok_and(|handle| handle.cancel()) {
        thread::yield_now();
    }
    assert!(!handle.reschedule_after(HOUR), "nobody will run it then");
    let_go.send(()).unwrap();
    let unrun = shutdown.join().unwrap();
    let deadlines: Vec<_> = unrun.iter().map(Job::deadline).collect();
    assert_eq!(deadlines, [Some(bench.clock.origin() + SECOND)]);
    assert_eq!(bench.timer.stats().rescheduled, 0);
}

#[test]
fn job_returned_by_a_shutdown_can_be_cancelled() {
    let bench = Bench::new();
    let handle = bench.timer.schedule_after(SECOND, bench.log.job(1)).unwrap();
    let unrun = bench.timer.shutdown(Shutdown::Discard).unwrap();
    assert!(!handle.reschedule_after(MS), "nobody is left to run it");
    assert!(handle.cancel());
    unrun.into_iter().for_each(Job::run);
    assert_eq!((bench.log.len(), bench.timer.len()), (0, 0));
}

#[test]
fn job_returned_by_a_shutdown_and_dropped_is_accounted_for() {
    let bench = Bench::new();
    let witness = Witness(bench.log.clone(), 1);
    bench.timer.schedule_after(SECOND, move || drop(witness)).unwrap();
    drop(bench.timer.shutdown(Shutdown::Drain).unwrap());
    let statistics = bench.timer.stats();
    assert_eq!((statistics.abandoned, statistics.fired, statistics.len), (1, 0, 0));
    assert_eq!(bench.log.read(), [1], "its closure was dropped");
}

#[test]
fn second_shutdown_returns_nothing() {
    let bench = Bench::new();
    bench.timer.schedule_after(SECOND, || ()).unwrap();
    assert_eq!(bench.timer.shutdown(Shutdown::Drain).unwrap().len(), 1);
    assert!(bench.timer.shutdown(Shutdown::Drain).unwrap().is_empty());
    assert!(bench.timer.shutdown(Shutdown::Discard).unwrap().is_empty());
}

/// Whoever comes second waits for the end as well: when a shutdown has returned, nothing runs.
#[test]
fn second_shutdown_waits_for_the_end_that_the_first_has_asked_for() {
    for _ in 0..3 {
        let bench = Bench::new();
        let has_run = Arc::new(AtomicBool::new(false));
        let has_run_here = Arc::clone(&has_run);
        let let_go = hold_up(&bench, move || has_run_here.store(true, Ordering::SeqCst));
        let timer = bench.timer.clone();
        let first = thread::spawn(move || timer.shutdown(Shutdown::Discard).unwrap().len());
        // Once callers are refused the first has begun.
        while bench.timer.schedule_after(HOUR, || ()).is_ok() {
            thread::yield_now();
        }
        let timer = bench.timer.clone();
        let (calling, is_called) = mpsc::channel();
        let second = thread::spawn(move || {
            calling.send(()).unwrap();
            assert!(timer.shutdown(Shutdown::Drain).unwrap().is_empty());
            has_run.load(Ordering::SeqCst)
        });
        is_called.recv().unwrap();
        // One that does not wait is given the time to show it.
        (0..20).for_each(|_| thread::yield_now());
        let_go.send(()).unwrap();
        assert!(second.join().unwrap(), "it has returned while a job ran");
        first.join().unwrap();
    }
}

#[test]
fn dropping_the_last_timer_discards_and_joins() {
    let bench = Bench::new();
    let (log, clock) = (bench.log.clone(), bench.clock.clone());
    for number in 0..3 {
        let witness = Witness(log.clone(), number);
        bench.timer.schedule_after(SECOND, move || drop(witness)).unwrap();
    }
    let ran = log.clone();
    let handle = bench.timer.schedule_after(SECOND, move || ran.write(9)).unwrap();
    let clone = bench.timer.clone();
    drop(bench);
    assert_eq!(log.len(), 0, "a clone is left");
    drop(clone);
    assert_eq!(log.read(), [0, 1, 2], "dropped, and none of them run");
    clock.advance(HOUR);
    assert_eq!(log.len(), 3);
    assert!(!handle.cancel() && !handle.reschedule_after(MS));
}

#[test]
fn dropping_the_last_timer_inside_a_job_does_not_hang() {
    let (clock, log) = (ManualClock::new(), Log::default());
    let panics = log.clone();
    let builder = Timer::builder().on_panic(move |_| panics.write(99));
    let timer = builder.clock(clock.clone()).start().unwrap();
    let (sender, ended) = mpsc::channel::<()>();
    let witness = Witness(log.clone(), 1);
    timer.schedule_after(HOUR, move || drop((witness, sender))).unwrap();
    let (give, take) = mpsc::channel::<Timer>();
    timer.schedule_after(MS, move || drop(take.recv().unwrap())).unwrap();
    clock.advance(MS);
    give.send(timer).unwrap();
    // The thread ends after the job, and drops the other job.
    assert!(ended.recv().is_err());
    assert_eq!(log.read(), [1]);
}

#[test]
fn dropping_the_last_timer_inside_a_job_of_a_pool_does_not_hang() {
    let (queue, jobs) = mpsc::sync_channel::<Job>(0);
    let (hand, handed) = mpsc::channel();
    let executor = move |job| {
        hand.send(()).unwrap();
        queue.send(job).unwrap();
    };
    let (clock, log) = (ManualClock::new(), Log::default());
    let builder = Timer::builder().clock(clock.clone());
    let timer = builder.executor(executor).start().unwrap();
    let (give, take) = mpsc::channel::<Timer>();
    timer.schedule_after(MS, move || drop(take.recv().unwrap())).unwrap();
    timer.schedule_after(MS, log.job(2)).unwrap();
    let pool = thread::spawn(move || jobs.into_iter().for_each(Job::run));
    clock.advance(MS);
    // The timer thread waits for the pool with the second job, while the pool drops the timer.
    handed.recv().unwrap();
    handed.recv().unwrap();
    give.send(timer).unwrap();
    pool.join().unwrap();
    assert_eq!(log.read(), [2]);
}

#[test]
fn job_cannot_wait_for_its_own_timer() {
    let bench = Bench::new();
    let (timer, (sender, answers)) = (bench.timer.clone(), mpsc::channel());
    let job = move || {
        sender.send(timer.settle()).unwrap();
        sender.send(timer.shutdown(Shutdown::Drain).map(|_| ())).unwrap();
    };
    bench.timer.schedule_after(MS, job).unwrap();
    bench.advance(MS);
    assert_eq!(answers.iter().collect::<Vec<_>>(), [Err(InsideJob), Err(InsideJob)]);
    assert_eq!(InsideJob.to_string(), "a job cannot wait for the timer that runs it");
    bench.timer.schedule_after(MS, bench.log.job(1)).unwrap();
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1], "the timer goes on");
}

/// A thread of a pool that runs a job of one timer within a job of another runs jobs of both.
#[test]
fn job_cannot_wait_for_its_own_timer_from_within_a_job_of_another() {
    let (queue, jobs) = mpsc::channel::<Job>();
    let bench = Bench::with(|builder| builder.executor(move |job| queue.send(job).unwrap()));
    let (timer, (sender, answers)) = (bench.timer.clone(), mpsc::channel());
    let inner = move || {
        sender.send(timer.settle()).unwrap();
        sender.send(timer.shutdown(Shutdown::Drain).map(|_| ())).unwrap();
    };
    let other = Bench::new();
    other.timer.schedule_after(SECOND, inner).unwrap();
    let mut unrun = other.timer.shutdown(Shutdown::Discard).unwrap();
    let outer = move || unrun.remove(0).run();
    bench.timer.schedule_after(MS, outer).unwrap();
    bench.advance(MS);
    jobs.try_recv().unwrap().run();
    assert_eq!(answers.try_iter().collect::<Vec<_>>(), [Err(InsideJob), Err(InsideJob)]);
}

#[test]
fn job_may_wait_for_another_timer() {
    let (bench, other) = (Bench::new(), Bench::new());
    other.timer.schedule_after(MS, other.log.job(1)).unwrap();
    other.clock.advance(MS);
    let (timer, (sender, answers)) = (other.timer.clone(), mpsc::channel());
    let job = move || {
        let settled = timer.settle();
        let ended = timer.shutdown(Shutdown::Drain).map(|unrun| unrun.len());
        sender.send((settled, ended)).unwrap();
    };
    bench.timer.schedule_after(MS, job).unwrap();
    bench.advance(MS);
    assert_eq!(answers.recv(), Ok((Ok(()), Ok(0))));
    assert_eq!(other.log.read(), [1]);
}

#[test]
fn callers_after_a_shutdown_get_their_job_back() {
    let bench = Bench::new();
    bench.timer.shutdown(Shutdown::Discard).unwrap();
    let is_back = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_back);
    let refused = bench.timer.schedule_after(MS, move || flag.store(true, Ordering::Relaxed)).unwrap_err();
    assert_eq!(refused.reason(), Reason::ShutDown);
    assert_eq!(refused.to_string(), "the timer is shut down");
    refused.into_job()();
    assert!(is_back.load(Ordering::Relaxed));
    let refused = bench.timer.every(MS, || ()).unwrap_err();
    assert_eq!(refused.reason(), Reason::ShutDown);
    bench.timer.settle().unwrap();
    assert_eq!(bench.timer.stats().scheduled, 0);
    assert_eq!(bench.timer.next_wake(), None);
}

/// More than one piece of work of each kind.
#[test]
fn shutdown_returns_each_job_that_waits_once_in_order_and_none_that_was_handed_out() {
    let (queue, taken) = mpsc::channel::<Job>();
    let bench = Bench::with(|builder| builder.executor(move |job| queue.send(job).unwrap()));
    let mut delay = 1;
    for number in 0..700 {
        bench.timer.schedule_after(MS, bench.log.job(number)).unwrap();
    }
    bench.timer.every(MS, || ()).unwrap();
    bench.advance(MS);
    for number in 0..700 {
        delay = delay * 48_271 % 2_147_483_647;
        let (soon, never) = (Duration::from_micros(delay), Duration::MAX);
        bench.timer.schedule_after(SECOND + soon, bench.log.job(1_000 + delay)).unwrap();
        let late = bench.log.job(1 << 40 | number);
        let handle = bench.timer.schedule_after(never, late).unwrap();
        if number % 7 == 0 {
            assert!(handle.cancel());
        }
    }
    let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    unrun.into_iter().for_each(Job::run);
    let ran = bench.log.read();
    assert_eq!(ran.len(), 700 + 600);
    assert!(ran.is_sorted_by(|a, b| a < b), "each once and in order");
    let taken: Vec<Job> = taken.try_iter().collect();
    assert_eq!((taken.len(), bench.timer.len()), (701, 701));
    taken.into_iter().for_each(Job::run);
    assert_eq!((bench.log.len(), bench.timer.len()), (2_000, 0));
}
