//! Crowds in one tick and in a far rotation, fired by any budget.

use timer_wheel::{Budget, Geometry, Millis, Wheel};

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
