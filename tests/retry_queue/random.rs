//! Random histories, other ones in each run. One that fails is printed as the shortest that still does.

use std::{env, fmt};

use quickcheck::{Arbitrary, Gen, QuickCheck};

use crate::script::{Op, Script};
use crate::world;

/// A script as the bytes that it is decoded from, which shrink: fewer operations, lower numbers, plainer choices.
#[derive(Clone)]
struct Drawn {
    ops: Vec<(u8, u8)>,
    begin: (u8, u8, u8),
}

impl Drawn {
    fn script(&self) -> Script {
        Script::decode(self.begin.into(), self.ops.iter().map(|op| (*op).into()))
    }
}

impl fmt::Debug for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.script().fmt(f)
    }
}

impl Arbitrary for Drawn {
    fn arbitrary(g: &mut Gen) -> Self {
        // Each byte as often as another: quickcheck's own prefer the least and the greatest.
        let byte = |g: &mut Gen| (u16::arbitrary(g).wrapping_mul(0x9E37) >> 8) as u8;
        let ops = Vec::<()>::arbitrary(g).into_iter().map(|()| (byte(g), byte(g))).collect();
        Self { ops, begin: (byte(g), byte(g), byte(g)) }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let parts = (self.ops.clone(), self.begin);
        Box::new(parts.shrink().map(|(ops, begin)| Self { ops, begin }))
    }
}

#[test]
fn random_histories_match_the_model() {
    let check = QuickCheck::new().rng(Gen::new(200));
    let is_asked = env::var_os("QUICKCHECK_TESTS").is_some();
    let mut check = if is_asked { check } else { check.tests(3_000) };
    check.quickcheck((|drawn| world::run(&drawn.script())) as fn(Drawn));
}

#[test]
fn failing_history_shrinks_to_its_guilty_operations() {
    fn is_innocent(drawn: Drawn) -> bool {
        let ops = drawn.script().ops.into_iter();
        !ops.skip_while(|op| !matches!(op, Op::Pass(5..))).any(|op| op == Op::Reload)
    }
    let check = QuickCheck::new().rng(Gen::from_size_and_seed(200, 1)).quicktest(is_innocent as fn(_) -> bool);
    let found = format!("{:?}", check.expect_err("most histories are guilty"));
    let least = "Script { setup: Setup { patience: 0, attempts: 0 }, start: 0, ops: [Pass(5), Reload] }";
    assert!(found.contains(least), "{found}");
}
