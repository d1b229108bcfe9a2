//! Lanes: what they save, and that they change nothing else. Random scripts name lanes as well.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{Budget, Geometry, Lane, TimerKey, Wheel};

use crate::rng::Rng;
use crate::script::{MAX_LANES, lane, spans};

const SECOND: u64 = 1_000_000_000;

/// A wheel with a ballast for which it makes buckets, and a lane.
fn with_lane<G: Geometry>(now: u64) -> (Wheel<u64, G>, Lane) {
    let mut wheel = crate::geometries::with_lists(now);
    let lane = wheel.add_lane();
    (wheel, lane)
}

/// C17: a timer in a lane is not moved before it fires, whatever the delay.
#[test]
fn timers_in_order_take_a_unit_of_work_each_and_no_bucket() {
    fn check<G: Geometry>() {
        for delay in spans::<G>() {
            let (mut wheel, lane) = with_lane::<G>(1 << 40);
            let (start, buckets) = (wheel.now(), wheel.stats().occupied);
            for n in 0..1_000 {
                wheel.schedule_in(lane, start + delay + n / 3, n);
            }
            let stats = wheel.stats();
            assert_eq!((stats.occupied, stats.lanes), (buckets, 1));
            let mut budget = Budget::of_work(1_000);
            let fired = wheel.advance_with_budget(start + delay + 334, &mut budget);
            assert!(fired.map(|timer| timer.value).eq(0..1_000));
            assert_eq!(wheel.stats().lanes, 0);
        }
    }
    in_every_geometry!(check);
}

/// One timer that was due far later than the others kept all that came after it out of the lane.
#[test]
fn lane_with_four_outliers_takes_what_comes_in_order_and_with_a_fifth_no_more() {
    fn check<G: Geometry>() {
        let [tick, .., rotation] = spans::<G>();
        let (mut wheel, lane) = with_lane::<G>(0);
        let buckets = wheel.stats().occupied;
        wheel.schedule_in(lane, 10 * tick, 0);
        for n in 1..=4 {
            wheel.schedule_in(lane, rotation, 1_000 + n);
            (0..10).for_each(|m| _ = wheel.schedule_in(lane, 10 * tick + n, 10 * n + m));
            assert_eq!(wheel.stats().occupied, buckets, "{n} outliers");
        }
        wheel.check_invariants();
        wheel.schedule_in(lane, rotation, 1_005);
        wheel.schedule_in(lane, 10 * tick + 5, 50);
        assert_ne!(wheel.stats().occupied, buckets, "a fifth is ahead");
        let mut budget = Budget::unlimited();
        let fired = wheel.advance_with_budget(10 * tick + 4, &mut budget).map(|timer| timer.value);
        assert!(fired.eq([0].into_iter().chain(10..50)));
        assert!(wheel.advance(rotation).map(|timer| timer.value).eq([50].into_iter().chain(1_001..=1_005)));
    }
    in_every_geometry!(check);
}

/// Two programs met it: what was first in the lane had fired, and the outlier behind it was its head.
#[test]
fn outliers_at_the_head_of_a_lane_do_not_keep_what_comes_in_order_out() {
    fn check<G: Geometry>() {
        let [tick, .., rotation] = spans::<G>();
        for outliers in 1..=4 {
            let (mut wheel, lane) = with_lane::<G>(0);
            wheel.schedule_in(lane, 30 * tick, 0);
            (0..outliers).for_each(|n| _ = wheel.schedule_in(lane, rotation + 1_000 * tick + n, 2_000 + n));
            wheel.schedule_in(lane, 31 * tick, 1);
            assert_eq!(wheel.advance(40 * tick).count(), 2);
            let buckets = wheel.stats().occupied;
            (0..1_000).for_each(|n| _ = wheel.schedule_in(lane, 70 * tick + n * tick / 1_000, n));
            wheel.check_invariants();
            assert_eq!(wheel.stats().occupied, buckets, "{outliers} outliers");
            assert!(wheel.advance(80 * tick).map(|timer| timer.value).eq(0..1_000));
            assert_eq!(wheel.stats().lanes, 1, "the outliers are left");
        }
    }
    in_every_geometry!(check);
}

/// A timer that is far too early for its lane goes where it would go without one, and takes as much work.
#[test]
fn out_of_order_a_lane_costs_what_none_costs() {
    fn units(lane: Option<fn(&mut Wheel<u64>) -> Lane>) -> usize {
        let mut wheel = Wheel::new(0);
        let lane = lane.map(|lane| lane(&mut wheel));
        let mut numbers = Rng(7);
        if let Some(lane) = lane {
            wheel.schedule_in(lane, 61 * SECOND, 0);
        }
        let keys: Vec<TimerKey> = (0..10_000)
            .map(|n| {
                let deadline = SECOND + numbers.below(59 * SECOND);
                match lane {
                    Some(lane) => wheel.schedule_in(lane, deadline, n),
                    None => wheel.schedule(deadline, n),
                }
            })
            .collect();
        // Later, but still before the end of the lane: only written down, but for the first.
        for key in keys {
            let deadline = wheel.deadline(key).unwrap() + SECOND / 2;
            assert!(match lane {
                Some(lane) => wheel.reschedule_in(lane, key, deadline),
                None => wheel.reschedule(key, deadline),
            });
        }
        let mut budget = Budget::unlimited();
        assert_eq!(wheel.advance_with_budget(60_900_000_000, &mut budget).count(), 10_000);
        usize::MAX - budget.work
    }
    let plain = units(None);
    // A few are linked before the head of the lane, and need no bucket.
    let in_lane = units(Some(Wheel::add_lane));
    assert!((plain - 100..=plain).contains(&in_lane), "{in_lane} units, {plain} without a lane");
    assert_eq!(units(Some(|_| lane(9))), plain);
}

#[test]
fn lanes_stay_through_clear_shrink_and_clone_but_are_not_stored() {
    let mut wheel = Wheel::new(0);
    let lane = wheel.add_lane();
    let is_used = |wheel: &mut Wheel<u64>| {
        let key = wheel.schedule_in(lane, SECOND, 0);
        let is_used = wheel.stats().lanes == 1;
        wheel.check_invariants();
        wheel.cancel(key);
        is_used
    };
    for n in 0..2_000 {
        wheel.schedule_in(lane, n, n);
    }
    let mut copy = wheel.clone();
    let mut loaded = crate::serialized::reload(wheel.clone(), crate::script::Road::Straight);
    wheel.clear();
    assert_eq!(wheel.stats().lanes, 0);
    assert!(is_used(&mut wheel));
    wheel.shrink_to_fit();
    assert!(is_used(&mut wheel));
    for timers in [&mut copy, &mut loaded] {
        assert!(timers.advance(SECOND).map(|timer| timer.value).eq(0..2_000));
    }
    assert!(is_used(&mut copy) && !is_used(&mut loaded));
    assert_eq!(loaded.add_lane(), lane);
    assert!(is_used(&mut loaded));
}

#[test]
fn one_lane_too_many_is_refused_and_nothing_is_lost() {
    let mut wheel = Wheel::new(0);
    wheel.reserve(usize::from(MAX_LANES));
    let bytes = wheel.stats().bytes;
    for n in 0..MAX_LANES {
        let lane = wheel.add_lane();
        wheel.schedule_in(lane, 100 - u64::from(n), n);
    }
    let refused = catch_unwind(AssertUnwindSafe(|| wheel.add_lane())).expect_err("there is no room");
    assert_eq!(refused.downcast_ref::<String>().unwrap(), "a timer wheel has at most 64 lanes");
    wheel.check_invariants();
    assert_eq!(wheel.stats().lanes, 64);
    assert!(wheel.stats().bytes >= bytes + 64 * 16, "the last timer and deadline of each");
    assert!(wheel.advance(100).map(|timer| timer.value).eq((0..MAX_LANES).rev()));
}
