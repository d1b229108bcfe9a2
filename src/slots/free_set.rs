//! Which slots are free: a bitmap, with a summary of it that finds its lowest set bit.

use alloc::vec::Vec;
use core::mem;

use crate::key::SlotIndex;

const WORD_BITS: usize = u64::BITS as usize;

/// A set of slot indexes that hands out its lowest element first. O(1), and a look at the words of the summary
/// when a word of the bitmap runs empty: one for each 4,096 slots, at worst.
///
/// One element, mostly the only one, is kept apart, so that a slot that is freed and taken again and again
/// touches no bitmap.
///
/// Invariant: a word is not zero if and only if its bit is set in the summary; `lowest` is the first word that
/// is not zero.
#[derive(Clone, Debug)]
pub(crate) struct FreeSet {
    /// [`SlotIndex::NONE`] if there is none.
    apart: SlotIndex,
    words: Vec<u64>,
    summary: Vec<u64>,
    /// Words that are not zero.
    used: usize,
    lowest: usize,
}

/// The lowest word of an empty bitmap.
const NO_WORD: usize = usize::MAX;

impl FreeSet {
    pub(crate) const fn new() -> Self {
        Self {
            apart: SlotIndex::NONE,
            words: Vec::new(),
            summary: Vec::new(),
            used: 0,
            lowest: NO_WORD,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.words.capacity() + self.summary.capacity()) * size_of::<u64>()
    }

    pub(crate) fn contains(&self, slot: SlotIndex) -> bool {
        let word = self.words.get(slot.get() / WORD_BITS);
        slot == self.apart || word.is_some_and(|word| word >> (slot.get() % WORD_BITS) & 1 != 0)
    }

    /// The lowest element, unless there is none.
    pub(crate) fn lowest(&self) -> Option<SlotIndex> {
        let word = self.words.get(self.lowest);
        let bit = word.map(|word| self.lowest * WORD_BITS + word.trailing_zeros() as usize);
        let apart = Some(self.apart).filter(|&apart| apart != SlotIndex::NONE);
        bit.map(SlotIndex::new).into_iter().chain(apart).min()
    }

    /// Removes the lowest element, unless there is none.
    #[inline]
    pub(crate) fn take_lowest(&mut self) -> Option<SlotIndex> {
        let apart = mem::replace(&mut self.apart, SlotIndex::NONE);
        if apart != SlotIndex::NONE {
            if apart.get() / WORD_BITS < self.lowest {
                return Some(apart);
            }
            self.set(apart);
        }
        let word = self.words.get_mut(self.lowest)?;
        let slot = self.lowest * WORD_BITS + word.trailing_zeros() as usize;
        *word &= *word - 1;
        if *word == 0 {
            self.emptied();
        }
        Some(SlotIndex::new(slot))
    }

    #[inline]
    pub(crate) fn insert(&mut self, slot: SlotIndex) {
        let (index, bit) = (slot.get() / WORD_BITS, 1 << (slot.get() % WORD_BITS));
        match self.words.get_mut(index) {
            Some(word) if *word != 0 => *word |= bit,
            _ if self.apart == SlotIndex::NONE => self.apart = slot,
            _ => self.set(slot),
        }
    }

    /// Sets a bit, and that of its word in the summary.
    #[inline(never)]
    fn set(&mut self, slot: SlotIndex) {
        let (index, bit) = (slot.get() / WORD_BITS, slot.get() % WORD_BITS);
        self.lowest = self.lowest.min(index);
        self.make_room(slot.get() + 1);
        self.used += usize::from(self.words[index] == 0);
        self.words[index] |= 1 << bit;
        self.summary[index / WORD_BITS] |= 1 << (index % WORD_BITS);
    }

    /// Makes room for the elements below `len`. O(len), and O(1) amortized if it is called as they come.
    #[inline]
    pub(crate) fn make_room(&mut self, len: usize) {
        let words = len.div_ceil(WORD_BITS);
        if words > self.words.len() {
            self.words.resize(words, 0);
            self.summary.resize(words.div_ceil(WORD_BITS), 0);
        }
    }

    /// Clears the bit of the lowest word, which has run empty, in the summary; the next word is found from there.
    #[inline(never)]
    fn emptied(&mut self) {
        let index = mem::replace(&mut self.lowest, NO_WORD);
        let first = index / WORD_BITS;
        self.summary[first] &= !(1 << (index % WORD_BITS));
        self.used -= 1;
        if self.used == 0 {
            return;
        }
        let mut rest = (first..).zip(&self.summary[first..]);
        if let Some((index, bits)) = rest.find(|(_, bits)| **bits != 0) {
            self.lowest = index * WORD_BITS + bits.trailing_zeros() as usize;
        }
    }

    /// Removes every element from `len` on, and gives back spare memory. O(elements).
    pub(crate) fn truncate(&mut self, len: usize) {
        let mut old = mem::replace(self, Self::new());
        while let Some(slot) = old.take_lowest().filter(|slot| slot.get() < len) {
            self.insert(slot);
        }
        self.words.shrink_to_fit();
        self.summary.shrink_to_fit();
    }

    /// Checks the laws of the set of `len` elements.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check(&self, len: usize) {
        let ones = self.words.iter().map(|word| word.count_ones() as usize);
        let apart = usize::from(self.apart != SlotIndex::NONE);
        assert!(ones.sum::<usize>() + apart == len, "free slots are counted");
        let is_set = |index: usize| self.summary[index / WORD_BITS] >> (index % WORD_BITS) & 1 != 0;
        assert!(
            (0..self.words.len()).all(|index| is_set(index) == (self.words[index] != 0)),
            "a word has its bit set in the summary if and only if it is not zero"
        );
        let used = self.words.iter().filter(|&&word| word != 0).count();
        assert!(used == self.used, "the words that are not zero are counted");
        let first = self.words.iter().position(|&word| word != 0);
        assert!(
            self.lowest == first.unwrap_or(NO_WORD),
            "the lowest word is known"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn set_behaves_as_a_btree_set_taken_from_its_lowest() {
        let mut set = FreeSet::new();
        let mut model = BTreeSet::new();
        let mut state = 7_u64;
        for step in 0..40_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(step);
            // Ever larger, so that words are added while the set is in use.
            let index = ((state >> 33) % (64 << (step / 2_000))) as usize;
            if state >> 63 == 0 && model.insert(index) {
                set.insert(SlotIndex::new(index));
            } else {
                let lowest = model.pop_first().map(SlotIndex::new);
                assert_eq!((set.lowest(), set.take_lowest()), (lowest, lowest));
            }
            if step % 500 == 0 {
                set.check(model.len());
            }
        }
        let keep = *model.iter().nth(model.len() / 2).unwrap();
        set.truncate(keep);
        model.retain(|&index| index < keep);
        set.check(model.len());
        while let Some(lowest) = model.pop_first() {
            assert_eq!(set.take_lowest(), Some(SlotIndex::new(lowest)));
        }
        assert_eq!(set.take_lowest(), None);
    }

    #[test]
    fn bytes_are_those_of_both_rows() {
        let mut set = FreeSet::new();
        // The first of them is kept apart.
        set.insert(SlotIndex::new(0));
        assert_eq!(set.bytes(), 0);
        set.insert(SlotIndex::new(64 * 64));
        assert_eq!((set.words.len(), set.summary.len()), (65, 2));
        let words = set.words.capacity() + set.summary.capacity();
        assert_eq!(set.bytes(), words * 8);
    }
}
