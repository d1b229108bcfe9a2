//! Bad use gets a clear answer: no panic, no hang, nothing lost.

use std::time::Duration;

use timer_wheel::timer::{Builder, Missed, Reason};
use timer_wheel::{Clock, Shutdown};

use crate::log::{Bench, HOUR, SECOND};

const YEAR: Duration = Duration::from_secs(365 * 86_400);

#[test]
fn period_of_zero_is_refused_and_hands_the_job_back() {
    let bench = Bench::new();
    let log = bench.log.clone();
    let mut refused = bench.timer.every(Duration::ZERO, Missed::Skip, move || log.write(7)).unwrap_err();
    assert_eq!(refused.reason, Reason::ZeroPeriod);
    assert_eq!(refused.to_string(), "the period of a job must be longer than zero");
    (refused.job)();
    assert_eq!((bench.log.read(), bench.timer.len()), (vec![7], 0));
}

#[test]
fn delay_beyond_the_clock_never_comes() {
    let bench = Bench::new();
    bench.advance(HOUR);
    for delay in [Duration::MAX, Duration::from_nanos(u64::MAX)] {
        let handle = bench.schedule(delay, 1);
        bench.advance(HOUR);
        assert!(handle.reschedule_after(delay));
        assert_eq!(bench.timer.sleep(delay).deadline(), None);
    }
    let far = (0..10).fold(bench.clock.origin(), |far, _| far.checked_add(100 * YEAR).unwrap_or(far));
    let handle = bench.timer.schedule_at(far, bench.log.job(1)).unwrap();
    assert!(handle.reschedule_at(far) && handle.cancel());
    let beat = bench.timer.every(Duration::MAX, Missed::Skip, bench.log.job(1)).unwrap();
    let wake = bench.timer.expiration_delay();
    assert!(wake.is_none_or(|wake| wake > 500 * YEAR), "{wake:?}");
    bench.clock.set(Duration::MAX);
    bench.settle();
    assert_eq!((bench.log.len(), bench.timer.len()), (0, 3));
    assert!(beat.cancel());
    // A caller who wants it all the same gets it from a shutdown, without an instant.
    let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    assert!(unrun.iter().all(|job| job.deadline().is_none()));
    assert_eq!(unrun.len(), 2);
}

#[test]
fn last_moment_of_the_clock_does_come() {
    let bench = Bench::new();
    let last = Duration::from_nanos(u64::MAX - 1);
    bench.schedule(last, 1);
    bench.advance(last - Duration::from_nanos(1));
    assert_eq!(bench.log.len(), 0);
    bench.advance(Duration::from_nanos(1));
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn settings_out_of_range_are_made_fit() {
    type Configure = fn(Builder) -> Builder;
    let settings: [Configure; 4] = [
        |builder| builder.budget(0),
        |builder| builder.shards(0),
        |builder| builder.shards(usize::MAX),
        |builder| builder.name("a\0b"),
    ];
    for configure in settings {
        let bench = Bench::with(configure);
        (0..10).for_each(|number| _ = bench.schedule(SECOND, number));
        bench.advance(SECOND);
        assert_eq!(bench.log.len(), 10);
    }
}
