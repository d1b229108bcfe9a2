//! What is scheduled runs once, at its time, on the executor that the caller brought.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use timer_wheel::{Clock, Job, KeyedTimer, Timer, TimerHandle};

use crate::log::{Bench, HOUR, MS, SECOND};

const NANOSECOND: Duration = Duration::from_nanos(1);

/// The handle is dropped, which cancels nothing.
#[test]
fn job_runs_at_its_deadline_to_the_nanosecond_and_once() {
    let bench = Bench::new();
    for (runs, delay) in [NANOSECOND, MS, SECOND, HOUR, 1_000 * HOUR].into_iter().enumerate() {
        drop(bench.schedule(delay, 1));
        bench.advance(delay - NANOSECOND);
        assert_eq!(bench.log.len(), runs, "early, {delay:?}");
        bench.advance(NANOSECOND);
        assert_eq!(bench.log.len(), runs + 1, "late, {delay:?}");
        bench.advance(HOUR);
        assert_eq!(bench.log.len(), runs + 1, "twice, {delay:?}");
    }
    assert!(bench.timer.is_empty());
}

#[test]
fn job_without_delay_or_in_the_past_runs_at_once() {
    let bench = Bench::new();
    bench.advance(HOUR);
    bench.schedule(Duration::ZERO, 1);
    bench.settle();
    for (number, at) in [(2, bench.clock.origin()), (3, bench.clock.origin() + HOUR)] {
        bench.timer.schedule_at(at, bench.log.job(number)).unwrap();
        bench.settle();
    }
    assert_eq!(bench.log.read(), [1, 2, 3]);
}

#[test]
fn instants_and_delays_name_the_same_deadlines() {
    let bench = Bench::new();
    let at = bench.clock.origin() + 3 * SECOND;
    bench.timer.schedule_at(at, bench.log.job(1)).unwrap();
    bench.schedule(3 * SECOND, 2);
    assert!(bench.schedule(HOUR, 3).reschedule_at(at));
    bench.timer.schedule_at(at - NANOSECOND, bench.log.job(0)).unwrap();
    bench.advance(3 * SECOND);
    assert_eq!(bench.log.read(), [0, 1, 2, 3]);
}

/// The system clock parks the thread as clocks do that say nothing else.
#[test]
fn timer_on_the_system_clock_sleeps_until_it_is_time() {
    let timer = Timer::new().unwrap();
    let (sender, receiver) = mpsc::channel();
    for delay in [30, 10, 20] {
        let (sender, deadline) = (sender.clone(), Instant::now() + delay * MS);
        timer.schedule_at(deadline, move || sender.send(Instant::now() >= deadline).unwrap()).unwrap();
    }
    drop(sender);
    assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [true; 3]);
    // One for each job, one a level on its way, and what the system adds.
    let wake_ups = timer.stats().wake_ups;
    assert!(wake_ups < 90, "it woke up {wake_ups} times");
}

#[test]
fn jobs_run_on_the_timer_thread_unless_an_executor_is_brought() {
    let (sender, receiver) = mpsc::channel();
    let timer = Timer::builder().name("clockwork").start().unwrap();
    let job = move || sender.send(thread::current().name().map(str::to_owned)).unwrap();
    timer.schedule_after(Duration::ZERO, job).unwrap();
    assert_eq!(receiver.recv().unwrap().as_deref(), Some("clockwork"));
}

#[test]
fn function_is_an_executor_and_gets_the_jobs_in_order() {
    let (bench, jobs) = Bench::with_pool();
    for number in [3, 1, 2] {
        bench.schedule(number * SECOND, number.into());
    }
    bench.advance(HOUR);
    assert_eq!((bench.log.len(), bench.timer.len()), (0, 3), "handed over");
    for (number, job) in (1..).zip(jobs.try_iter()) {
        assert_eq!(job.deadline(), Some(bench.clock.origin() + number * SECOND));
        job.run();
    }
    assert_eq!(bench.log.read(), [1, 2, 3]);
    assert!(bench.timer.is_empty());
}

#[test]
fn public_types_go_where_they_are_needed() {
    fn anywhere<T: Clone + Send + Sync + 'static>() {}
    anywhere::<Timer>();
    anywhere::<TimerHandle>();
    anywhere::<KeyedTimer<String>>();
    fn movable<T: Send + 'static>() {}
    movable::<Job>();
}

/// The caller's: the wheel is the business of the timer's own thread, and a page of timers is not made on a stack.
#[test]
fn hundred_thousand_jobs_are_scheduled_and_run_from_a_small_thread() {
    const JOBS: u64 = 100_000;
    let kilobytes = if cfg!(debug_assertions) { 64 } else { 48 };
    let thread = thread::Builder::new().stack_size(kilobytes << 10).spawn(|| {
        let bench = Bench::new();
        for n in 0..JOBS {
            let handle = bench.schedule(SECOND + MS * (n % 5_000) as u32, n);
            assert!(n % 3 != 0 || handle.reschedule_after(HOUR));
            assert!(n % 7 != 0 || handle.cancel());
        }
        bench.advance(SECOND * 60);
        bench.advance(HOUR);
        assert!(bench.timer.is_empty());
        assert_eq!(bench.log.len() as u64, JOBS - JOBS.div_ceil(7));
    });
    thread.expect("a thread can be started").join().expect("all of them run");
}
