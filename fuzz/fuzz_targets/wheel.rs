//! Any script of operations on the wheel, against the model of the test suite: whatever can be
//! observed is compared after every operation, and every law of the structure is checked.
//!
//! The first byte picks the geometry, the rest is a clock to start at and the operations. Decoder,
//! model and comparison are the test suite's own, so that a finding here is a failing test there.

#![no_main]

use std::fmt;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis};

use crate::geometries::{Lopsided, Tiny, TinyTick, Wide, Widest};
use crate::pair::Pair;
use crate::script::{Script, spans};

#[path = "../../tests/wheel/geometries.rs"]
mod geometries;

#[path = "../../tests/wheel/model.rs"]
mod model;

#[path = "../../tests/wheel/pair.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod pair;

#[path = "../../tests/wheel/reload.rs"]
#[allow(dead_code, unused_imports, reason = "its tests are left out here")]
mod reload;

#[path = "../../tests/wheel/script.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod script;

/// The longest script: everything is compared after each operation, so long ones are slow.
const OPS: usize = 100;

/// The geometries to choose from. Append only: a stored input means its geometry by place.
const SUBJECTS: [Subject; 9] = [
    Subject::new::<Millis>("Millis"),
    Subject::new::<Caffeine>("Caffeine"),
    Subject::new::<Micros>("Micros"),
    Subject::new::<Compact>("Compact"),
    Subject::new::<Tiny>("Tiny"),
    Subject::new::<TinyTick>("TinyTick"),
    Subject::new::<Lopsided>("Lopsided"),
    Subject::new::<Wide>("Wide"),
    Subject::new::<Widest>("Widest"),
];

/// A geometry, and how to run a script on a wheel of it.
struct Subject {
    name: &'static str,
    spans: [u64; 5],
    run: fn(&Script),
}

impl Subject {
    const fn new<G: Geometry>(name: &'static str) -> Self {
        Self {
            name,
            spans: spans::<G>(),
            run: |script| {
                Pair::<G>::with_reload(script.start, reload::reload).run(&script.ops);
            },
        }
    }
}

/// What the bytes of one input say.
struct Case {
    subject: &'static Subject,
    script: Script,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let bytes = input.bytes(input.len())?;
        let (&choice, rest) = bytes.split_first().ok_or(arbitrary::Error::NotEnoughData)?;
        let subject = &SUBJECTS[usize::from(choice) % SUBJECTS.len()];
        let script = Script::decode(rest, &subject.spans, OPS);
        Ok(Self { subject, script })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:#?}", self.subject.name, self.script)
    }
}

fuzz_target!(|case: Case| (case.subject.run)(&case.script));
