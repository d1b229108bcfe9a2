//! Traps of the timers themselves: their order, their keys and their count.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{Budget, Geometry, Millis, TimerKey, Wheel};

use super::END;
use crate::geometries::Widest;
use crate::numbers::Numbers;
use crate::pair::Pair;
use crate::script::{Op, Pick, Rule, When, spans};

/// The first timer's own deadline, however far ahead.
const FIRST: When = When::Like(0, 0, u64::MAX);

/// Caffeine's fuzzer held an assertion that its own condition kept from ever failing. Here a wheel
/// and a model that differ in one thing, any one, must be told apart.
#[test]
fn comparison_of_a_pair_that_differs_fails() {
    type Spoil = fn(&mut Pair<Millis>, TimerKey);
    let spoils: [(&str, Spoil); 7] = [
        ("a timer more", |pair, _| _ = pair.wheel.schedule(1 << 60, 99)),
        ("a timer less", |pair, first| _ = pair.wheel.cancel(first)),
        ("a deadline one later", |pair, first| {
            assert!(pair.wheel.reschedule(first, 1_006));
        }),
        ("another order among equals", |pair, first| {
            assert!(pair.wheel.reschedule(first, 1_005));
        }),
        ("another value", |pair, first| {
            *pair.wheel.get_mut(first).expect("it lives") = 99;
        }),
        ("another clock", |pair, _| drop(pair.wheel.advance(1_001))),
        ("a timer fired twice", |pair, _| {
            let item = pair.wheel.advance(1_005).next().expect("one is due");
            pair.model.set_clock(1_005);
            pair.wheel.schedule(item.deadline, item.value);
        }),
    ];
    for (what, spoil) in spoils {
        let mut pair = Pair::<Millis>::new(1_000);
        for delay in [5, 5, 1 << 21, 1 << 30, 1 << 50] {
            pair.apply(&Op::Schedule(When::In(delay)));
        }
        let first = pair.model.nth(0).expect("timers were scheduled");
        spoil(&mut pair, first);
        let compared = catch_unwind(AssertUnwindSafe(|| pair.compare()));
        assert!(compared.is_err(), "not noticed: {what}");
    }
}

/// Caffeine (latent from 2017 to 2026): user code re-entered during expiry, and the rest of the
/// chain was stranded. Between two items: cancel the successor, schedule into the same tick, the past and the present.
#[test]
fn pop_with_timers_cancelled_and_scheduled_in_between_keeps_the_rest() {
    fn check<G: Geometry>() {
        for clock in [1_000, 1 << 40, u64::MAX - 10] {
            let mut pair = Pair::<G>::new(clock - 500);
            pair.apply(&Op::Storm(When::At(clock - 20), 1, 40));
            for nth in 0..30 {
                pair.apply(&Op::Pop(When::At(clock)));
                pair.apply(&Op::Cancel(Pick::Live(nth % 2)));
                for at in [When::Ago(15), When::In(0), When::In(1)] {
                    pair.apply(&Op::Schedule(at));
                }
                pair.apply(&Op::Pop(When::At(clock)));
                pair.apply(&Op::Reschedule(Pick::Live(1), When::Ago(7)));
            }
            pair.finish();
        }
    }
    in_every_geometry!(check);
}

/// moka#524 and #565: a handle outlived its node and was followed into memory given to another.
#[test]
fn stale_keys_of_every_age_never_reach_another_timer() {
    fn check<G: Geometry>() {
        let mut pair = Pair::<G>::new(0);
        for round in 0..100 {
            // The same few slots, left in every way there is.
            pair.apply(&Op::Schedule(When::In(10)));
            pair.apply(&Op::Schedule(END));
            pair.apply(&match round % 8 {
                0 => Op::Cancel(Pick::Live(0)),
                1 => Op::Advance(When::In(10)),
                2 => Op::Pop(When::In(10)),
                3 => Op::AdvanceWith(When::In(10), Budget::unlimited(), Rule::Remove),
                4 => Op::Clear,
                5 => Op::Drain(1),
                6 => Op::PeekExpired(When::In(10), 1, Rule::Remove),
                _ => Op::PopFirst,
            });
            pair.apply(&Op::CancelMany(0));
            let slots = pair.wheel.stats().slots;
            assert!(slots <= 2, "{slots} slots: they are not reused");
            if round % 11 == 0 {
                pair.apply(&Op::Shrink);
            }
        }
        pair.finish();
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// netty#14959: the count of pending timers went down twice when a cancel met a firing.
#[test]
fn cancel_inside_the_firing_window_counts_once() {
    fn check<G: Geometry>() {
        let mut pair = Pair::<G>::new(0);
        let now = When::At(1_000);
        pair.apply(&Op::Storm(now, 0, 9));
        pair.apply(&Op::Pop(now));
        // The one that fired, and then one that has not, twice.
        for back in [8, 7, 7] {
            pair.apply(&Op::Cancel(Pick::Any(back)));
        }
        // In the middle of a backlog.
        pair.apply(&Op::AdvanceBudgeted(now, Budget::of_work(2), 0));
        (0..9).for_each(|back| pair.apply(&Op::Cancel(Pick::Any(back))));
        assert_eq!(pair.wheel.len(), 0);
        pair.finish();
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// tokio#8402: peek returned another key than the one that fired next. Postponed timers must not be peeked at where
/// they were.
#[test]
fn next_deadline_ascending_and_next_fired_agree_to_the_end() {
    fn check<G: Geometry>() {
        let mut numbers = Numbers(42);
        let mut pair = Pair::<G>::new(numbers.below(1 << 40));
        for span in spans::<G>().into_iter().cycle().take(60) {
            let delay = numbers.below(span) / 8 * 8;
            pair.apply(&Op::Schedule(When::In(delay)));
            pair.apply(&Op::Reschedule(Pick::Live(3), When::In(2 * delay)));
        }
        while !pair.wheel.is_empty() {
            pair.apply(&Op::PeekExpired(FIRST, 0, Rule::Remove));
            pair.apply(&Op::Pop(FIRST));
        }
        pair.finish();
    }
    in_every_geometry!(check);
}

/// Dongting: a comparator on the deadline alone dropped timers of equal deadlines.
#[test]
fn ten_thousand_timers_at_one_deadline_all_fire_in_the_order_scheduled() {
    fn check<G: Geometry>() {
        for span in spans::<G>() {
            let deadline = span.saturating_mul(3) + 1;
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(span / 2);
            let keys: Vec<TimerKey> = (0..10_000).map(|n| wheel.schedule(deadline, n)).collect();
            // Neither those that leave nor a detour by another deadline may show.
            for &key in keys.iter().skip(5).step_by(10) {
                assert!(wheel.cancel(key).is_some());
            }
            for &key in keys.iter().skip(7).step_by(10) {
                assert!(wheel.reschedule(key, deadline + span));
                assert!(wheel.reschedule(key, deadline));
            }
            let stay = (0..10_000).filter(|n| n % 10 != 5 && n % 10 != 7);
            let expected: Vec<u64> = stay.chain((7..10_000).step_by(10)).collect();
            let ahead = wheel.ascending().map(|timer| *timer.value);
            assert!(ahead.eq(expected.iter().copied()));
            // Through every cascade on the way, and not in one go.
            let mut order = Vec::new();
            let halves = [(deadline - span / 2, 2), (deadline - 1, 2), (deadline, 2)];
            for (now, part) in halves.into_iter().chain([(deadline, 1)]) {
                let some = wheel.len() / part;
                order.extend(wheel.advance(now).take(some).map(|item| item.value));
            }
            assert!(order == expected && wheel.is_empty());
        }
    }
    in_every_geometry!(check);
}
