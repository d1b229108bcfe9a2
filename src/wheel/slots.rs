//! The slots of a wheel: which nodes hold a timer's value, and the generations that detect a stale key.
//!
//! A slot is the owner's part of a node. This is not a [`slab`], which threads its free list through the vacant
//! entries: in an aged slab that list is a chain of dependent cache misses. A slab's keys carry no generation either.
//! Here a bitmap says which slots are free, and the lowest one is used first. So the slots in use stay close together,
//! and timers that are scheduled one after the other lie side by side.
//!
//! [`slab`]: https://docs.rs/slab

mod free_set;

use core::mem;
use core::num::NonZeroU32;
use core::ops::Range;

use self::free_set::FreeSet;
use crate::engine::node::{NODES_A_PAGE, NodeIndex};
use crate::engine::pages::Vacant;
use crate::wheel::key::TimerKey;

/// The highest generation at which a free slot may be dropped. Slots made later start from it, and so keep at least
/// half of their generations.
pub(crate) const MOST_WORN: u32 = 1 << 31;

/// The value of a timer, and the generation that distinguishes its key from those of earlier timers in the slot.
///
/// A slot of a four-byte value is eight bytes: the generation of a taken slot is never 0, so the compiler needs no tag.
///
/// Invariant: the generation is odd if and only if the slot is taken. A free slot of generation 0 was never taken, or
/// will never be again.
#[derive(Clone, Debug)]
pub(crate) enum Slot<T> {
    Taken { generation: NonZeroU32, value: T },
    Free { generation: u32 },
}

impl<T> Vacant for Slot<T> {
    const VACANT: Self = Self::Free { generation: 0 };
}

impl<T> Slot<T> {
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        match *self {
            Self::Taken { generation, .. } => generation.get(),
            Self::Free { generation } => generation,
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        match self {
            Self::Taken { value, .. } => Some(value),
            Self::Free { .. } => None,
        }
    }

    /// The key and the value of the timer in this slot, which is at `index`; `None` if it is free.
    #[inline]
    pub(crate) fn timer(&self, index: NodeIndex) -> Option<(TimerKey, &T)> {
        match self {
            Self::Taken { generation, value } => Some((TimerKey::new(index, *generation), value)),
            Self::Free { .. } => None,
        }
    }

    /// The same, with a mutable value.
    #[inline]
    pub(crate) fn timer_mut(&mut self, index: NodeIndex) -> Option<(TimerKey, &mut T)> {
        match self {
            Self::Taken { generation, value } => Some((TimerKey::new(index, *generation), value)),
            Self::Free { .. } => None,
        }
    }

    /// Whether the slot is that of the timer with this key.
    #[inline]
    pub(crate) fn is_of(&self, key: TimerKey) -> bool {
        matches!(*self, Self::Taken { generation, .. } if generation == key.generation())
    }

    /// Takes the key and the value out of the slot at `index`, and makes its keys stale. `None` if it is free.
    #[inline]
    pub(crate) fn vacate(&mut self, index: NodeIndex) -> Option<(TimerKey, T)> {
        let Self::Taken { generation, .. } = *self else {
            return None;
        };
        let free = Self::Free { generation: generation.get().wrapping_add(1) };
        match mem::replace(self, free) {
            Self::Taken { generation, value } => Some((TimerKey::new(index, generation), value)),
            Self::Free { .. } => None,
        }
    }
}

/// The bookkeeping of a wheel's slots. The nodes hold the slots themselves.
///
/// Invariant: `free` holds exactly the slots that are not taken and whose generations are not used up.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    free: FreeSet,
    /// Slots that are no longer used.
    retired: u32,
    /// The lowest generation that a slot is filled with. No dropped slot had a higher one, so the keys of dropped slots
    /// stay stale.
    pub(crate) first_generation: u32,
}

impl Slots {
    pub(crate) fn new(first_generation: u32) -> Self {
        Self { free: FreeSet::new(), retired: 0, first_generation }
    }

    /// Records a slot that was restored at an index.
    #[cfg(feature = "serde")]
    pub(crate) fn restored<T>(&mut self, index: NodeIndex, slot: &Slot<T>) {
        match *slot {
            Slot::Taken { .. } => {}
            Slot::Free { generation: 0 } => self.retired += 1,
            Slot::Free { .. } => self.free.insert(index),
        }
    }

    /// The number of slots that are no longer used.
    pub(crate) fn retired(&self) -> usize {
        self.retired as usize
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.free.bytes()
    }

    /// The lowest free slot, or `None` if no existing slot is free. O(1).
    pub(crate) fn lowest_free(&self) -> Option<NodeIndex> {
        self.free.lowest()
    }

    /// The generation that a slot gets when it is filled: the next odd number, at least `first_generation`.
    #[inline]
    pub(crate) fn filled(&self, generation: u32) -> NonZeroU32 {
        NonZeroU32::MIN | generation.max(self.first_generation)
    }

    /// Finds the lowest free slot, to be [filled](Slots::fill) at once. If there is none, `add` appends a slot. O(1),
    /// plus at most a page of memory.
    ///
    /// # Panics
    ///
    /// If there is no room for another timer.
    #[inline]
    #[track_caller]
    pub(crate) fn vacant(&mut self, add: impl FnOnce() -> usize) -> NodeIndex {
        if let Some(slot) = self.free.take_lowest() {
            return slot;
        }
        let made = add();
        if made % NODES_A_PAGE == 0 {
            self.make_room_to_free(made + NODES_A_PAGE);
        }
        NodeIndex::new(made)
    }

    /// Makes room in the free set for `capacity` slots, so that freeing one need not allocate. Up to one page of slots,
    /// freeing makes the room.
    #[cold]
    pub(crate) fn make_room_to_free(&mut self, capacity: usize) {
        if capacity > NODES_A_PAGE {
            self.free.make_room(capacity);
        }
    }

    /// Fills a slot that was [vacant](Slots::vacant), and gives out its key.
    #[inline]
    pub(crate) fn fill<T>(&self, index: NodeIndex, slot: &mut Slot<T>, value: T) -> TimerKey {
        let generation = self.filled(slot.generation());
        let free = mem::replace(slot, Slot::Taken { generation, value });
        // A free slot has nothing to drop; a drop would only check that.
        mem::forget(free);
        TimerKey::new(index, generation)
    }

    /// Adds the vacated slot of a key to the free set, or retires the slot. O(1).
    #[inline]
    pub(crate) fn freed(&mut self, key: TimerKey) {
        // After 2^31 timers the generations of a slot are used up, and it is not used again.
        if key.generation() == NonZeroU32::MAX {
            self.retired += 1;
        } else {
            self.free.insert(key.index());
        }
    }

    /// Drops the trailing free slots, and returns how many slots are left. `slot` shows the slot at an index. O(slots
    /// dropped).
    pub(crate) fn shrink_to_fit<'a, T: 'a>(&mut self, mut len: usize, slot: impl Fn(usize) -> &'a Slot<T>) -> usize {
        while len > 0 {
            // A used-up slot stays: dropping it would bring its first generations back. A worn slot stays too: all
            // slots made later would start as worn.
            let Slot::Free { generation: generation @ 1..=MOST_WORN } = *slot(len - 1) else {
                break;
            };
            self.first_generation = self.first_generation.max(generation);
            len -= 1;
        }
        self.free.truncate(len);
        len
    }

    /// Forgets the slots of the last page, as [`shrink_to_fit`](Self::shrink_to_fit) does, and returns whether the page
    /// may be dropped. It may if all its slots are free, none is worn, and the lowest free slot of all is on another
    /// page. `slot` shows the slot at an index. O(slots).
    #[inline(never)]
    pub(crate) fn give_back<'a, T: 'a>(&mut self, slots: Range<usize>, slot: impl Fn(usize) -> &'a Slot<T>) -> bool {
        // Usually some slot is taken. The bitmap shows that without a look at the slots.
        if !self.free.has_all(&slots) {
            return false;
        }
        let mut first_generation = self.first_generation;
        for index in slots.clone().rev() {
            let Slot::Free { generation: generation @ 1..=MOST_WORN } = *slot(index) else {
                return false;
            };
            first_generation = first_generation.max(generation);
        }
        self.first_generation = first_generation;
        self.free.remove_words(slots);
        true
    }

    /// Checks every invariant of the slots, given all of them.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check<'a, T: 'a>(&self, slots: impl Iterator<Item = &'a Slot<T>>) {
        let mut free = 0;
        let mut retired = 0;
        for (index, slot) in slots.enumerate() {
            let is_taken = matches!(slot, Slot::Taken { .. });
            assert!(is_taken == (slot.generation() % 2 == 1), "a generation is odd if and only if the slot is taken");
            let is_free = !is_taken && slot.generation() != 0;
            free += usize::from(is_free);
            retired += usize::from(!is_taken && !is_free);
            assert!(self.free.contains(NodeIndex::new(index)) == is_free, "the free set holds exactly the free slots");
        }
        assert!(retired == self.retired(), "retired slots are counted");
        self.free.check(free);
        assert!(self.first_generation % 2 == 0, "a slot to be made is not taken");
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::engine::pages::Pages;

    /// Slots, and the elements that they are part of.
    struct Rig {
        slots: Slots,
        elements: Pages<Slot<u32>, 256>,
    }

    impl Rig {
        fn new() -> Self {
            Self { slots: Slots::new(0), elements: Pages::new() }
        }

        fn take(&mut self, value: u32) -> TimerKey {
            let index = self.slots.vacant(|| {
                self.elements.push_any();
                self.elements.len() - 1
            });
            let slot = self.elements.at_mut(index.get());
            let key = self.slots.fill(index, slot, value);
            self.check();
            key
        }

        fn is_live(&self, key: TimerKey) -> bool {
            let slot = self.elements.get(key.index().get());
            slot.is_some_and(|slot| slot.is_of(key))
        }

        /// Frees the slot of a key that is not stale, and returns the value.
        fn release(&mut self, key: TimerKey) -> u32 {
            assert!(self.is_live(key));
            let slot = self.elements.at_mut(key.index().get());
            let (vacated, value) = slot.vacate(key.index()).expect("the slot is taken");
            assert_eq!(vacated, key);
            self.slots.freed(key);
            self.check();
            value
        }

        /// Sets the generation of a taken slot, and returns the new key.
        fn wear(&mut self, key: TimerKey, worn: u32) -> TimerKey {
            let worn = NonZeroU32::new(worn).expect("a key has a generation");
            match self.elements.at_mut(key.index().get()) {
                Slot::Taken { generation, .. } => *generation = worn,
                Slot::Free { .. } => unreachable!("the slot is taken"),
            }
            TimerKey::new(key.index(), worn)
        }

        fn shrink(&mut self) {
            let elements = &self.elements;
            let len = self.slots.shrink_to_fit(elements.len(), |index| elements.at(index));
            self.elements.truncate(len);
            self.slots.make_room_to_free(self.elements.capacity());
            self.check();
        }

        fn check(&self) {
            self.slots.check(self.elements.iter());
        }
    }

    #[test]
    fn slot_with_used_up_generations_is_retired_and_its_keys_stay_stale() {
        let mut rig = Rig::new();
        let first = rig.take(1);
        let last = rig.wear(first, u32::MAX);
        rig.release(last);
        let next = rig.take(2);
        assert_ne!(next.index(), first.index());
        assert!(!rig.is_live(first) && !rig.is_live(last));
        rig.release(next);
        rig.shrink();
        assert_eq!(rig.elements.len(), 1, "the used-up slot is kept");
        assert_eq!(rig.slots.retired(), 1);
    }

    #[test]
    fn slot_is_dropped_by_a_shrink_until_half_of_its_generations_are_used() {
        for (worn, made) in [(MOST_WORN - 1, 0), (MOST_WORN + 1, 1)] {
            let mut rig = Rig::new();
            let key = rig.take(1);
            let last = rig.wear(key, worn);
            rig.release(last);
            rig.shrink();
            assert_eq!(rig.elements.len(), made, "generation {worn}");
        }
    }

    #[test]
    fn slots_are_given_back_until_half_of_the_generations_of_one_are_used() {
        for (worn, are_given_back) in [(MOST_WORN - 1, true), (MOST_WORN + 1, false)] {
            let mut rig = Rig::new();
            let mut keys: Vec<TimerKey> = (0..128).map(|value| rig.take(value)).collect();
            keys[100] = rig.wear(keys[100], worn);
            keys.into_iter().for_each(|key| _ = rig.release(key));
            let elements = &rig.elements;
            let gave_back = rig.slots.give_back(64..128, |index| elements.at(index));
            assert_eq!(gave_back, are_given_back, "generation {worn}");
        }
    }

    #[test]
    fn lowest_free_slot_is_taken_first() {
        let mut rig = Rig::new();
        let keys: Vec<TimerKey> = (0..200).map(|n| rig.take(n)).collect();
        for index in [150, 70, 3, 71] {
            rig.release(keys[index]);
        }
        assert_eq!(rig.slots.lowest_free(), Some(NodeIndex::new(3)));
        let taken: Vec<usize> = (0..5).map(|n| rig.take(n).index().get()).collect();
        assert_eq!(taken, [3, 70, 71, 150, 200]);
    }
}
