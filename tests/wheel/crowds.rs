//! Crowds in one tick, in a coarse bucket and in a far rotation, fired by any budget and disturbed in between.

use timer_wheel::{Budget, Compact, Geometry, Millis, Wheel};

use crate::geometries::{FAR_TIMERS, Narrow, few};
use crate::pair::{LEVELS, Pair};
use crate::script::{Op, Pick, When, spans};

/// A bucket of [`Millis`] with more timers is crowded.
const FEW: usize = 512;

/// In which order a crowd of one tick comes, as what the nth of so many timers adds to the deadline: all at one
/// nanosecond, in order, in reverse and in no order.
const ARRIVALS: [fn(n: u64, timers: u64) -> u64; 4] =
    [|_, _| 0, |n, _| n, |n, timers| timers - 1 - n, |n, timers| n * 7_919 % timers];

/// Ours: a crowd in one tick made the heap's array double in the middle of a budgeted call.
#[test]
fn crowd_in_one_tick_takes_as_many_calls_as_its_budget_says() {
    fn check<G: Geometry>(arrival: usize, work: usize) {
        const CROWD: u64 = 20_000;
        let tick = 3 * spans::<G>()[1];
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let mut expected: Vec<(u64, u64)> = (0..CROWD).map(|n| (tick + ARRIVALS[arrival](n, CROWD), n)).collect();
        for &(deadline, n) in &expected {
            wheel.schedule(deadline, n);
        }
        expected.sort_unstable();
        let (mut fired, mut units, mut calls) = (Vec::new(), 0, 0);
        while !wheel.is_empty() {
            let mut budget = Budget::of_work(work);
            let advance = wheel.advance_with_budget(tick + CROWD, &mut budget);
            fired.extend(advance.map(|item| (item.deadline, item.value)));
            assert!(budget.work == 0 || !wheel.has_backlog());
            units += work - budget.work;
            calls += 1;
            assert!(calls <= 10 * CROWD, "{} fired", fired.len());
        }
        assert!(fired == expected, "arrival {arrival}, budget {work}");
        // Moved down two levels at most, collected and fired; and what makes way for a piece.
        let crowd = CROWD as usize;
        let ways = (crowd / work).min(crowd) * work.min(FEW);
        let most = 4 * crowd + LEVELS + ways;
        assert!(units <= most, "{units} units, arrival {arrival}, budget {work}");
    }
    for arrival in 0..ARRIVALS.len() {
        for work in [1, 7, 256, 5_000, usize::MAX / 2] {
            check::<Millis>(arrival, work);
            check::<Narrow>(arrival, work);
        }
    }
}

/// A crowd that is moved ahead, opened and fired by a unit a call, while timers are cancelled, postponed, taken back and
/// scheduled between the calls: in one tick, in a coarse bucket, and in a far rotation.
#[test]
fn crowd_disturbed_between_calls_of_one_unit_fires_in_order() {
    fn check<G: Geometry>(level: usize, timers: u64, is_spread: bool) {
        let spans = spans::<G>();
        let start = 2 * spans[level];
        let apart = if is_spread { spans[level] / timers } else { 0 };
        let mut pair = Pair::<G>::new(start - spans[level] / 2 - 1);
        pair.apply(&Op::Storm(When::At(u64::MAX), 0, FAR_TIMERS as u8));
        (0..timers).for_each(|n| pair.schedule(start + n * apart));
        // Some ticks before the crowd begins; when it does; and when all of it is due.
        let end = start + timers * apart;
        let mut calls = 0;
        for to in [start - spans[level] / 3, start - 1, start, end] {
            while pair.model.now() < to || pair.wheel.has_backlog() {
                let before = pair.wheel.levels().map(|level| level.timers);
                pair.apply(&Op::AdvanceBudgeted(When::At(to), Budget::of_work(1), 0));
                let after = pair.wheel.levels().map(|level| level.timers);
                let left = before.iter().zip(after);
                let taken: usize = left.map(|(before, after)| before.saturating_sub(after)).sum();
                assert!(taken <= 1, "{taken} timers were taken from buckets");
                calls += 1;
                assert!(calls <= 20 * timers, "{} are left", pair.model.len());
                let nth = (calls * 7 % timers) as u8;
                if calls > 2 * timers {
                    continue;
                }
                match calls % 8 {
                    1 => pair.apply(&Op::Cancel(Pick::Live(nth))),
                    2 => pair.apply(&Op::Schedule(When::At(start + u64::from(nth) * apart))),
                    4 => pair.apply(&Op::Reschedule(Pick::Live(nth), When::At(end + u64::from(nth)))),
                    5 => pair.apply(&Op::Schedule(When::At(end - apart / 2))),
                    7 => pair.apply(&Op::Reschedule(Pick::Live(nth), When::In(0))),
                    _ => {}
                }
            }
        }
        assert!(calls > timers, "{calls} calls of one unit");
        pair.finish();
    }
    for is_spread in [true, false] {
        for level in 0..LEVELS {
            check::<Narrow>(level, 40, is_spread);
        }
        check::<Compact>(2, 150, is_spread);
    }
}

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
