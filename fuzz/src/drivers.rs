//! A delay queue on a runtime whose clock is paused, or the timer of one thread: the first byte picks which.

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};

use crate::bytes::decode;
use crate::split_choice;

#[path = "../../tests/delay_queue/pair.rs"]
mod pair;

#[path = "../../tests/delay_queue/rig.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod rig;

#[path = "../../tests/delay_queue/script.rs"]
mod script;

#[path = "../../tests/local/world.rs"]
mod world;

/// The longest scripts: everything is compared after each operation, so long ones are slow.
const LIMITS: [usize; 2] = [100, 200];

/// What the bytes of one input say. Append only: a stored input means its case by number.
#[derive(Debug)]
pub struct Case(Kind);

#[derive(Debug)]
enum Kind {
    DelayQueue(Vec<script::Op>),
    LocalTimer(world::Script),
}

impl Case {
    /// Runs the script on the driver and its model.
    ///
    /// # Panics
    ///
    /// When the two can be told apart.
    pub fn run(self) {
        match self.0 {
            Kind::DelayQueue(ops) => pair::run(&ops),
            Kind::LocalTimer(calls) => world::run(calls),
        }
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (choice, rest) = split_choice(input)?;
        Ok(Self(match choice % 2 {
            0 => Kind::DelayQueue(decode::<script::Op>(rest, LIMITS[0])),
            _ => Kind::LocalTimer(decode::<world::Call>(rest, LIMITS[1])),
        }))
    }
}
