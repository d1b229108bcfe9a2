//! The run: a page of timers in the order in which they fire.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Ordered;
use crate::key::SlotIndex;
use crate::pages::Placeholder;

/// Timers on a page, and on a large one. Fuzzing has few, so that its scripts fill many.
pub(super) const PAGE: usize = if cfg!(fuzzing) { 16 } else { 256 };
pub(crate) const LARGE: usize = 4 * PAGE;

pub(super) type Page = Box<[Ordered]>;

/// The index of a run. With the place of a timer on the page it is the timer's position.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunIndex(u32);

impl RunIndex {
    /// Of a timer that is in no run.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// As many runs as a position can tell apart.
    pub(super) const COUNT: usize = u32::MAX as usize / LARGE;

    #[inline]
    pub(super) const fn new(index: usize) -> Self {
        debug_assert!(index < Self::COUNT);
        Self(index as u32)
    }

    #[inline]
    pub(super) const fn get(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(super) const fn position(self, nth: usize) -> u32 {
        self.0 * LARGE as u32 + nth as u32
    }

    /// The run and the place on its page.
    #[inline]
    pub(super) const fn of_position(position: u32) -> (Self, usize) {
        (Self(position / LARGE as u32), position as usize % LARGE)
    }
}

/// Timers that are sorted.
///
/// They begin in the middle of the page, so that others which come before or after them all find room there.
/// A timer that leaves from between others leaves a hole.
///
/// Invariant: those from `next` to `end` that are no holes are in the order in which they fire, and that at
/// `next` is none.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) page: Page,
    pub(super) next: usize,
    pub(super) end: usize,
    /// Where in the heap the entry of the run is.
    pub(super) at: usize,
}

impl Run {
    /// Without timers yet, of which so many are to be in the middle of the page: the one given, if it is large enough.
    pub(super) fn new(page: Option<Page>, count: usize, at: usize) -> Self {
        let len = if count > PAGE { LARGE } else { PAGE };
        let page = page.filter(|page| page.len() >= len);
        let page = page.unwrap_or_else(|| alloc::vec![Ordered::PLACEHOLDER; len].into());
        let from = (page.len() - count) / 2;
        Self {
            page,
            next: from,
            end: from,
            at,
        }
    }

    /// The timers from a place on, each with its place, in order.
    pub(super) fn timers_from(&self, nth: usize) -> impl Iterator<Item = (usize, &Ordered)> {
        let from = nth.max(self.next).min(self.end);
        let timers = (from..).zip(&self.page[from..self.end]);
        timers.filter(|(_, timer)| timer.slot != SlotIndex::NONE)
    }

    /// All timers, to be changed; in order.
    pub(super) fn timers_mut(&mut self) -> impl Iterator<Item = &mut Ordered> {
        let timers = self.page[self.next..self.end].iter_mut();
        timers.filter(|timer| timer.slot != SlotIndex::NONE)
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Ordered> {
        self.page[..self.end].get(self.next)
    }

    /// Whether the timer of a slot is at a place. O(1).
    pub(super) fn holds(&self, nth: usize, slot: SlotIndex) -> bool {
        let is_within = (self.next..self.end).contains(&nth);
        is_within && slot != SlotIndex::NONE && self.page[nth].slot == slot
    }

    /// Removes the timer at a place, and answers whether it was the first. O(1), and a look at the holes
    /// behind the first.
    #[inline]
    pub(super) fn remove(&mut self, nth: usize) -> bool {
        if nth != self.next {
            self.page[nth].slot = SlotIndex::NONE;
            return false;
        }
        self.next += 1;
        while self.first().is_some_and(|it| it.slot == SlotIndex::NONE) {
            self.next += 1;
        }
        true
    }
}

/// Finds the order in which timers fire, by way of a word for each, and writes down their indexes in it. It may
/// change their places first. O(n log n).
///
/// A word is what sets the deadline and the sequence number of a timer apart from those of the others, and
/// its index. The timers of a tick have nearly the same deadline, or quite the same where the clock is
/// coarse. To sort words moves a third of the bytes that entries have.
pub(super) fn sort(timers: &mut [Ordered], order: &mut Vec<u64>) {
    order.clear();
    let deadlines = range(timers.iter().map(|it| it.deadline));
    let sequences = range(timers.iter().map(|it| it.sequence.get()));
    let of_index = bits(timers.len() as u64);
    let below = of_index + bits(sequences.1.saturating_sub(sequences.0));
    if below + bits(deadlines.1.saturating_sub(deadlines.0)) > u64::BITS {
        // They do not fit into words.
        timers.sort_unstable();
        return order.extend(0..timers.len() as u64);
    }
    order.extend(timers.iter().zip(0..).map(|(it, index)| {
        let deadline = (it.deadline - deadlines.0).wrapping_shl(below);
        let sequence = (it.sequence.get() - sequences.0) << of_index;
        deadline | sequence | index
    }));
    if !sort_few::<32>(order) && !sort_few::<64>(order) {
        order.sort_unstable();
    }
    order
        .iter_mut()
        .for_each(|word| *word &= (1 << of_index) - 1);
}

/// Sorts a few words by how many of the others come before each. `false`, with nothing changed, if there
/// are too many, or two of them have the same upper bits.
///
/// A tick rarely holds more than a few dozen timers. At that size the fastest sort has no branch that
/// depends on the data: compare each with every other, which the compiler turns into vector instructions.
/// (Signed and short is what the oldest of those compare, and most of.)
fn sort_few<const MOST: usize>(words: &mut [u64]) -> bool {
    if words.len() > MOST {
        return false;
    }
    let (_, greatest) = range(words.iter().copied());
    let shift = bits(greatest).saturating_sub(u16::BITS);
    // What pads the keys is counted by none of them.
    let mut keys = [i16::MAX; MOST];
    for (key, word) in keys.iter_mut().zip(&*words) {
        *key = (word >> shift) as i16 ^ i16::MIN;
    }
    let mut sorted = [0; MOST];
    let mut ranks = 0_u64;
    for (&word, &own) in words.iter().zip(&keys) {
        let rank: u16 = keys.iter().map(|&other| u16::from(other < own)).sum();
        ranks |= 1_u64.wrapping_shl(rank.into());
        sorted[usize::from(rank) % MOST] = word;
    }
    // Two equal keys share a rank, and leave another one out.
    let are_all = ranks.count_ones() as usize == words.len();
    if are_all {
        words.copy_from_slice(&sorted[..words.len()]);
    }
    are_all
}

/// The least and the greatest of some numbers.
#[inline]
fn range(numbers: impl Iterator<Item = u64>) -> (u64, u64) {
    numbers.fold((u64::MAX, 0), |(least, greatest), number| {
        (number.min(least), number.max(greatest))
    })
}

/// As many bits as a number needs.
#[inline]
fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_that_differ_above_are_sorted_and_others_are_left_alone() {
        for (len, first, step, is_few) in [
            (1, 0, 1 << 40, true),
            (32, 0, 1 << 40, true),
            (33, 0, 1 << 40, false),
            (31, 0, 1, true),
            // All of the same upper 16 bits.
            (31, 1 << 60, 1 << 20, false),
        ] {
            let mut words: Vec<u64> = (0..len).rev().map(|nth| first + nth * step).collect();
            let before = words.clone();
            assert_eq!(
                sort_few::<32>(&mut words),
                is_few,
                "{len} words, {step} apart"
            );
            assert_eq!(words.is_sorted(), is_few);
            assert!(is_few || words == before);
        }
    }
}
