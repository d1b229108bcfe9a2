//! Storing and loading a wheel (feature `serde`).
//!
//! The stored form contains no levels or buckets, so a wheel may be loaded into another geometry. It holds the clock
//! and every slot, free ones with their generation. So keys stored elsewhere find their timers again, and stale keys
//! stay stale. A key issued after the wheel was stored may identify another timer of the loaded wheel. Input is
//! checked: damaged input is an error, and never gives a broken wheel.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use ::serde::de::{Error, Unexpected};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::geometry::Geometry;
use crate::engine::hierarchy::Hierarchy;
use crate::engine::node::{MAX_TIMERS, NodeIndex};
use crate::wheel::Wheel;
use crate::wheel::key::TimerKey;
use crate::wheel::slots::{MOST_WORN, Slot, Slots};

/// A wheel as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Wheel", deny_unknown_fields)]
struct Stored<T> {
    /// The clock in nanoseconds.
    now: u64,
    /// The lowest generation of slots to be made.
    first_generation: u32,
    /// Every slot, by index.
    slots: Vec<StoredSlot<T>>,
}

/// A slot as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Slot", deny_unknown_fields)]
struct StoredSlot<T> {
    /// Odd if and only if there is a timer.
    generation: u32,
    timer: Option<StoredTimer<T>>,
}

/// A timer as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Timer", deny_unknown_fields)]
struct StoredTimer<T> {
    /// When the timer is due, in nanoseconds.
    deadline: u64,
    /// The order among timers of equal deadline; no two timers share one.
    sequence: u64,
    /// Whether the timer is held. Absent in wheels that were stored before timers could be held.
    #[serde(default)]
    held: bool,
    value: T,
}

impl<T: Serialize, G: Geometry> Serialize for Wheel<T, G> {
    /// Stores the clock and every slot. O(capacity).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let slots = self.hierarchy.nodes().iter().map(|node| StoredSlot {
            generation: node.value.generation(),
            timer: node.value.get().map(|value| StoredTimer {
                deadline: node.deadline,
                sequence: node.sequence(),
                held: !node.is_scheduled(),
                value,
            }),
        });
        let stored = Stored { now: self.now(), first_generation: self.slots.first_generation, slots: slots.collect() };
        stored.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>, G: Geometry> Deserialize<'de> for Wheel<T, G> {
    /// Loads a wheel, into any geometry. O(n log n).
    ///
    /// It allocates only the memory that the timers in the input need, whatever length the input claims.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Stored::deserialize(deserializer)?.into_wheel()
    }
}

impl<T> Stored<T> {
    fn into_wheel<G: Geometry, E: Error>(self) -> Result<Wheel<T, G>, E> {
        if self.slots.len() > MAX_TIMERS {
            let found = self.slots.len() as u64;
            return Err(unexpected(found, "no more slots than a wheel can hold"));
        }
        if self.first_generation % 2 == 1 || self.first_generation > MOST_WORN {
            let expected = "an even first generation of at most 2^31";
            return Err(unexpected(self.first_generation.into(), expected));
        }
        let mut slots = Slots::new(self.first_generation);
        let mut hierarchy = Hierarchy::new(self.now);
        let mut timers = Vec::new();
        for StoredSlot { generation, timer } in self.slots {
            if timer.is_some() != (generation % 2 == 1) {
                let expected = "an odd generation for a timer, an even one for a free slot";
                return Err(unexpected(generation.into(), expected));
            }
            let index = NodeIndex::new(hierarchy.nodes().len());
            let slot = match (timer, NonZeroU32::new(generation)) {
                (Some(timer), Some(generation)) => {
                    timers.push((timer.sequence, index, timer.deadline, timer.held));
                    let value = timer.value;
                    Slot::Taken { generation, value }
                }
                _ => Slot::Free { generation },
            };
            slots.restored(index, &slot);
            hierarchy.add_node();
            *hierarchy.value_mut(index).expect("the node was just made") = slot;
        }
        slots.make_room_to_free(hierarchy.nodes().capacity());
        timers.sort_unstable();
        if let Some(pair) = timers.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let expected = "a different sequence number for each timer";
            return Err(unexpected(pair[0].0, expected));
        }
        for (_, index, deadline, held) in timers {
            hierarchy.schedule(None, index, deadline, |_| {});
            if held {
                hierarchy.hold(index);
            }
        }
        Ok(Wheel { hierarchy, slots })
    }
}

impl Serialize for TimerKey {
    /// Stores the key as a pair of slot index and generation.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.index().to_bits(), self.generation().get()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TimerKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (slot, generation): (u32, u32) = Deserialize::deserialize(deserializer)?;
        let key = Self::from_bits(u64::from(slot) << 32 | u64::from(generation));
        key.ok_or_else(|| unexpected(generation.into(), "an odd generation"))
    }
}

fn unexpected<E: Error>(found: u64, expected: &str) -> E {
    E::invalid_value(Unexpected::Unsigned(found), &expected)
}
