//! Which buckets hold timers: one bit per bucket, eight words per level.

use alloc::boxed::Box;
use core::mem;

use crate::engine::geometry::{FAR, LEVELS, MAX_LEVEL_BITS};

const WORD_BITS: usize = u64::BITS as usize;

/// Words of a level: two rotations of buckets. The far level has fewer.
const WORDS: usize = (2 << MAX_LEVEL_BITS) / WORD_BITS;

/// The bits of one level, and a bit for each word of them.
///
/// Invariant: a bit of `used` is set if and only if that word is not zero.
#[derive(Copy, Clone, Default)]
struct Bits {
    words: [u64; WORDS],
    used: u64,
}

const _: () = assert!(WORDS == u8::BITS as usize, "a word has a bit in `used`");

/// One bit for each bucket, by its level and its index there. It takes no memory until a bit is set.
///
/// Invariant: a bit is set if and only if its bucket holds timers.
#[derive(Clone, Default)]
pub(crate) struct Occupancy {
    levels: Option<Box<[Bits; LEVELS + 1]>>,
}

impl Occupancy {
    #[inline]
    fn of(&self, level: usize) -> Option<&Bits> {
        self.levels.as_ref()?.get(level)
    }

    /// Gives back all memory: no bucket holds timers.
    pub(crate) fn clear(&mut self) {
        self.levels = None;
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.levels.as_ref().map_or(0, |levels| mem::size_of_val(&**levels))
    }

    /// Whether no bit of a level is set.
    #[inline]
    pub(crate) fn is_empty(&self, level: usize) -> bool {
        self.of(level).map_or(true, |bits| bits.used == 0)
    }

    /// The bits of the far level, which has at most 64.
    #[inline]
    pub(crate) fn far(&self) -> u64 {
        self.of(FAR).map_or(0, |bits| bits.words[0])
    }

    #[inline]
    pub(crate) fn set(&mut self, level: usize, index: usize) {
        let bits = &mut self.levels.get_or_insert_with(Box::default)[level];
        bits.words[index / WORD_BITS] |= 1 << (index % WORD_BITS);
        bits.used |= 1 << (index / WORD_BITS);
    }

    #[inline]
    pub(crate) fn unset(&mut self, level: usize, index: usize) {
        let Some(bits) = self.levels.as_mut().and_then(|levels| levels.get_mut(level)) else {
            return;
        };
        let word = &mut bits.words[index / WORD_BITS];
        *word &= !(1 << (index % WORD_BITS));
        if *word == 0 {
            bits.used &= !(1 << (index / WORD_BITS));
        }
    }

    pub(crate) fn is_set(&self, level: usize, index: usize) -> bool {
        self.of(level).is_some_and(|bits| bits.words[index / WORD_BITS] >> (index % WORD_BITS) & 1 != 0)
    }

    /// The index of a level's first occupied bucket from `index` on, wrapping around. O(1).
    #[inline]
    pub(crate) fn first_from(&self, level: usize, index: usize) -> Option<usize> {
        let bits = self.of(level).filter(|bits| bits.used != 0)?;
        let (first, passed) = (index / WORD_BITS, index % WORD_BITS);
        let rest = bits.words[first] >> passed;
        if rest != 0 {
            return Some(index + rest.trailing_zeros() as usize);
        }
        // The first word is searched again last, for its bits below `index`.
        let after = (bits.used as u8).rotate_right(first as u32 + 1);
        let word = (first + 1 + after.trailing_zeros() as usize) % WORDS;
        Some(word * WORD_BITS + bits.words[word].trailing_zeros() as usize)
    }
}
