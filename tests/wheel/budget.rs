//! A budget bounds one call, repeated calls come to an end, and work follows the timers.

use timer_wheel::{Budget, Caffeine, Compact, Geometry, Millis, Wheel};

use crate::geometries::{Tiny, with_lists};
use crate::pair::LEVELS;
use crate::script::spans;

/// The number of buckets, over all levels, that hold one of these deadlines on the way down.
fn buckets_passed<G: Geometry>(deadlines: &[u64]) -> usize {
    let mut passed = 0;
    for span in spans::<G>() {
        let mut buckets: Vec<u64> = deadlines.iter().map(|at| at / span).collect();
        buckets.dedup();
        passed += buckets.len();
    }
    passed
}

/// An advance that is dropped has paid for the bucket that it opened and for what it yielded, and not for the rest.
#[test]
fn dropped_advance_pays_for_what_it_did() {
    let mut wheel = with_lists::<Millis>(0);
    let tick = spans::<Millis>()[0];
    (0..10).for_each(|n| _ = wheel.schedule(5 * tick, n));
    let mut budget = Budget::of_work(100).with_fires(50);
    drop(wheel.advance_with_budget(5 * tick, &mut budget));
    assert_eq!((budget.work, budget.fires), (100, 50), "not pulled");
    assert_eq!(wheel.advance_with_budget(5 * tick, &mut budget).take(3).count(), 3);
    // A bucket, ten timers sorted, three fired.
    assert_eq!((budget.work, budget.fires), (100 - 14, 47));
    assert_eq!(wheel.advance_with_budget(5 * tick, &mut budget).count(), 7);
    assert_eq!((budget.work, budget.fires), (100 - 21, 40));
}

/// What was prepared stays prepared: a timer scheduled before that time waits in the heap, however many there are.
#[test]
fn prepared_advance_only_fires_whatever_is_scheduled_before_it() {
    fn check<G: Geometry>() {
        for earlier in [0, 1, 200] {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
            let tick = spans::<G>()[0];
            let until = 1_000 * tick;
            (0..earlier).for_each(|n| _ = wheel.schedule(until - n * tick, n));
            wheel.prepare(until, &mut Budget::unlimited());
            (1..=500).for_each(|n| _ = wheel.schedule(n * tick, n));
            let mut budget = Budget::of_work(500 + earlier as usize);
            assert_eq!(wheel.advance_with_budget(until, &mut budget).count(), 500 + earlier as usize);
        }
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Compact>();
}

/// Calls with a budget of one until all fired, in order. The deadlines are sorted.
fn drain_by_one<G: Geometry>(start: u64, deadlines: &[u64]) {
    let mut wheel: Wheel<u64, G> = Wheel::with_geometry(start);
    wheel.reserve(deadlines.len());
    for (nth, &deadline) in deadlines.iter().enumerate() {
        wheel.schedule(deadline, nth as u64);
    }
    let now = deadlines[deadlines.len() - 1];
    let most = (LEVELS + 2) * deadlines.len() + buckets_passed::<G>(deadlines);
    let mut calls = 0;
    let mut next = 0;
    let mut backlog = true;
    while backlog {
        calls += 1;
        assert!(calls <= most, "{next} fired after {calls} calls");
        let mut budget = Budget::of_work(1);
        let mut advance = wheel.advance_with_budget(now, &mut budget);
        if let Some(item) = advance.next() {
            assert_eq!(item.value, next, "fired out of order");
            next += 1;
            assert!(advance.next().is_none(), "two items for one unit");
        }
        backlog = wheel.has_backlog();
        assert!(!backlog || budget.work == 0, "a backlog, and no work");
    }
    assert_eq!(next as usize, deadlines.len());
    assert!(wheel.is_empty());
}

/// Caffeine's notes: resuming after a budget by rewinding the clock scans again what a cascade moved, for ever.
#[test]
fn million_timers_with_budget_one_end() {
    const MILLION: u64 = 1_000_000;
    let span = spans::<Millis>()[3];
    let one_bucket = (0..MILLION).map(|n| 3 * span + n * (span / MILLION));
    drain_by_one::<Millis>(12_345, &one_bucket.collect::<Vec<u64>>());
    let one_deadline = (0..MILLION).map(|_| span * 5 / 2);
    drain_by_one::<Millis>(12_345, &one_deadline.collect::<Vec<u64>>());
    let [tick, .., horizon] = spans::<Caffeine>();
    let far = (0..MILLION).map(|n| 3 * horizon + n / 16 * tick);
    drain_by_one::<Caffeine>(12_345, &far.collect::<Vec<u64>>());
}

/// One unit each for the bucket opened, the entry collected and the timer fired, whatever the level: a
/// bucket of few timers is brought up as a whole. From the near heap only the fire.
#[test]
fn units_of_one_timer_count_buckets_visits_and_firing() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for (level, span) in spans.into_iter().enumerate() {
            for (mut wheel, expected) in [(Wheel::with_geometry(0), 1), (with_lists::<G>(0), 3)] {
                wheel.schedule(span, 0);
                let mut budget = Budget::of_work(1_000);
                assert_eq!(wheel.advance_with_budget(span, &mut budget).count(), 1);
                assert_eq!(1_000 - budget.work, expected, "on level {level}");
            }
        }
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Compact>();
    check::<Tiny>();
}

#[test]
fn timer_rearmed_to_the_past_is_bounded_by_the_budget_alone() {
    let mut wheel: Wheel<u64> = Wheel::new(1_000);
    let key = wheel.schedule(500, 0);
    wheel.schedule(600, 0);
    for work in [1, 2, 50] {
        let mut budget = Budget::of_work(work);
        while let Some(mut due) = wheel.peek_expired_with_budget(1_000, &mut budget) {
            assert_eq!(due.key(), key, "the other must wait behind it");
            *due.get_mut() += 1;
            let again = due.deadline();
            due.rearm(again);
        }
        assert!(budget.work == 0 && wheel.has_backlog());
        wheel.check_invariants();
    }
    // A unit each time it fires, and one for placing it again.
    assert!(wheel.get(key).is_some_and(|&times| times >= 53 / 2 - 2));
    assert_eq!(wheel.advance(1_000).count(), 2);
}
