//! Which slots are free: a bitmap, with a summary of it that finds its lowest set bit.

use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use crate::node::NodeIndex;
use crate::pages::Pages;

const WORD_BITS: usize = u64::BITS as usize;

/// The number of words that hold `bits` bits.
const fn words_for(bits: usize) -> usize {
    bits / WORD_BITS + (bits % WORD_BITS != 0) as usize
}

/// Words on a page.
const PAGE: usize = 256;

/// A set of slot indexes that hands out its lowest element first. O(1). When a word of the bitmap runs empty, it reads
/// the summary: at worst one word for each 4,096 slots.
///
/// The lowest word of the bitmap is kept in a field, so that a slot that is freed and taken again and again touches no
/// other memory.
///
/// Invariant: `lowest` has an element unless the set is empty, and none in `words` is below its last; a word is not
/// zero if and only if its bit is set in the summary.
#[derive(Clone, Debug)]
pub(crate) struct FreeSet {
    lowest: u64,
    /// Where in the bitmap that word belongs.
    index: usize,
    words: Pages<u64, PAGE>,
    /// A bit for each word. Its vector is copied to grow: 8 bytes for each 4,096 elements.
    summary: Vec<u64>,
    /// Words that are not zero.
    used: usize,
}

impl FreeSet {
    pub(crate) const fn new() -> Self {
        Self { lowest: 0, index: 0, words: Pages::new(), summary: Vec::new(), used: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes() + self.summary.capacity() * mem::size_of::<u64>()
    }

    pub(crate) fn contains(&self, slot: NodeIndex) -> bool {
        let (index, bit) = (slot.get() / WORD_BITS, slot.get() % WORD_BITS);
        let apart = if index == self.index { self.lowest } else { 0 };
        let word = self.words.get(index).map_or(0, |word| *word);
        (apart | word) >> bit & 1 != 0
    }

    /// The lowest element, unless there is none.
    #[inline]
    pub(crate) fn lowest(&self) -> Option<NodeIndex> {
        let slot = self.index * WORD_BITS + self.lowest.trailing_zeros() as usize;
        (self.lowest != 0).then(|| NodeIndex::new(slot))
    }

    /// Removes the lowest element, unless there is none.
    #[inline]
    pub(crate) fn take_lowest(&mut self) -> Option<NodeIndex> {
        let slot = self.lowest()?;
        self.lowest &= self.lowest - 1;
        if self.lowest == 0 && self.used != 0 {
            self.next_word();
        }
        Some(slot)
    }

    #[inline]
    pub(crate) fn insert(&mut self, slot: NodeIndex) {
        let (index, bit) = (slot.get() / WORD_BITS, 1 << (slot.get() % WORD_BITS));
        if index == self.index || self.lowest == 0 {
            self.index = index;
            self.lowest |= bit;
        } else if index > self.index {
            self.set(index, bit);
        } else {
            self.set(self.index, self.lowest);
            (self.index, self.lowest) = (index, bit);
        }
    }

    /// Sets bits of a word of the bitmap, and that of the word in the summary.
    #[inline]
    fn set(&mut self, index: usize, bits: u64) {
        match self.words.get_mut(index) {
            Some(word) if *word != 0 => *word |= bits,
            _ => self.set_first(index, bits),
        }
    }

    #[inline(never)]
    fn set_first(&mut self, index: usize, bits: u64) {
        self.make_room((index + 1) * WORD_BITS);
        *self.words.at_mut(index) = bits;
        self.summary[index / WORD_BITS] |= 1 << (index % WORD_BITS);
        self.used += 1;
    }

    /// Makes room for the elements below `len`. O(len), and O(1) amortized if it is called as they come.
    pub(crate) fn make_room(&mut self, len: usize) {
        let words = words_for(len);
        while self.words.len() < words {
            self.words.push(0);
        }
        let summary = words_for(words).max(self.summary.len());
        self.summary.resize(summary, 0);
    }

    /// Moves the next word that is not zero from the bitmap to its field.
    #[inline(never)]
    fn next_word(&mut self) {
        let from = self.index / WORD_BITS;
        let mut rest = (from..).zip(&mut self.summary[from..]);
        let Some((at, bits)) = rest.find(|(_, bits)| **bits != 0) else {
            return;
        };
        self.index = at * WORD_BITS + bits.trailing_zeros() as usize;
        *bits &= *bits - 1;
        self.used -= 1;
        self.lowest = mem::take(self.words.at_mut(self.index));
    }

    /// Whether all slots from the first of a word on are in the set, and none in the word that is kept in a field. O(words).
    pub(crate) fn has_all(&self, slots: &Range<usize>) -> bool {
        (slots.start..slots.end).step_by(WORD_BITS).all(|first| {
            let bits = WORD_BITS.min(slots.end - first);
            self.words.get(first / WORD_BITS) == Some(&(u64::MAX >> (WORD_BITS - bits)))
        })
    }

    /// Removes the elements of some whole words, all of which are above the lowest. O(words).
    pub(crate) fn remove_words(&mut self, slots: Range<usize>) {
        for index in slots.start / WORD_BITS..words_for(slots.end) {
            debug_assert!(self.index < index);
            if self.words.get(index).is_some_and(|word| *word != 0) {
                *self.words.at_mut(index) = 0;
                self.summary[index / WORD_BITS] &= !(1 << (index % WORD_BITS));
                self.used -= 1;
            }
        }
    }

    /// Removes every element from `len` on, and gives back spare memory. O(elements).
    pub(crate) fn truncate(&mut self, len: usize) {
        let mut old = mem::replace(self, Self::new());
        while let Some(slot) = old.take_lowest().filter(|slot| slot.get() < len) {
            self.insert(slot);
        }
        self.words.truncate(self.words.len());
        self.summary.shrink_to_fit();
    }

    /// Checks every invariant of the set of `len` elements.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check(&self, len: usize) {
        let ones = self.words.iter().map(|word| word.count_ones() as usize);
        let apart = self.lowest.count_ones() as usize;
        assert!(ones.sum::<usize>() + apart == len, "free slots are counted");
        let is_set = |index: usize| self.summary[index / WORD_BITS] >> (index % WORD_BITS) & 1 != 0;
        assert!(
            (0..self.words.len()).all(|index| is_set(index) == (*self.words.at(index) != 0)),
            "a word has its bit set in the summary if and only if it is not zero"
        );
        let used = self.words.iter().filter(|&&word| word != 0).count();
        assert!(used == self.used, "the words that are not zero are counted");
        let first = self.words.iter().position(|&word| word != 0);
        assert!(
            (self.lowest != 0 || used == 0) && first.map_or(true, |first| self.index < first),
            "the lowest word is the one apart"
        );
    }
}
