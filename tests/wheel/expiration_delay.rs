//! A driver that sleeps for `expiration_delay` wakes up in time, and not much more often than there
//! is something to do. A [`Pair`] counts the wake-ups of every script that has a driver.

use timer_wheel::{Budget, Compact, Geometry, Millis, Wheel};

use crate::geometries::{Narrow, Tiny, TinyTick, Widest};
use crate::pair::{LEVELS, Pair};
use crate::rng::Rng;
use crate::script::{Op, Pick, Rule, When, spans};

/// The wake-ups of a driver that sleeps for `expiration_delay` until nothing is left.
fn wake_ups<G: Geometry>(wheel: &mut Wheel<u64, G>) -> usize {
    let mut wake_ups = 0;
    while let Some(delay) = wheel.expiration_delay() {
        wake_ups += 1;
        assert!(wake_ups < 100_000, "the driver never comes to an end");
        let now = wheel.now() + delay;
        for item in wheel.advance(now) {
            assert_eq!(item.deadline, now, "woken up at another time");
        }
    }
    wake_ups
}

/// Postponed before the wheel came to look at it, a timer costs one wake-up more each time.
#[test]
fn driver_wakes_up_once_a_level_and_once_more_for_a_timer_and_each_postponement() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for start in [0, 1, spans[1] - 1, spans[3] + 1, 1 << 60] {
            for span in spans {
                // The longest way: down every level, to a deadline that is on no boundary.
                let ragged: u64 = spans.iter().filter(|&&finer| finer <= span).map(|finer| finer + finer / 2).sum();
                let delays = [1, span - 1, span, span + 1, 2 * span + 1, 3 * span - 1, ragged];
                for (delay, more) in
                    delays.into_iter().flat_map(|delay| [1, span / 2, 3 * span, ragged].map(|by| (delay, by)))
                {
                    for postponed in 0..4 {
                        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(start);
                        let key = wheel.schedule(start + delay, 0);
                        for nth in 1..=postponed {
                            assert!(wheel.reschedule(key, start + delay + nth * more));
                        }
                        let (count, most) = (wake_ups(&mut wheel), LEVELS + 1 + postponed as usize);
                        assert!(count <= most, "{count} wake-ups: {delay} after {start}, {postponed} times {more}");
                    }
                }
            }
        }
    }
    in_every_geometry!(check);
}

/// Found by random scripts: crowds of timers that come in no order, in a geometry of two buckets a level.
#[test]
fn crowd_postponed_behind_a_rearmed_one_asks_for_no_wake_up_at_once() {
    Pair::<TinyTick>::new(0).run(&[
        Op::Advance(When::Edge(8, 7, 0)),
        Op::Storm(When::In(32), 0, 15),
        Op::Advance(When::Edge(2, 3, -1)),
        Op::AdvanceWith(When::Edge(2, 7, 0), Budget::of_work(2), Rule::Mixed(178, 7)),
        Op::Advance(When::In(0)),
        Op::RescheduleMany(1, When::In(30)),
        Op::Pop(When::Like(2, -1, 128)),
    ]);
}

/// Found by random scripts: the call ended before it saw that there was no crowd any more.
#[test]
fn budget_used_up_with_the_last_of_a_crowd_leaves_no_wake_up_behind() {
    fn check<G: Geometry>(crowd: u64) {
        let [_, coarse, ..] = spans::<G>();
        let now = 7 * coarse + coarse / 2;
        for work in 1..=3 * crowd as usize + 2 {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
            (0..crowd).for_each(|n| _ = wheel.schedule(7 * coarse + n, n));
            while !wheel.is_empty() {
                let mut budget = Budget::of_work(work);
                assert!(wheel.advance_with_budget(now, &mut budget).count() <= work);
            }
            assert!(!wheel.has_backlog());
            wheel.schedule(now + coarse, 0);
            assert!(!wheel.has_backlog(), "budget {work}");
            let delay = wheel.expiration_delay();
            assert!(delay >= Some(coarse / 2), "budget {work}: {delay:?}");
        }
    }
    check::<Millis>(600);
    check::<Compact>(300);
    check::<Narrow>(40);
}

/// A crowd is moved once for each bit of its rotation, half a crowd at a time.
#[test]
fn driver_of_a_crowd_at_the_end_of_time_is_woken_for_each_bit_at_most() {
    fn check<G: Geometry>() {
        for timers in [6, 10, 17, 40] {
            let mut pair = Pair::<G>::new(0);
            pair.apply(&Op::Storm(When::At(u64::MAX), 0, timers));
            while !pair.wheel.is_empty() {
                pair.apply(&Op::Drive(20, u64::MAX));
            }
        }
    }
    check::<Tiny>();
    check::<Narrow>();
}

/// Caffeine (fixed in 2026) and tokio#8334 chose the level by duration and the bucket by absolute
/// time, so that a far timer wrapped onto a near bucket and the wake-up came after the earliest.
#[test]
fn expiration_delay_at_unaligned_clocks_is_never_late() {
    fn check<G: Geometry>() {
        let mut numbers = Rng(0x9E37_79B9_7F4A_7C15);
        let spans = spans::<G>();
        for _ in 0..20 {
            let unaligned = numbers.next() >> numbers.below(60);
            let mut pair = Pair::<G>::new(unaligned);
            for _ in 0..25 {
                // Nearly a whole rotation ahead: the distance at which a bucket is met again.
                let span = spans[numbers.below(5) as usize];
                let delay = span.saturating_mul(numbers.below(260)) | numbers.below(span);
                pair.apply(&Op::Schedule(When::In(delay)));
                pair.apply(&Op::Advance(When::In(numbers.below(span) / 3)));
                pair.apply(&Op::Reschedule(Pick::Live(3), When::In(delay / 2)));
            }
            pair.finish();
        }
    }
    in_every_geometry!(check);
}

/// Caffeine, VPP and glommio#44 asked the finest occupied level for the next wake-up and forgot
/// that a coarser bucket may begin before it.
#[test]
fn expiration_delay_with_finer_level_occupied_sees_coarser_levels() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for (level, &span) in spans.iter().enumerate() {
            let boundary = span.saturating_mul(3);
            for offset in [-1, 0, 1] {
                for before in [1, 2, span / 2, span - 1] {
                    // Just before a boundary; one timer past it, one later on a finer level.
                    let past = When::At(boundary.saturating_add_signed(offset));
                    let mut ops = vec![Op::Schedule(past)];
                    for finer in &spans[..level] {
                        let last = boundary.saturating_sub(1);
                        ops.push(Op::Schedule(When::At(last.saturating_add(*finer))));
                        ops.push(Op::Schedule(When::At(last)));
                    }
                    ops.push(Op::Drive(8, u64::MAX));
                    Pair::<G>::new(boundary.saturating_sub(before)).run(&ops);
                }
            }
        }
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// tokio#6752, #8274 and #8320: the sleeper was not told of the last timer removed, of a timer
/// reset to the past, and of a clear. Of the wheel itself: the delay it answers follows at once.
#[test]
fn expiration_delay_follows_removal_reset_and_clear() {
    fn check<G: Geometry>() {
        for span in spans::<G>() {
            let mut pair = Pair::<G>::new(10 * span / 3);
            let far = Op::Schedule(When::Edge(span, 2, 0));
            for empty in [Op::Cancel(Pick::Live(0)), Op::Clear, Op::Drain(1)] {
                pair.apply(&far);
                pair.apply(&empty);
                assert_eq!(pair.wheel.expiration_delay(), None, "{empty:?}");
            }
            pair.apply(&far);
            pair.apply(&far);
            pair.apply(&Op::Reschedule(Pick::Live(0), When::Ago(1)));
            assert_eq!(pair.wheel.expiration_delay(), Some(0), "reset to the past");
            pair.apply(&Op::Cancel(Pick::Live(0)));
            pair.apply(&Op::Reschedule(Pick::Live(0), When::In(1)));
            assert!(pair.wheel.expiration_delay() <= Some(1));
            pair.finish();
        }
    }
    in_every_geometry!(check);
}
