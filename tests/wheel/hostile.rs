//! Patterns that an enemy would choose. Every test bounds a count of work, never a time.
//!
//! A million timers at one deadline, in one coarse bucket and beyond the levels are in `budget`, a hundred thousand
//! calls in every part and state of the wheel in `memory`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, Wheel};

use crate::geometries::{FAR_TIMERS, with_lists};
use crate::pair::LEVELS;
use crate::script::spans;

/// Timers that are many, where a million would take long to no purpose.
const MANY: usize = 100_000;

/// Fires what is due, and says how many those were and how many units of work it took.
#[track_caller]
fn advance<T, G: Geometry>(wheel: &mut Wheel<T, G>, to: u64) -> (usize, usize) {
    let mut advance = wheel.advance_with_budget(to, usize::MAX);
    let mut last = 0;
    let mut fired = 0;
    for item in advance.by_ref() {
        assert!(item.deadline >= last, "out of order");
        last = item.deadline;
        fired += 1;
    }
    (fired, usize::MAX - advance.unused())
}

/// A deadline in a bucket of the level, seen from time zero, and in another bucket than the first
/// on every level below.
fn cascading<G: Geometry>(level: usize) -> u64 {
    spans::<G>()[..=level].iter().sum()
}

/// Moved down once a level, collected and fired; and a bucket opened on each level.
fn units_of_cascade(level: usize, timers: usize, buckets: usize) -> usize {
    (level + 2) * timers + buckets
}

/// Crowds, so that nothing is brought up early, on the longest way down that there is.
#[test]
fn timers_that_cascade_through_every_level_are_moved_once_a_level() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        let [from_overflow, mut sum] = [true, false].map(|beyond| {
            let rotation = if beyond { spans[4] } else { 0 };
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
            let mut deadlines = Vec::new();
            for crowd in 0..40 {
                let deadline = rotation + cascading::<G>(3) + crowd * spans[0];
                deadlines.extend([deadline; 300]);
            }
            for (n, &deadline) in (0..).zip(&deadlines) {
                wheel.schedule(deadline, n);
            }
            // To every start of a bucket on the way, so that it is the levels that are emptied.
            let mut units = 0;
            if beyond {
                units += advance(&mut wheel, spans[4]).1;
            }
            for level in (0..4).rev() {
                let start = rotation + spans[level..4].iter().sum::<u64>();
                units += advance(&mut wheel, start).1;
            }
            let (fired, rest) = advance(&mut wheel, deadlines[deadlines.len() - 1]);
            assert!(wheel.is_empty() && fired > 0);
            units + rest
        });
        // Opened are a bucket on each level, and on the lowest one for each crowd.
        let most = units_of_cascade(3, 40 * 300, 40 + LEVELS);
        assert!(sum <= most, "{sum} units");
        sum += 40 * 300 + 1;
        assert!(from_overflow <= sum, "{from_overflow} units from beyond");
    }
    check::<Millis>();
    check::<Micros>();
    check::<Compact>();
}

/// Those at the end of time must not be looked at for the sake of those that are overdue.
#[test]
fn far_future_and_past_in_turn_cost_what_the_past_costs() {
    fn check<G: Geometry>() {
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(1 << 40);
        let mut units = 0;
        for round in 0..MANY as u64 {
            wheel.schedule(u64::MAX - round, round);
            wheel.schedule(round, round);
            assert_eq!(wheel.expiration_delay(), Some(0));
            let now = wheel.now() + 1;
            let by_now = advance(&mut wheel, now);
            assert_eq!(by_now.0, 1);
            units += by_now.1;
        }
        // Fired, and perhaps brought up; the finest buckets on the way are empty.
        assert!(units <= 2 * MANY, "{units} units");
        let (fired, units) = advance(&mut wheel, u64::MAX);
        assert_eq!(fired, MANY);
        let most = units_of_cascade(LEVELS - 1, MANY, LEVELS);
        assert!(units <= most, "{units} units at the end");
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Compact>();
}

/// Each is the earliest beyond the levels for a moment.
#[test]
fn far_timers_cancelled_wake_nobody() {
    let mut wheel = with_lists::<Millis>(0);
    let [.., rotation] = spans::<Millis>();
    let anchor = rotation * 200;
    wheel.schedule(anchor, 0);
    for rotations in (1..100).rev() {
        let key = wheel.schedule(rotations * rotation, 1);
        assert_eq!(wheel.cancel(key), Some(1));
    }
    let mut wake_ups = 0;
    while wheel.len() > FAR_TIMERS {
        let delay = wheel.expiration_delay().expect("timers live");
        wake_ups += 1;
        let now = wheel.now() + delay;
        advance(&mut wheel, now);
    }
    assert_eq!(wake_ups, 1, "for a timer at the start of its rotation");
    assert_eq!(wheel.now(), anchor);
}

#[test]
fn room_for_more_than_a_wheel_can_hold_is_refused_before_anything_changes() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    wheel.schedule(5, 5);
    let before = wheel.stats();
    for additional in [3 << 29, usize::MAX / 2, usize::MAX] {
        let reserved = catch_unwind(AssertUnwindSafe(|| wheel.reserve(additional)));
        assert!(reserved.is_err(), "{additional} more reserved");
        let made = catch_unwind(|| Wheel::<u64>::with_capacity(0, additional.max((3 << 29) + 1)));
        assert!(made.is_err(), "made with room for {additional}");
    }
    assert_eq!(wheel.stats(), before);
    wheel.check_invariants();
    assert_eq!(advance(&mut wheel, 5).0, 1);
}
