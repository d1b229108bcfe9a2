//! Any script of operations on the delay queue, against the model of the test suite, on a runtime
//! whose clock is paused: what is delivered and when, and what wakes the task that waits.
//!
//! Decoder, model and comparison are the test suite's own, so that a finding here is a failing
//! test there.

#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;

use crate::bytes::decode;
use crate::script::Op;

#[path = "../../tests/wheel/bytes.rs"]
mod bytes;

#[path = "../../tests/wheel/model.rs"]
#[allow(dead_code, reason = "the wheel uses more of it")]
mod model;

#[path = "../../tests/delay_queue/pair.rs"]
mod pair;

#[path = "../../tests/delay_queue/rig.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod rig;

#[path = "../../tests/delay_queue/script.rs"]
mod script;

/// The longest script: everything is compared after each operation, so long ones are slow.
const OPS: usize = 100;

/// What the bytes of one input say.
#[derive(Debug)]
struct Case(Vec<Op>);

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self(decode::<Op>(input.bytes(input.len())?, OPS)))
    }
}

fuzz_target!(|case: Case| pair::run(&case.0));
