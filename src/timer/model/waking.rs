//! A job that was scheduled runs, however the thread falls asleep.

use std::boxed::Box;
use std::time::Duration;

use super::{Bell, Count, SECOND, elsewhere, model, pool, timer};
use crate::timer::Missed;

#[test]
fn job_scheduled_while_the_thread_falls_asleep_runs() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
        bell.wait(1);
    });
}

#[test]
fn jobs_scheduled_by_two_threads_run() {
    model(|| {
        let (timer, clock) = timer();
        let bell = Bell::new();
        clock.advance(SECOND);
        let job = bell.job();
        let other = elsewhere(&timer, |timer| _ = timer.schedule_after(Duration::ZERO, job).unwrap());
        timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
        bell.wait(2);
        other.join().unwrap();
    });
}

#[test]
fn clock_that_moves_while_the_thread_falls_asleep_wakes_it() {
    model(|| {
        let (timer, clock) = timer();
        let bell = Bell::new();
        timer.schedule_after(SECOND, bell.job()).unwrap();
        clock.advance(SECOND);
        bell.wait(1);
    });
}

#[test]
fn job_brought_forward_while_the_thread_falls_asleep_runs() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        let handle = timer.schedule_after(SECOND, bell.job()).unwrap();
        assert!(handle.reschedule_after(Duration::ZERO));
        bell.wait(1);
    });
}

#[test]
fn job_brought_forward_once_it_is_filed_runs() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        let handle = timer.schedule_after(SECOND, bell.job()).unwrap();
        timer.settle().unwrap();
        assert!(handle.reschedule_after(Duration::ZERO));
        bell.wait(1);
    });
}

#[test]
fn settle_returns_once_what_is_due_has_run() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        timer.settle().unwrap();
        assert_eq!(ran.get(), 1);
    });
}

/// A call to settle is answered only after the clock has been read again.
#[test]
fn settle_returns_once_what_was_due_when_it_was_called_has_run() {
    model(|| {
        let (timer, clock) = timer();
        let ran = Count::default();
        timer.schedule_after(SECOND, ran.job()).unwrap();
        clock.advance(SECOND);
        timer.settle().unwrap();
        assert_eq!(ran.get(), 1);
    });
}

#[test]
fn two_that_settle_at_once_are_both_answered() {
    model(|| {
        let (timer, _clock) = timer();
        let other = elsewhere(&timer, |timer| timer.settle().unwrap());
        timer.settle().unwrap();
        other.join().unwrap();
    });
}

/// No call is made to the timer: only the end of the run can wake the thread.
#[test]
fn run_that_ends_in_a_pool_while_the_thread_falls_asleep_is_followed_by_the_next() {
    model(|| {
        let (timer, clock, pool) = pool();
        timer.every(SECOND, Missed::CatchUp, || ()).unwrap();
        clock.advance(2 * SECOND);
        pool.wait(1).run();
        pool.wait(2).run();
    });
}

#[test]
fn panicking_job_leaves_the_thread_running() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        // Without the message that a panic prints.
        let panics: Box<dyn FnOnce() + Send> = Box::new(|| std::panic::resume_unwind(Box::new(1)));
        timer.schedule_after(Duration::ZERO, panics).unwrap();
        timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
        bell.wait(1);
    });
}
