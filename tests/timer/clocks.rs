//! Clocks, which the tests move or not. What a timer does when its clock goes back is in `random`, and when it jumps in `periodic`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use timer_wheel::clock::{NEVER, nanoseconds};
use timer_wheel::{Clock, ManualClock, SystemClock, TimeSource};

use crate::log::{Asked, Hooked, MS, SECOND};

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

/// The names of both traits are in scope at once, on a concrete clock and an object.
#[test]
fn times_convert_without_loss_and_saturate_at_both_ends() {
    let (one, most) = (Duration::from_nanos(1), Duration::from_nanos(u64::MAX));
    assert_eq!(
        [Duration::ZERO, one, most - one, most, Duration::MAX].map(nanoseconds),
        [0, 1, NEVER - 1, NEVER, NEVER]
    );
    let clock = ManualClock::new();
    clock.advance(SECOND);
    assert_eq!((clock.after(MS), clock.after(Duration::MAX)), (1_001_000_000, NEVER));
    assert_eq!((clock.deadline_at(clock.origin()), clock.instant_at(NEVER)), (0, None));
    let (other, object): (_, &dyn Clock) = (clock.clone(), &clock);
    for (now, time, left) in [(0, 0, 0), (0, 5, 5), (4, 5, 1), (5, 5, 0), (6, 5, 0), (6, NEVER, NEVER - 6)] {
        clock.set(Duration::from_nanos(now));
        assert_eq!((object.now(), object.until(time)), (now, Duration::from_nanos(left)), "{time}");
    }
    clock.advance(Duration::MAX);
    assert_eq!(
        (other.now(), clock.after(MS), other.origin()),
        (NEVER, NEVER, clock.origin()),
        "clones show the same time"
    );
    assert_eq!(TimeSource::now(&Hooked(clock, |_| ())), NEVER);
}

#[test]
fn system_clock_starts_at_zero_and_does_not_run_backwards() {
    let clock = SystemClock::new();
    let times: Vec<u64> = (0..1_000).map(|_| clock.now()).collect();
    assert!(times.is_sorted() && clock.deadline_at(Instant::now()) >= times[999]);
    for time in [0, 1, 999, 1 << 20, 1 << 40, 1 << 55] {
        assert_eq!(clock.deadline_at(clock.instant_at(time).unwrap()), time);
    }
    let earlier = clock.origin().checked_sub(SECOND).unwrap_or(clock.origin());
    assert_eq!((clock.deadline_at(earlier), clock.instant_at(NEVER)), (0, None));
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
    assert_eq!(
        (clock.deadline_at(start - MS), clock.instant_at(at_start - 1_000_000)),
        (at_start - 1_000_000, Some(start - MS))
    );
    assert_eq!((clock.instant_at(NEVER), clock.after(Duration::MAX)), (None, NEVER));
    // Where `Instant` reaches back so far.
    if let Some(origin) = clock.instant_at(0) {
        assert_eq!((clock.origin(), clock.deadline_at(origin)), (origin, 0));
        assert_eq!(clock.deadline_at(origin - SECOND), 0, "before the epoch");
    }
}
