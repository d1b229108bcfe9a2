//! At the end of a timer every job has run, has been returned or was refused.

use std::time::Duration;

use loom::thread;

use super::{Bell, Count, SECOND, model, timer};
use crate::timer::{Job, Reason, Shutdown};

#[test]
fn job_that_is_cancelled_fired_and_shut_down_ends_in_one_way() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let other = thread::spawn(move || handle.cancel());
        let unrun = timer.shutdown(Shutdown::Discard).unwrap();
        let cancelled = usize::from(other.join().unwrap());
        let before = ran.get();
        unrun.into_iter().for_each(Job::run);
        let returned = ran.get() - before;
        assert_eq!((before + returned) + cancelled, 1);
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn job_scheduled_during_a_shutdown_is_refused_or_returned_or_runs() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        model(move || {
            let (timer, _clock) = timer();
            let ran = Count::default();
            let other = {
                let (timer, ran) = (timer.clone(), ran.clone());
                thread::spawn(move || match timer.schedule_after(Duration::ZERO, ran.job()) {
                    Ok(_) => false,
                    Err(refused) => refused.reason == Reason::ShutDown,
                })
            };
            let returned = timer.shutdown(how).unwrap().len();
            let refused = usize::from(other.join().unwrap());
            assert_eq!(ran.get() + returned + refused, 1, "{how:?}");
            assert!(how == Shutdown::Discard || returned == 0, "it was due");
        });
    }
}

#[test]
fn drain_runs_what_was_due_when_it_was_called() {
    model(|| {
        let (timer, clock) = timer();
        let ran = Count::default();
        timer.schedule_after(SECOND, ran.job()).unwrap();
        clock.advance(SECOND);
        assert!(timer.shutdown(Shutdown::Drain).unwrap().is_empty());
        assert_eq!((ran.get(), timer.len()), (1, 0));
    });
}

#[test]
fn last_timer_dropped_inside_a_job_ends_the_thread() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        let inner = timer.clone();
        let ring = bell.clone();
        let job = move || {
            drop(inner);
            ring.ring();
        };
        timer.schedule_after(Duration::ZERO, job).unwrap();
        drop(timer);
        bell.wait(1);
    });
}

#[test]
fn two_shutdowns_at_once_return_each_job_once() {
    model(|| {
        let (timer, _clock) = timer();
        timer.schedule_after(SECOND, || ()).unwrap();
        let other = {
            let timer = timer.clone();
            thread::spawn(move || timer.shutdown(Shutdown::Discard).unwrap().len())
        };
        let returned = timer.shutdown(Shutdown::Drain).unwrap().len();
        assert_eq!(returned + other.join().unwrap(), 1);
    });
}

#[test]
fn job_rescheduled_during_a_shutdown_runs_or_is_returned_once() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(SECOND, ran.job()).unwrap();
        let other = thread::spawn(move || handle.reschedule_after(Duration::ZERO));
        let unrun = timer.shutdown(Shutdown::Drain).unwrap();
        let is_moved = other.join().unwrap();
        assert_eq!(ran.get() + unrun.len(), 1);
        assert!(is_moved || ran.get() == 0, "it was not due");
        assert_eq!(timer.len(), unrun.len());
    });
}
