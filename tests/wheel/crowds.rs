//! Crowds that are moved ahead of their time: each call takes its share, and a caller who sleeps is woken up for it. Those in
//! one tick are in `budget`, and what they ask of the allocator is in `wheel_allocations`.

use timer_wheel::{Budget, Compact, Geometry, Micros, Millis, TimerKey, Wheel};

use crate::geometries::{FAR_TIMERS, Lopsided, Narrow, Tiny, TinyTick, few, rotation_bits, with_lists};
use crate::pair::{LEVELS, Pair};
use crate::pauses::{FEW, LONGEST, TICK, advance};
use crate::script::{Op, Pick, When, spans};

/// Ours: timers that were postponed from one far bucket to the next made that a crowd, which was opened at once. The bucket
/// that they came from had not been emptied, and its other timers counted as later ones.
#[test]
fn crowd_that_the_opening_of_a_far_bucket_makes_of_the_next_fires_in_order() {
    fn check<G: Geometry>() {
        let ([.., rotation], few) = (spans::<G>(), few::<G>());
        let later = 3 * rotation;
        for (kept, work) in [(0, 1 << 20), (few / 3, 1 << 20), (few / 3, few), (0, 5), (few / 3, 5), (few / 3, 1)] {
            let mut pair = Pair::<G>::new(0);
            pair.apply(&Op::Storm(When::At(u64::MAX), 0, FAR_TIMERS as u8));
            (0..few as u64).for_each(|n| pair.schedule(rotation + n));
            let first_postponed = Pick::Live(kept as u8);
            (kept..few).for_each(|_| pair.apply(&Op::Reschedule(first_postponed, When::At(later))));
            (0..few as u64 - 1).for_each(|n| pair.schedule(later + n));
            for to in [rotation, rotation + few as u64, later] {
                pair.apply(&Op::AdvanceBudgeted(When::At(to), Budget::of_work(work), 3));
            }
            pair.finish();
        }
    }
    in_every_geometry!(check);
}

/// A sleeping caller is woken up once for so many timers that are moved ahead.
const WOKEN_FOR: usize = FEW / 2;

/// A crowd of timers spread evenly over one bucket of a level.
pub(crate) fn crowd<G: Geometry>(wheel: &mut Wheel<u64, G>, level: usize, number: u64, timers: u64) -> Vec<TimerKey> {
    let span = spans::<G>()[level];
    let at = |n: u64| number * span + n * (span / timers);
    (0..timers).map(|n| wheel.schedule(at(n), n)).collect()
}

/// A sleeping caller is not woken up for each timer that is moved ahead, and never for nothing.
#[test]
fn driver_asleep_over_a_crowded_bucket_is_woken_once_for_so_many_timers_moved() {
    fn check<G: Geometry>(level: usize, number: u64, timers: u64) {
        let start = number * spans::<G>()[level];
        let mut wheel = with_lists::<G>(0);
        crowd(&mut wheel, level, number, timers);
        let mut wake_ups = 0;
        let mut moved = 0;
        loop {
            let delay = wheel.expiration_delay().expect("timers live");
            let now = wheel.now() + delay;
            if now >= start {
                break;
            }
            let call = advance(&mut wheel, now);
            wake_ups += 1;
            moved += call.units;
            assert_eq!(call.fired, 0, "nothing is due");
            assert!(call.units > 0, "woken up for nothing, {delay} later");
        }
        let most = timers as usize / WOKEN_FOR + LEVELS + 1;
        assert!(wake_ups <= most, "{wake_ups} wake-ups, {most} allowed");
        assert!(moved >= wake_ups * WOKEN_FOR, "{moved} moved in {wake_ups}");
        // And not much later than that: what is left is no crowd.
        let left: usize = wheel.levels()[level].timers;
        assert!(left <= FEW + FAR_TIMERS, "{left} of {timers} are left for the last moment");
        let call = advance(&mut wheel, start);
        assert!(call.units <= 2 * (FEW + timers as usize / 64), "{call:?}");
        wheel.check_invariants();
    }
    for timers in [1_000, 10_000] {
        for number in [1, 2, 3, 70, 255] {
            check::<Millis>(1, number, timers);
            check::<Millis>(2, number, timers);
        }
        check::<Millis>(3, 1, timers);
        check::<Millis>(3, 7, timers);
        check::<Millis>(4, 2, timers);
    }
}

/// What is cancelled wakes nobody, however far the crowd had been moved ahead.
#[test]
fn driver_of_a_crowd_that_was_cancelled_is_not_woken() {
    for number in [1, 2, 5] {
        let span = spans::<Millis>()[2];
        let start = number * span;
        for passed in [0, 1, span / 2, start - span, start - span / 2, start - TICK] {
            let mut wheel = with_lists::<Millis>(0);
            let keys = crowd(&mut wheel, 2, number, 5_000);
            advance(&mut wheel, passed);
            // All but one, and that one in the middle of the bucket.
            for &key in keys.iter().filter(|&&key| key != keys[2_500]) {
                assert!(wheel.cancel(key).is_some());
            }
            wheel.check_invariants();
            let mut wake_ups = 0;
            while wheel.contains(keys[2_500]) {
                let delay = wheel.expiration_delay().expect("one lives");
                assert!(delay >= start.saturating_sub(wheel.now()), "too early");
                let now = wheel.now() + delay;
                advance(&mut wheel, now);
                wake_ups += 1;
            }
            assert!(wake_ups <= LEVELS, "{wake_ups} wake-ups after {passed}");

            let keys = crowd(&mut wheel, 2, number + 2, 5_000);
            for key in keys {
                assert!(wheel.cancel(key).is_some());
            }
            // What is left is the ballast, in the second half of time.
            assert_eq!(wheel.expiration_delay(), Some((1 << 63) - wheel.now()));
        }
    }
}

/// Timers that crowd into the next bucket late, in the last ticks before it begins: each call takes its share of them.
#[test]
fn crowd_that_comes_late_is_moved_in_shares() {
    const TIMERS: u64 = 20_000;
    let span = spans::<Millis>()[2];
    for ticks_left in [1, 2, 10, 100, 1_000] {
        let mut wheel = with_lists::<Millis>(0);
        let from = span - ticks_left * TICK;
        advance(&mut wheel, from);
        crowd(&mut wheel, 2, 1, TIMERS);
        let share = (TIMERS / ticks_left) as usize;
        let (mut longest, mut units) = (0, 0);
        for tick in 0..=ticks_left {
            let call = advance(&mut wheel, from + tick * TICK);
            longest = longest.max(call.ahead());
            units += call.units;
        }
        let most = share + share / 256 + LONGEST;
        assert!(longest <= most, "{longest} units, {ticks_left} ticks left");
        assert!(units <= TIMERS as usize + LONGEST, "{units} units");
        wheel.check_invariants();
    }
}

/// Ours: what lies ahead was moved only when nothing more was due, and then all of it at one go.
#[test]
fn advances_that_stop_at_a_few_fires_move_their_share_all_the_same() {
    const TIMERS: u64 = 100_000;
    for level in [1, 2] {
        let mut wheel = with_lists::<Millis>(0);
        let start = 4 * spans::<Millis>()[level];
        crowd(&mut wheel, level, 4, TIMERS);
        let first = start - 600 * TICK;
        advance(&mut wheel, first - TICK);
        // One more in each tick than may fire.
        for tick in 0..600 {
            (0..11).for_each(|n| _ = wheel.schedule(first + tick * TICK, n));
        }
        let mut longest = 0;
        for tick in 0..600 {
            let mut budget = Budget::of_fires(10);
            let now = first + tick * TICK;
            assert_eq!(wheel.advance_with_budget(now, &mut budget).count(), 10);
            assert!(wheel.has_backlog(), "there is one more");
            longest = longest.max(usize::MAX - budget.work);
        }
        let most = 2 * TIMERS as usize / 256 + LONGEST;
        assert!(longest <= most, "{longest} units, {most} allowed");
        wheel.check_invariants();
    }
}

/// Ours: each few timers that came to a crowd brought the wake-up closer, and woke up a sleeping caller.
#[test]
fn crowd_that_grows_brings_the_wake_up_closer_when_it_doubles() {
    const TIMERS: u64 = 100_000;
    for level in [1, 2, 3] {
        let mut wheel: Wheel<u64> = Wheel::new(0);
        let span = spans::<Millis>()[level];
        let mut delays: Vec<u64> = (0..TIMERS)
            .filter_map(|n| {
                wheel.schedule(5 * span + n * (span / TIMERS), n);
                wheel.expiration_delay()
            })
            .collect();
        assert!(delays.is_sorted_by(|a, b| a >= b), "it comes closer");
        delays.dedup();
        assert!(delays.len() < 20, "{} wake-ups", delays.len());
        // And it is early enough for a share that is not much more than a sleeping caller is woken up for.
        let mut budget = Budget::unlimited();
        assert!(wheel.advance_with_budget(delays[delays.len() - 1], &mut budget).next().is_none());
        let units = usize::MAX - budget.work;
        assert!((WOKEN_FOR..=FEW + LEVELS).contains(&units), "{units} units");
    }
}

/// Ours: when the few timers before a crowd left, nobody woke up to move that ahead, but at its start for all.
#[test]
fn driver_asleep_is_woken_for_a_crowd_when_those_before_it_have_left() {
    for level in 1..LEVELS {
        let span = spans::<Millis>()[level];
        let mut wheel = with_lists::<Millis>(0);
        crowd(&mut wheel, level, 5, 10_000);
        let before = [2, 3, 4].map(|number| wheel.schedule(number * span, 0));
        advance(&mut wheel, TICK);
        assert!(wheel.cancel(before[1]).is_some() && wheel.cancel(before[0]).is_some());
        assert!(wheel.reschedule(before[2], 2 * TICK));
        let mut longest = 0;
        while wheel.now() < 5 * span {
            let delay = wheel.expiration_delay().expect("timers live");
            let now = wheel.now() + delay;
            longest = longest.max(advance(&mut wheel, now).ahead());
        }
        assert!(longest <= 2 * FEW, "{longest} units, level {level}");
    }
}

/// A crowd in each far bucket, up to 60 of them, each spread over twice as many rotations as the one before.
#[test]
fn crowd_in_each_far_bucket_has_no_call_that_moves_half_of_it() {
    fn check<G: Geometry>() {
        let ([tick, .., rotation], buckets) = (spans::<G>(), rotation_bits::<G>());
        let timers = 12 * few::<G>().max(100);
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        for start in (0..buckets).map(|bucket| rotation << bucket) {
            let at = |n| start + (u128::from(start) * n as u128 / timers as u128) as u64;
            (0..timers).for_each(|n| _ = wheel.schedule(at(n), 0));
        }
        assert_eq!(wheel.stats().occupied[4], buckets as usize);
        let (all, mut units) = (wheel.len(), 0);
        // In a tick each level moves its share, or what a caller is woken up for, or a bucket of few timers.
        let share = (timers as u64).div_ceil(rotation / tick) as usize;
        let most = LEVELS * (few::<G>() + share);
        assert!(most <= timers / 2);
        for calls in 0.. {
            let Some(now) = wheel.wake_at() else { break };
            let call = advance(&mut wheel, now);
            assert!(call.ahead() <= most, "{call:?} at {now}, {most} allowed");
            units += call.units;
            if calls % 5_000 == 0 {
                wheel.check_invariants();
            }
        }
        // One bit in two is one, so a timer is moved by every second far bucket until few lie in one; then by each level.
        let visits = (timers / few::<G>()).ilog2() as usize / 2 + LEVELS;
        assert!(units <= visits * all, "{units} units for {all} timers, {visits} allowed for each");
    }
    check::<Tiny>();
    check::<TinyTick>();
    check::<Lopsided>();
    check::<Narrow>();
    check::<Compact>();
    check::<Micros>();
}
