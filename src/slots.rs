//! The arena that owns the timers: each slot holds a timer's header and value, and outlives it.
//!
//! Not a [`slab`]: a slab threads its free list through the vacant entries, which once it has aged
//! is a chain of dependent cache misses, and its keys carry no generation. Here a bitmap says
//! which slots are free, and the lowest one is used first, so that the slots in use stay close
//! together and timers that are scheduled one after the other lie side by side.

mod free_set;

use core::mem;

use self::free_set::FreeSet;
use crate::header::{Header, Headers};
use crate::key::{SlotIndex, TimerKey};
use crate::pages::{self, Pages, Placeholder};

/// The most timers a wheel can hold.
///
/// A slot index and an entry's position must fit into 32 bits, and besides full blocks of entries there
/// are partly filled ones.
pub(crate) const MAX_TIMERS: usize = 3 << 29;

/// The generation up to which a free slot may be dropped, so that slots made later have at least as
/// many generations left.
pub(crate) const MOST_WORN: u32 = 1 << 31;

/// Slots on a page, and in one of the groups that the first page consists of.
const PAGE: usize = 256;
const GROUP: usize = 8;

/// The law that lets a value be taken from a slot that is taken.
const VALUE: &str = "a slot has a value if it is taken";

/// A header and its value.
///
/// Invariant: the generation, which is the header's owner word, is odd if and only if the slot is
/// taken, and then `value` is `Some`.
///
/// Its alignment is 8 also where that of a `u64` is 4, as on 32-bit x86: a group of slots fills cache lines.
#[derive(Clone, Debug)]
#[repr(align(8))]
pub(crate) struct Slot<T> {
    pub(crate) header: Header,
    pub(crate) value: Option<T>,
}

impl<T> Placeholder for Slot<T> {
    /// A free slot of generation 0.
    const PLACEHOLDER: Self = Self {
        header: Header::new(0),
        value: None,
    };
}

impl<T> Slot<T> {
    #[inline]
    fn is_taken(&self) -> bool {
        self.header.owner % 2 == 1
    }

    /// The key, the deadline and the value of the timer in this slot, the one at `index`. `None` if it is
    /// not taken.
    #[inline]
    pub(crate) fn timer_mut(&mut self, index: SlotIndex) -> Option<(TimerKey, u64, &mut T)> {
        let value = self.value.as_mut()?;
        Some((
            TimerKey::new(index, self.header.owner),
            self.header.deadline,
            value,
        ))
    }

    /// Takes the value out and makes every key of the slot stale. `None` if it is not taken.
    #[inline]
    fn vacate(&mut self) -> Option<T> {
        let value = self.value.take()?;
        self.header.owner = self.header.owner.wrapping_add(1);
        Some(value)
    }
}

/// The timers of a wheel by slot index.
///
/// Invariant: `free` holds exactly the slots that are not taken and whose generations are not used
/// up.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    slots: Pages<Slot<T>, GROUP, PAGE>,
    free: FreeSet,
    taken: u32,
    /// Slots that are used no more.
    retired: u32,
    /// The least generation of a slot that is to be filled: that of no slot that was made and dropped is
    /// above it, so that a key of one of those never comes to life again.
    pub(crate) first_generation: u32,
}

impl<T> Headers for Slots<T> {
    #[inline]
    fn header(&self, slot: SlotIndex) -> &Header {
        &self.slots.at(slot.get()).header
    }

    #[inline]
    fn header_mut(&mut self, slot: SlotIndex) -> &mut Header {
        &mut self.slots.at_mut(slot.get()).header
    }
}

impl<T> Slots<T> {
    pub(crate) fn new(first_generation: u32) -> Self {
        Self {
            slots: Pages::new(),
            free: FreeSet::new(),
            taken: 0,
            retired: 0,
            first_generation,
        }
    }

    /// Makes a slot of the given generation, which is taken if there is a value, and says which.
    #[cfg(feature = "serde")]
    pub(crate) fn restore(&mut self, generation: u32, value: Option<T>) -> SlotIndex {
        let slot = SlotIndex::new(self.slots.len());
        match value {
            Some(_) => self.taken += 1,
            None if generation == 0 => self.retired += 1,
            None => self.free.insert(slot),
        }
        let header = Header::new(generation);
        self.slots.push(Slot { header, value });
        slot
    }

    /// Timers held.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.taken as usize
    }

    /// Slots made and kept, taken or not.
    pub(crate) fn made(&self) -> usize {
        self.slots.len()
    }

    /// Timers that fit without asking for memory.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.capacity() - self.retired as usize
    }

    pub(crate) fn reserve(&mut self, additional: usize) {
        let free = self.slots.len() - self.len() - self.retired as usize;
        let lacking = additional.saturating_sub(free);
        self.slots.reserve(lacking);
        self.make_room_to_free();
    }

    /// Makes room for the slots in the set of the free, a page at a time or after all have been made, and not
    /// when the first of them is freed. Less than a page finds room then.
    #[cold]
    pub(crate) fn make_room_to_free(&mut self) {
        if self.slots.capacity() > PAGE {
            self.free.make_room(self.slots.capacity());
        }
    }

    /// The heap memory of the arena, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.bytes() + self.free.bytes()
    }

    /// Whether there is no room for another timer.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.taken as usize + self.retired as usize >= MAX_TIMERS
    }

    /// Takes the lowest free slot, or a new one behind all others, for a timer that is to be scheduled
    /// then. O(1).
    ///
    /// # Panics
    ///
    /// If there is no room for another timer.
    #[cfg(any(test, feature = "ttl"))]
    #[inline]
    #[track_caller]
    pub(crate) fn take(&mut self, value: T) -> TimerKey {
        let vacant = self.vacant();
        self.fill(vacant, value, |_| {})
    }

    /// The key that a slot taken next would have. O(1).
    #[inline]
    pub(crate) fn next_key(&self) -> TimerKey {
        let lowest = self.free.lowest();
        let slot = lowest.unwrap_or_else(|| SlotIndex::new(self.made()));
        let past = lowest.map_or(0, |slot| self.header(slot).owner);
        TimerKey::new(slot, past.max(self.first_generation) + 1)
    }

    /// Finds the lowest free slot, or a new one behind all others, to be [filled](Slots::fill) at once.
    #[inline]
    #[track_caller]
    pub(crate) fn vacant(&mut self) -> SlotIndex {
        // Spares a wheel that only grows the search. (One that has retired a slot is not spared.)
        let is_any_free = self.taken as usize != self.slots.len();
        match is_any_free.then(|| self.free.take_lowest()).flatten() {
            Some(slot) => slot,
            None => self.make(),
        }
    }

    /// Fills a slot, and lets `complete` write its header.
    #[inline]
    pub(crate) fn fill(
        &mut self,
        vacant: SlotIndex,
        value: T,
        complete: impl FnOnce(&mut Header),
    ) -> TimerKey {
        let slot = self.slots.at_mut(vacant.get());
        let generation = slot.header.owner.max(self.first_generation);
        self.taken += 1;
        slot.header.owner = generation + 1;
        complete(&mut slot.header);
        // What it replaces is `None`: dropping that would only cost a look at it.
        mem::forget(slot.value.replace(value));
        TimerKey::new(vacant, generation + 1)
    }

    /// Makes a slot behind all others.
    #[inline]
    #[track_caller]
    fn make(&mut self) -> SlotIndex {
        let index = self.slots.len();
        assert!(
            index < MAX_TIMERS,
            "a timer wheel holds at most {MAX_TIMERS} timers"
        );
        self.slots.push_any();
        if index % PAGE == 0 {
            self.make_room_to_free();
        }
        SlotIndex::new(index)
    }

    /// The slot of a key, unless the key is stale. O(1).
    #[inline]
    pub(crate) fn get(&self, key: TimerKey) -> Option<&Slot<T>> {
        let slot = self.slots.get(key.slot().get())?;
        // A key's generation is odd, so a match means that the slot is taken.
        (slot.header.owner == key.generation()).then_some(slot)
    }

    /// The slot of a key, to be changed, unless the key is stale. O(1).
    #[inline]
    pub(crate) fn get_mut(&mut self, key: TimerKey) -> Option<&mut Slot<T>> {
        let slot = self.slots.get_mut(key.slot().get())?;
        (slot.header.owner == key.generation()).then_some(slot)
    }

    /// The key of a slot that is taken.
    #[inline]
    pub(crate) fn key(&self, slot: SlotIndex) -> TimerKey {
        TimerKey::new(slot, self.header(slot).owner)
    }

    #[inline]
    pub(crate) fn value(&self, slot: SlotIndex) -> &T {
        self.slots.at(slot.get()).value.as_ref().expect(VALUE)
    }

    #[inline]
    pub(crate) fn value_mut(&mut self, slot: SlotIndex) -> &mut T {
        self.slots.at_mut(slot.get()).value.as_mut().expect(VALUE)
    }

    /// The key, the deadline and the value of a slot that is taken.
    #[inline]
    pub(crate) fn timer_mut(&mut self, slot: SlotIndex) -> (TimerKey, u64, &mut T) {
        let timer = self.slots.at_mut(slot.get()).timer_mut(slot);
        timer.expect(VALUE)
    }

    /// The first slot from `from` on that is taken.
    pub(crate) fn taken_from(&self, from: usize) -> Option<SlotIndex> {
        (from..self.slots.len())
            .find(|&index| self.slots.at(index).is_taken())
            .map(SlotIndex::new)
    }

    /// All slots, taken or not.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slot<T>> {
        (0..self.made()).map(|index| self.slots.at(index))
    }

    /// All slots, taken or not, to be changed.
    pub(crate) fn iter_mut(&mut self) -> IterMut<'_, T> {
        self.slots.iter_mut()
    }

    /// Frees the slot of a key, unless the key is stale, and hands back the value and the header that the
    /// timer had: it is then to be cancelled. O(1).
    #[inline]
    pub(crate) fn release(&mut self, key: TimerKey) -> Option<(Header, T)> {
        let slot = self.get_mut(key)?;
        let header = slot.header;
        let value = slot.vacate()?;
        self.freed(key.slot(), key.generation());
        Some((header, value))
    }

    /// Frees a slot, and hands back the key and the value, if it is taken. O(1).
    #[inline]
    pub(crate) fn release_slot(&mut self, index: SlotIndex) -> Option<(TimerKey, T)> {
        let slot = self.slots.get_mut(index.get())?;
        let generation = slot.header.owner;
        let value = slot.vacate()?;
        self.freed(index, generation);
        Some((TimerKey::new(index, generation), value))
    }

    #[inline]
    fn freed(&mut self, index: SlotIndex, generation: u32) {
        self.taken -= 1;
        // After 2^31 timers the generations of a slot are used up, and it is used no more.
        if generation == u32::MAX {
            self.retired += 1;
        } else {
            self.free.insert(index);
        }
    }

    /// Frees slots and drops their values, those of the rest also if one panics. O(slots given).
    pub(crate) fn free_all(&mut self, slots: impl Iterator<Item = SlotIndex>) {
        let mut freeing = FreeAll {
            slots: self,
            rest: slots,
        };
        while freeing.free_next() {}
    }

    /// Drops the free slots at the end of the arena and gives back spare memory. O(slots dropped).
    pub(crate) fn shrink_to_fit(&mut self) {
        let mut len = self.slots.len();
        while len > 0 {
            let last = self.slots.at(len - 1);
            // A used-up slot stays: dropping it would bring its first generations back. So does a
            // worn one: all slots made later would start as worn as it is.
            if last.is_taken() || last.header.owner == 0 || last.header.owner > MOST_WORN {
                break;
            }
            self.first_generation = self.first_generation.max(last.header.owner);
            len -= 1;
        }
        self.slots.truncate(len);
        self.free.truncate(len);
        self.make_room_to_free();
    }

    /// Checks the laws of the arena.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check(&self) {
        let mut taken = 0;
        let mut free = 0;
        let mut retired = 0;
        for (index, slot) in self.iter().enumerate() {
            taken += usize::from(slot.is_taken());
            assert!(
                slot.is_taken() == slot.value.is_some(),
                "a slot has a value if and only if it is taken"
            );
            let is_free = !slot.is_taken() && slot.header.owner != 0;
            free += usize::from(is_free);
            retired += usize::from(!slot.is_taken() && !is_free);
            assert!(
                self.free.contains(SlotIndex::new(index)) == is_free,
                "the free set holds exactly the free slots"
            );
        }
        assert!(taken == self.len(), "taken slots are counted");
        assert!(
            retired == self.retired as usize,
            "retired slots are counted"
        );
        self.free.check(free);
        assert!(
            self.first_generation % 2 == 0,
            "a slot to be made is not taken"
        );
    }
}

/// All slots of an arena, to be changed.
pub(crate) type IterMut<'a, T> = pages::IterMut<'a, Slot<T>, GROUP, PAGE>;

/// Frees the rest of some slots; goes on doing so when it is dropped in a panic.
struct FreeAll<'a, T, I: Iterator<Item = SlotIndex>> {
    slots: &'a mut Slots<T>,
    rest: I,
}

impl<T, I: Iterator<Item = SlotIndex>> FreeAll<'_, T, I> {
    fn free_next(&mut self) -> bool {
        let Some(slot) = self.rest.next() else {
            return false;
        };
        drop(self.slots.release_slot(slot));
        true
    }
}

impl<T, I: Iterator<Item = SlotIndex>> Drop for FreeAll<'_, T, I> {
    fn drop(&mut self) {
        while self.free_next() {}
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn take(slots: &mut Slots<u32>, value: u32) -> TimerKey {
        slots.take(value)
    }

    #[test]
    fn slot_with_used_up_generations_is_retired_and_its_keys_stay_stale() {
        let mut slots = Slots::new(0);
        let first = take(&mut slots, 1);
        slots.header_mut(first.slot()).owner = u32::MAX;
        let last = slots.key(first.slot());
        assert!(slots.release(last).is_some());
        slots.check();
        let next = take(&mut slots, 2);
        assert_ne!(next.slot(), first.slot());
        for stale in [first, last] {
            assert!(slots.get(stale).is_none());
            assert!(slots.release(stale).is_none());
        }
        assert!(slots.release(next).is_some());
        slots.shrink_to_fit();
        slots.check();
        assert_eq!(slots.made(), 1, "the used-up slot is kept");
    }

    #[test]
    fn retired_slot_is_no_room() {
        let mut slots = Slots::new(0);
        let key = take(&mut slots, 1);
        slots.header_mut(key.slot()).owner = u32::MAX;
        let last = slots.key(key.slot());
        assert!(slots.release(last).is_some());
        slots.reserve(8);
        // Two groups of eight, and one slot is gone for good.
        assert_eq!((slots.made(), slots.capacity()), (1, 15));
        for n in 0..8 {
            take(&mut slots, n);
        }
        assert_eq!(slots.capacity(), 15, "there was room");
        assert!(!slots.is_full());
        slots.taken = MAX_TIMERS as u32 - 2;
        assert!(!slots.is_full(), "room for one");
        slots.taken += 1;
        assert!(slots.is_full(), "the retired one takes the last place");
    }

    #[test]
    fn slot_is_dropped_by_a_shrink_until_half_of_its_generations_are_used() {
        for (owner, made) in [(MOST_WORN - 1, 0), (MOST_WORN + 1, 1)] {
            let mut slots = Slots::new(0);
            let key = take(&mut slots, 1);
            slots.header_mut(key.slot()).owner = owner;
            let last = slots.key(key.slot());
            assert!(slots.release(last).is_some());
            slots.shrink_to_fit();
            assert_eq!(slots.made(), made, "generation {owner}");
        }
    }

    #[test]
    fn shrink_then_growth_never_revives_a_key() {
        let mut slots = Slots::new(0);
        let mut stale: Vec<TimerKey> = Vec::new();
        for round in 0..5 {
            let keys: Vec<TimerKey> = (0..100 + round).map(|n| take(&mut slots, n)).collect();
            assert!(stale.iter().all(|&key| slots.get(key).is_none()));
            for &key in &keys {
                assert!(slots.release(key).is_some());
            }
            stale.extend(keys);
            slots.shrink_to_fit();
            slots.check();
            assert_eq!(slots.made(), 0);
        }
    }

    #[test]
    fn worn_slot_does_not_age_those_made_after_a_shrink() {
        let mut slots = Slots::new(0);
        let key = take(&mut slots, 1);
        slots.header_mut(key.slot()).owner = u32::MAX - 6;
        let worn = slots.key(key.slot());
        assert!(slots.release(worn).is_some());
        slots.shrink_to_fit();
        for round in 0..10_000 {
            let key = take(&mut slots, round);
            assert!(slots.release(key).is_some());
            slots.shrink_to_fit();
        }
        assert!(slots.made() <= 2, "{} slots are left behind", slots.made());
        slots.check();
    }

    #[test]
    fn lowest_free_slot_is_taken_first() {
        let mut slots = Slots::new(0);
        let keys: Vec<TimerKey> = (0..200).map(|n| take(&mut slots, n)).collect();
        for index in [150, 70, 3, 71] {
            assert!(slots.release(keys[index]).is_some());
        }
        let taken: Vec<usize> = (0..5).map(|n| take(&mut slots, n).slot().get()).collect();
        assert_eq!(taken, [3, 70, 71, 150, 200]);
    }
}
