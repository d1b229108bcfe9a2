//! At the end of a timer every job has run, has been returned or was refused.

use std::time::Duration;

use loom::thread;

use super::{Bell, Count, SECOND, built, elsewhere, model, poll, timer, wait_for};
use crate::clock::{Clock, ManualClock};
use crate::timer::{Job, Reason, Shutdown, Timer};

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
            let job = ran.job();
            let other = elsewhere(&timer, move |timer| {
                let scheduled = timer.schedule_after(Duration::ZERO, job);
                scheduled.is_err_and(|refused| refused.reason == Reason::ShutDown)
            });
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
        let other = elsewhere(&timer, |timer| timer.shutdown(Shutdown::Discard).unwrap().len());
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

/// The number of entries that the thread takes back under one lock in the models below. Each model has one entry more.
const PIECES: [usize; 2] = [2, 4];

/// A timer that takes back `piece` jobs at a time, and has as many jobs that are not due.
fn with_a_piece_of_jobs(piece: usize, ran: &Count) -> (Timer, ManualClock) {
    let (timer, clock) = built(|builder| builder.shards(1).budget(piece));
    (0..piece).for_each(|_| _ = timer.schedule_after(SECOND, ran.job()).unwrap());
    (timer, clock)
}

#[test]
fn job_cancelled_between_two_pieces_of_a_shutdown_is_returned_or_cancelled() {
    for piece in PIECES {
        model(move || {
            let ran = Count::default();
            let (timer, _clock) = with_a_piece_of_jobs(piece, &ran);
            let handle = timer.schedule_after(2 * SECOND, ran.job()).unwrap();
            let other = thread::spawn(move || handle.cancel());
            let unrun = timer.shutdown(Shutdown::Discard).unwrap();
            assert_eq!(ran.get(), 0);
            // A returned job can still be cancelled, and does not run then.
            let cancelled = usize::from(other.join().unwrap());
            unrun.into_iter().for_each(Job::run);
            assert_eq!((ran.get() + cancelled, timer.len()), (piece + 1, 0));
        });
    }
}

/// After the first reset, a reset to a later time takes no lock.
#[test]
fn sleep_reset_between_two_pieces_of_a_shutdown_is_woken() {
    for piece in PIECES {
        for resets in [0, 1] {
            model(move || {
                let ran = Count::default();
                let (timer, clock) = with_a_piece_of_jobs(piece, &ran);
                let mut sleep = timer.sleep(2 * SECOND);
                assert!(poll(&mut sleep, &Bell::new()).is_pending());
                (0..resets).for_each(|_| sleep.reset(clock.origin() + 2 * SECOND));
                let other = thread::spawn(move || timer.shutdown(Shutdown::Discard).unwrap().len());
                sleep.reset(clock.origin() + 3 * SECOND);
                assert_eq!(wait_for(&mut sleep), Err(Reason::ShutDown));
                assert_eq!((other.join().unwrap(), ran.get()), (piece, 0));
            });
        }
    }
}

/// The jobs are due, so the thread runs them, and takes back what is left.
#[test]
fn sleep_brought_forward_between_two_pieces_of_a_drain_ends_once() {
    for piece in PIECES {
        model(move || {
            let ran = Count::default();
            let (timer, clock) = with_a_piece_of_jobs(piece, &ran);
            let mut sleep = timer.sleep(9 * SECOND);
            assert!(poll(&mut sleep, &Bell::new()).is_pending());
            clock.advance(SECOND);
            let other = thread::spawn(move || timer.shutdown(Shutdown::Drain).unwrap().len());
            sleep.reset(clock.origin() + SECOND);
            let ended = wait_for(&mut sleep);
            assert!(ended == Ok(()) || ended == Err(Reason::ShutDown), "{ended:?}");
            assert_eq!((other.join().unwrap(), ran.get()), (0, piece));
        });
    }
}
