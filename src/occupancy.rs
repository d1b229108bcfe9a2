//! Which buckets hold timers: one bit a bucket, eight words a level.

use alloc::vec::Vec;
use core::mem;

use crate::geometry::MAX_LEVEL_BITS;

const WORD_BITS: usize = u64::BITS as usize;

/// Words of a level: two rotations of buckets.
const WORDS: usize = (2 << MAX_LEVEL_BITS) / WORD_BITS;

/// The bits of one level, and a bit for each word of them.
///
/// Invariant: a bit of `used` is set if and only if that word is not zero.
#[derive(Copy, Clone, Default)]
struct Bits {
    words: [u64; WORDS],
    used: u8,
}

const _: () = assert!(WORDS == u8::BITS as usize, "a word has a bit in `used`");

/// One bit for each bucket, by its index on its level, up to the highest level that was used.
///
/// Invariant: a bit is set if and only if its bucket holds timers.
#[derive(Clone, Default)]
pub(crate) struct Occupancy {
    levels: Vec<Bits>,
}

impl Occupancy {
    /// Makes room for a number of levels, more than before.
    pub(crate) fn add_levels(&mut self, levels: usize) {
        self.levels.reserve_exact(levels - self.levels.len());
        self.levels.resize(levels, Bits::default());
    }

    /// Drops the levels from one on, which are empty.
    pub(crate) fn truncate(&mut self, levels: usize) {
        self.levels.truncate(levels);
        self.levels.shrink_to_fit();
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.levels.capacity() * mem::size_of::<Bits>()
    }

    #[inline]
    pub(crate) fn set(&mut self, level: usize, index: usize) {
        let bits = &mut self.levels[level];
        bits.words[index / WORD_BITS] |= 1 << (index % WORD_BITS);
        bits.used |= 1 << (index / WORD_BITS);
    }

    #[inline]
    pub(crate) fn clear(&mut self, level: usize, index: usize) {
        let bits = &mut self.levels[level];
        let word = &mut bits.words[index / WORD_BITS];
        *word &= !(1 << (index % WORD_BITS));
        if *word == 0 {
            bits.used &= !(1 << (index / WORD_BITS));
        }
    }

    pub(crate) fn is_set(&self, level: usize, index: usize) -> bool {
        self.levels[level].words[index / WORD_BITS] >> (index % WORD_BITS) & 1 != 0
    }

    /// The index of a level's first occupied bucket from one on, going round. O(1).
    #[inline]
    pub(crate) fn first_from(&self, level: usize, index: usize) -> Option<usize> {
        let bits = self.levels.get(level).filter(|bits| bits.used != 0)?;
        let (first, passed) = (index / WORD_BITS, index % WORD_BITS);
        let rest = bits.words[first] >> passed;
        if rest != 0 {
            return Some(index + rest.trailing_zeros() as usize);
        }
        // All the way round: of the word it began with, what was passed is left.
        let after = bits.used.rotate_right(first as u32 + 1);
        let word = (first + 1 + after.trailing_zeros() as usize) % WORDS;
        Some(word * WORD_BITS + bits.words[word].trailing_zeros() as usize)
    }

    /// The number of occupied buckets of a level.
    pub(crate) fn count(&self, level: usize) -> usize {
        let words = self.levels.get(level).into_iter().flat_map(|bits| bits.words);
        words.map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_goes_round_from_anywhere() {
        let set = [0, 5, 63, 64, 130, 511];
        let mut occupancy = Occupancy::default();
        occupancy.add_levels(3);
        for index in set {
            occupancy.set(2, index);
        }
        for from in 0..WORDS * WORD_BITS {
            let expected = set.iter().find(|&&index| index >= from).or(set.first());
            assert_eq!(occupancy.first_from(2, from).as_ref(), expected, "{from}");
        }
        assert_eq!(occupancy.first_from(1, 3), None);
    }

    #[test]
    fn clear_removes_exactly_one_bit() {
        let mut occupancy = Occupancy::default();
        occupancy.add_levels(3);
        occupancy.set(1, 5);
        occupancy.set(1, 6);
        occupancy.clear(1, 5);
        assert!(!occupancy.is_set(1, 5) && occupancy.is_set(1, 6));
        assert_eq!(occupancy.count(1), 1);
        // The one bit lies before where the search begins, in the same word.
        assert_eq!(occupancy.first_from(1, 7), Some(6));
        occupancy.clear(1, 6);
        assert_eq!(occupancy.first_from(1, 0), None);
    }
}
