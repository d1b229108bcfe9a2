//! Delays and periods that nobody means, and clocks that nobody wants.

use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use timer_wheel::Budget;
use timer_wheel::clock::NEVER;
use timer_wheel::local::LocalInterval;

use crate::executor::ManualExecutor;
use crate::{MS, MS_NS, fire, timer};

#[test]
fn sleep_without_end_never_fires_even_at_the_end_of_time() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleeps = [timer.sleep(Duration::MAX), timer.sleep_until(NEVER)];
    let mut timeout = timer.timeout(Duration::MAX, pending::<()>());
    let mut last = timer.sleep_until(NEVER - 1);
    assert!(sleeps.iter().all(|sleep| sleep.deadline() == NEVER));
    executor.start(&mut sleeps);
    executor.start([&mut timeout]);
    executor.start([&mut last]);
    timer.clock().set(NEVER);
    assert_eq!(timer.fire(NEVER, &mut Budget::unlimited()), 1, "the last that time has");
    assert_eq!((timer.len(), executor.wakes()), (3, 1));
    assert!(executor.poll(&mut last).is_ready() && sleeps.iter().all(|sleep| !sleep.is_elapsed()));
    // One that starts now ends never, too.
    let mut late = timer.sleep(MS);
    executor.start([&mut late]);
    sleeps[0].reset(0);
    assert_eq!((fire(&timer, 0), executor.poll(&mut sleeps[0])), (1, Poll::Ready(())));
}

/// Polls as long as ticks are due, at most ten times.
fn ticks(interval: &mut LocalInterval<timer_wheel::local::TurnClock>) -> usize {
    let is_due = |_: &usize| pin!(interval.tick()).poll(&mut Context::from_waker(Waker::noop())).is_ready();
    (0..10).take_while(is_due).count()
}

#[test]
fn period_of_zero_ticks_once_for_each_time_that_the_clock_shows() {
    let timer = timer();
    let mut interval = timer.interval(Duration::ZERO);
    assert_eq!((interval.period(), ticks(&mut interval)), (Duration::from_nanos(1), 0));
    for now in 1..5 {
        assert_eq!((fire(&timer, now), ticks(&mut interval)), (1, 1));
    }
    assert_eq!(ticks(&mut timer.interval_at(0, Duration::ZERO)), 1);
}

#[test]
fn period_without_end_ticks_once_at_its_start() {
    let timer = timer();
    let mut interval = timer.interval_at(0, Duration::MAX);
    assert_eq!((interval.period(), ticks(&mut interval)), (Duration::from_nanos(NEVER), 1));
    timer.clock().set(NEVER);
    assert_eq!((timer.fire(NEVER, &mut Budget::unlimited()), ticks(&mut interval)), (0, 0));
}

#[test]
fn clock_that_goes_back_counts_as_stopped() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleep = timer.sleep(20 * MS);
    executor.start([&mut sleep]);
    assert_eq!(fire(&timer, 10), 0);
    timer.clock().set(2 * MS_NS);
    let mut later = timer.sleep(5 * MS);
    assert_eq!(later.deadline(), 15 * MS_NS, "from the latest time that it has shown");
    executor.start([&mut later]);
    assert!(executor.poll(&mut timer.sleep_until(4 * MS_NS)).is_ready(), "4 ms have been");
    for (now, fired) in [(2, 0), (14, 0), (15, 1), (0, 0), (19, 0), (20, 1)] {
        assert_eq!(fire(&timer, now), fired, "at {now} ms");
    }
    assert!(executor.poll(&mut sleep).is_ready() && executor.poll(&mut later).is_ready());
    timer.clock().set(0);
    assert!(executor.poll(&mut sleep).is_ready(), "again");
}

#[test]
fn loop_that_is_ahead_of_the_clock_fires_nothing_twice_and_new_sleeps_count_from_there() {
    let (timer, executor) = (timer(), ManualExecutor::default());
    let mut sleep = timer.sleep(5 * MS);
    executor.start([&mut sleep]);
    assert_eq!(timer.fire(7 * MS_NS, &mut Budget::unlimited()), 1);
    assert_eq!((executor.poll(&mut sleep), timer.sleep(MS).deadline()), (Poll::Ready(()), 8 * MS_NS));
}
