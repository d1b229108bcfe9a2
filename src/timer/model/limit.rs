//! One or two places for two shards: there are never more jobs than places, and no place is lost.
//!
//! The main thread has the first shard, another thread the second.

use std::boxed::Box;
use std::time::Duration;

use loom::thread::JoinHandle;

use super::{Bell, Count, SECOND, built, elsewhere, model, poll, pool_with, wait_for};
use crate::clock::{Clock, ManualClock, NEVER};
use crate::timer::queue::{Occupant, Once};
use crate::timer::{Missed, Reason, Shutdown, Timer};

fn one_place() -> (Timer, ManualClock) {
    built(|builder| builder.shards(2).limit(1))
}

/// Schedules a job that is not due. Returns whether it got the one place. If so it is the only job.
fn schedule(timer: &Timer) -> bool {
    match timer.schedule_after(9 * SECOND, || ()) {
        Ok(_) => {
            assert!(timer.len() <= 1, "{} jobs in one place", timer.len());
            true
        }
        Err(refused) => {
            assert_eq!(refused.reason, Reason::Full);
            false
        }
    }
}

fn schedule_elsewhere(timer: &Timer) -> JoinHandle<bool> {
    elsewhere(timer, |timer| schedule(&timer))
}

/// Checks at the end that `left` jobs are left, and that the place is free only if there are none.
fn assert_one_place(timer: &Timer, left: usize) {
    assert_eq!(timer.len(), left);
    assert_eq!(schedule(timer), left == 0);
    assert!(!schedule(timer));
}

#[test]
fn one_of_two_threads_that_schedule_at_once_gets_the_place() {
    model(|| {
        let (timer, _clock) = one_place();
        let other = schedule_elsewhere(&timer);
        let own = schedule(&timer);
        assert!(own != other.join().unwrap());
        assert_one_place(&timer, 1);
    });
}

#[test]
fn place_of_a_job_that_is_cancelled_is_taken_once_by_the_other_shard() {
    model(|| {
        let (timer, _clock) = one_place();
        let handle = timer.schedule_after(SECOND, || ()).unwrap();
        let other = schedule_elsewhere(&timer);
        assert!(handle.cancel());
        let own = schedule(&timer);
        let others = other.join().unwrap();
        assert!(!(own && others) && (own || others));
        assert_one_place(&timer, 1);
    });
}

/// One of them returns that it has cancelled the job, and frees the place.
#[test]
fn place_of_a_job_that_two_threads_cancel_is_free_once() {
    model(|| {
        let (timer, _clock) = one_place();
        let handle = timer.schedule_after(SECOND, || ()).unwrap();
        let other = elsewhere(&(timer.clone(), handle.clone()), |(timer, handle)| (handle.cancel(), schedule(&timer)));
        let is_cancelled = handle.cancel();
        let (others, is_scheduled) = other.join().unwrap();
        assert!(is_cancelled != others);
        assert!(is_scheduled, "the place was free");
        assert_one_place(&timer, 1);
    });
}

/// Places that are freed or taken at the same time are all counted.
#[test]
fn places_that_two_shards_free_at_once_are_free() {
    model(|| {
        let (timer, _clock) = built(|builder| builder.shards(2).limit(2));
        let [first, second] = [(); 2].map(|()| timer.schedule_after(SECOND, || ()).unwrap());
        let other = elsewhere(&(timer.clone(), first), |(timer, handle)| {
            assert!(handle.cancel());
            timer.schedule_after(9 * SECOND, || ()).unwrap()
        });
        assert!(second.cancel());
        assert!(other.join().unwrap().cancel());
        let is_admitted = || timer.schedule_after(SECOND, || ()).is_ok();
        assert_eq!([(); 3].map(|()| is_admitted()), [true, true, false]);
    });
}

#[test]
fn place_of_a_job_that_fires_while_it_is_cancelled_is_free_once() {
    model(|| {
        let (timer, _clock) = one_place();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let is_cancelled = handle.cancel();
        timer.settle().unwrap();
        assert_eq!(ran.get(), usize::from(!is_cancelled));
        assert_one_place(&timer, 0);
    });
}

#[test]
fn place_of_a_job_that_fires_is_taken_once_by_the_other_shard() {
    model(|| {
        let (timer, _clock) = one_place();
        timer.schedule_after(Duration::ZERO, || ()).unwrap();
        // A job counts as live while it runs, but has left its place.
        let other = elsewhere(&timer, |timer| timer.schedule_after(9 * SECOND, || ()).is_ok());
        timer.settle().unwrap();
        let left = usize::from(other.join().unwrap());
        assert_one_place(&timer, left);
    });
}

/// The call that takes the work or the occupant out of the wheel frees the place.
#[test]
fn place_of_a_job_in_a_pool_that_is_run_while_it_is_cancelled_is_free_once() {
    model(|| {
        let (timer, _clock, pool) = pool_with(|builder| builder.shards(2).limit(1));
        let handle = timer.schedule_after(Duration::ZERO, || ()).unwrap();
        let job = pool.wait(1);
        let other = elsewhere(&handle, |handle| handle.cancel());
        job.run();
        other.join().unwrap();
        assert_one_place(&timer, 0);
    });
}

#[test]
fn place_of_a_series_that_is_cancelled_while_it_runs_is_free_once() {
    model(|| {
        let (timer, clock) = one_place();
        let bell = Bell::new();
        let ring = bell.clone();
        let beat = timer.every(SECOND, Missed::Skip, move || ring.ring()).unwrap();
        clock.advance(SECOND);
        bell.wait(1);
        assert!(beat.cancel());
        assert!(schedule(&timer), "the run may not have ended");
        timer.settle().unwrap();
        assert_one_place(&timer, 1);
    });
}

/// Like a job that replaces the job of its key, but in the shard of this thread: a hash would choose another shard each
/// time.
///
/// The other thread must not get the place in between.
#[test]
fn job_that_is_replaced_leaves_its_place_to_the_new_one() {
    model(|| {
        let (timer, _clock) = one_place();
        let shard = timer.shards().own();
        let admit = |old| {
            let work = Box::new(Once(Some(|| ())));
            shard.change(|queue| queue.admit(old, NEVER, work, |work| Occupant::job(work, NEVER))).unwrap()
        };
        let (old, _) = admit(None);
        let other = schedule_elsewhere(&timer);
        let (new, replaced) = admit(Some(old));
        assert!(replaced.is_some());
        assert!(!other.join().unwrap(), "there was no place");
        drop(shard.queue().cancel(new));
        assert_one_place(&timer, 0);
    });
}

#[test]
fn place_of_a_sleep_that_is_dropped_while_it_fires_is_free_once() {
    for resets in [0, 1] {
        model(move || {
            let (timer, clock) = one_place();
            let mut sleep = Box::new(timer.sleep(SECOND));
            assert!(poll(&mut sleep, &Bell::new()).is_pending());
            (0..resets).for_each(|_| sleep.reset(clock.origin() + SECOND));
            clock.advance(SECOND);
            drop(sleep);
            timer.settle().unwrap();
            assert_one_place(&timer, 0);
        });
    }
}

/// The sleep that comes second is refused, or finds the place that the first has left.
#[test]
fn place_of_a_sleep_that_is_dropped_is_taken_by_a_sleep_of_the_other_shard() {
    model(|| {
        let (timer, _clock) = one_place();
        let mut sleep = timer.sleep(SECOND);
        assert!(poll(&mut sleep, &Bell::new()).is_pending());
        let other = elsewhere(&timer, |timer| {
            let mut sleep = timer.sleep(SECOND);
            let is_pending = poll(&mut sleep, &Bell::new()).is_pending();
            assert!(is_pending || wait_for(&mut sleep) == Err(Reason::Full));
        });
        drop(sleep);
        other.join().unwrap();
        assert_one_place(&timer, 0);
    });
}

#[test]
fn job_scheduled_during_a_shutdown_is_refused_or_in_the_place() {
    model(|| {
        let (timer, _clock) = one_place();
        let handle = timer.schedule_after(SECOND, || ()).unwrap();
        let other = elsewhere(&timer, |timer| timer.schedule_after(SECOND, || ()).is_ok());
        let is_cancelled = handle.cancel();
        let unrun = timer.shutdown(Shutdown::Discard).unwrap();
        assert!(is_cancelled && unrun.len() <= 1);
        assert_eq!(unrun.len(), usize::from(other.join().unwrap()));
    });
}
