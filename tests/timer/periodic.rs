//! Periodic jobs: a fixed rate, and what becomes of runs that were missed.

use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use timer_wheel::timer::Missed;
use timer_wheel::{Clock, Job, ManualClock, Shutdown, TimerHandle};

use crate::log::{Bench, HOUR, Log, MS, SECOND};

/// A job that writes the time in milliseconds.
fn time_writer(clock: &ManualClock, log: &Log) -> impl FnMut() + Send + 'static {
    let (clock, log) = (clock.clone(), log.clone());
    move || log.write(clock.now() / 1_000_000)
}

#[test]
fn periodic_job_does_not_drift_however_late_its_runs_are() {
    // Due at 10, 20, ... 80 ms; two fall due by the step to 60, and two by that to 80.
    let ran_at = [
        (Missed::Skip, vec![19, 28, 36, 49, 60, 80]),
        (Missed::CatchUp, vec![19, 28, 36, 49, 60, 60, 80, 80]),
    ];
    for (missed, ran_at) in ran_at {
        let bench = Bench::new();
        let job = time_writer(&bench.clock, &bench.log);
        bench.timer.every_with(10 * MS, missed, job).unwrap();
        for step in [19, 9, 8, 13, 11, 9, 11] {
            bench.advance(step * MS);
        }
        assert_eq!(bench.log.read(), ran_at);
    }
}

#[test]
fn skipped_runs_are_not_made_up_for_and_the_rhythm_stays() {
    let bench = Bench::new();
    bench
        .timer
        .every(10 * MS, time_writer(&bench.clock, &bench.log))
        .unwrap();
    bench.advance(47 * MS);
    assert_eq!(bench.log.read(), [47]);
    bench.advance(2 * MS);
    assert_eq!(bench.log.read(), [47]);
    bench.advance(MS);
    assert_eq!(bench.log.read(), [47, 50]);
}

#[test]
fn missed_runs_are_caught_up_one_by_one_and_in_order_with_other_jobs() {
    let bench = Bench::with(|builder| builder.budget(1));
    bench
        .timer
        .every_with(10 * MS, Missed::CatchUp, bench.log.job(1))
        .unwrap();
    bench
        .timer
        .schedule_after(25 * MS, bench.log.job(2))
        .unwrap();
    bench.advance(45 * MS);
    assert_eq!(bench.log.read(), [1, 1, 2, 1, 1]);
    bench.advance(5 * MS);
    assert_eq!(bench.log.read(), [1, 1, 2, 1, 1, 1]);
}

#[test]
fn cancelled_periodic_job_stops_and_says_so() {
    let bench = Bench::new();
    let beat = bench.timer.every(SECOND, bench.log.job(1)).unwrap();
    bench.advance(SECOND);
    assert!(beat.is_live());
    assert!(beat.cancel());
    assert!(!beat.cancel() && !beat.is_live());
    bench.advance(HOUR);
    assert_eq!((bench.log.len(), bench.timer.len()), (1, 0));
}

#[test]
fn periodic_job_cancels_itself_and_its_closure_is_dropped_after_the_run() {
    let bench = Bench::new();
    let held = Arc::new(());
    let witness = Arc::clone(&held);
    let own: Arc<OnceLock<TimerHandle>> = Arc::default();
    let (handle, log) = (Arc::clone(&own), bench.log.clone());
    let job = move || {
        let _held = &held;
        log.write(u64::from(handle.get().unwrap().cancel()));
        log.write(u64::from(handle.get().unwrap().cancel()));
    };
    own.set(bench.timer.every(SECOND, job).unwrap()).unwrap();
    bench.advance(HOUR);
    assert_eq!(bench.log.read(), [1, 0]);
    assert_eq!(bench.timer.len(), 0);
    assert_eq!(Arc::strong_count(&witness), 1);
}

#[test]
fn periodic_job_is_rescheduled_and_keeps_its_period() {
    let bench = Bench::new();
    let beat = bench
        .timer
        .every(10 * MS, time_writer(&bench.clock, &bench.log))
        .unwrap();
    assert!(beat.reschedule_after(3 * MS));
    for _ in 0..25 {
        bench.advance(MS);
    }
    assert_eq!(bench.log.read(), [3, 13, 23]);
}

#[test]
fn run_that_is_still_under_way_counts_as_missed_ones() {
    let (queue, jobs) = mpsc::channel::<Job>();
    let bench = Bench::with(|builder| builder.executor(move |job| queue.send(job).unwrap()));
    bench.timer.every(10 * MS, bench.log.job(1)).unwrap();
    bench.advance(10 * MS);
    bench.advance(25 * MS);
    let run = jobs.try_recv().unwrap();
    assert!(
        jobs.try_recv().is_err(),
        "no run begins before the last has ended"
    );
    run.run();
    bench.advance(4 * MS);
    assert!(jobs.try_recv().is_err());
    bench.advance(MS);
    jobs.try_recv().unwrap().run();
    assert_eq!(bench.log.len(), 2);
}

#[test]
fn run_dropped_by_the_executor_does_not_end_the_series() {
    let dropped = Arc::new(Mutex::new(0));
    let count = Arc::clone(&dropped);
    let bench = Bench::with(|builder| {
        builder.executor(move |job: Job| {
            *count.lock().unwrap() += 1;
            drop(job);
        })
    });
    let beat = bench.timer.every(SECOND, bench.log.job(1)).unwrap();
    for _ in 0..3 {
        bench.advance(SECOND);
    }
    assert_eq!((*dropped.lock().unwrap(), bench.log.len()), (3, 0));
    assert_eq!(bench.timer.statistics().abandoned, 3);
    assert!(beat.is_live() && bench.timer.len() == 1);
}

#[test]
fn enormous_period_never_comes_round() {
    let bench = Bench::new();
    let beat = bench.timer.every(Duration::MAX, bench.log.job(1)).unwrap();
    bench.advance(Duration::MAX);
    assert_eq!(bench.log.len(), 0);
    assert!(beat.cancel());
}

#[test]
fn periodic_job_is_returned_by_a_shutdown() {
    let bench = Bench::new();
    bench.timer.every(SECOND, bench.log.job(1)).unwrap();
    bench.advance(SECOND);
    let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(unrun.len(), 1);
    unrun.into_iter().for_each(Job::run);
    assert_eq!((bench.log.read(), bench.timer.len()), (vec![1, 1], 0));
}
