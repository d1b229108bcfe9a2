//! Which slots are free: a bitmap, with bitmaps above it that find its lowest set bit.

use alloc::vec::Vec;
use core::mem;

use crate::key::SlotIndex;

const WORD_BITS: usize = u64::BITS as usize;

/// A set of slot indexes that hands out its lowest element first. O(log n) to the base of 64.
///
/// One element, mostly the only one, is kept apart, so that a slot that is freed and taken again and again
/// touches no bitmap.
///
/// Invariant: a word is not zero if and only if its bit is set in the row above; the last row above is one
/// word; `lowest` is the first word that is not zero.
#[derive(Clone, Debug)]
pub(crate) struct FreeSet {
    /// [`SlotIndex::NONE`] if there is none.
    apart: SlotIndex,
    words: Vec<u64>,
    above: Vec<Vec<u64>>,
    lowest: usize,
}

/// The lowest word of an empty bitmap.
const NO_WORD: usize = usize::MAX;

impl FreeSet {
    pub(crate) const fn new() -> Self {
        Self {
            apart: SlotIndex::NONE,
            words: Vec::new(),
            above: Vec::new(),
            lowest: NO_WORD,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let above: usize = self.above.iter().map(Vec::capacity).sum();
        (self.words.capacity() + above) * size_of::<u64>()
            + self.above.capacity() * size_of::<Vec<u64>>()
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

    /// Sets a bit, and that of its word in the rows above, as far up as needed.
    #[inline(never)]
    fn set(&mut self, slot: SlotIndex) {
        let mut index = slot.get();
        self.lowest = self.lowest.min(index / WORD_BITS);
        self.make_room(index + 1);
        for words in [&mut self.words].into_iter().chain(&mut self.above) {
            let (word, bit) = (&mut words[index / WORD_BITS], 1 << (index % WORD_BITS));
            if mem::replace(word, *word | bit) != 0 {
                break;
            }
            index /= WORD_BITS;
        }
    }

    /// Makes room for the elements below `len`. O(len), and O(1) amortized if it is called as they come.
    #[inline]
    pub(crate) fn make_room(&mut self, len: usize) {
        let words = len.div_ceil(WORD_BITS);
        if words > self.words.len() {
            self.grow(words);
        }
    }

    /// Makes each row longer, with another on top when what was the last is more than a word.
    #[cold]
    fn grow(&mut self, mut len: usize) {
        let mut below = &mut self.words;
        for row in 0.. {
            let is_used = below.first().is_some_and(|&word| word != 0);
            below.resize(len, 0);
            if len == 1 {
                break;
            }
            len = len.div_ceil(WORD_BITS);
            if row == self.above.len() {
                self.above.push(alloc::vec![is_used.into()]);
            }
            below = &mut self.above[row];
        }
    }

    /// Clears the bit of the lowest word, which has run empty, in the rows above, as far up as needed; the
    /// next word is found from there.
    #[inline(never)]
    fn emptied(&mut self) {
        let mut index = mem::replace(&mut self.lowest, NO_WORD);
        for row in 0..self.above.len() {
            let word = &mut self.above[row][index / WORD_BITS];
            *word &= !(1 << (index % WORD_BITS));
            index /= WORD_BITS;
            if *word != 0 {
                let down = self.above[..=row].iter().rev();
                self.lowest = down.fold(index, |index, words| {
                    index * WORD_BITS + words[index].trailing_zeros() as usize
                });
                return;
            }
        }
    }

    /// Removes every element from `len` on, and gives back spare memory. O(elements).
    pub(crate) fn truncate(&mut self, len: usize) {
        let mut old = mem::replace(self, Self::new());
        while let Some(slot) = old.take_lowest().filter(|slot| slot.get() < len) {
            self.insert(slot);
        }
        self.words.shrink_to_fit();
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
        let mut row = &self.words;
        for above in &self.above {
            let is_set = |index: usize| above[index / WORD_BITS] >> (index % WORD_BITS) & 1 != 0;
            assert!(
                (0..row.len()).all(|index| is_set(index) == (row[index] != 0)),
                "a word has its bit set in the row above if and only if it is not zero"
            );
            row = above;
        }
        assert!(row.len() <= 1, "the top row is one word");
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
            // Ever larger, so that rows are added while the set is in use.
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
    fn bytes_are_those_of_all_rows() {
        let mut set = FreeSet::new();
        assert_eq!(set.bytes(), 0);
        // A row of 65 words, one of two, and the top.
        // The first of them is kept apart.
        set.insert(SlotIndex::new(0));
        assert_eq!(set.bytes(), 0);
        set.insert(SlotIndex::new(64 * 64));
        assert_eq!(set.above.len(), 2);
        let rows = [&set.words, &set.above[0], &set.above[1]];
        let words: usize = rows.map(Vec::capacity).iter().sum();
        assert!(words >= 68);
        let rows = set.above.capacity() * 3 * size_of::<usize>();
        assert_eq!(set.bytes(), words * 8 + rows);
    }
}
