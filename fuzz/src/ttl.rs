//! A TTL queue or set, three replicas around a log, or a retry queue: the first byte picks which.

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use timer_wheel::{Caffeine, Millis};

use crate::bytes::decode;
use crate::{retry, split_choice};
use cluster::{Cluster, Event};
use script::Script;

#[path = "../../tests/ttl/cluster.rs"]
mod cluster;

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
pub struct Case(Kind);

#[derive(Debug)]
enum Kind {
    Millis(Script),
    Caffeine(Script),
    Replicas(Vec<Event>),
    Retry(retry::script::Script),
}

impl Case {
    /// Runs the script and its model.
    ///
    /// # Panics
    ///
    /// When the two can be told apart, or replicas hold different entries.
    pub fn run(&self) {
        match &self.0 {
            Kind::Millis(script) => script.run::<Millis>(),
            Kind::Caffeine(script) => script.run::<Caffeine>(),
            Kind::Replicas(events) => Cluster::run(events),
            Kind::Retry(script) => retry::world::run(script),
        }
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (choice, rest) = split_choice(input)?;
        Ok(Self(match choice % 4 {
            0 => Kind::Millis(decode::<Script>(rest, MOST)),
            1 => Kind::Caffeine(decode::<Script>(rest, MOST)),
            2 => Kind::Replicas(decode::<Event>(rest, MOST)),
            _ => Kind::Retry(decode::<retry::script::Script>(rest, usize::MAX)),
        }))
    }
}
