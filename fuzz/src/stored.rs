//! Serialized wheels, or bytes that claim to be one.
//!
//! What a stored wheel must hold to be accepted is said here a second time, so that a loaded wheel
//! can be compared with something that did not load it.

use std::collections::BTreeMap;
use std::fmt;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use serde::de::value::{Error, SeqDeserializer};
use serde::{Deserialize, Serialize};
use timer_wheel::{Geometry, TimerKey, Wheel};

use crate::model::Model;
use crate::pair::Pair;
use crate::script::Script;
use crate::{Subject, split_choice};

/// The longest script that is run on a loaded wheel.
const OPS: usize = 30;

/// The highest generation that slots to be made may start with.
const MOST_WORN: u32 = 1 << 31;

/// How a wheel is stored: text, or bytes of which nearly all mean something.
#[derive(Clone, Copy, Debug)]
enum Format {
    Json,
    Postcard,
}

/// What the bytes of one input say: a wheel and then a script.
///
/// In JSON, which has no zero byte, the first of them ends the wheel.
pub struct Input {
    subject: &'static Subject,
    format: Format,
    bytes: Vec<u8>,
}

/// A wheel as it is stored.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    now: u64,
    first_generation: u32,
    slots: Vec<Slot>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Slot {
    generation: u32,
    timer: Option<Timer>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Timer {
    deadline: u64,
    sequence: u64,
    #[serde(default)]
    held: bool,
    value: u64,
}

impl Stored {
    /// Whether a wheel could have been stored so.
    fn is_whole(&self) -> bool {
        let sequences = self.by_sequence();
        let timers = self.slots.iter().filter(|slot| slot.timer.is_some());
        self.first_generation % 2 == 0
            && self.first_generation <= MOST_WORN
            && sequences.len() == timers.count()
            && self.slots.iter().all(|slot| (slot.generation % 2 == 1) == slot.timer.is_some())
    }

    fn by_sequence(&self) -> BTreeMap<u64, (usize, &Timer)> {
        let slots = self.slots.iter().enumerate();
        let timers = slots.filter_map(|(index, slot)| Some((index, slot.timer.as_ref()?)));
        timers.map(|(index, timer)| (timer.sequence, (index, timer))).collect()
    }

    /// The model of the wheel that is stored.
    fn model(&self) -> Model<u64> {
        let mut model = Model::new(self.now);
        for (index, timer) in self.by_sequence().into_values() {
            let key = key(index, self.slots[index].generation);
            model.schedule(key, timer.deadline, timer.value);
            if timer.held {
                model.hold(key);
            }
        }
        model
    }

    /// The same with the sequence numbers counted from zero on.
    fn renumbered(mut self) -> Self {
        let order: Vec<usize> = self.by_sequence().into_values().map(|at| at.0).collect();
        for (sequence, index) in (0..).zip(order) {
            if let Some(timer) = &mut self.slots[index].timer {
                timer.sequence = sequence;
            }
        }
        self
    }
}

fn key(index: usize, generation: u32) -> TimerKey {
    let parts = [index as u32, generation].into_iter();
    TimerKey::deserialize(SeqDeserializer::<_, Error>::new(parts)).expect("an index and an odd generation are a key")
}

impl Format {
    /// Reads a value, and says which bytes come after it.
    fn read<'a, T: Deserialize<'a>>(self, bytes: &'a [u8]) -> Option<(T, &'a [u8])> {
        match self {
            Self::Json => {
                let mut parts = bytes.splitn(2, |&byte| byte == 0);
                let value = serde_json::from_slice(parts.next()?).ok()?;
                Some((value, parts.next().unwrap_or_default()))
            }
            Self::Postcard => postcard::take_from_bytes(bytes).ok(),
        }
    }

    fn write<T: Serialize>(self, value: &T) -> Vec<u8> {
        match self {
            Self::Json => serde_json::to_vec(value).expect("numbers can be written"),
            Self::Postcard => postcard::to_allocvec(value).expect("numbers can be written"),
        }
    }
}

impl Input {
    /// Loads the wheel, compares it with what is stored, and runs the script on it.
    ///
    /// # Panics
    ///
    /// When a damaged wheel is accepted, a whole one is refused, or the one that was loaded can be
    /// told from its model.
    pub fn run(&self) {
        (self.subject.load)(self);
    }

    /// What the bytes after the wheel say.
    fn script(&self, bytes: &[u8]) -> Script {
        self.subject.read[0](bytes, OPS)
    }

    pub(crate) fn load<G: Geometry>(&self) {
        let stored = self.format.read::<Stored>(&self.bytes);
        let stored = stored.filter(|(stored, _)| stored.is_whole());
        let wheel = self.format.read::<Wheel<u64, G>>(&self.bytes);
        let (wheel, (stored, script)) = match (wheel, stored) {
            (Some((wheel, _)), Some(stored)) => (wheel, stored),
            (None, None) => return,
            (Some(_), None) => panic!("a damaged wheel was accepted"),
            (None, Some(_)) => panic!("a whole wheel was refused"),
        };
        wheel.check_invariants();
        let model = stored.model();
        let again = self.format.write(&wheel);
        let again: Option<(Stored, _)> = self.format.read(&again);
        let again = again.expect("what was written can be read").0;
        assert_eq!(again.renumbered(), stored.renumbered(), "stored again");

        let ops = self.script(script).ops;
        let loaded: Vec<_> = wheel.ascending().map(|it| (it.key, it.deadline)).collect();
        let stored = model.ascending().map(|(key, it)| (key, it.deadline));
        assert!(stored.eq(loaded), "other timers than were stored");
        assert_eq!(wheel.stats().held, model.held().len(), "other timers are held than were stored");
        Pair::resume(wheel).run(&ops);
    }
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (choice, rest) = split_choice(input)?;
        let (subject, format) = Subject::choose(choice);
        let format = match format % 2 {
            0 => Format::Postcard,
            _ => Format::Json,
        };
        Ok(Self { subject, format, bytes: rest.to_vec() })
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {:?}", self.subject.name, self.format)?;
        match self.format.read::<Stored>(&self.bytes) {
            Some((stored, script)) => {
                write!(f, "{stored:#?}\n{:#?}", self.script(script).ops)
            }
            None => write!(f, "{}", self.bytes.escape_ascii()),
        }
    }
}
