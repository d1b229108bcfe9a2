//! Scripts on the wheel for indexes: a geometry and a kind of script, a number of indexes, and the script.

use std::fmt;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};

use crate::Subject;
use crate::index_pair::INDEXES;
use crate::script::Script;

/// What the bytes of one input say.
pub struct Case {
    subject: &'static Subject,
    indexes: u32,
    script: Script,
}

impl Case {
    /// Runs the script on an index wheel and its model.
    ///
    /// # Panics
    ///
    /// When the two can be told apart.
    pub fn run(&self) {
        (self.subject.run_index)(&self.script, self.indexes);
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let bytes = input.bytes(input.len())?;
        let [choice, count, rest @ ..] = bytes else {
            return Err(arbitrary::Error::NotEnoughData);
        };
        let (subject, kind) = Subject::choose(*choice);
        Ok(Self { subject, indexes: INDEXES[usize::from(*count) % INDEXES.len()], script: subject.script(kind, rest) })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, indexes, script } = self;
        write!(f, "{}, {indexes} indexes: {script:#?}", subject.name)
    }
}
