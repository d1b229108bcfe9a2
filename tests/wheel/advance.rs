//! Any `u64` is a deadline, and an advance yields every timer that is due, once. Neither the geometry nor the way an advance is split changes which, or in
//! which order.

use timer_wheel::{Budget, Caffeine, Compact, Geometry, Micros, Millis, Wheel};

use crate::arbitrary::{Drawn, check};
use crate::decoding::Mixed;
use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Widest};
use crate::pair::{Fired, Pair};
use crate::script::{Op, Rule, Script, When, spans};

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

/// One way to bring a wheel to a moment.
type Way = fn(When) -> Vec<Op>;

const WAYS: [Way; 8] = [
    |to| vec![Op::Advance(to)],
    |to| vec![Op::AdvanceToEnd(to, 1)],
    |to| vec![Op::AdvanceToEnd(to, 7)],
    |to| vec![Op::PopAndSchedule(to, 0)],
    |to| vec![Op::AdvanceDropped(to, 1), Op::Advance(When::In(0))],
    |to| vec![Op::AdvanceWith(to, Budget::unlimited(), Rule::Remove)],
    |to| {
        let some = Op::AdvanceWith(to, Budget::of_work(3), Rule::Until(2));
        vec![some, Op::AdvanceToEnd(When::In(0), 2)]
    },
    |to| vec![Op::PeekExpired(to, u8::MAX, Rule::Remove), Op::Advance(When::In(0))],
];

/// What fires when each advance of a script goes that way.
fn fired<G: Geometry>(script: &Script, way: Way) -> Vec<Fired> {
    let mut pair = Pair::<G>::new(script.start);
    for op in &script.ops {
        match *op {
            // How far a budget goes depends on the geometry.
            Op::Advance(to) | Op::AdvanceBudgeted(to, ..) | Op::AdvanceWith(to, ..) => {
                let to = When::At(pair.resolve(to));
                way(to).iter().for_each(|op| pair.apply(op));
            }
            Op::Drive(..) => {}
            _ => pair.apply(op),
        }
    }
    pair.finish();
    // The high half of a value counts how often it was written to.
    let fired = pair.fired.into_iter();
    fired.map(|(deadline, value)| (deadline, value as u32 as u64)).collect()
}

#[test]
fn timers_fire_alike_in_every_geometry_and_split() {
    fn agree(script: Drawn<(Mixed, Millis)>) {
        let script = script.script();
        let expected = fired::<Millis>(&script, WAYS[0]);
        for (nth, &way) in WAYS.iter().enumerate() {
            let check = |fired| assert_eq!(fired, expected, "way {nth}");
            check(fired::<Millis>(&script, way));
            check(fired::<Narrow>(&script, way));
            check(fired::<TinyTick>(&script, way));
        }
        let others =
            [fired::<Caffeine>, fired::<Micros>, fired::<Compact>, fired::<Tiny>, fired::<Lopsided>, fired::<Widest>];
        for (fired, way) in others.into_iter().zip(WAYS.into_iter().cycle().skip(script.ops.len())) {
            assert_eq!(fired(&script, way), expected);
        }
    }
    check(60, 120, agree);
}
