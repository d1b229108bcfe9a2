//! Two threads with a shard each, and a timer thread that serves both.

use std::time::Duration;

use loom::thread::JoinHandle;

use super::{Bell, Count, SECOND, built, elsewhere, model, sharded_timer};
use crate::timer::{Job, Reason, Shutdown, Timer};

/// Schedules on another thread, and so in the other shard.
fn schedule_elsewhere(timer: &Timer, delay: Duration, job: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    elsewhere(timer, move |timer| _ = timer.schedule_after(delay, job).unwrap())
}

#[test]
fn jobs_scheduled_in_two_shards_while_the_thread_falls_asleep_run() {
    model(|| {
        let (timer, _clock) = sharded_timer(2);
        let bell = Bell::new();
        timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
        let other = schedule_elsewhere(&timer, Duration::ZERO, bell.job());
        bell.wait(2);
        other.join().unwrap();
    });
}

/// The thread sleeps until the far job of one shard, or is about to.
#[test]
fn job_that_is_sooner_than_that_of_the_other_shard_runs() {
    model(|| {
        let (timer, _clock) = sharded_timer(2);
        let bell = Bell::new();
        timer.schedule_after(SECOND, || ()).unwrap();
        let other = schedule_elsewhere(&timer, Duration::ZERO, bell.job());
        bell.wait(1);
        other.join().unwrap();
    });
}

/// The job of one shard is the alarm for that of the other.
#[test]
fn clock_that_moves_wakes_the_thread_for_both_shards() {
    model(|| {
        let (timer, clock) = sharded_timer(2);
        let bell = Bell::new();
        timer.schedule_after(SECOND, bell.job()).unwrap();
        let other = schedule_elsewhere(&timer, 2 * SECOND, bell.job());
        clock.advance(2 * SECOND);
        bell.wait(1);
        other.join().unwrap();
        clock.advance(2 * SECOND);
        bell.wait(2);
    });
}

#[test]
fn cancel_in_one_shard_is_exact_while_the_other_fires() {
    model(|| {
        let (timer, _clock) = sharded_timer(2);
        let (own, others) = (Count::default(), Count::default());
        let handle = timer.schedule_after(Duration::ZERO, own.job()).unwrap();
        let other = schedule_elsewhere(&timer, Duration::ZERO, others.job());
        let is_cancelled = handle.cancel();
        other.join().unwrap();
        assert!(timer.shutdown(Shutdown::Drain).unwrap().is_empty());
        assert_eq!((own.get(), others.get()), (usize::from(!is_cancelled), 1));
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn job_scheduled_in_the_other_shard_during_a_shutdown_is_refused_or_returned_or_runs() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        model(move || {
            let (timer, _clock) = sharded_timer(2);
            // This thread has the first shard.
            timer.schedule_after(SECOND, || ()).unwrap();
            let ran = Count::default();
            let job = ran.job();
            let other = elsewhere(&timer, move |timer| {
                let scheduled = timer.schedule_after(Duration::ZERO, job);
                scheduled.is_err_and(|refused| refused.reason == Reason::ShutDown)
            });
            let unrun = timer.shutdown(how).unwrap();
            let refused = usize::from(other.join().unwrap());
            assert_eq!(ran.get() + unrun.len() - 1 + refused, 1, "{how:?}");
            assert!(how == Shutdown::Discard || unrun.len() == 1, "it was due");
            unrun.into_iter().for_each(Job::run);
            assert_eq!(timer.len(), 0);
        });
    }
}

#[test]
fn settle_returns_once_what_is_due_in_both_shards_has_run() {
    model(|| {
        let (timer, _clock) = sharded_timer(2);
        let ran = Count::default();
        timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        schedule_elsewhere(&timer, Duration::ZERO, ran.job()).join().unwrap();
        timer.settle().unwrap();
        assert_eq!(ran.get(), 2);
    });
}

/// The thread may sleep until the end of the slack after the first deadline. It must still learn of an earlier
/// deadline.
#[test]
fn jobs_with_slack_run_whichever_shard_has_the_first_deadline() {
    model(|| {
        let (timer, clock) = built(|builder| builder.shards(2).slack(SECOND));
        let bell = Bell::new();
        timer.schedule_after(3 * SECOND, bell.job()).unwrap();
        schedule_elsewhere(&timer, SECOND, bell.job()).join().unwrap();
        // The window of one has ended, that of the other has not begun.
        clock.advance(2 * SECOND);
        bell.wait(1);
        clock.advance(2 * SECOND);
        bell.wait(2);
    });
}
