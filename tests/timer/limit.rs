//! `Builder::limit`: never more jobs and sleeps than it says, and whatever leaves frees one place.

use std::future::{pending, ready};
use std::sync::mpsc;

use timer_wheel::timer::{Builder, Missed, Reason};
use timer_wheel::{Job, KeyedTimer, Timer, TimerHandle};

use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, MS, SECOND};
use crate::shards::on_threads;

/// A limited timer, and how many of so many calls are admitted.
fn admitted(timer: &Timer, calls: usize) -> Vec<TimerHandle> {
    let call = |_| timer.schedule_after(HOUR, || ()).ok();
    (0..calls).filter_map(call).collect()
}

#[test]
fn limit_is_for_all_shards_together_whichever_thread_fills_them() {
    for (shards, limit) in [(1, 0), (1, 5), (4, 0), (4, 1), (4, 3), (8, 1_000)] {
        let bench = Bench::with(|builder| builder.shards(shards).limit(limit));
        let handles = admitted(&bench.timer, 2 * limit + 1);
        assert_eq!(handles.len(), limit, "one thread, {shards} shards");
        let others = on_threads(8, |_| admitted(&bench.timer, 1).len());
        assert_eq!(others, [0; 8]);
        assert!(handles.iter().all(TimerHandle::cancel));
        let per_thread = on_threads(9, |_| admitted(&bench.timer, limit / 8).len());
        assert_eq!(per_thread.iter().sum::<usize>(), limit / 8 * 8);
        assert_eq!(bench.timer.len(), limit / 8 * 8);
    }
}

#[test]
fn job_over_the_limit_is_handed_back_and_admitted_once_another_has_left() {
    let bench = Bench::with(|builder| builder.limit(2));
    let beat = bench.timer.every(HOUR, Missed::Skip, || ()).unwrap();
    bench.timer.schedule_after(SECOND, || ()).unwrap();
    let refused = bench.timer.schedule_after(SECOND, bench.log.job(1)).unwrap_err();
    assert_eq!(refused.reason, Reason::Full);
    assert_eq!(refused.to_string(), "the timer holds as many jobs as its limit allows");
    assert_eq!(bench.timer.stats().scheduled, 2);
    bench.advance(SECOND);
    let job = refused.job;
    bench.timer.schedule_after(SECOND, job).unwrap();
    assert!(bench.timer.every(SECOND, Missed::Skip, || ()).is_err());
    assert!(beat.cancel());
    assert!(bench.timer.every(SECOND, Missed::Skip, || ()).is_ok());
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [1]);
}

/// A timer of one place.
fn with_one_place(configure: impl FnOnce(Builder) -> Builder) -> Bench {
    Bench::with(|builder| configure(builder).limit(1))
}

/// Whether so many jobs have room, and one more has none, from each of some shards.
#[track_caller]
fn assert_places(timer: &Timer, places: usize) {
    for _ in 0..3 {
        on_threads(3, |_| {
            let handles = admitted(timer, places);
            assert_eq!(handles.len(), places);
            assert_eq!(timer.schedule_after(HOUR, || ()).unwrap_err().reason, Reason::Full);
            assert!(handles.iter().all(TimerHandle::cancel));
        });
    }
}

#[track_caller]
fn assert_free(bench: &Bench) {
    assert_places(&bench.timer, 1);
}

#[track_caller]
fn assert_taken(bench: &Bench) {
    assert_places(&bench.timer, 0);
}

#[test]
fn job_that_runs_once_frees_its_place_once_when_it_starts_or_is_cancelled() {
    for shards in [1, 4] {
        let bench = with_one_place(|builder| builder.shards(shards));
        let handle = bench.schedule(SECOND, 1);
        assert_taken(&bench);
        assert!(handle.reschedule_after(2 * SECOND) && !bench.log.read().contains(&1));
        assert_taken(&bench);
        assert!(handle.cancel() && !handle.cancel() && !handle.reschedule_after(MS));
        assert_free(&bench);
        let handle = bench.schedule(SECOND, 2);
        bench.advance(SECOND);
        assert!(!handle.cancel());
        assert_free(&bench);
        // A job that has begun has left: another may take its place while it runs.
        let (goes_on, timer) = (bench.hold_up(|| ()), bench.timer.clone());
        assert_places(&timer, 1);
        drop(goes_on);
        bench.settle();
        assert_free(&bench);
    }
}

#[test]
fn job_of_an_executor_keeps_its_place_until_it_is_run_given_up_or_cancelled() {
    let (queue, jobs) = mpsc::channel::<Job>();
    let bench = with_one_place(|builder| builder.executor(move |job| queue.send(job).unwrap()));
    let hand_out = || {
        let handle = bench.schedule(SECOND, 1);
        bench.advance(SECOND);
        assert_taken(&bench);
        (handle, jobs.recv().unwrap())
    };
    let (handle, job) = hand_out();
    job.run();
    assert!(!handle.cancel());
    assert_free(&bench);
    let (handle, job) = hand_out();
    drop(job);
    assert!(!handle.cancel());
    assert_free(&bench);
    let (handle, job) = hand_out();
    assert!(handle.cancel());
    assert_free(&bench);
    job.run();
    assert_free(&bench);
    assert_eq!((bench.log.read(), bench.timer.len()), (vec![1], 0));
}

#[test]
fn periodic_job_keeps_its_place_from_run_to_run_and_frees_it_once() {
    let bench = with_one_place(|builder| builder);
    let beat = bench.timer.every(SECOND, Missed::Skip, bench.log.job(1)).unwrap();
    for _ in 0..3 {
        bench.advance(SECOND);
        assert_taken(&bench);
    }
    assert!(beat.cancel() && !beat.cancel());
    assert_free(&bench);

    // Cancelled while it runs, when its end has nothing left to free.
    let (has_begun, began) = mpsc::channel();
    let (let_go, may_go_on) = mpsc::channel::<()>();
    let run = move || {
        has_begun.send(()).unwrap();
        _ = may_go_on.recv();
    };
    let beat = bench.timer.every(SECOND, Missed::Skip, run).unwrap();
    bench.clock.advance(SECOND);
    began.recv().unwrap();
    assert_taken(&bench);
    assert!(beat.cancel());
    assert_free(&bench);
    drop(let_go);
    bench.settle();
    assert_free(&bench);
}

#[test]
fn future_frees_its_place_once_when_it_fires_ends_or_is_dropped() {
    let (bench, executor) = (with_one_place(|builder| builder), ManualExecutor::default());
    let mut sleep = bench.timer.sleep(SECOND);
    assert_free(&bench);
    executor.start([&mut sleep]);
    assert_taken(&bench);
    bench.advance(SECOND);
    assert_free(&bench);
    assert!(executor.poll(&mut sleep).is_ready());
    drop(sleep);
    assert_free(&bench);

    let mut sleep = bench.timer.sleep(SECOND);
    executor.start([&mut sleep]);
    // Postponed twice: at its first time the thread only moves it.
    let origin = timer_wheel::Clock::origin(&bench.clock);
    [3, 4].into_iter().for_each(|seconds| sleep.reset(origin + seconds * SECOND));
    bench.advance(SECOND);
    assert_taken(&bench);
    drop(sleep);
    assert_free(&bench);

    let mut timeout = Box::pin(bench.timer.timeout(SECOND, pending::<()>()));
    executor.start([&mut timeout]);
    assert_taken(&bench);
    drop(timeout);
    assert_free(&bench);
    let mut timeout = Box::pin(bench.timer.timeout(SECOND, pending::<()>()));
    executor.start([&mut timeout]);
    bench.advance(SECOND);
    assert_free(&bench);
    assert!(executor.poll(&mut timeout).is_ready());
    assert_free(&bench);
    let mut in_time = bench.timer.timeout(SECOND, ready(()));
    assert!(executor.poll(&mut in_time).is_ready());
    assert_free(&bench);
}

#[test]
fn job_that_replaces_that_of_its_key_has_its_place() {
    for (shards, limit) in [(1, 1), (4, 1), (4, 3)] {
        let bench = Bench::with(|builder| builder.shards(shards).limit(limit));
        let keyed = KeyedTimer::new(bench.timer.clone());
        for number in 0..3 {
            assert_eq!(keyed.set_after("key", SECOND, bench.log.job(number)).ok(), Some(number > 0));
            assert_places(&bench.timer, limit - 1);
        }
        bench.advance(SECOND);
        assert_places(&bench.timer, limit);
        keyed.set_after("key", SECOND, bench.log.job(9)).unwrap();
        assert!(keyed.remove("key"));
        assert_places(&bench.timer, limit);
        keyed.set_after("key", SECOND, bench.log.job(9)).unwrap();
        assert_eq!(keyed.clear(), 1);
        assert_places(&bench.timer, limit);
        assert_eq!(bench.log.read(), [2]);
    }
}
