//! Cancelling and rescheduling, wherever the job is.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use timer_wheel::timer::Missed;
use timer_wheel::{Clock, Job, TimerHandle};

use crate::log::{Bench, HOUR, MS, SECOND};

#[test]
fn cancelled_job_does_not_run_and_its_closure_is_dropped_in_the_call() {
    let bench = Bench::new();
    for is_filed in [false, true] {
        let held = Arc::new(());
        let witness = Arc::clone(&held);
        let handle = bench.timer.schedule_after(SECOND, move || drop(held)).unwrap();
        if is_filed {
            bench.settle();
        }
        assert_eq!(Arc::strong_count(&witness), 2);
        assert!(handle.is_live() && !bench.timer.is_empty());
        assert!(handle.cancel());
        assert_eq!(Arc::strong_count(&witness), 1, "dropped by the call");
        assert!(!handle.cancel() && !handle.is_live());
        assert!(bench.timer.is_empty());
    }
    bench.advance(HOUR);
    assert_eq!(bench.timer.stats().fired, 0);
    assert_eq!(bench.timer.stats().cancelled, 2);
}

/// The successor has been fired from the wheel's point of view: it is due in the same turn.
#[test]
fn job_cancels_or_reschedules_its_successor_of_the_same_turn() {
    type Change = fn(&TimerHandle) -> bool;
    let changes: [(Change, Vec<u64>); 2] =
        [(TimerHandle::cancel, vec![3]), (|handle| handle.reschedule_after(SECOND), vec![3, 2])];
    for (change, ran) in changes {
        let bench = Bench::new();
        let successor: Arc<OnceLock<TimerHandle>> = Arc::default();
        let handle = Arc::clone(&successor);
        let job = move || assert!(change(handle.get().unwrap()));
        bench.timer.schedule_after(MS, job).unwrap();
        successor.set(bench.schedule(MS, 2)).unwrap();
        bench.schedule(MS, 3);
        bench.advance(MS);
        assert_eq!((bench.log.read(), bench.timer.stats().panicked), (vec![3], 0));
        assert_eq!(bench.timer.len(), ran.len() - 1, "inside the firing window, and counted once");
        bench.advance(SECOND);
        assert_eq!((bench.log.read(), bench.timer.len()), (ran, 0));
    }
}

#[test]
fn job_cannot_cancel_itself_once_it_runs() {
    let bench = Bench::new();
    let own: Arc<OnceLock<TimerHandle>> = Arc::default();
    let (handle, log) = (Arc::clone(&own), bench.log.clone());
    let job = move || {
        log.write(u64::from(handle.get().unwrap().is_live()));
        log.write(u64::from(handle.get().unwrap().cancel()));
    };
    let handle = bench.timer.schedule_after(MS, job).unwrap();
    own.set(handle.clone()).unwrap();
    bench.advance(MS);
    assert_eq!(bench.log.read(), [0, 0]);
    assert!(!handle.cancel() && !handle.is_live() && !handle.reschedule_after(MS), "nor when it has run");
    assert_eq!((bench.timer.len(), bench.timer.stats().cancelled), (0, 0));
}

#[test]
fn job_that_an_executor_has_not_started_is_cancelled() {
    let (bench, jobs) = Bench::with_pool();
    let handle = bench.schedule(MS, 1);
    bench.advance(MS);
    assert!(!handle.reschedule_after(MS), "it has left the timer");
    assert!(handle.is_live());
    assert!(handle.cancel());
    jobs.recv().unwrap().run();
    let stats = bench.timer.stats();
    assert_eq!((bench.log.len(), stats.fired, stats.len), (0, 0, 0));
    assert_eq!((stats.cancelled, stats.abandoned), (1, 0));
}

#[test]
fn deadline_of_a_handle_is_that_of_the_next_run_while_the_job_is_live() {
    let (bench, jobs) = Bench::with_pool();
    let origin = bench.clock.origin();
    let once = bench.schedule(SECOND, 1);
    let beat = bench.timer.every(2 * SECOND, Missed::Skip, || ()).unwrap();
    let never = bench.schedule(Duration::MAX, 1);
    assert_eq!(once.deadline(), Some(origin + SECOND));
    assert!(once.reschedule_after(2 * SECOND));
    let both = [once.deadline(), beat.deadline()];
    assert_eq!(both, [Some(origin + 2 * SECOND); 2]);
    bench.advance(5 * SECOND);
    assert_eq!([once.deadline(), beat.deadline()], both, "handed out");
    jobs.try_iter().for_each(Job::run);
    assert_eq!(once.deadline(), None, "it has run");
    assert_eq!(beat.deadline(), Some(origin + 6 * SECOND), "at whole periods");
    beat.cancel();
    assert_eq!((beat.deadline(), never.deadline()), (None, None));
}
