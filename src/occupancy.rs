//! Which buckets hold timers: one bit a bucket, four words a level.

use crate::geometry::LEVELS;

const WORDS: usize = 4;
const WORD_BITS: usize = u64::BITS as usize;

/// One bit for each bucket of levels 0 to 3.
///
/// Invariant: a bit is set if and only if its bucket holds a timer.
///
/// Every occupied bucket lies ahead of the cursor within its lap, so the first one is the lowest
/// level's lowest set bit, and no search ever wraps around.
#[derive(Clone, Default)]
pub(crate) struct Occupancy {
    levels: [[u64; WORDS]; LEVELS],
}

impl Occupancy {
    #[inline]
    pub(crate) fn set(&mut self, level: usize, digit: usize) {
        self.levels[level][digit / WORD_BITS] |= 1 << (digit % WORD_BITS);
    }

    #[inline]
    pub(crate) fn clear(&mut self, level: usize, digit: usize) {
        self.levels[level][digit / WORD_BITS] &= !(1 << (digit % WORD_BITS));
    }

    #[inline]
    pub(crate) fn is_set(&self, level: usize, digit: usize) -> bool {
        self.levels[level][digit / WORD_BITS] >> (digit % WORD_BITS) & 1 != 0
    }

    /// The level and digit of the first occupied bucket of all. O(levels).
    #[inline]
    pub(crate) fn first(&self) -> Option<(usize, usize)> {
        (0..LEVELS).find_map(|level| Some((level, self.lowest_in(level)?)))
    }

    /// The digit of a level's first occupied bucket.
    #[inline]
    pub(crate) fn lowest_in(&self, level: usize) -> Option<usize> {
        let words = &self.levels[level];
        let word = words.iter().position(|&bits| bits != 0)?;
        Some(word * WORD_BITS + words[word].trailing_zeros() as usize)
    }

    /// The first occupied bucket after the given one, in the order of time.
    pub(crate) fn next_after(&self, level: usize, digit: usize) -> Option<(usize, usize)> {
        let first = digit + 1;
        let in_level = (first / WORD_BITS..WORDS).find_map(|word| {
            let passed = if word == first / WORD_BITS {
                first % WORD_BITS
            } else {
                0
            };
            let bits = self.levels[level][word] >> passed << passed;
            (bits != 0).then(|| (level, word * WORD_BITS + bits.trailing_zeros() as usize))
        });
        in_level
            .or_else(|| (level + 1..LEVELS).find_map(|level| Some((level, self.lowest_in(level)?))))
    }

    /// The last occupied bucket before the given one, in the order of time; before all of
    /// `level` when `digit` is zero.
    pub(crate) fn last_before(&self, level: usize, digit: usize) -> Option<(usize, usize)> {
        let in_level = (level < LEVELS)
            .then(|| self.highest_below(level, digit))
            .flatten();
        in_level.map(|digit| (level, digit)).or_else(|| {
            (0..level.min(LEVELS))
                .rev()
                .find_map(|level| Some((level, self.highest_below(level, WORDS * WORD_BITS)?)))
        })
    }

    fn highest_below(&self, level: usize, digit: usize) -> Option<usize> {
        (0..digit.div_ceil(WORD_BITS)).rev().find_map(|word| {
            let kept = (digit - word * WORD_BITS).min(WORD_BITS);
            let bits = self.levels[level][word] & (u64::MAX >> (WORD_BITS - kept));
            let highest = bits.checked_ilog2()?;
            Some(word * WORD_BITS + highest as usize)
        })
    }

    /// The number of occupied buckets of a level.
    pub(crate) fn count(&self, level: usize) -> usize {
        self.levels[level]
            .iter()
            .map(|bits| bits.count_ones() as usize)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn of(bits: &[(usize, usize)]) -> Occupancy {
        let mut occupancy = Occupancy::default();
        for &(level, digit) in bits {
            occupancy.set(level, digit);
        }
        occupancy
    }

    #[test]
    fn walk_visits_every_bit_in_both_directions() {
        let bits = [(0, 0), (0, 63), (0, 64), (0, 255), (2, 1), (3, 0), (3, 128)];
        let occupancy = of(&bits);
        let mut forward = vec![occupancy.first().unwrap()];
        while let Some(next) = {
            let &(level, digit) = forward.last().unwrap();
            occupancy.next_after(level, digit)
        } {
            forward.push(next);
        }
        assert_eq!(forward, bits);
        let mut backward = vec![];
        let mut at = (LEVELS, 0);
        while let Some(previous) = occupancy.last_before(at.0, at.1) {
            backward.push(previous);
            at = previous;
        }
        backward.reverse();
        assert_eq!(backward, bits);
    }

    #[test]
    fn clear_removes_exactly_one_bit() {
        let mut occupancy = of(&[(1, 5), (1, 6)]);
        occupancy.clear(1, 5);
        assert!(!occupancy.is_set(1, 5) && occupancy.is_set(1, 6));
        assert_eq!((occupancy.count(1), occupancy.first()), (1, Some((1, 6))));
        occupancy.clear(1, 6);
        assert_eq!(occupancy.first(), None);
    }
}
