//! Any `u64` is a deadline, and an advance yields every timer that is due, once and in order.

use timer_wheel::{Geometry, TimerKey, Wheel};

use crate::geometries::Widest;
use crate::pair::Pair;
use crate::script::{Op, When, spans};

/// Clocks at which the arithmetic of ticks has wrapped, changed sign or been cut short.
const CLOCKS: [u64; 12] = {
    const MEBI: u64 = 1 << 20;
    const SIGN: u64 = 1 << 63;
    const MAX: u64 = u64::MAX;
    [0, 1, MEBI - 1, MEBI, MEBI + 1, MAX >> 32, MEBI << 32 | 99, SIGN - 1, SIGN, SIGN + 1, MAX - 1, MAX]
};

/// The jumps at which wheels have failed, for one geometry: nothing, one, each span and around it.
fn jumps<G: Geometry>() -> Vec<u64> {
    let around = |span: u64| [span - 1, span, span.saturating_add(1)];
    let mut jumps: Vec<u64> = spans::<G>().into_iter().flat_map(around).collect();
    jumps.extend([0, 1, 2, 1 << 61, u64::MAX]);
    jumps.sort_unstable();
    jumps.dedup();
    jumps
}

/// Caffeine (three fixes): signed wrap, the zero crossing, and the tick delta narrowed to 32 bits.
///
/// Caffeine and moka#248: zero, past and tiny delays hashed into a bucket of the future, or looped for ever.
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
