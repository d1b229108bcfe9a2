//! Which buckets hold timers: one bit a bucket, eight words a level.

use alloc::vec::Vec;

use crate::geometry::MAX_LEVEL_BITS;

const WORD_BITS: usize = u64::BITS as usize;

/// Words of a level: two rotations of buckets.
const WORDS: usize = (2 << MAX_LEVEL_BITS) / WORD_BITS;

/// One bit for each bucket, by its index on its level, up to the highest level that was used.
///
/// Invariant: a bit is set if and only if its bucket holds timers.
#[derive(Clone, Default)]
pub(crate) struct Occupancy {
    levels: Vec<[u64; WORDS]>,
}

impl Occupancy {
    /// Makes room for so many levels, more than before.
    pub(crate) fn add_levels(&mut self, levels: usize) {
        self.levels.reserve_exact(levels - self.levels.len());
        self.levels.resize(levels, [0; WORDS]);
    }

    /// Clears every bit.
    pub(crate) fn clear_all(&mut self) {
        self.levels.fill([0; WORDS]);
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.levels.capacity() * size_of::<[u64; WORDS]>()
    }

    #[inline]
    pub(crate) fn set(&mut self, level: usize, index: usize) {
        self.levels[level][index / WORD_BITS] |= 1 << (index % WORD_BITS);
    }

    #[inline]
    pub(crate) fn clear(&mut self, level: usize, index: usize) {
        self.levels[level][index / WORD_BITS] &= !(1 << (index % WORD_BITS));
    }

    pub(crate) fn is_set(&self, level: usize, index: usize) -> bool {
        self.levels[level][index / WORD_BITS] >> (index % WORD_BITS) & 1 != 0
    }

    /// The index of a level's first occupied bucket from one on, going round. O(words).
    #[inline]
    pub(crate) fn first_from(&self, level: usize, index: usize) -> Option<usize> {
        let words = self.levels.get(level)?;
        let (first, passed) = (index / WORD_BITS, index % WORD_BITS);
        let bits = words[first] >> passed;
        if bits != 0 {
            return Some(index + bits.trailing_zeros() as usize);
        }
        // All the way round: of the word it began with, what was passed is left.
        (1..=WORDS)
            .map(|step| (first + step) % WORDS)
            .find(|&word| words[word] != 0)
            .map(|word| word * WORD_BITS + words[word].trailing_zeros() as usize)
    }

    /// The number of occupied buckets of a level.
    pub(crate) fn count(&self, level: usize) -> usize {
        let words = self.levels.get(level).into_iter().flatten();
        words.map(|bits| bits.count_ones() as usize).sum()
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
