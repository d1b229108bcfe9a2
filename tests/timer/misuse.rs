//! Bad use gets a clear answer: no panic, no hang, nothing lost.

use std::time::Duration;

use timer_wheel::timer::Reason;
use timer_wheel::{Clock, Timer};

use crate::log::{Bench, HOUR, MS, SECOND};

#[test]
fn period_of_zero_is_refused_and_hands_the_job_back() {
    let bench = Bench::new();
    let log = bench.log.clone();
    let refused = bench.timer.every(Duration::ZERO, move || log.write(7)).unwrap_err();
    assert_eq!(refused.reason(), Reason::ZeroPeriod);
    assert_eq!(refused.to_string(), "the period of a job must be longer than zero");
    refused.into_job()();
    assert_eq!((bench.log.read(), bench.timer.len()), (vec![7], 0));
}

#[test]
fn delay_beyond_the_clock_never_comes() {
    let bench = Bench::new();
    bench.advance(HOUR);
    let delays = [Duration::MAX, Duration::from_nanos(u64::MAX)];
    for delay in delays {
        let handle = bench.timer.schedule_after(delay, bench.log.job(1)).unwrap();
        bench.advance(HOUR);
        assert!(handle.reschedule_after(delay));
    }
    let centuries = Duration::from_secs(500 * 365 * 86_400);
    let wake = bench.timer.next_wake();
    assert!(wake.is_none_or(|wake| wake > centuries), "{wake:?}");
    bench.clock.set(Duration::MAX);
    bench.settle();
    assert_eq!((bench.log.len(), bench.timer.len()), (0, 2));
    // Whoever wants it all the same gets it from a shutdown, without an instant.
    let unrun = bench.timer.shutdown(timer_wheel::Shutdown::Drain).unwrap();
    assert!(unrun.iter().all(|job| job.deadline().is_none()));
    assert_eq!(unrun.len(), 2);
}

#[test]
fn last_moment_of_the_clock_does_come() {
    let bench = Bench::new();
    let last = Duration::from_nanos(u64::MAX - 1);
    bench.timer.schedule_after(last, bench.log.job(1)).unwrap();
    bench.advance(last - Duration::from_nanos(1));
    assert_eq!(bench.log.len(), 0);
    bench.advance(Duration::from_nanos(1));
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn instant_centuries_ahead_is_no_trouble() {
    let bench = Bench::new();
    let mut far = bench.clock.origin();
    for _ in 0..10 {
        far = far.checked_add(Duration::from_secs(100 * 365 * 86_400)).unwrap_or(far);
    }
    let handle = bench.timer.schedule_at(far, bench.log.job(1)).unwrap();
    assert!(handle.reschedule_at(far));
    bench.advance(HOUR);
    assert!(handle.cancel());
}

#[test]
fn budget_of_zero_is_one() {
    let bench = Bench::with(|builder| builder.budget(0));
    for number in 0..10 {
        bench.timer.schedule_after(SECOND, bench.log.job(number)).unwrap();
    }
    bench.advance(SECOND);
    assert_eq!(bench.log.len(), 10);
}

#[test]
fn name_that_no_thread_can_have_is_made_fit() {
    let timer = Timer::builder().name("a\0b").start().unwrap();
    drop(timer);
}

/// A job that blocks holds up the ones behind it, and the histogram shows it.
#[test]
fn job_that_blocks_shows_in_the_lateness_of_those_behind_it() {
    let bench = Bench::new();
    let clock = bench.clock.clone();
    // What takes ten seconds by the clock.
    bench.timer.schedule_after(MS, move || clock.advance(10 * SECOND)).unwrap();
    bench.timer.schedule_after(2 * MS, bench.log.job(1)).unwrap();
    bench.advance(2 * MS);
    assert_eq!(bench.log.len(), 1);
    let statistics = bench.timer.stats();
    let expected = 10 * SECOND;
    assert!(statistics.lateness.max().abs_diff(expected) < expected / 50);
    assert_eq!(statistics.late, 1);
}
