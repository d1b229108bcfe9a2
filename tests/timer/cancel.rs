//! Cancelling and rescheduling, wherever the job is.

use std::cell::Cell;
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use timer_wheel::{Clock, Job, Shutdown, Timer, TimerHandle};

use crate::log::{Bench, HOUR, Log, MS, SECOND};

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
        assert!(handle.is_live());
        assert!(handle.cancel());
        assert_eq!(Arc::strong_count(&witness), 1, "dropped by the call");
        assert!(!handle.cancel() && !handle.is_live());
        assert_eq!(bench.timer.len(), 0);
    }
    bench.advance(HOUR);
    assert_eq!(bench.timer.stats().fired, 0);
    assert_eq!(bench.timer.stats().cancelled, 2);
}

#[test]
fn cancel_of_a_job_that_has_run_is_false() {
    let bench = Bench::new();
    let handle = bench.timer.schedule_after(MS, bench.log.job(1)).unwrap();
    bench.advance(MS);
    assert!(!handle.cancel() && !handle.is_live());
    assert!(!handle.reschedule_after(MS));
    bench.advance(HOUR);
    assert_eq!(bench.log.read(), [1]);
    assert_eq!(bench.timer.stats().cancelled, 0);
}

/// The successor has been fired from the wheel's point of view: it is due in the same turn.
#[test]
fn job_cancels_its_successor_of_the_same_turn() {
    let bench = Bench::new();
    let successor: Arc<OnceLock<TimerHandle>> = Arc::default();
    let answer = Arc::new(Mutex::new(None));
    let (handle, told) = (Arc::clone(&successor), Arc::clone(&answer));
    let job = move || *told.lock().unwrap() = handle.get().map(TimerHandle::cancel);
    bench.timer.schedule_after(MS, job).unwrap();
    let handle = bench.timer.schedule_after(MS, bench.log.job(2)).unwrap();
    successor.set(handle).unwrap();
    bench.timer.schedule_after(MS, bench.log.job(3)).unwrap();
    bench.advance(MS);
    assert_eq!(*answer.lock().unwrap(), Some(true));
    assert_eq!(bench.log.read(), [3]);
    assert_eq!(bench.timer.len(), 0, "cancelled inside the firing window and counted once");
}

#[test]
fn job_reschedules_its_successor_of_the_same_turn() {
    let bench = Bench::new();
    let successor: Arc<OnceLock<TimerHandle>> = Arc::default();
    let handle = Arc::clone(&successor);
    let job = move || assert!(handle.get().unwrap().reschedule_after(SECOND));
    bench.timer.schedule_after(MS, job).unwrap();
    let handle = bench.timer.schedule_after(MS, bench.log.job(2)).unwrap();
    successor.set(handle).unwrap();
    bench.advance(MS);
    assert_eq!(bench.log.len(), 0);
    assert_eq!(bench.timer.stats().panicked, 0);
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [2]);
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
    own.set(bench.timer.schedule_after(MS, job).unwrap()).unwrap();
    bench.advance(MS);
    assert_eq!(bench.log.read(), [0, 0]);
    assert_eq!(bench.timer.len(), 0);
}

#[test]
fn job_that_an_executor_has_not_started_is_cancelled() {
    let (queue, jobs) = mpsc::channel::<Job>();
    let bench = Bench::with(|builder| builder.executor(move |job| queue.send(job).unwrap()));
    let handle = bench.timer.schedule_after(MS, bench.log.job(1)).unwrap();
    bench.advance(MS);
    assert!(!handle.reschedule_after(MS), "it has left the timer");
    assert!(handle.is_live());
    assert!(handle.cancel());
    jobs.recv().unwrap().run();
    let statistics = bench.timer.stats();
    assert_eq!((bench.log.len(), statistics.fired, statistics.len), (0, 0, 0));
    assert_eq!((statistics.cancelled, statistics.abandoned), (1, 0));
}

#[test]
fn rescheduled_job_runs_at_its_new_time_only() {
    for is_filed in [false, true] {
        for delay in [Duration::ZERO, MS, 5 * SECOND, HOUR, 100 * HOUR] {
            let bench = Bench::new();
            let handle = bench.timer.schedule_after(10 * SECOND, bench.log.job(1)).unwrap();
            if is_filed {
                bench.settle();
            }
            assert!(handle.reschedule_after(delay));
            if delay > Duration::ZERO {
                bench.advance(delay - Duration::from_nanos(1));
                assert_eq!(bench.log.len(), 0, "early, {delay:?}");
                bench.advance(Duration::from_nanos(1));
            }
            bench.settle();
            assert_eq!(bench.log.len(), 1, "late, {delay:?}");
            bench.advance(HOUR);
            assert_eq!(bench.log.len(), 1, "twice, {delay:?}");
            assert_eq!(bench.timer.stats().rescheduled, 1);
        }
    }
}

#[test]
fn rescheduling_to_an_instant_takes_that_of_the_clock() {
    let bench = Bench::new();
    let handle = bench.timer.schedule_after(HOUR, bench.log.job(1)).unwrap();
    assert!(handle.reschedule_at(bench.clock.origin() + SECOND));
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn dropping_the_handle_does_not_cancel() {
    let bench = Bench::new();
    drop(bench.timer.schedule_after(MS, bench.log.job(1)).unwrap());
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn closure_that_panics_when_dropped_by_cancel_leaves_the_timer_in_order() {
    struct Bomb(Cell<bool>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0.get(), "boom");
        }
    }
    let bench = Bench::new();
    let bomb = Bomb(Cell::new(true));
    let handle = bench.timer.schedule_after(MS, move || drop(bomb)).unwrap();
    let cancel = std::panic::AssertUnwindSafe(|| handle.cancel());
    std::panic::catch_unwind(cancel).unwrap_err();
    assert_eq!(bench.timer.len(), 0);
    bench.timer.schedule_after(MS, bench.log.job(1)).unwrap();
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1]);
}

#[test]
#[allow(clippy::mutable_key_type, reason = "what is hashed and compared does not change")]
fn handles_are_equal_exactly_if_they_are_of_one_job() {
    let (bench, other) = (Bench::new(), Bench::new());
    let handle = bench.timer.schedule_after(SECOND, || ()).unwrap();
    let of_other_timer = other.timer.schedule_after(SECOND, || ()).unwrap();
    assert_eq!(handle, handle.clone());
    assert_ne!(handle, of_other_timer);
    handle.cancel();
    let in_its_place = bench.timer.schedule_after(SECOND, || ()).unwrap();
    assert_ne!(handle, in_its_place, "the same slot, another job");
    let hash = |handle| BuildHasherDefault::<DefaultHasher>::default().hash_one(handle);
    assert_ne!(hash(&handle), hash(&in_its_place), "they share no bucket");
    let handles: HashSet<TimerHandle> = [handle.clone(), handle, of_other_timer, in_its_place].into();
    assert_eq!(handles.len(), 3);
}

#[test]
fn deadline_of_a_handle_is_that_of_the_next_run_while_the_job_is_live() {
    let (queue, jobs) = mpsc::channel::<Job>();
    let bench = Bench::with(|builder| builder.executor(move |job| queue.send(job).unwrap()));
    let origin = bench.clock.origin();
    let once = bench.timer.schedule_after(SECOND, || ()).unwrap();
    let beat = bench.timer.every(2 * SECOND, || ()).unwrap();
    let never = bench.timer.schedule_after(Duration::MAX, || ()).unwrap();
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

/// Closures that use their timer when they are dropped, on every way out: none is dropped under the lock.
#[test]
fn closure_that_uses_the_timer_when_it_is_dropped_does_not_hang() {
    struct Nosy(Timer, Log);
    impl Drop for Nosy {
        fn drop(&mut self) {
            self.1.write(self.0.len() as u64);
            _ = self.0.schedule_after(HOUR, || ()).map(|handle| handle.cancel());
        }
    }
    let is_dropping = Arc::new(AtomicBool::new(false));
    let gives_up = Arc::clone(&is_dropping);
    let executor = move |job: Job| {
        if !gives_up.load(Ordering::Relaxed) {
            job.run();
        }
    };
    let bench = Bench::with(|builder| builder.executor(executor));
    let nosy = || {
        let nosy = Nosy(bench.timer.clone(), bench.log.clone());
        move || _ = &nosy
    };
    bench.timer.schedule_after(MS, nosy()).unwrap();
    bench.advance(MS);
    let beat = bench.timer.every(MS, nosy()).unwrap();
    bench.advance(MS);
    assert!(beat.cancel());
    is_dropping.store(true, Ordering::Relaxed);
    bench.timer.schedule_after(MS, nosy()).unwrap();
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1, 0, 0], "one-shot within its run, else gone");
    bench.timer.schedule_after(MS, nosy()).unwrap();
    bench.timer.every(MS, nosy()).unwrap();
    drop(bench.timer.shutdown(Shutdown::Discard).unwrap());
    drop(bench.timer.schedule_after(MS, nosy()).unwrap_err());
    assert_eq!(bench.log.read(), [1, 0, 0, 1, 0, 0]);
}
