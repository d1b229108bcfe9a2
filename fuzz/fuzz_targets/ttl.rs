//! Any script of operations on a TTL queue, against the model of the test suite, and any history of
//! three replicas around a log.
//!
//! The first byte picks which. Decoders, model and comparison are the test suite's own, so that a
//! finding here is a failing test there.

#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use timer_wheel::{Caffeine, Millis};

use crate::bytes::decode;
use crate::cluster::{Cluster, Event};
use crate::script::Script;

#[path = "../../tests/wheel/bytes.rs"]
mod bytes;

#[path = "../../tests/ttl/cluster.rs"]
mod cluster;

#[path = "../../tests/wheel/geometries.rs"]
#[allow(dead_code, unused_macros, reason = "the wheel's tests use more of it")]
mod geometries;

#[path = "../../tests/ttl/model.rs"]
mod model;

#[path = "../../tests/ttl/pair.rs"]
mod pair;

#[path = "../../tests/ttl/script.rs"]
mod script;

/// The longest script and the longest history: much is compared after each step.
const MOST: usize = 150;

/// What the bytes of one input say. Append only: a stored input means its case by number.
#[derive(Debug)]
enum Case {
    Millis(Script),
    Caffeine(Script),
    Replicas(Vec<Event>),
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let bytes = input.bytes(input.len())?;
        let (&choice, rest) = bytes.split_first().ok_or(arbitrary::Error::NotEnoughData)?;
        Ok(match choice % 3 {
            0 => Self::Millis(decode::<Script>(rest, MOST)),
            1 => Self::Caffeine(decode::<Script>(rest, MOST)),
            _ => Self::Replicas(decode::<Event>(rest, MOST)),
        })
    }
}

fuzz_target!(|case: Case| match case {
    Case::Millis(script) => script.run::<Millis>(),
    Case::Caffeine(script) => script.run::<Caffeine>(),
    Case::Replicas(events) => Cluster::run(&events),
});
