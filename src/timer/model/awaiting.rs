//! A task that sleeps is woken, whatever the timer thread does meanwhile.

use std::task::Poll;

use loom::thread;

use super::{Bell, SECOND, model, poll, sharded_timer, timer, wait_for};
use crate::clock::{Clock, ManualClock};
use crate::timer::{Reason, Shutdown, Sleep, Timer};

/// Polls with a new waker each time, until it is ready.
fn block_on(mut sleep: Sleep) -> Result<(), Reason> {
    _ = poll(&mut sleep, &Bell::new());
    let last = Bell::new();
    if let Poll::Ready(result) = poll(&mut sleep, &last) {
        return result;
    }
    last.wait(1);
    match poll(&mut sleep, &last) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it has been woken"),
    }
}

#[test]
fn sleep_whose_waker_changes_while_it_fires_wakes_the_last_or_is_ready() {
    model(|| {
        let (timer, clock) = timer();
        let sleep = timer.sleep(SECOND);
        let other = thread::spawn(move || clock.advance(SECOND));
        assert_eq!(block_on(sleep), Ok(()));
        other.join().unwrap();
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn sleep_dropped_while_it_fires_leaves_nothing_behind() {
    model(|| {
        let (timer, clock) = timer();
        let (bell, mut sleep) = (Bell::new(), timer.sleep(SECOND));
        assert!(poll(&mut sleep, &bell).is_pending());
        clock.advance(SECOND);
        drop(sleep);
        assert_eq!(timer.len(), 0);
        timer.shutdown(Shutdown::Drain).unwrap();
        let stats = timer.stats();
        assert_eq!(stats.fired + stats.cancelled, 1);
    });
}

#[test]
fn sleep_during_a_shutdown_is_an_error_and_does_not_hang() {
    model(|| {
        let (timer, _clock) = timer();
        let sleep = timer.sleep(SECOND);
        let other = thread::spawn(move || timer.shutdown(Shutdown::Drain).unwrap().len());
        assert_eq!(block_on(sleep), Err(Reason::ShutDown));
        assert_eq!(other.join().unwrap(), 0, "no job");
    });
}

/// A sleep that waits for a second and was reset `resets` times: only the first reset to a later time takes a lock.
fn armed(timer: &Timer, clock: &ManualClock, resets: u32) -> Sleep {
    let mut sleep = timer.sleep(SECOND);
    assert!(poll(&mut sleep, &Bell::new()).is_pending());
    (0..resets).for_each(|_| sleep.reset(clock.origin() + SECOND));
    sleep
}

/// Advances the clock by a second on another thread.
fn ticking(clock: &ManualClock) -> thread::JoinHandle<()> {
    let clock = clock.clone();
    thread::spawn(move || clock.advance(SECOND))
}

/// Resets a sleep to a second later while the thread fires it, with and without a reset before, and then calls `rest`.
fn reset_while_it_fires(rest: fn(Timer, ManualClock, Sleep, thread::JoinHandle<()>)) {
    for resets in [0, 1] {
        model(move || {
            let (timer, clock) = timer();
            let mut sleep = armed(&timer, &clock, resets);
            let other = ticking(&clock);
            sleep.reset(clock.origin() + 2 * SECOND);
            rest(timer, clock, sleep, other);
        });
    }
}

#[test]
fn sleep_reset_to_later_while_it_fires_is_ready_at_its_last_deadline_and_not_before() {
    reset_while_it_fires(|timer, clock, mut sleep, other| {
        assert!(poll(&mut sleep, &Bell::new()).is_pending(), "it is a second at most");
        other.join().unwrap();
        clock.advance(SECOND);
        assert_eq!(wait_for(&mut sleep), Ok(()));
        assert_eq!(timer.len(), 0);
    });
}

/// The thread may have moved it to the later time, or be about to.
#[test]
fn sleep_reset_to_later_and_back_while_the_thread_looks_at_it_is_ready_in_time() {
    model(|| {
        let (timer, clock) = timer();
        let mut sleep = armed(&timer, &clock, 1);
        let other = ticking(&clock);
        sleep.reset(clock.origin() + 9 * SECOND);
        sleep.reset(clock.origin() + SECOND);
        assert_eq!(wait_for(&mut sleep), Ok(()));
        other.join().unwrap();
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn sleep_dropped_after_a_reset_while_it_fires_leaves_nothing_behind() {
    reset_while_it_fires(|timer, _clock, sleep, other| {
        drop(sleep);
        assert_eq!(timer.len(), 0);
        other.join().unwrap();
        timer.shutdown(Shutdown::Drain).unwrap();
        let stats = timer.stats();
        assert_eq!(stats.fired + stats.cancelled, 1);
    });
}

/// The sleep fires, is moved, or is ended by the shutdown. It neither hangs nor ends early.
#[test]
fn sleep_reset_during_a_shutdown_is_an_error_and_does_not_hang() {
    for resets in [0, 1] {
        model(move || {
            let (timer, clock) = timer();
            let mut sleep = armed(&timer, &clock, resets);
            clock.advance(SECOND);
            let other = thread::spawn(move || timer.shutdown(Shutdown::Drain).unwrap().len());
            sleep.reset(clock.origin() + 2 * SECOND);
            assert_eq!(wait_for(&mut sleep), Err(Reason::ShutDown));
            assert_eq!(other.join().unwrap(), 0, "no job");
        });
    }
}

/// Each has a shard, and the thread serves both.
#[test]
fn sleeps_of_two_shards_reset_while_they_fire_are_ready_in_time() {
    model(|| {
        let (timer, clock) = sharded_timer(2);
        let mut sleep = armed(&timer, &clock, 1);
        let other = {
            let (timer, clock) = (timer.clone(), clock.clone());
            thread::spawn(move || {
                let mut sleep = timer.sleep_until(clock.origin() + SECOND);
                _ = poll(&mut sleep, &Bell::new());
                (1..3).for_each(|second| sleep.reset(clock.origin() + second * SECOND));
                wait_for(&mut sleep)
            })
        };
        clock.advance(SECOND);
        sleep.reset(clock.origin() + 2 * SECOND);
        assert!(poll(&mut sleep, &Bell::new()).is_pending(), "it is a second at most");
        clock.advance(SECOND);
        assert_eq!(wait_for(&mut sleep), Ok(()));
        assert_eq!(other.join().unwrap(), Ok(()));
        assert_eq!(timer.len(), 0);
    });
}
