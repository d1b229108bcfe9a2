//! A timer as programs start it: its clock, its thread, and where its types may go.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use timer_wheel::{Job, KeyedTimer, Timer, TimerHandle};

use crate::log::{Bench, HOUR, MS, SECOND};

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
