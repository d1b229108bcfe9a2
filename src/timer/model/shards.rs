//! Two threads with a shard each, and a timer thread that serves both.

use std::time::Duration;
use std::vec::Vec;

use loom::thread;

use super::{Bell, Count, SECOND, model, sharded_timer};
use crate::clock::ManualClock;
use crate::timer::{Job, Reason, Shutdown, Timer};

/// Schedules on another thread, and so in the other shard.
fn elsewhere(timer: &Timer, job: impl FnOnce() + Send + 'static) -> thread::JoinHandle<crate::timer::TimerHandle> {
    let timer = timer.clone();
    thread::spawn(move || timer.schedule_after(Duration::ZERO, job).unwrap())
}

#[test]
fn jobs_scheduled_in_two_shards_while_the_thread_falls_asleep_run() {
    model(|| {
        let (timer, _clock) = sharded_timer(2);
        let bell = Bell::new();
        timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
        let other = elsewhere(&timer, bell.job());
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
        let other = elsewhere(&timer, bell.job());
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
        let other = {
            let (timer, bell) = (timer.clone(), bell.clone());
            thread::spawn(move || timer.schedule_after(2 * SECOND, bell.job()).is_ok())
        };
        clock.advance(2 * SECOND);
        bell.wait(1);
        assert!(other.join().unwrap());
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
        let other = elsewhere(&timer, others.job());
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
            let other = {
                let (timer, ran) = (timer.clone(), ran.clone());
                thread::spawn(move || {
                    let scheduled = timer.schedule_after(Duration::ZERO, ran.job());
                    scheduled.map_or_else(|refused| refused.reason == Reason::ShutDown, |_| false)
                })
            };
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
        elsewhere(&timer, ran.job()).join().unwrap();
        timer.settle().unwrap();
        assert_eq!(ran.get(), 2);
    });
}

/// Either shard has room for one.
#[test]
fn limit_admits_as_many_jobs_as_it_says_whichever_thread_comes_first() {
    model(|| {
        let builder = Timer::builder().clock(ManualClock::new());
        let timer = builder.shards(2).limit(2).start().unwrap();
        let schedule = |timer: &Timer| timer.schedule_after(SECOND, || ()).is_ok();
        let other = {
            let timer = timer.clone();
            thread::spawn(move || schedule(&timer))
        };
        let own: Vec<bool> = (0..2).map(|_| schedule(&timer)).collect();
        let admitted = own.into_iter().chain([other.join().unwrap()]);
        assert_eq!(admitted.filter(|is_ok| *is_ok).count(), 2);
    });
}

/// The thread may sleep until the slack after the first deadline. It must still hear of a deadline before that.
#[test]
fn jobs_with_slack_run_whichever_shard_has_the_first_deadline() {
    model(|| {
        let clock = ManualClock::new();
        let builder = Timer::builder().shards(2).slack(SECOND);
        let timer = builder.clock(clock.clone()).start().unwrap();
        let bell = Bell::new();
        timer.schedule_after(3 * SECOND, bell.job()).unwrap();
        let other = {
            let (timer, bell) = (timer.clone(), bell.clone());
            thread::spawn(move || timer.schedule_after(SECOND, bell.job()).is_ok())
        };
        assert!(other.join().unwrap());
        // The window of one has ended, that of the other has not begun.
        clock.advance(2 * SECOND);
        bell.wait(1);
        clock.advance(2 * SECOND);
        bell.wait(2);
    });
}
