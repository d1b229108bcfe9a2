//! What neither the random calls nor the comparison with `Timer` reach: a period of zero, and a clock with `std`.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use timer_wheel::Budget;
use timer_wheel::local::{LocalInterval, LocalTimer, TurnClock};

use crate::executor::ManualExecutor;
use crate::{fire, timer};

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

/// A reading that the timer has made counts, also the one at its start: a clock that is set back below it stands still.
#[test]
fn clock_set_back_below_its_reading_at_new_counts_as_stopped() {
    let (clock, executor) = (TurnClock::new(), ManualExecutor::default());
    clock.set(1_000);
    let timer = LocalTimer::new(clock.clone());
    clock.set(0);
    let mut passed = timer.sleep_until(5);
    assert!(passed.is_elapsed() && executor.poll(&mut passed).is_ready());
    let mut sleep = timer.sleep(Duration::from_nanos(5));
    assert_eq!(sleep.deadline(), 1_005);
    executor.start([&mut sleep]);
    assert_eq!((timer.fire(0, &mut Budget::unlimited()), executor.wakes()), (0, 0));
    assert!(timer.wake_at() <= Some(1_005));
    assert_eq!(timer.fire(1_005, &mut Budget::unlimited()), 1);
    assert!(executor.poll(&mut sleep).is_ready());
}
