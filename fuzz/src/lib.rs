//! What the bytes of an input mean to each fuzz target. Here for the wheel: a geometry, a clock and a script, run on a
//! wheel and on the model of the test suite.
//!
//! Decoders, models and comparisons are the test suite's own, so that a finding here is a failing test there.

pub mod drivers;
pub mod index;
pub mod stored;
pub mod ttl;
pub mod window;

#[path = "../../tests/wheel/bytes.rs"]
mod bytes;

#[path = "../../tests/wheel/geometries.rs"]
#[allow(dead_code, unused_macros, reason = "the tests use more of them")]
mod geometries;

#[path = "../../tests/wheel/decoding.rs"]
mod decoding;

#[path = "../../tests/wheel/model.rs"]
mod model;

#[path = "../../tests/wheel/pair.rs"]
#[allow(clippy::duplicate_mod, dead_code, reason = "the tests use more of it, and it is compiled for both wheels")]
mod pair;

mod retry;

#[path = "../../tests/wheel/script.rs"]
mod script;

#[path = "../../tests/wheel/serialized.rs"]
mod serialized;

#[path = "../../tests/wheel/subject.rs"]
mod subject;

use std::fmt;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, Wheel};

use crate::bytes::decode;
use crate::decoding::{Backlog, Bursts, Edges, Mixed};
use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Wide, Widest};
use crate::pair::Pair;
use crate::script::Script;

/// The longest script of each kind, in the order of [`Subject::read`]: everything is compared after each operation, so
/// long ones are slow.
const LIMITS: [usize; 4] = [100, 30, 100, 60];

/// Those of the [`SUBJECTS`] that every input may choose from.
const PLAIN: usize = 9;

/// The geometries to choose from, and then one for half of those inputs that name one of the first four: of the same
/// kind, but with crowds of a few timers. Append only: a stored input means its geometry by place.
///
/// Not a `const`, of which each target would compile a copy, with all that the subjects do.
static SUBJECTS: [Subject; PLAIN + 1] = [
    Subject::new::<Millis>("Millis"),
    Subject::new::<Caffeine>("Caffeine"),
    Subject::new::<Micros>("Micros"),
    Subject::new::<Compact>("Compact"),
    Subject::new::<Tiny>("Tiny"),
    Subject::new::<TinyTick>("TinyTick"),
    Subject::new::<Lopsided>("Lopsided"),
    Subject::new::<Wide>("Wide"),
    Subject::new::<Widest>("Widest"),
    Subject::new::<Narrow>("Narrow"),
];

/// A geometry, and what is done with a wheel of it.
struct Subject {
    name: &'static str,
    /// Reads a script of each kind, of so many operations at most: any operations; timers by the hundred that come, go
    /// and move; schedules and advances in turn, where buckets, levels and time itself end; advances that a budget
    /// interrupts, and what can happen while a backlog waits.
    ///
    /// Append only, as a stored input means its kind by place.
    read: [fn(&[u8], usize) -> Script; 4],
    run: fn(&Script),
    run_index: fn(&Script),
    load: fn(&stored::Input),
}

impl Subject {
    const fn new<G: Geometry>(name: &'static str) -> Self {
        Self {
            name,
            read: [decode::<(Mixed, G)>, decode::<(Bursts, G)>, decode::<(Edges, G)>, decode::<(Backlog, G)>],
            run: |script| {
                Pair::<G>::new(script.start).exhausting(exhaust).run(&script.ops);
            },
            run_index: index::run::<G>,
            load: stored::Input::load::<G>,
        }
    }

    /// The script that bytes stand for, of the kind that a number stands for.
    fn script(&self, kind: usize, bytes: &[u8]) -> Script {
        let kind = kind % LIMITS.len();
        self.read[kind](bytes, LIMITS[kind])
    }

    /// The geometry that a byte stands for, and what is left of the byte.
    fn choose(byte: u8) -> (&'static Self, usize) {
        let (is_narrow, byte) = (byte >= 1 << 7, usize::from(byte));
        let place = match byte % PLAIN {
            0..4 if is_narrow => PLAIN,
            plain => plain,
        };
        (&SUBJECTS[place], byte / PLAIN)
    }
}

#[cfg(fuzzing)]
fn exhaust<G: Geometry>(wheel: &mut Wheel<u64, G>, left: u8) {
    wheel.exhaust_sequence(left.into());
}

#[cfg(not(fuzzing))]
fn exhaust<G: Geometry>(_: &mut Wheel<u64, G>, _: u8) {}

/// What the bytes of one input say.
pub struct Case {
    subject: &'static Subject,
    script: Script,
}

impl Case {
    /// Runs the script on a wheel and its model.
    ///
    /// # Panics
    ///
    /// When the two can be told apart.
    pub fn run(&self) {
        (self.subject.run)(&self.script);
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (choice, rest) = split_choice(input)?;
        let (subject, kind) = Subject::choose(choice);
        Ok(Self { subject, script: subject.script(kind, rest) })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:#?}", self.subject.name, self.script)
    }
}

/// The first byte of an input, and the others.
fn split_choice<'a>(input: &mut Unstructured<'a>) -> arbitrary::Result<(u8, &'a [u8])> {
    let bytes = input.bytes(input.len())?;
    let (&choice, rest) = bytes.split_first().ok_or(arbitrary::Error::NotEnoughData)?;
    Ok((choice, rest))
}
