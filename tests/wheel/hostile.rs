//! Patterns that an enemy would choose. Every test bounds a count of work, never a time.
//!
//! A million timers at one deadline, in one coarse bucket and beyond the levels are in `budget`, a hundred thousand
//! calls in every part and state of the wheel in `memory`.

use timer_wheel::{Caffeine, Compact, Geometry, Millis, Wheel};

use crate::geometries::{FAR_TIMERS, rotation_bits, with_lists};
use crate::pair::LEVELS;
use crate::pauses::{Call, advance};
use crate::script::spans;

/// Timers that are many, where a million would take long to no purpose.
const MANY: usize = 100_000;

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
            assert_eq!(by_now.fired, 1);
            units += by_now.units;
        }
        // Fired, and perhaps brought up; the finest buckets on the way are empty.
        assert!(units <= 2 * MANY, "{units} units");
        let Call { fired, units } = advance(&mut wheel, u64::MAX);
        assert_eq!(fired, MANY);
        // Moved down once for each bit of its rotation and once a level, collected and fired. The buckets opened are as many
        // as the one in the near heap saves.
        let most = (rotation_bits::<G>() as usize + LEVELS) * MANY;
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
    assert_eq!(wake_ups, 2, "for its far bucket and for itself");
    assert_eq!(wheel.now(), anchor);
}
