//! What the fuzz targets of the wheel have in common: bytes that are a geometry, a clock and a
//! script, run on a wheel and on the model of the test suite.
//!
//! Decoders, model and comparison are the test suite's own, so that a finding here is a failing
//! test there.

pub mod index;
pub mod stored;

#[path = "../../tests/wheel/bytes.rs"]
mod bytes;

#[path = "../../tests/wheel/geometries.rs"]
#[allow(dead_code, unused_macros, reason = "the tests use more of them")]
mod geometries;

#[path = "../../tests/index/pair.rs"]
mod index_pair;

#[path = "../../tests/wheel/decoding.rs"]
mod decoding;

#[path = "../../tests/wheel/model.rs"]
mod model;

#[path = "../../tests/wheel/pair.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod pair;

#[path = "../../tests/wheel/script.rs"]
mod script;

#[path = "../../tests/wheel/serialized.rs"]
mod serialized;

use std::fmt;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, Wheel};

use crate::bytes::decode;
use crate::decoding::{Backlog, Bursts, Edges, Mixed};
use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Wide, Widest};
use crate::pair::Pair;
use crate::script::Script;

/// The kind of scripts with everything that a wheel can do, evenly mixed.
pub const ANY: usize = 0;
/// Timers by the hundred that come, go and move: some 1,500 calls in all.
pub const BURSTS: usize = 1;
/// Schedules and advances in turn, where buckets, levels and time itself end.
pub const EDGES: usize = 2;
/// Advances that a budget interrupts, and what can happen while a backlog waits.
pub const BACKLOG: usize = 3;

/// The longest script of each kind: everything is compared after each operation, so long ones are slow.
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
    /// Reads a script of each kind, of so many operations at most.
    read: [fn(&[u8], usize) -> Script; 4],
    run: fn(&Script),
    run_index: fn(&Script, u32),
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
            run_index: index_pair::run::<G>,
            load: stored::Input::load::<G>,
        }
    }

    /// The script of a kind that bytes stand for.
    fn script(&self, kind: usize, bytes: &[u8]) -> Script {
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

/// What the bytes of one input say: the script is one of the kinds from `FIRST` to `LAST`. Append only, as a stored input
/// means its kind by place.
pub struct Case<const FIRST: usize, const LAST: usize> {
    subject: &'static Subject,
    script: Script,
}

impl<const FIRST: usize, const LAST: usize> Case<FIRST, LAST> {
    /// Runs the script on a wheel and its model.
    ///
    /// # Panics
    ///
    /// When the two can be told apart.
    pub fn run(&self) {
        (self.subject.run)(&self.script);
    }
}

impl<'a, const FIRST: usize, const LAST: usize> Arbitrary<'a> for Case<FIRST, LAST> {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let bytes = input.bytes(input.len())?;
        let (&choice, rest) = bytes.split_first().ok_or(arbitrary::Error::NotEnoughData)?;
        let (subject, kind) = Subject::choose(choice);
        Ok(Self { subject, script: subject.script(FIRST + kind % (LAST - FIRST + 1), rest) })
    }
}

impl<const FIRST: usize, const LAST: usize> fmt::Debug for Case<FIRST, LAST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:#?}", self.subject.name, self.script)
    }
}
