//! Which slots are free: a bitmap, with bitmaps above it that find its lowest set bit.

use alloc::vec::Vec;

use crate::key::SlotIndex;

const WORD_BITS: usize = u64::BITS as usize;

/// A set of slot indexes that hands out its lowest element first. O(log n) to the base of 64.
///
/// The word of the lowest element may run empty without the rows above being told, so that a slot that
/// is freed and taken again and again, the commonest case, touches one word.
///
/// Invariant: a word is not zero if and only if its bit is set in the row above it, row for row, but
/// for the word `lowest`, whose bit is set anyway; the top row is one word; every word before `lowest`
/// is zero.
#[derive(Clone, Debug)]
pub(crate) struct FreeSet {
    words: Vec<u64>,
    summaries: Vec<Vec<u64>>,
    lowest: u32,
}

/// The lowest word of an empty set.
const NO_WORD: u32 = u32::MAX;

impl FreeSet {
    pub(crate) const fn new() -> Self {
        Self {
            words: Vec::new(),
            summaries: Vec::new(),
            lowest: NO_WORD,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let words: usize = self.summaries.iter().map(Vec::capacity).sum();
        (words + self.words.capacity()) * size_of::<u64>()
            + self.summaries.capacity() * size_of::<Vec<u64>>()
    }

    pub(crate) fn contains(&self, slot: SlotIndex) -> bool {
        self.words
            .get(slot.get() / WORD_BITS)
            .is_some_and(|word| word >> (slot.get() % WORD_BITS) & 1 != 0)
    }

    /// The lowest element, unless there is none.
    #[inline]
    pub(crate) fn lowest(&mut self) -> Option<SlotIndex> {
        if *self.words.get(self.lowest as usize)? == 0 {
            self.find_lowest();
        }
        let bit = self.words.get(self.lowest as usize)?.trailing_zeros();
        let word = self.lowest as usize * WORD_BITS;
        Some(SlotIndex::new(word + bit as usize))
    }

    /// Removes the lowest element, unless there is none.
    #[inline]
    pub(crate) fn take_lowest(&mut self) -> Option<SlotIndex> {
        if *self.words.get(self.lowest as usize)? == 0 {
            self.find_lowest();
        }
        let word = self.words.get_mut(self.lowest as usize)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        Some(SlotIndex::new(
            self.lowest as usize * WORD_BITS + bit as usize,
        ))
    }

    #[inline]
    pub(crate) fn insert(&mut self, slot: SlotIndex) {
        let index = slot.get() / WORD_BITS;
        let bit = 1 << (slot.get() % WORD_BITS);
        match self.words.get_mut(index) {
            Some(word) if *word != 0 || index == self.lowest as usize => *word |= bit,
            _ => self.insert_into_empty_word(index, bit),
        }
    }

    #[inline(never)]
    fn insert_into_empty_word(&mut self, index: usize, bits: u64) {
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        self.words[index] = bits;
        self.summarize(index);
        if index < self.lowest as usize {
            if self.words.get(self.lowest as usize) == Some(&0) {
                self.unsummarize(self.lowest as usize);
            }
            self.lowest = index as u32;
        }
    }

    /// Goes on to the next word that is not zero: it is mostly one with a bit beside.
    #[inline(never)]
    fn find_lowest(&mut self) {
        self.unsummarize(self.lowest as usize);
        let beside = self.lowest as usize / WORD_BITS;
        let near = self.summaries.first().map_or(0, |row| row[beside]);
        if near != 0 {
            self.lowest = (beside * WORD_BITS) as u32 + near.trailing_zeros();
            return;
        }
        let rows = self.summaries.iter().rev();
        let word = rows.chain([&self.words]).try_fold(0, |word, row| {
            let bits = *row.get(word)?;
            (bits != 0).then(|| word * WORD_BITS + bits.trailing_zeros() as usize)
        });
        self.lowest = word.map_or(NO_WORD, |slot| (slot / WORD_BITS) as u32);
    }

    /// Sets the bit of a word that is no longer zero in the rows above, as far up as needed.
    fn summarize(&mut self, word: usize) {
        let mut index = word;
        let mut row = 0;
        // The top row has one word; as soon as it gets a second, it needs a row above.
        while row < self.summaries.len() || index > 0 {
            let bit = 1 << (index % WORD_BITS);
            index /= WORD_BITS;
            if row == self.summaries.len() {
                self.add_summary();
            }
            let words = &mut self.summaries[row];
            if index >= words.len() {
                words.resize(index + 1, 0);
            }
            let (was, words_len) = (words[index], words.len());
            words[index] |= bit;
            row += 1;
            if was != 0 && (row < self.summaries.len() || words_len == 1) {
                return; // The rows above know.
            }
        }
    }

    /// Adds a row above the others that summarizes the topmost of them.
    #[cold]
    fn add_summary(&mut self) {
        let (below, lowest) = match self.summaries.last() {
            Some(below) => (below, NO_WORD),
            None => (&self.words, self.lowest),
        };
        let mut words = alloc::vec![0; below.len().div_ceil(WORD_BITS)];
        for (index, &word) in below.iter().enumerate() {
            if word != 0 || index == lowest as usize {
                words[index / WORD_BITS] |= 1 << (index % WORD_BITS);
            }
        }
        self.summaries.push(words);
    }

    /// Clears the bit of a word that is zero in the rows above, as far up as needed.
    fn unsummarize(&mut self, word: usize) {
        let mut index = word;
        for words in &mut self.summaries {
            words[index / WORD_BITS] &= !(1 << (index % WORD_BITS));
            index /= WORD_BITS;
            if words[index] != 0 {
                break;
            }
        }
    }

    /// Removes every element from `len` on, and gives back spare memory. O(words).
    pub(crate) fn truncate(&mut self, len: usize) {
        self.words.truncate(len.div_ceil(WORD_BITS));
        if let Some(last) = self.words.get_mut(len / WORD_BITS) {
            *last &= (1 << (len % WORD_BITS)) - 1;
        }
        let words = core::mem::take(&mut self.words);
        *self = Self::new();
        for (index, word) in words.into_iter().enumerate().filter(|(_, word)| *word != 0) {
            self.insert_into_empty_word(index, word);
        }
        self.words.shrink_to_fit();
    }

    /// Checks the laws of the set of `len` elements.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check(&self, len: usize) {
        let counted: usize = self
            .words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum();
        assert!(counted == len, "free slots are counted");
        // The word that may be zero though its bit is set, row for row.
        let mut lowest = self.lowest as usize;
        let mut below = &self.words;
        for words in &self.summaries {
            for (index, &word) in below.iter().enumerate() {
                let bit = words
                    .get(index / WORD_BITS)
                    .is_some_and(|words| words >> (index % WORD_BITS) & 1 != 0);
                assert!(
                    bit == (word != 0 || index == lowest),
                    "a word has its summary bit set if and only if it is not zero"
                );
            }
            below = words;
            lowest = NO_WORD as usize;
        }
        assert!(below.len() <= 1, "the top row is one word");
        let first = self.words.iter().position(|word| *word != 0);
        assert!(
            first.is_none_or(|first| self.lowest as usize <= first),
            "every word before the lowest is zero"
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
                assert_eq!(set.take_lowest(), model.pop_first().map(SlotIndex::new));
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
        set.insert(SlotIndex::new(64 * 64));
        assert_eq!(set.summaries.len(), 2);
        let rows = [&set.words, &set.summaries[0], &set.summaries[1]];
        let words: usize = rows.map(Vec::capacity).iter().sum();
        assert!(words >= 68);
        let rows = set.summaries.capacity() * 3 * size_of::<usize>();
        assert_eq!(set.bytes(), words * 8 + rows);
    }
}
