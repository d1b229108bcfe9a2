//! A job runs, or is cancelled, postponed or replaced: one of them, never two.

use std::time::Duration;

use loom::thread;

use super::{Bell, Count, SECOND, elsewhere, model, pool, timer};
use crate::timer::{KeyedTimer, Missed, Shutdown};

#[test]
fn cancel_is_true_exactly_when_the_job_does_not_run() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let is_cancelled = handle.cancel();
        let unrun = timer.shutdown(Shutdown::Drain).unwrap();
        assert!(unrun.is_empty(), "it was due");
        assert_eq!(ran.get(), usize::from(!is_cancelled));
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn one_of_two_cancels_wins_or_the_job_runs() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let other = elsewhere(&handle, |handle| handle.cancel());
        let cancelled = usize::from(handle.cancel()) + usize::from(other.join().unwrap());
        timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(ran.get() + cancelled, 1);
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn reschedule_is_true_only_if_the_job_does_not_run_at_its_old_time() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let is_put_off = handle.reschedule_after(SECOND);
        let unrun = timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(ran.get(), usize::from(!is_put_off));
        assert_eq!(unrun.len(), usize::from(is_put_off));
    });
}

#[test]
fn job_in_a_pool_is_cancelled_or_runs() {
    model(|| {
        let (timer, _clock, pool) = pool();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let job = pool.wait(1);
        let other = thread::spawn(move || handle.cancel());
        job.run();
        let cancelled = usize::from(other.join().unwrap());
        assert_eq!(ran.get() + cancelled, 1);
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn periodic_job_does_not_run_after_it_was_cancelled() {
    model(|| {
        let (timer, clock) = timer();
        let ran = Count::default();
        let bell = Bell::new();
        let handle = {
            let (ran, bell) = (ran.clone(), bell.clone());
            let job = move || {
                ran.bump();
                bell.ring();
            };
            timer.every(SECOND, Missed::CatchUp, job).unwrap()
        };
        clock.advance(SECOND);
        bell.wait(1);
        assert!(handle.cancel(), "it would have run again");
        clock.advance(SECOND);
        assert!(timer.shutdown(Shutdown::Drain).unwrap().is_empty());
        assert_eq!((ran.get(), timer.len()), (1, 0));
    });
}

#[test]
fn job_replaced_under_its_key_while_it_fires_runs_or_is_replaced() {
    model(|| {
        let (timer, _clock) = timer();
        let keyed = KeyedTimer::new(timer);
        let (old, new) = (Count::default(), Count::default());
        keyed.set_after('k', Duration::ZERO, old.job()).unwrap();
        let is_replaced = keyed.set_after('k', Duration::ZERO, new.job()).unwrap();
        keyed.timer().shutdown(Shutdown::Drain).unwrap();
        assert_eq!(old.get(), usize::from(!is_replaced));
        assert_eq!((new.get(), keyed.len()), (1, 0));
    });
}

#[test]
fn job_put_off_while_another_thread_cancels_it_runs_at_neither_time() {
    model(|| {
        let (timer, clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let other = elsewhere(&handle, |handle| handle.cancel());
        let is_put_off = handle.reschedule_after(SECOND);
        let cancelled = usize::from(other.join().unwrap());
        assert!(ran.get() == 0 || !is_put_off, "it ran at its old time");
        clock.advance(SECOND);
        timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(ran.get() + cancelled, 1);
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn run_of_a_pool_that_ends_while_its_series_is_cancelled_is_the_last() {
    model(|| {
        let (timer, clock, pool) = pool();
        let ran = Count::default();
        let count = ran.clone();
        let job = move || count.bump();
        let handle = timer.every(SECOND, Missed::CatchUp, job).unwrap();
        clock.advance(SECOND);
        let job = pool.wait(1);
        let runs = thread::spawn(move || job.run());
        assert!(handle.cancel());
        runs.join().unwrap();
        assert!(timer.shutdown(Shutdown::Drain).unwrap().is_empty());
        assert!(ran.get() <= 1);
        assert_eq!(timer.len(), 0);
    });
}

/// The first thread sets the job. The other keeps it.
#[test]
fn key_renewed_by_two_threads_is_set_by_one() {
    model(|| {
        let (timer, _clock) = timer();
        let keyed = KeyedTimer::new(timer.clone());
        let renew = |keyed: KeyedTimer<u32>| keyed.reschedule_or_set_after(1, SECOND, || ()).unwrap();
        let other = elsewhere(&keyed, renew);
        let renewed = [renew(keyed), other.join().unwrap()];
        assert!(renewed == [true, false] || renewed == [false, true], "{renewed:?}");
        assert_eq!(timer.stats().scheduled, 1);
    });
}
