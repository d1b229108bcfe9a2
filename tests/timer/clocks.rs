//! Clocks, which the tests move or not. What a timer does when its clock goes back is in `random`, and when it jumps in `periodic`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use timer_wheel::clock::{NEVER, nanoseconds};
use timer_wheel::{Clock, ManualClock, SystemClock, TimeSource};

use crate::log::{Asked, Hooked, MS, SECOND};

#[test]
fn durations_and_times_convert_without_loss_and_saturate() {
    assert_eq!(nanoseconds(Duration::ZERO), 0);
    assert_eq!(nanoseconds(Duration::from_nanos(1)), 1, "nothing is rounded");
    assert_eq!(nanoseconds(Duration::from_nanos(u64::MAX - 1)), u64::MAX - 1);
    assert_eq!(nanoseconds(Duration::from_nanos(u64::MAX)), NEVER);
    assert_eq!(nanoseconds(Duration::MAX), NEVER);
    let clock = SystemClock::new();
    for time in [0, 1, 999, 1 << 20, 1 << 40, 1 << 55] {
        let instant = clock.instant_at(time).unwrap();
        assert_eq!(clock.deadline_at(instant), time);
    }
    let earlier = clock.origin().checked_sub(SECOND).unwrap_or(clock.origin());
    assert_eq!(clock.deadline_at(earlier), 0);
    assert_eq!(clock.instant_at(NEVER), None);
}

#[test]
fn sleep_goes_on_until_its_time_and_is_over_at_once_when_that_has_come() {
    let (manual, parked) = (ManualClock::new(), Arc::new(AtomicUsize::new(0)));
    let (moved, count) = (manual.clone(), Arc::clone(&parked));
    // Parks for three nanoseconds, whatever is asked for.
    let clock = Hooked(manual, move |asked| {
        if asked == Asked::Park {
            count.fetch_add(1, Ordering::Relaxed);
            moved.advance(Duration::from_nanos(3));
            thread::current().unpark();
        }
    });
    clock.0.set(Duration::from_nanos(100));
    for (time, parks, now) in [(0, 0, 100), (99, 0, 100), (100, 0, 100), (110, 4, 112)] {
        clock.sleep_until(time);
        assert_eq!((parked.load(Ordering::Relaxed), clock.now()), (parks, now), "until {time}");
    }
}

#[test]
fn deadlines_saturate_on_every_clock() {
    let clock = ManualClock::new();
    clock.advance(SECOND);
    assert_eq!(clock.after(Duration::MAX), NEVER);
    assert_eq!(clock.after(MS), 1_001_000_000);
    assert_eq!(clock.deadline_at(clock.origin()), 0);
    assert_eq!(clock.instant_at(NEVER), None);
    clock.advance(Duration::MAX);
    assert_eq!(clock.now(), NEVER);
    assert_eq!(clock.after(MS), NEVER);
}

#[test]
fn system_clock_starts_at_zero_and_does_not_run_backwards() {
    let clock = SystemClock::new();
    let mut last = clock.now();
    for _ in 0..1_000 {
        let now = clock.now();
        assert!(now >= last);
        last = now;
    }
    assert!(clock.deadline_at(Instant::now()) >= last);
    assert_eq!(clock.deadline_at(clock.origin()), 0);
}

#[test]
fn clock_since_the_epoch_starts_at_the_time_of_day_and_converts_on_both_sides_of_its_start() {
    let time_of_day = || nanoseconds(SystemTime::UNIX_EPOCH.elapsed().unwrap());
    let (before, clock, start, after) = (time_of_day(), SystemClock::since_epoch(), Instant::now(), time_of_day());
    let at_start = clock.deadline_at(start);
    assert!((before..=after + 1_000_000_000).contains(&at_start), "{before} {at_start} {after}");
    assert!(clock.now() >= at_start);
    for ahead in [0, 1, 999, 1 << 40, 1 << 55] {
        assert_eq!(clock.deadline_at(start + Duration::from_nanos(ahead)), at_start + ahead);
        assert_eq!(clock.instant_at(at_start + ahead), Some(start + Duration::from_nanos(ahead)));
    }
    let uptime = Duration::from_millis(1);
    assert_eq!(clock.deadline_at(start - uptime), at_start - 1_000_000, "before the start");
    assert_eq!(clock.instant_at(at_start - 1_000_000), Some(start - uptime));
    assert_eq!(clock.instant_at(NEVER), None);
    assert_eq!(clock.after(Duration::MAX), NEVER);
    // Where `Instant` reaches back so far.
    if let Some(origin) = clock.instant_at(0) {
        assert_eq!((clock.origin(), clock.deadline_at(origin)), (origin, 0));
        assert_eq!(clock.deadline_at(origin - SECOND), 0, "before the epoch");
    }
}

#[test]
fn until_counts_down_to_zero_and_stays_there() {
    let clock = ManualClock::new();
    for (now, time, left) in [(0, 0, 0), (0, 5, 5), (4, 5, 1), (5, 5, 0), (6, 5, 0), (6, NEVER, NEVER - 6)] {
        clock.set(Duration::from_nanos(now));
        assert_eq!(clock.until(time), Duration::from_nanos(left), "{now} {time}");
    }
}

/// The names of both traits are in scope at once, on a concrete clock, a generic one and an object.
#[test]
fn traits_of_clocks_are_imported_together_without_ambiguity() {
    fn generic(clock: &impl Clock) -> (u64, u64, Duration) {
        (clock.now(), clock.deadline_at(clock.origin() + SECOND), clock.until(3_000_000_000))
    }
    let clock = ManualClock::new();
    clock.set(SECOND);
    let times = (1_000_000_000, 1_000_000_000, 2 * SECOND);
    let object: &dyn Clock = &clock;
    assert_eq!((clock.now(), clock.deadline_at(clock.origin() + SECOND), clock.until(3_000_000_000)), times);
    assert_eq!((object.now(), object.deadline_at(object.origin() + SECOND), object.until(3_000_000_000)), times);
    assert_eq!(generic(&clock), times);
    assert_eq!(TimeSource::now(&Hooked(clock, |_| ())), 1_000_000_000);
}

#[test]
fn clones_of_a_manual_clock_show_the_same_time() {
    let clock = ManualClock::new();
    let other = clock.clone();
    clock.advance(SECOND);
    assert_eq!(other.now(), 1_000_000_000);
    assert_eq!(other.origin(), clock.origin());
    assert_eq!(format!("{other:?}"), "ManualClock { now: 1s, .. }");
}
