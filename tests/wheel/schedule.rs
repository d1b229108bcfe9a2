//! Any `u64` is a deadline, and what is overdue fires next. Tests that say whose are traps that other timer wheels fell into.

use timer_wheel::{Budget, Geometry, Wheel};

use crate::geometries::Widest;
use crate::pair::Pair;
use crate::script::{Op, Pick, Rule, When};

/// Clocks at which the arithmetic of ticks has wrapped, changed sign or been cut short.
pub(crate) const CLOCKS: [u64; 12] = {
    const MEBI: u64 = 1 << 20;
    const SIGN: u64 = 1 << 63;
    const MAX: u64 = u64::MAX;
    [0, 1, MEBI - 1, MEBI, MEBI + 1, MAX >> 32, MEBI << 32 | 99, SIGN - 1, SIGN, SIGN + 1, MAX - 1, MAX]
};

pub(crate) const END: When = When::At(u64::MAX);

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
