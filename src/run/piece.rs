//! The piece: timers that are collected from a bucket, and sorted to join the run.

use alloc::vec::Vec;

use super::KEPT;
use super::rank_sort::{self, sort_by_rank};
use crate::header::Ordered;

/// Timers on their way from a bucket to the run.
///
/// Invariant: `order` is empty, and the timers are in the order they have, or it holds the index of each in
/// the order in which they fire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Piece {
    timers: Vec<Ordered>,
    order: Vec<u64>,
}

impl Piece {
    /// The heap memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.timers.capacity() * size_of::<Ordered>() + self.order.capacity() * size_of::<u64>()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.timers.len()
    }

    /// Makes room for a crowd.
    pub(super) fn reserve(&mut self, timers: usize) {
        self.timers.reserve(timers);
    }

    /// Adds a timer, wherever it belongs. O(1).
    #[inline]
    pub(crate) fn push(&mut self, timer: Ordered) {
        self.timers.push(timer);
    }

    /// The timers, in order if they have been sorted.
    #[inline]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Ordered> {
        (0..self.len()).map(|nth| {
            let index = self.order.get(nth);
            &self.timers[index.map_or(nth, |&index| index as usize)]
        })
    }

    /// Forgets the timers, and keeps no more memory than a piece needs that is no crowd.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.timers.clear();
        self.order.clear();
        self.timers.shrink_to(KEPT);
        self.order.shrink_to(KEPT);
    }

    /// Sorts the timers into the order in which they fire. O(n log n).
    #[inline]
    pub(super) fn sort(&mut self) {
        self.order.clear();
        if self.len() > 1 && !self.sort_few() && !self.sort_by_word() {
            self.timers.sort_unstable_by_key(Ordered::rank);
        }
    }

    /// Sorts a few timers that differ in the upper bits of their deadlines. `false`, with nothing changed,
    /// if there are too many, or two of them do not.
    #[inline]
    fn sort_few(&mut self) -> bool {
        if self.len() > rank_sort::MOST {
            return false;
        }
        let (least, greatest) = range(self.timers.iter().map(|it| it.deadline));
        let shift = bits(greatest - least).saturating_sub(i16::BITS);
        sort_by_rank(&mut self.timers, |it| {
            ((it.deadline - least) >> shift) as i16 ^ i16::MIN
        })
    }

    /// Sorts timers by a word each, of what sets its deadline and its sequence number apart and of its
    /// index. `false`, with nothing changed, if all that does not fit into one.
    ///
    /// The timers of a tick have nearly the same deadline, or quite the same where the clock is coarse. To
    /// sort words moves a third of the bytes that entries have, and has no branch that depends on the data.
    fn sort_by_word(&mut self) -> bool {
        let deadlines = range(self.timers.iter().map(|it| it.deadline));
        let sequences = range(self.timers.iter().map(|it| it.sequence.get()));
        let of_index = bits(self.len() as u64);
        let below = of_index + bits(sequences.1 - sequences.0);
        if below + bits(deadlines.1 - deadlines.0) > u64::BITS {
            return false;
        }
        self.order
            .extend((0..).zip(&self.timers).map(|(index, it)| {
                let deadline = (it.deadline - deadlines.0).wrapping_shl(below);
                deadline | (it.sequence.get() - sequences.0) << of_index | index
            }));
        self.order.sort_unstable();
        let index = (1 << of_index) - 1;
        self.order.iter_mut().for_each(|word| *word &= index);
        true
    }
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
    use crate::header::Sequence;
    use crate::key::SlotIndex;

    /// Random timers whose deadlines and sequence numbers differ in so many bits at most.
    fn piece(len: usize, deadline_bits: u32, sequence_bits: u32) -> Piece {
        let mut state = 7_u64;
        let mut random = |bits: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.rotate_left(29) & u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
        };
        let mut piece = Piece::default();
        for index in 0..len {
            let deadline = u64::MAX - random(deadline_bits);
            let sequence = Sequence::new(Sequence::COUNT - 1 - random(sequence_bits));
            piece.push(Ordered::new(deadline, sequence, SlotIndex::new(index)));
        }
        piece
    }

    fn sorted(piece: &mut Piece) -> Vec<(u64, Sequence)> {
        piece.sort();
        piece.iter().map(Ordered::rank).collect()
    }

    #[test]
    fn pieces_of_any_size_and_spread_are_sorted_as_the_standard_sort_does() {
        for (deadline_bits, sequence_bits) in [(0, 30), (20, 30), (20, 48), (64, 48), (56, 0)] {
            for len in [0, 1, 2, 20, 64, 65, 255, 256, 3_000] {
                let mut piece = piece(len, deadline_bits, sequence_bits);
                let mut expected: Vec<_> = piece.iter().map(Ordered::rank).collect();
                expected.sort();
                assert_eq!(sorted(&mut piece), expected);
                let slots: Vec<_> = piece.iter().map(|it| it.slot.get()).collect();
                let last = piece.iter().next_back().map(Ordered::rank);
                assert_eq!(last, expected.last().copied());
                let mut each = slots.clone();
                each.sort_unstable();
                assert_eq!(each, Vec::from_iter(0..len), "no timer is lost or doubled");
            }
        }
    }

    #[test]
    fn piece_that_has_been_sorted_takes_more_timers_and_is_sorted_again() {
        // By words, and then by what does not fit into them.
        let mut piece = piece(100, 10, 10);
        piece.sort();
        for (deadline, sequence) in [(0, 0), (u64::MAX, Sequence::COUNT - 1)] {
            let sequence = Sequence::new(sequence);
            piece.push(Ordered::new(deadline, sequence, SlotIndex::new(100)));
        }
        let ranks = sorted(&mut piece);
        assert!(ranks.len() == 102 && ranks.is_sorted());
        assert_eq!(ranks[0], (0, Sequence::new(0)));
        piece.clear();
        assert!(piece.len() == 0 && piece.iter().next().is_none());
    }

    #[test]
    fn few_that_differ_are_sorted_where_they_are() {
        for (len, is_few) in [
            (2, true),
            (rank_sort::MOST, true),
            (rank_sort::MOST + 1, false),
        ] {
            let mut piece = Piece::default();
            for index in 0..len {
                let deadline = (len - index) as u64;
                piece.push(Ordered::new(
                    deadline,
                    Sequence::new(0),
                    SlotIndex::new(index),
                ));
            }
            assert_eq!(piece.sort_few(), is_few, "{len}");
            assert_eq!(piece.timers.is_sorted_by_key(Ordered::rank), is_few);
        }
    }

    #[test]
    fn what_does_not_fit_into_a_word_is_left_to_the_standard_sort() {
        let fits = |deadline_bits, sequence_bits| {
            let mut piece = piece(1_000, deadline_bits, sequence_bits);
            piece.sort_by_word()
        };
        // An index takes 10 bits of the 64.
        assert!(fits(20, 34) && fits(54, 0) && fits(0, 48));
        assert!(!fits(20, 35) && !fits(55, 0) && !fits(64, 48));
    }
}
