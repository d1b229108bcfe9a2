//! Timers fire in the order of their deadlines, first in first out among equals.

use timer_wheel::{Geometry, TimerKey, Wheel};

use crate::pair::Pair;
use crate::rng::Rng;
use crate::script::{Op, Pick, Rule, When, spans};

/// The first timer's own deadline, however far ahead.
const FIRST: When = When::Like(0, 0, u64::MAX);

/// tokio#8402: peek returned another key than the one that fired next. Postponed timers must not be peeked at where
/// they were.
#[test]
fn next_deadline_ascending_and_next_fired_agree_to_the_end() {
    fn check<G: Geometry>() {
        let mut numbers = Rng(42);
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
