//! Which slots are free: a bitmap, with a summary of it that finds its lowest set bit.

use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use crate::engine::node::NodeIndex;

const WORD_BITS: usize = u64::BITS as usize;

/// The number of words that hold `bits` bits.
const fn words_for(bits: usize) -> usize {
    bits / WORD_BITS + (bits % WORD_BITS != 0) as usize
}

/// A set of slot indexes that hands out its lowest element first. O(1). When a word of the bitmap runs empty, it reads
/// the summary: at worst one word for each 4,096 slots.
///
/// Invariants: no word before `first` has an element; the bit of a word that is not zero, and of the first, is set in the
/// summary.
#[derive(Clone, Debug)]
pub(crate) struct FreeSet {
    words: Vec<u64>,
    /// A bit for each word.
    summary: Vec<u64>,
    /// The first word that may have an element; no word if none has one.
    first: usize,
}

impl FreeSet {
    pub(crate) const fn new() -> Self {
        Self { words: Vec::new(), summary: Vec::new(), first: usize::MAX }
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.words.capacity() + self.summary.capacity()) * mem::size_of::<u64>()
    }

    pub(crate) fn contains(&self, slot: NodeIndex) -> bool {
        let word = self.words.get(slot.get() / WORD_BITS);
        word.is_some_and(|word| word >> (slot.get() % WORD_BITS) & 1 != 0)
    }

    /// The lowest element, unless there is none.
    pub(crate) fn lowest(&self) -> Option<NodeIndex> {
        let (nth, word) = self.words.iter().enumerate().skip(self.first).find(|(_, word)| **word != 0)?;
        Some(NodeIndex::new(nth * WORD_BITS + word.trailing_zeros() as usize))
    }

    /// Removes the lowest element, unless there is none.
    #[inline]
    pub(crate) fn take_lowest(&mut self) -> Option<NodeIndex> {
        let first = self.first;
        let word = self.words.get_mut(first)?;
        if *word == 0 {
            return self.take_next();
        }
        let slot = first * WORD_BITS + word.trailing_zeros() as usize;
        *word &= *word - 1;
        Some(NodeIndex::new(slot))
    }

    #[inline]
    pub(crate) fn insert(&mut self, slot: NodeIndex) {
        let (index, bit) = (slot.get() / WORD_BITS, 1 << (slot.get() % WORD_BITS));
        match self.words.get_mut(index) {
            Some(word) if *word != 0 || index == self.first => *word |= bit,
            _ => self.insert_first(index, bit),
        }
    }

    /// Sets the only bit of a word, and that of the word in the summary.
    #[inline(never)]
    fn insert_first(&mut self, index: usize, bit: u64) {
        self.make_room((index + 1) * WORD_BITS);
        self.words[index] = bit;
        self.summary[index / WORD_BITS] |= 1 << (index % WORD_BITS);
        if index < self.first {
            if self.words.get(self.first) == Some(&0) {
                self.summary[self.first / WORD_BITS] &= !(1 << (self.first % WORD_BITS));
            }
            self.first = index;
        }
    }

    /// Makes room for the elements below `len`. O(len), and O(1) amortized if it is called as they come.
    pub(crate) fn make_room(&mut self, len: usize) {
        let words = words_for(len).max(self.words.len());
        self.words.resize(words, 0);
        self.summary.resize(words_for(words), 0);
    }

    /// The same, if the first word is zero: goes to the next that is not.
    #[cold]
    #[inline(never)]
    fn take_next(&mut self) -> Option<NodeIndex> {
        let from = self.first / WORD_BITS;
        self.summary[from] &= !(1 << (self.first % WORD_BITS));
        let next = (from..).zip(&self.summary[from..]).find(|(_, bits)| **bits != 0);
        self.first = next.map_or(usize::MAX, |(at, bits)| at * WORD_BITS + bits.trailing_zeros() as usize);
        self.take_lowest()
    }

    /// Whether all slots from the first of a word on are in the set, and none in the first word. O(words).
    pub(crate) fn has_all(&self, slots: &Range<usize>) -> bool {
        (slots.start..slots.end).step_by(WORD_BITS).all(|first| {
            let bits = WORD_BITS.min(slots.end - first);
            first / WORD_BITS > self.first
                && self.words.get(first / WORD_BITS) == Some(&(u64::MAX >> (WORD_BITS - bits)))
        })
    }

    /// Removes the elements of some whole words, all of which are above the lowest. O(words).
    pub(crate) fn remove_words(&mut self, slots: Range<usize>) {
        for index in slots.start / WORD_BITS..words_for(slots.end) {
            debug_assert!(self.first < index);
            self.words[index] = 0;
            self.summary[index / WORD_BITS] &= !(1 << (index % WORD_BITS));
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

    /// Checks every invariant of the set of `len` elements.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check(&self, len: usize) {
        let ones = self.words.iter().map(|word| word.count_ones() as usize);
        assert!(ones.sum::<usize>() == len, "free slots are counted");
        let is_set = |index: usize| self.summary[index / WORD_BITS] >> (index % WORD_BITS) & 1 != 0;
        assert!(
            (0..self.words.len()).all(|index| is_set(index) == (self.words[index] != 0 || index == self.first)),
            "a word has its bit set in the summary if and only if it is not zero or the first"
        );
        let first = self.words.iter().position(|&word| word != 0);
        assert!(first.map_or(true, |first| self.first <= first), "no word before the first has an element");
    }
}
