//! A job that panics harms nobody.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use timer_wheel::Job;
use timer_wheel::timer::Missed;

use crate::fuse::{Bomb, Fuse};
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
    bench.schedule(MS, 1);
    bench.timer.schedule_after(MS, || panic_quietly(42_u32)).unwrap();
    bench.schedule(MS, 2);
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1, 2]);
    assert_eq!(reports.try_iter().collect::<Vec<_>>(), [Some(42)]);
    let stats = bench.timer.stats();
    assert_eq!((stats.panicked, stats.fired, stats.len), (1, 3, 0));
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
    bench.timer.every(SECOND, Missed::Skip, job).unwrap();
    (0..3).for_each(|_| bench.advance(SECOND));
    assert_eq!(bench.log.read(), [1, 2, 3]);
    assert_eq!(bench.timer.stats().panicked, 3);
}

#[test]
fn hook_that_panics_and_payload_that_panics_when_dropped_are_survived() {
    for bench in [Bench::with(|builder| builder.on_panic(|_| panic_quietly(()))), Bench::new()] {
        bench.timer.schedule_after(MS, || panic_quietly(Bomb(Fuse::new(0..1)))).unwrap();
        bench.schedule(2 * MS, 1);
        bench.advance(SECOND);
        assert_eq!(bench.log.read(), [1]);
    }
}

/// A closure that panics when `cancel` drops it panics in the caller.
#[test]
fn closure_that_panics_when_dropped_by_cancel_leaves_the_timer_in_order() {
    let bench = Bench::new();
    let bomb = Bomb(Fuse::new(0..1));
    let handle = bench.timer.schedule_after(MS, move || drop(bomb)).unwrap();
    panic::catch_unwind(AssertUnwindSafe(|| handle.cancel())).unwrap_err();
    assert_eq!(bench.timer.len(), 0);
    bench.schedule(MS, 1);
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn executor_that_panics_loses_its_job_and_no_other() {
    let fails = AtomicBool::new(true);
    let executor = move |job: Job| match fails.swap(false, Ordering::Relaxed) {
        true => panic_quietly(()),
        false => job.run(),
    };
    let bench = Bench::with(|builder| builder.executor(executor));
    bench.schedule(MS, 1);
    bench.schedule(2 * MS, 2);
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [2]);
    let stats = bench.timer.stats();
    assert_eq!((stats.panicked, stats.abandoned, stats.len), (1, 1, 0));
}
