//! The set of free slots: a bitmap, with a summary that finds its lowest set bit.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use crate::engine::node::NodeIndex;

const WORD_BITS: usize = u64::BITS as usize;

/// Words of a chunk, one for each bit of its summary.
const CHUNK: usize = WORD_BITS;

/// A part of the bitmap, for 4,096 slots. Chunks are never moved when the bitmap grows.
///
/// Invariant: a bit of `used` is set if and only if that word is not zero.
#[derive(Clone, Debug)]
struct Chunk {
    used: u64,
    words: Box<[u64; CHUNK]>,
}

/// A set of slot indexes that hands out its lowest element first. O(1). When a word of the bitmap runs empty, it reads
/// the summaries: at worst one for each 4,096 slots.
///
/// The lowest word is kept in a field. So a slot that is freed and taken again while no other is free, as in a queue of
/// steady length, touches no other memory, and a small set needs none.
///
/// Invariant: `lowest` is zero only if the set is empty, and no chunk has an element in the word of its number or
/// below.
#[derive(Clone, Debug)]
pub(crate) struct FreeSet {
    lowest: u64,
    /// The index of that word in the bitmap. Meaningless if the set is empty.
    number: usize,
    chunks: Vec<Chunk>,
    /// Words of the chunks that are not zero.
    used: usize,
}

impl FreeSet {
    pub(crate) const fn new() -> Self {
        Self { lowest: 0, number: 0, chunks: Vec::new(), used: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chunks.capacity() * mem::size_of::<Chunk>() + self.chunks.len() * mem::size_of::<[u64; CHUNK]>()
    }

    /// A word of the chunks, without the elements that are in the field `lowest`.
    fn word(&self, number: usize) -> u64 {
        self.chunks.get(number / CHUNK).map_or(0, |chunk| chunk.words[number % CHUNK])
    }

    pub(crate) fn contains(&self, slot: NodeIndex) -> bool {
        let number = slot.get() / WORD_BITS;
        let lowest = if number == self.number { self.lowest } else { 0 };
        (lowest | self.word(number)) >> (slot.get() % WORD_BITS) & 1 != 0
    }

    /// The lowest element, if there is one.
    #[inline]
    pub(crate) fn lowest(&self) -> Option<NodeIndex> {
        let bit = self.lowest.trailing_zeros() as usize;
        (self.lowest != 0).then(|| NodeIndex::new(self.number * WORD_BITS + bit))
    }

    /// Removes and returns the lowest element, if there is one.
    #[inline]
    pub(crate) fn take_lowest(&mut self) -> Option<NodeIndex> {
        let slot = self.lowest()?;
        self.lowest &= self.lowest - 1;
        if self.lowest == 0 && self.used != 0 {
            self.take_next_word();
        }
        Some(slot)
    }

    #[inline]
    pub(crate) fn insert(&mut self, slot: NodeIndex) {
        let (number, bit) = (slot.get() / WORD_BITS, 1 << (slot.get() % WORD_BITS));
        if number == self.number || self.lowest == 0 {
            self.number = number;
            self.lowest |= bit;
        } else if number > self.number {
            match self.chunks.get_mut(number / CHUNK).map(|chunk| &mut chunk.words[number % CHUNK]) {
                Some(word) if *word != 0 => *word |= bit,
                _ => self.set_first(number, bit),
            }
        } else {
            self.set_first(self.number, self.lowest);
            (self.number, self.lowest) = (number, bit);
        }
    }

    /// Sets the first bits of a word.
    #[inline(never)]
    fn set_first(&mut self, number: usize, bits: u64) {
        self.make_room((number + 1) * WORD_BITS);
        let chunk = &mut self.chunks[number / CHUNK];
        chunk.words[number % CHUNK] = bits;
        chunk.used |= 1 << (number % CHUNK);
        self.used += 1;
    }

    /// Makes room for the elements below `len`. O(len), or amortized O(1) if it is called as `len` grows.
    pub(crate) fn make_room(&mut self, len: usize) {
        while self.chunks.len() * CHUNK * WORD_BITS < len {
            self.chunks.push(Chunk { used: 0, words: Box::new([0; CHUNK]) });
        }
    }

    /// Moves the lowest word that is not zero from its chunk to the field.
    #[inline(never)]
    fn take_next_word(&mut self) {
        let mut chunks = self.chunks.iter_mut().enumerate().skip(self.number / CHUNK);
        if let Some((nth, chunk)) = chunks.find(|(_, chunk)| chunk.used != 0) {
            let word = chunk.used.trailing_zeros() as usize;
            chunk.used &= chunk.used - 1;
            self.number = nth * CHUNK + word;
            self.lowest = mem::take(&mut chunk.words[word]);
            self.used -= 1;
        }
    }

    /// Whether all of `slots`, which begin a word, are in the set and none of them is in the field `lowest`.
    /// O(words).
    pub(crate) fn has_all(&self, slots: &Range<usize>) -> bool {
        (slots.start..slots.end).step_by(WORD_BITS).all(|first| {
            let bits = WORD_BITS.min(slots.end - first);
            self.word(first / WORD_BITS) == u64::MAX >> (WORD_BITS - bits)
        })
    }

    /// Removes the elements of whole words, all above the lowest one. O(words).
    pub(crate) fn remove_words(&mut self, slots: Range<usize>) {
        for first in slots.step_by(WORD_BITS) {
            let number = first / WORD_BITS;
            debug_assert!(self.number < number);
            let chunk = &mut self.chunks[number / CHUNK];
            self.used -= usize::from(chunk.words[number % CHUNK] != 0);
            chunk.words[number % CHUNK] = 0;
            chunk.used &= !(1 << (number % CHUNK));
        }
    }

    /// Removes every element from `len` on, and gives back spare memory. O(elements).
    pub(crate) fn truncate(&mut self, len: usize) {
        let mut old = mem::replace(self, Self::new());
        while let Some(slot) = old.take_lowest().filter(|slot| slot.get() < len) {
            self.insert(slot);
        }
    }

    /// Checks every invariant of the set of `len` elements.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check(&self, len: usize) {
        let words = || self.chunks.iter().flat_map(|chunk| *chunk.words).enumerate();
        let ones = words().map(|(_, word)| word.count_ones() as usize).sum::<usize>();
        assert!(ones + self.lowest.count_ones() as usize == len, "free slots are counted");
        let is_used = |number: usize| self.chunks[number / CHUNK].used >> (number % CHUNK) & 1 != 0;
        assert!(
            words().all(|(number, word)| is_used(number) == (word != 0)),
            "a word has its bit set in the summary if and only if it is not zero"
        );
        let used = words().filter(|&(_, word)| word != 0).count();
        assert!(used == self.used, "the words that are not zero are counted");
        let is_below = |number| self.lowest != 0 && self.number < number;
        assert!(words().all(|(number, word)| word == 0 || is_below(number)), "the lowest word is the one in the field");
    }
}
