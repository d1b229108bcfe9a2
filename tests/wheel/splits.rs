//! Neither the geometry nor the way an advance is split changes what fires, or in which order.

use timer_wheel::{Budget, Caffeine, Compact, Geometry, Micros, Millis};

use crate::drawn::{Drawn, check};
use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Widest};
use crate::kinds::Mixed;
use crate::pair::{Fired, Pair};
use crate::script::{Op, Rule, Script, When};

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
