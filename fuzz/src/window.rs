//! A window, a store and a host.

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};

use crate::bytes::decode;

#[path = "../../tests/window/script.rs"]
mod script;

#[path = "../../tests/window/world.rs"]
#[allow(dead_code, reason = "the host keeps the rules")]
mod world;

/// What the bytes of one input say.
#[derive(Debug)]
pub struct Case(script::Script);

impl Case {
    /// Runs the script on the window and its model.
    ///
    /// # Panics
    ///
    /// When a row is lost, early, out of order or pending twice.
    pub fn run(&self) {
        world::run(&self.0, None);
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self(decode::<script::Script>(input.bytes(input.len())?, usize::MAX)))
    }
}
