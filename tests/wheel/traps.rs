//! The traps that other timer wheels fell into, each under its name. Every test says whose it was. Most are scripts,
//! after each operation of which everything is compared with the model.

mod timers;

use timer_wheel::{Budget, Caffeine, Compact, Geometry, Micros, Millis, Wheel};

use crate::geometries::{Lopsided, Tiny, Widest};
use crate::numbers::Numbers;
use crate::pair::Pair;
use crate::script::{Op, Pick, Rule, When, spans};

/// Clocks at which the arithmetic of ticks has wrapped, changed sign or been cut short.
const CLOCKS: [u64; 12] = {
    const MEBI: u64 = 1 << 20;
    const SIGN: u64 = 1 << 63;
    const MAX: u64 = u64::MAX;
    [0, 1, MEBI - 1, MEBI, MEBI + 1, MAX >> 32, MEBI << 32 | 99, SIGN - 1, SIGN, SIGN + 1, MAX - 1, MAX]
};

const END: When = When::At(u64::MAX);

/// The jumps at which wheels have failed, for one geometry: nothing, one, each span and around it.
fn jumps<G: Geometry>() -> Vec<u64> {
    let around = |span: u64| [span - 1, span, span.saturating_add(1)];
    let mut jumps: Vec<u64> = spans::<G>().into_iter().flat_map(around).collect();
    jumps.extend([0, 1, 2, 1 << 61, u64::MAX]);
    jumps.sort_unstable();
    jumps.dedup();
    jumps
}

/// Caffeine (fixed in 2026) and tokio#8334 chose the level by duration and the bucket by absolute
/// time, so that a far timer wrapped onto a near bucket and the wake-up came after the earliest.
#[test]
fn expiration_delay_at_unaligned_clocks_is_never_late() {
    fn check<G: Geometry>() {
        let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
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

/// Caffeine (three fixes): signed wrap, the zero crossing, and the tick delta narrowed to 32 bits.
#[test]
fn advance_at_every_clock_and_jump_fires_exactly_what_is_due() {
    fn check<G: Geometry>() {
        let jumps = jumps::<G>();
        for clock in CLOCKS {
            for &jump in &jumps {
                let mut pair = Pair::<G>::new(clock);
                for &delay in &jumps {
                    pair.schedule(clock.saturating_add(delay));
                    pair.schedule(clock.saturating_sub(delay));
                }
                pair.run(&[
                    Op::Advance(When::In(jump)),
                    Op::Schedule(When::In(jump)),
                    Op::Advance(When::In(1)),
                    Op::Advance(When::In(jump)),
                ]);
            }
        }
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// Caffeine and moka#248: zero, past and tiny delays hashed into a bucket of the future, or looped
/// for ever.
#[test]
fn zero_tiny_and_past_delays_fire_on_the_very_next_advance() {
    fn check<G: Geometry>() {
        for clock in CLOCKS {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(clock);
            let around = [clock, clock.saturating_add(1), clock.saturating_sub(1), 0];
            for (value, deadline) in (0..).zip(around) {
                wheel.schedule(deadline, value);
            }
            assert_eq!(wheel.expiration_delay(), Some(0), "at {clock}");
            let due: Vec<u64> = wheel.advance(clock).map(|item| item.value).collect();
            let expected: &[u64] = match clock {
                0 => &[0, 2, 3],
                1 => &[2, 3, 0],
                u64::MAX => &[3, 2, 0, 1],
                _ => &[3, 2, 0],
            };
            assert_eq!(due, expected, "at {clock}");
            if clock < u64::MAX {
                assert_eq!(wheel.expiration_delay(), Some(1), "at {clock}");
                assert_eq!(wheel.advance(clock + 1).count(), 1);
            }
            assert!(wheel.is_empty());
        }
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// theine-go#64 and nats#7070: a sweep off by one bucket, or a missed revolution.
#[test]
fn advance_by_whole_revolutions_leaves_nothing_due_alive() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for (level, &span) in spans.iter().enumerate() {
            // The rotation of a level is the span of the next; the far level has none.
            let rotation = spans.get(level + 1).copied().unwrap_or(span * 2);
            for jump in [span, rotation - 1, rotation, rotation + 1, 3 * rotation] {
                let mut pair = Pair::<G>::new(span / 2);
                for round in 0..12_u64 {
                    for delay in [1, span - 1, span, rotation - 1, rotation, rotation + span] {
                        pair.schedule(pair.model.now().saturating_add(delay + round));
                    }
                    pair.apply(&Op::Advance(When::In(jump)));
                }
                pair.finish();
            }
        }
    }
    in_every_geometry!(check);
}

/// tokio#3270: the level computed at removal was not the level at insertion, and the occupancy bit
/// of another bucket was cleared, or none. wahern/timeout: the bit was not cleared on delete, and empty buckets woke the
/// driver. A postponed timer was the same trap here: its deadline no longer says in which bucket it is.
#[test]
fn cancel_after_some_expired_or_were_postponed_clears_every_bit() {
    fn check<G: Geometry>() {
        for span in spans::<G>() {
            let mut pair = Pair::<G>::new(span / 3);
            for count in [1, 2, 33, 70] {
                pair.apply(&Op::Storm(When::Edge(span, 2, 0), 0, count));
                pair.apply(&Op::Storm(When::Edge(span, 2, 1), span / 2, 5));
                pair.apply(&Op::RescheduleMany(2, When::Edge(span, 5, 0)));
                pair.apply(&Op::Advance(When::Edge(span, 2, 0)));
                pair.apply(&Op::CancelMany(1));
                pair.apply(&Op::CancelMany(0));
                let stats = pair.wheel.stats();
                assert_eq!((stats.timers, stats.occupied), (0, [0; 5]));
            }
            pair.finish();
        }
    }
    in_every_geometry!(check);
}

/// ratas: the lower level fired before the upper level's clock had moved, when timers were put back
/// by a rotation and one or two ticks.
#[test]
fn reschedule_by_a_rotation_and_one_in_a_loop_fires_on_time() {
    fn check<G: Geometry>(ticks: u64) {
        let [tick, rotation, ..] = spans::<G>();
        let period = rotation + ticks * tick;
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let key = wheel.schedule(period, 1);
        for round in 1..600 {
            let deadline = round * period;
            for moment in [deadline - tick, deadline - 1] {
                assert!(wheel.peek_expired(moment).is_none(), "due early, in round {round}");
            }
            wheel.peek_expired(deadline).expect("it is due").rearm(deadline + period);
            assert!(wheel.peek_expired(deadline).is_none());
            wheel.check_invariants();
            // And once more from outside, to the same moment.
            assert!(wheel.reschedule(key, deadline + 3 * period));
            assert!(wheel.reschedule(key, deadline + period));
        }
    }
    for ticks in 0..4 {
        check::<Millis>(ticks);
        check::<Micros>(ticks);
        check::<Compact>(ticks);
        check::<Caffeine>(ticks);
        check::<Tiny>(ticks);
        check::<Lopsided>(ticks);
    }
}

/// tokio#5536, kube#1772 and restate#5017: a far deadline panicked. Every entry point takes it.
#[test]
fn end_of_time_in_every_entry_point_does_not_panic() {
    fn check<G: Geometry>() {
        for clock in CLOCKS {
            Pair::<G>::new(clock).run(&[
                Op::Schedule(END),
                Op::Schedule(When::In(0)),
                Op::Reschedule(Pick::Live(0), END),
                Op::RescheduleOrInsert(Pick::Live(0), END),
                Op::Storm(END, u64::MAX, 40),
                Op::PeekFirst,
                Op::Evict(END, 3),
                Op::Advance(When::At(u64::MAX - 1)),
                Op::Drive(8, u64::MAX),
                Op::Storm(END, u64::MAX, 40),
                Op::AdvanceWith(END, Budget::of_work(60), Rule::Every(u64::MAX)),
                Op::PeekExpired(END, 2, Rule::Every(1)),
                Op::AdvanceBudgeted(END, Budget::of_work(3), 1),
                Op::Pop(END),
                Op::AdvanceToEnd(END, 1),
            ]);
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
