//! Scripts on the wheel for indexes: a geometry and a kind of script, a byte without a meaning, and the script.

use std::fmt;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use timer_wheel::Geometry;

use crate::Subject;
use crate::script::Script;
use pair::Pair;

#[path = "../../tests/wheel/pair.rs"]
#[allow(clippy::duplicate_mod, dead_code, reason = "it is compiled for both wheels, and the tests use more of it")]
mod pair;

#[path = "../../tests/index/mirror.rs"]
mod subject;

/// Runs a script on a wheel, an index wheel that does the same, and their model.
pub(crate) fn run<G: Geometry>(script: &Script) {
    Pair::<G>::new(script.start).run(&script.ops);
}

/// What the bytes of one input say.
pub struct Case {
    subject: &'static Subject,
    script: Script,
}

impl Case {
    /// Runs the script on both wheels and their model.
    ///
    /// # Panics
    ///
    /// When they can be told apart.
    pub fn run(&self) {
        (self.subject.run_index)(&self.script);
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        // The second byte was a number of indexes. Stored inputs still have it.
        let [choice, _, rest @ ..] = input.bytes(input.len())? else {
            return Err(arbitrary::Error::NotEnoughData);
        };
        let (subject, kind) = Subject::choose(*choice);
        Ok(Self { subject, script: subject.script(kind, rest) })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:#?}", self.subject.name, self.script)
    }
}
