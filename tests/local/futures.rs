//! Sleeps, timeouts and intervals, one by one.

use std::future::{Future, pending, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use timer_wheel::local::{LocalInterval, LocalTimer, TurnClock};
use timer_wheel::{Budget, Clock, ManualClock};

use crate::executor::ManualExecutor;
use crate::{MS, MS_NS, fire, timer};

/// Whether a tick is due now.
fn ticks(interval: &mut LocalInterval<TurnClock>) -> bool {
    pin!(interval.tick()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn sleep_takes_a_place_at_its_first_poll_and_gives_it_back_when_dropped() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleep = timer.sleep(5 * MS);
    assert!(timer.is_empty() && timer.wake_at().is_none() && timer.until_next().is_none());
    executor.start([&mut sleep]);
    assert_eq!((timer.len(), executor.wakers()), (1, 1));
    drop(sleep);
    assert_eq!((timer.len(), executor.wakers(), timer.wake_at()), (0, 0, None));
}

#[test]
fn sleep_wakes_its_task_once_at_its_deadline_and_stays_ready() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleep = timer.sleep(5 * MS);
    executor.start([&mut sleep]);
    assert_eq!((fire(&timer, 4), executor.wakes(), sleep.is_elapsed()), (0, 0, false));
    assert_eq!((fire(&timer, 5), executor.wakes(), sleep.is_elapsed()), (1, 1, true));
    assert_eq!((fire(&timer, 6), executor.wakes(), executor.wakers()), (0, 1, 0));
    assert!((0..2).all(|_| executor.poll(&mut sleep).is_ready()) && timer.is_empty());
}

#[test]
fn sleep_that_is_due_at_its_first_poll_is_ready_and_takes_no_place() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    timer.clock().set(7);
    for mut sleep in [timer.sleep(Duration::ZERO), timer.sleep_until(7), timer.sleep_until(0)] {
        assert!(executor.poll(&mut sleep).is_ready());
        assert_eq!((timer.len(), executor.wakes(), executor.wakers()), (0, 0, 0));
    }
}

#[test]
fn sleep_that_was_polled_is_ended_by_the_loop_alone() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleep = timer.sleep(MS);
    executor.start([&mut sleep]);
    timer.clock().set(2 * MS_NS);
    assert!(sleep.is_elapsed() && executor.poll(&mut sleep).is_pending());
    assert_eq!((fire(&timer, 2), executor.poll(&mut sleep)), (1, Poll::Ready(())));
}

#[test]
fn last_waker_is_woken_and_the_one_before_is_dropped() {
    let (timer, first, last) = (timer(), ManualExecutor::default(), ManualExecutor::default());
    let mut sleep = timer.sleep(MS);
    first.start([&mut sleep]);
    last.start([&mut sleep]);
    assert_eq!((first.wakers(), last.wakers()), (0, 1));
    fire(&timer, 1);
    assert_eq!((first.wakes(), last.wakes()), (0, 1));
}

#[test]
fn reset_moves_the_deadline_both_ways_and_starts_anew_after_the_end() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleep = timer.sleep(10 * MS);
    executor.start([&mut sleep]);
    sleep.reset(20 * MS_NS);
    assert_eq!(fire(&timer, 19), 0);
    sleep.reset(5 * MS_NS);
    assert_eq!((fire(&timer, 19), executor.wakes()), (1, 1));
    sleep.reset(30 * MS_NS);
    assert!(timer.is_empty(), "until it is polled again");
    executor.start([&mut sleep]);
    assert_eq!((fire(&timer, 29), fire(&timer, 30), executor.wakes()), (0, 1, 2));
    assert!(executor.poll(&mut sleep).is_ready());
}

#[test]
fn reset_of_a_sleep_that_was_not_polled_takes_no_place() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleep = timer.sleep(MS);
    sleep.reset(0);
    assert!(timer.is_empty() && executor.poll(&mut sleep).is_ready());
    sleep.reset(9);
    assert_eq!((sleep.deadline(), executor.poll(&mut sleep)), (9, Poll::Pending));
}

#[test]
fn sleep_that_is_polled_after_a_clear_waits_on() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleep = timer.sleep(5 * MS);
    executor.start([&mut sleep]);
    timer.clear();
    assert_eq!((timer.len(), executor.wakers()), (0, 0));
    assert_eq!((fire(&timer, 4), executor.poll(&mut sleep)), (0, Poll::Pending), "not early");
    assert_eq!((fire(&timer, 5), executor.wakes(), executor.poll(&mut sleep)), (1, 1, Poll::Ready(())));
}

#[test]
fn timeout_counts_from_when_its_future_is_first_pending() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut never = timer.timeout(5 * MS, pending::<()>());
    timer.clock().set(3 * MS_NS);
    executor.start([&mut never]);
    assert_eq!((fire(&timer, 7), fire(&timer, 8), executor.wakes()), (0, 1, 1));
    assert!(matches!(executor.poll(&mut never), Poll::Ready(Err(error)) if error.to_string() == "the time is up"));
}

#[test]
fn timeout_polls_its_future_first_however_late_it_is() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    timer.clock().set(9);
    assert_eq!(executor.poll(&mut timer.timeout(Duration::ZERO, ready(7))), Poll::Ready(Ok(7)));
    assert_eq!(executor.poll(&mut timer.timeout_at(8, ready(7))), Poll::Ready(Ok(7)));
    assert!(matches!(executor.poll(&mut timer.timeout_at(8, pending::<()>())), Poll::Ready(Err(_))));
    assert!(matches!(executor.poll(&mut timer.timeout(Duration::ZERO, pending::<()>())), Poll::Ready(Err(_))));
}

#[test]
fn timeout_that_is_ready_leaves_the_timer_before_it_is_dropped() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut has_answer = false;
    let answer = std::future::poll_fn(|_| match std::mem::replace(&mut has_answer, true) {
        true => Poll::Ready(7),
        false => Poll::Pending,
    });
    let mut timeout = timer.timeout(MS, answer);
    executor.start([&mut timeout]);
    assert_eq!(timer.len(), 1);
    assert_eq!(executor.poll(&mut timeout), Poll::Ready(Ok(7)));
    assert_eq!((timer.len(), executor.wakers()), (0, 0));
}

#[test]
fn interval_keeps_its_rate_and_skips_what_it_missed() {
    let timer = timer();
    let mut interval = timer.interval(10 * MS);
    assert_eq!(interval.period(), 10 * MS);
    for (now, is_due) in [(9, false), (10, true), (19, false), (45, true), (49, false), (50, true)] {
        fire(&timer, now);
        assert_eq!(ticks(&mut interval), is_due, "at {now} ms");
    }
    interval.reset();
    for (now, is_due) in [(59, false), (60, true), (69, false), (70, true)] {
        fire(&timer, now);
        assert_eq!(ticks(&mut interval), is_due, "at {now} ms");
    }
    assert!(timer.is_empty());
    drop(interval);

    let mut interval = timer.interval_at(30 * MS_NS, 20 * MS);
    for (now, is_due) in [(70, true), (89, false), (90, true)] {
        fire(&timer, now);
        assert_eq!(ticks(&mut interval), is_due, "at {now} ms");
    }
}

#[test]
fn budget_bounds_a_turn_and_the_rest_is_due_at_once() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleeps: Vec<_> = (0..100).map(|_| timer.sleep(MS)).collect();
    executor.start(&mut sleeps);
    timer.clock().set(MS_NS);
    let mut budget = Budget::of_fires(30);
    assert_eq!((timer.fire(MS_NS, &mut budget), timer.fire(MS_NS, &mut budget)), (30, 0));
    assert_eq!((timer.until_next(), timer.len(), executor.wakes()), (Some(Duration::ZERO), 70, 30));
    assert_eq!((fire(&timer, 1), timer.wake_at()), (70, None));
}

#[test]
fn clock_with_std_drives_it_and_instants_are_its_deadlines() {
    let (clock, executor) = (ManualClock::new(), ManualExecutor::default());
    let timer = LocalTimer::new(clock.clone());
    let at = |time| clock.origin() + time;
    let mut sleep = timer.sleep_until(at(9 * MS));
    sleep.reset(at(3 * MS));
    executor.start([&mut sleep]);
    assert!(timer.until_next().unwrap() <= 3 * MS);
    clock.advance(3 * MS);
    assert_eq!(timer.until_next(), Some(Duration::ZERO));
    assert_eq!(timer.fire(clock.now(), &mut Budget::unlimited()), 1);
    assert!(executor.poll(&mut sleep).is_ready());
}
