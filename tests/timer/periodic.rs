//! Periodic jobs: a fixed rate, and what becomes of runs that were missed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use timer_wheel::timer::Missed;
use timer_wheel::{Clock, ManualClock, TimerHandle};

use crate::log::{Bench, HOUR, Log, MS, SECOND};
use crate::shards::on_threads;

/// A job that writes the time in milliseconds.
fn time_writer(clock: &ManualClock, log: &Log) -> impl FnMut() + Send + 'static {
    let (clock, log) = (clock.clone(), log.clone());
    move || log.write(clock.now() / 1_000_000)
}

#[test]
fn periodic_job_does_not_drift_however_late_its_runs_are() {
    // Due at 10, 20, ... 80 ms; two fall due by the step to 60, and two by that to 80.
    let ran_at =
        [(Missed::Skip, vec![19, 28, 36, 49, 60, 80]), (Missed::CatchUp, vec![19, 28, 36, 49, 60, 60, 80, 80])];
    for (missed, ran_at) in ran_at {
        let bench = Bench::new();
        let job = time_writer(&bench.clock, &bench.log);
        bench.timer.every(10 * MS, missed, job).unwrap();
        for step in [19, 9, 8, 13, 11, 9, 11] {
            bench.advance(step * MS);
        }
        assert_eq!(bench.log.read(), ran_at);
    }
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
    own.set(bench.timer.every(SECOND, Missed::Skip, job).unwrap()).unwrap();
    bench.advance(HOUR);
    assert_eq!(bench.log.read(), [1, 0]);
    assert_eq!(bench.timer.len(), 0);
    assert_eq!(Arc::strong_count(&witness), 1);
}

#[test]
fn periodic_job_is_rescheduled_and_keeps_its_period() {
    let bench = Bench::new();
    let beat = bench.timer.every(10 * MS, Missed::Skip, time_writer(&bench.clock, &bench.log)).unwrap();
    assert!(beat.reschedule_after(3 * MS));
    (0..25).for_each(|_| bench.advance(MS));
    assert_eq!(bench.log.read(), [3, 13, 23]);
}

#[test]
fn run_that_is_still_under_way_counts_as_missed_ones() {
    let (bench, jobs) = Bench::with_pool();
    bench.timer.every(10 * MS, Missed::Skip, bench.log.job(1)).unwrap();
    bench.advance(10 * MS);
    bench.advance(25 * MS);
    let run = jobs.try_recv().unwrap();
    assert!(jobs.try_recv().is_err(), "no run begins before the last has ended");
    run.run();
    bench.advance(4 * MS);
    assert!(jobs.try_recv().is_err());
    bench.advance(MS);
    jobs.try_recv().unwrap().run();
    assert_eq!(bench.log.len(), 2);
}

#[test]
fn run_dropped_by_the_executor_does_not_end_the_series() {
    let (bench, jobs) = Bench::with_pool();
    let beat = bench.timer.every(SECOND, Missed::Skip, bench.log.job(1)).unwrap();
    for _ in 0..3 {
        bench.advance(SECOND);
        drop(jobs.try_recv().unwrap());
    }
    assert_eq!((bench.log.len(), bench.timer.stats().abandoned), (0, 3));
    assert!(beat.is_live() && bench.timer.len() == 1);
}

/// A job that writes how many runs there have been.
fn count_writer(runs: &Arc<AtomicU64>, log: &Log) -> impl FnOnce() + Send + 'static {
    let (runs, log) = (Arc::clone(runs), log.clone());
    move || log.write(runs.load(Ordering::Relaxed))
}

/// An hour's runs of all of them come late; what else is due waits for a budget of those, and for the
/// one that each has under way. So it does in any other shard.
#[test]
fn clock_that_jumps_over_jobs_that_catch_up_holds_up_no_other_job_for_more_than_a_budget() {
    // Once a second each, so many of them.
    const BEATS: u64 = 100;
    for (shards, budget) in [(1, 1), (1, 64), (1, 1_024), (8, 1), (8, 16)] {
        let bench = &Bench::with(|builder| builder.shards(shards).budget(budget));
        let runs = &Arc::new(AtomicU64::new(0));
        let origin = bench.clock.origin();
        for _ in 0..BEATS {
            let (runs, timer, log) = (Arc::clone(runs), bench.timer.clone(), bench.log.clone());
            let job = move || {
                if (runs.fetch_add(1, Ordering::Relaxed) + 1) % 50_000 == 0 {
                    // Comes up while they catch up, and was due before all that they have missed.
                    timer.schedule_at(origin + HOUR, count_writer(&runs, &log)).unwrap();
                }
            };
            bench.timer.every(SECOND, Missed::CatchUp, job).unwrap();
        }
        on_threads(shards as u64, |_| _ = bench.timer.schedule_after(HOUR, count_writer(runs, &bench.log)).unwrap());
        bench.advance(HOUR);
        assert_eq!(runs.load(Ordering::Relaxed), 3_600 * BEATS, "none is lost");
        let waits: Vec<u64> = bench.log.read().iter().map(|ran| ran % 50_000).collect();
        assert_eq!(waits.len(), shards + 360_000 / 50_000);
        let most = (budget + shards - 1) as u64 + BEATS;
        assert!(waits.iter().all(|wait| *wait <= most), "{waits:?}");
    }
}

/// As long as there are no more of them than a budget.
#[test]
fn missed_runs_come_in_the_order_in_which_they_should_have_been() {
    let bench = Bench::new();
    for number in [2, 3, 5] {
        let job = bench.log.job(number);
        let period = number as u32 * SECOND;
        bench.timer.every(period, Missed::CatchUp, job).unwrap();
    }
    bench.advance(11 * SECOND);
    let mut expected: Vec<(u64, u64)> =
        [2, 3, 5].into_iter().flat_map(|number| (1..=11 / number).map(move |run| (run * number, number))).collect();
    // Of equal times, the job whose run before has ended first.
    expected.sort_by_key(|&(time, number)| (time, time - number));
    let expected: Vec<u64> = expected.into_iter().map(|(_, number)| number).collect();
    assert_eq!(bench.log.read(), expected);
}
