//! A job that panics harms nobody.

use std::any::Any;
use std::panic;
use std::sync::mpsc;

use timer_wheel::Job;

use crate::log::{Bench, MS, SECOND};

/// Panics without a message on the terminal.
fn panic_quietly(payload: impl Any + Send) -> ! {
    panic::resume_unwind(Box::new(payload))
}

#[test]
fn panic_is_counted_and_reported_and_the_others_run() {
    let (sender, reports) = mpsc::channel();
    let hook = move |payload: &(dyn Any + Send)| {
        sender.send(payload.downcast_ref::<u32>().copied()).unwrap();
    };
    let bench = Bench::with(|builder| builder.on_panic(hook));
    bench.timer.schedule_after(MS, bench.log.job(1)).unwrap();
    bench.timer.schedule_after(MS, || panic_quietly(42_u32)).unwrap();
    bench.timer.schedule_after(MS, bench.log.job(2)).unwrap();
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1, 2]);
    assert_eq!(reports.try_iter().collect::<Vec<_>>(), [Some(42)]);
    let statistics = bench.timer.stats();
    assert_eq!((statistics.panicked, statistics.fired, statistics.len), (1, 3, 0));
}

#[test]
fn panicking_periodic_job_keeps_its_period_and_its_state() {
    let bench = Bench::new();
    let log = bench.log.clone();
    let mut runs = 0;
    let job = move || {
        runs += 1;
        log.write(runs);
        panic_quietly(());
    };
    bench.timer.every(SECOND, job).unwrap();
    for _ in 0..3 {
        bench.advance(SECOND);
    }
    assert_eq!(bench.log.read(), [1, 2, 3]);
    assert_eq!(bench.timer.stats().panicked, 3);
}

#[test]
fn hook_that_panics_and_payload_that_panics_when_dropped_are_survived() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_quietly(());
        }
    }
    let bench = Bench::with(|builder| builder.on_panic(|_| panic_quietly(())));
    bench.timer.schedule_after(MS, || panic_quietly(Bomb)).unwrap();
    bench.timer.schedule_after(2 * MS, bench.log.job(1)).unwrap();
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [1]);
    let quiet = Bench::new();
    quiet.timer.schedule_after(MS, || panic_quietly(Bomb)).unwrap();
    quiet.timer.schedule_after(2 * MS, quiet.log.job(1)).unwrap();
    quiet.advance(SECOND);
    assert_eq!(quiet.log.read(), [1]);
}

#[test]
fn executor_that_panics_loses_its_job_and_no_other() {
    let executor = |job: Job| {
        let deadline = job.deadline();
        if deadline.is_some_and(|deadline| deadline.elapsed().is_zero()) {
            job.run();
        } else {
            panic_quietly(());
        }
    };
    let bench = Bench::with(|builder| builder.executor(executor));
    // Those that are an hour ahead of the real time are run.
    bench.timer.schedule_after(std::time::Duration::ZERO, bench.log.job(1)).unwrap();
    bench.timer.schedule_after(crate::log::HOUR, bench.log.job(2)).unwrap();
    bench.settle();
    bench.advance(crate::log::HOUR);
    assert_eq!(bench.log.read(), [2]);
    let statistics = bench.timer.stats();
    assert_eq!((statistics.panicked, statistics.abandoned, statistics.len), (1, 1, 0));
}
