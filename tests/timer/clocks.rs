//! Clocks in and out of order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use timer_wheel::clock::{NEVER, nanoseconds};
use timer_wheel::{Clock, ManualClock, SystemClock, TimeSource};

use crate::log::{Asked, Bench, HOUR, Hooked, MS, SECOND};

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

/// Nobody is let go early: not by being unparked, nor by a clock that moves too little.
#[test]
fn sleep_lasts_until_the_clock_shows_the_time() {
    let clock = ManualClock::new();
    clock.sleep_until(0);
    let sleeper = {
        let clock = clock.clone();
        thread::spawn(move || {
            clock.sleep_until(3);
            clock.now()
        })
    };
    for now in [1, 2] {
        sleeper.thread().unpark();
        clock.set(Duration::from_nanos(now));
    }
    sleeper.thread().unpark();
    clock.set(Duration::from_nanos(3));
    assert_eq!(sleeper.join().unwrap(), 3);
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

#[test]
fn clock_that_jumps_an_hour_fires_everything_once_in_order_within_the_budget() {
    const COUNT: u64 = 5_000;
    const BUDGET: usize = 64;
    let bench = Bench::with(|builder| builder.budget(BUDGET));
    for number in 0..COUNT {
        let delay = Duration::from_micros(number * 7_919 % COUNT * 719);
        bench.schedule(delay, nanoseconds(delay));
    }
    // One more, scheduled from within the burst for a time before the others: the thread looks at it
    // after the budget, not after the burst.
    let (timer, urgent, origin) = (bench.timer.clone(), bench.log.job(u64::MAX), bench.clock.origin());
    let job = move || _ = timer.schedule_at(origin, urgent).unwrap();
    bench.timer.schedule_after(Duration::ZERO, job).unwrap();
    bench.advance(HOUR);
    let mut ran = bench.log.read();
    let urgent = ran.iter().position(|&number| number == u64::MAX).unwrap();
    assert!(urgent <= BUDGET, "it came behind {urgent} others");
    ran.remove(urgent);
    assert_eq!(ran.len() as u64, COUNT);
    assert!(ran.is_sorted_by(|one, next| one < next), "in order, and none twice");
    assert_eq!(bench.timer.stats().fired, COUNT + 2);
}

#[test]
fn clock_that_goes_back_fires_nothing_twice_and_nothing_early() {
    let bench = Bench::new();
    bench.schedule(SECOND, 1);
    bench.schedule(20 * SECOND, 2);
    bench.advance(10 * SECOND);
    assert_eq!(bench.log.read(), [1]);

    bench.clock.set(2 * SECOND);
    bench.settle();
    // From the latest time that was acted upon: the clock has shown 10 s.
    bench.schedule(5 * SECOND, 3);
    bench.timer.schedule_at(bench.clock.origin() + 4 * SECOND, bench.log.job(4)).unwrap();
    bench.settle();
    assert_eq!(bench.log.read(), [1, 4], "4 s have been");

    for (now, ran) in [(14, 2), (15, 3), (0, 3), (20, 4)] {
        bench.clock.set(now * SECOND);
        bench.settle();
        assert_eq!(bench.log.read(), [1, 4, 3, 2][..ran]);
    }
}
