//! What neither the random calls nor the comparison with `Timer` reach: a period of zero, and a clock with `std`.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use timer_wheel::local::{LocalInterval, LocalTimer, TurnClock};
use timer_wheel::{Budget, Clock, ManualClock};

use crate::executor::ManualExecutor;
use crate::{MS, fire, timer};

/// Polls as long as ticks are due, at most ten times.
fn ticks(interval: &mut LocalInterval<TurnClock>) -> usize {
    let is_due = |_: &usize| pin!(interval.tick()).poll(&mut Context::from_waker(Waker::noop())).is_ready();
    (0..10).take_while(is_due).count()
}

#[test]
fn interval_with_a_period_of_zero_ticks_once_for_each_time_that_the_clock_shows() {
    let timer = timer();
    let mut interval = timer.interval(Duration::ZERO);
    assert_eq!((interval.period(), ticks(&mut interval)), (Duration::from_nanos(1), 0));
    for now in 1..5 {
        assert_eq!((fire(&timer, now), ticks(&mut interval)), (1, 1));
    }
    assert_eq!(ticks(&mut timer.interval_at(0, Duration::ZERO)), 1);
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
