//! Patterns that an enemy would choose. Every test bounds a count of work, never a time.
//!
//! A million timers at one deadline, in one coarse bucket and beyond the levels are in `budget`, a hundred thousand
//! calls in every part and state of the wheel in `memory`.

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, Wheel};

use crate::geometries::{FAR_TIMERS, rotation_bits, with_lists};
use crate::pair::LEVELS;
use crate::pauses::{Call, advance};
use crate::rng::Rng;
use crate::script::spans;

/// Timers that are many, where a million would take long to no purpose.
const MANY: usize = 100_000;

/// Those at the end of time must not be looked at for the sake of those that are overdue. In a lane, the first of them keeps it
/// from taking others.
#[test]
fn far_future_and_past_in_turn_cost_what_the_past_costs() {
    fn check<G: Geometry>(has_lane: bool) {
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(1 << 40);
        let lane = has_lane.then(|| wheel.add_lane());
        let schedule = |wheel: &mut Wheel<u64, G>, deadline| match lane {
            Some(lane) => wheel.schedule_in(lane, deadline, deadline),
            None => wheel.schedule(deadline, deadline),
        };
        let mut units = 0;
        for round in 0..MANY as u64 {
            schedule(&mut wheel, u64::MAX - round);
            schedule(&mut wheel, round);
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
    for has_lane in [false, true] {
        check::<Millis>(has_lane);
        check::<Caffeine>(has_lane);
        check::<Compact>(has_lane);
    }
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

/// Looking at the earliest timer sent the cursor ahead for good: what was scheduled before it then waited in a heap, at
/// 3.8 times the time, and neither `clear` nor a shrink helped.
#[test]
fn timers_before_an_earliest_one_that_was_looked_at_cost_what_others_cost() {
    const SECOND: u64 = 1_000_000_000;
    type First<G> = fn(&mut Wheel<u64, G>);
    /// Schedules timers for the next minute, and says how many are not in buckets then, and what all of it takes.
    fn fill_and_fire<G: Geometry>(wheel: &mut Wheel<u64, G>) -> [usize; 2] {
        let (mut numbers, now) = (Rng(42), wheel.now());
        (0..MANY).for_each(|_| _ = wheel.schedule(now + SECOND + numbers.below(59 * SECOND), 0));
        let near = wheel.stats().near;
        let calls = (0..60_000).map(|step| advance(wheel, now + step * SECOND / 1_000));
        [near, calls.map(|call| call.units).sum()]
    }
    fn check<G: Geometry>() {
        let [.., rotation] = spans::<G>();
        let looks: [First<G>; 5] = [
            |_| {},
            |wheel| _ = wheel.peek_first(),
            |wheel| _ = wheel.pop_first(),
            |wheel| {
                assert!(wheel.peek_first().is_some());
                wheel.clear();
            },
            |wheel| while wheel.pop_first().is_some() {},
        ];
        // At the end of time, in all far buckets, in an hour, and one an hour.
        for far in 0..4 {
            let fill = |looked: First<G>| {
                let (start, hour) = (1 << 40, 3_600 * SECOND);
                let mut wheel: Wheel<u64, G> = Wheel::with_geometry(start);
                for n in 0..40 {
                    let bucket = rotation << (n % u64::from(rotation_bits::<G>()));
                    let places = [u64::MAX - n, bucket + n, start + hour + n, start + (n + 1) * hour];
                    wheel.schedule(places[far], 0);
                }
                looked(&mut wheel);
                fill_and_fire(&mut wheel)
            };
            let [near, units] = fill(looks[0]);
            for look in &looks[1..] {
                let [near_then, units_then] = fill(*look);
                // The far ones themselves, and what is placed before 64 of them are seen.
                assert!(near_then <= near + 64, "{near_then} in the near heap, {near} before");
                assert!(units_then <= units + 64, "{units_then} units, {units} before");
            }
        }
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Micros>();
    check::<Compact>();
}
