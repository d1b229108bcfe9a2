//! The run: timers of buckets that have been opened, sorted, to fire one after the other.
//!
//! A tick's bucket is sorted when it is opened, and that is what buys exactness below the tick; so is
//! a coarser bucket with few timers, which then need not go down level by level. A timer that is
//! cancelled leaves a hole. Holes side by side are one, known by its length at either end, so that
//! stepping over it takes one step however many timers it was.

mod piece;
mod rank_sort;

use alloc::collections::VecDeque;
use core::mem;

use self::piece::Piece;
use crate::header::{Headers, Place, Sequence};
use crate::heap::Near;
use crate::key::SlotIndex;

/// Entries that memory is kept for when the run has been used up.
const KEPT: usize = 1024;

/// A timer in the run, or a hole where one was. A hole keeps its place in the order.
#[derive(Copy, Clone, Debug)]
struct Entry {
    deadline: u64,
    sequence: Sequence,
    /// [`SlotIndex::NONE`] in a hole.
    slot: SlotIndex,
    /// At either end of a hole, how long it is.
    hole: u32,
}

impl Entry {
    #[inline]
    fn is_hole(&self) -> bool {
        self.slot == SlotIndex::NONE
    }

    /// The place in the order of firing.
    #[inline]
    fn rank(&self) -> (u64, Sequence) {
        (self.deadline, self.sequence)
    }
}

/// Sorted timers, and the *piece* that is being collected from a bucket to join them.
///
/// Invariant: ascending by deadline and sequence, holes apart; neither the first nor the last is a
/// hole; the header of each timer says at which position its entry is, counted so that the first is
/// at `first`; the piece is empty between calls from outside.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    entries: VecDeque<Entry>,
    first: u32,
    piece: Piece,
}

impl Run {
    pub(crate) const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            piece: Piece::new(),
        }
    }

    /// Entries, holes included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The heap memory of the run, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.piece.bytes()
    }

    /// The timer that fires first. O(1).
    #[inline]
    pub(crate) fn first(&self) -> Option<Near> {
        let &Entry {
            deadline,
            sequence,
            slot,
            ..
        } = self.entries.front()?;
        Some(Near {
            deadline,
            sequence,
            slot,
        })
    }

    /// The position of the first timer.
    #[inline]
    pub(crate) fn first_position(&self) -> u32 {
        self.first
    }

    /// The timers from the nth entry on, in order, each with its index and deadline.
    pub(crate) fn iter_from(&self, nth: usize) -> impl Iterator<Item = (usize, u64, SlotIndex)> {
        let entries = self.entries.range(nth.min(self.len())..);
        (nth..)
            .zip(entries)
            .filter(|(_, entry)| !entry.is_hole())
            .map(|(index, entry)| (index, entry.deadline, entry.slot))
    }

    /// Removes the first timer. O(1).
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.entries.pop_front();
        self.first = self.first.wrapping_add(1);
        match self.entries.front() {
            Some(front) if !front.is_hole() => {}
            _ => self.step_over_hole(),
        }
    }

    /// Sees to it that the run does not begin with a hole, nor keeps memory when it is used up.
    #[cold]
    fn step_over_hole(&mut self) {
        if let Some(front) = self.entries.front() {
            let hole = front.hole;
            self.first = self.first.wrapping_add(hole);
            self.entries.drain(..hole as usize);
        }
        if self.entries.is_empty() {
            self.used_up();
        }
    }

    fn used_up(&mut self) {
        if self.entries.capacity() > KEPT {
            self.entries = VecDeque::new();
        }
    }

    /// Whether the entry of a slot is at a position. O(1).
    pub(crate) fn holds(&self, position: u32, slot: SlotIndex) -> bool {
        let index = position.wrapping_sub(self.first) as usize;
        slot != SlotIndex::NONE
            && self
                .entries
                .get(index)
                .is_some_and(|entry| entry.slot == slot)
    }

    /// Makes a hole of the timer at a position. O(1).
    pub(crate) fn remove(&mut self, position: u32) {
        let index = position.wrapping_sub(self.first) as usize;
        if index == 0 {
            return self.pop();
        }
        let hole_at = |index: usize| {
            let entry = self.entries.get(index).filter(|entry| entry.is_hole());
            entry.map_or(0, |entry| entry.hole as usize)
        };
        // Whichever holes end and begin beside it become one with it.
        let (start, end) = (index - hole_at(index - 1), index + hole_at(index + 1));
        if end + 1 == self.entries.len() {
            self.entries.truncate(start);
            return;
        }
        self.entries[index].slot = SlotIndex::NONE;
        for side in [start, end] {
            self.entries[side].hole = (end + 1 - start) as u32;
        }
    }

    /// Makes room for the timers of a bucket, of which so many come in the next piece, if they are a
    /// crowd: the run is not to be moved while it is collected piece by piece.
    #[inline]
    pub(crate) fn expect(&mut self, timers: usize, in_piece: usize) {
        if timers > KEPT {
            self.entries.reserve(timers);
            self.piece.reserve(in_piece);
        }
    }

    /// Adds a timer to the piece. O(1).
    #[inline]
    pub(crate) fn collect(&mut self, timer: Near) {
        self.piece.push(Entry {
            deadline: timer.deadline,
            sequence: timer.sequence,
            slot: timer.slot,
            hole: 0,
        });
    }

    /// Sorts the piece and lets it join the run, moving no more than `most` entries of that out of its
    /// way. Returns how many it has moved; `None` if more were in the way, and then the piece is to be
    /// [taken](Run::take_piece) elsewhere. O(n log n) in what is collected and moved.
    #[inline]
    pub(crate) fn join<H: Headers>(&mut self, headers: &mut H, most: usize) -> Option<usize> {
        self.piece.sort();
        let (Some(first), Some(last)) = (self.piece.first(), self.piece.last()) else {
            return Some(0);
        };
        let (first, last) = (first.rank(), last.rank());
        let (side, moved) = match (self.entries.front(), self.entries.back()) {
            (Some(front), _) if last < front.rank() => (Side::Front, 0),
            (_, Some(back)) if back.rank() > first => {
                let way = self.make_way(headers, first, last, most)?;
                self.piece.sort();
                way
            }
            _ => (Side::Back, 0),
        };
        let mut piece = self.taken_piece();
        match side {
            Side::Front => self.push_front(headers, &piece),
            Side::Back => self.push_back(headers, &piece),
        }
        piece.clear();
        self.piece = piece;
        Some(moved)
    }

    /// Moves the timers of the run that may lie among those of the piece into it, with all before them
    /// or with all behind them, whichever are fewer.
    fn make_way<H: Headers>(
        &mut self,
        headers: &mut H,
        first: (u64, Sequence),
        last: (u64, Sequence),
        most: usize,
    ) -> Option<(Side, usize)> {
        let before = self.entries.partition_point(|it| it.rank() < first);
        let until = self.entries.partition_point(|it| it.rank() < last);
        let after = self.len() - before;
        if until.min(after) > most {
            return None;
        }
        // A hole at the border goes as a whole.
        let step = |entry: &Entry| {
            if entry.is_hole() {
                entry.hole as usize
            } else {
                1
            }
        };
        let mut position = self.first;
        let (side, range) = if until <= after {
            let mut end = 0;
            while end < until {
                end += step(&self.entries[end]);
            }
            self.first = self.first.wrapping_add(end as u32);
            (Side::Front, 0..end)
        } else {
            let mut start = self.len();
            while start > before {
                start -= step(&self.entries[start - 1]);
            }
            position = position.wrapping_add(start as u32);
            (Side::Back, start..self.len())
        };
        for entry in self.entries.drain(range) {
            if !entry.is_hole() {
                if headers.owns(entry.slot, Place::RUN, position) {
                    self.piece.push(entry);
                } else {
                    headers.disowned();
                }
            }
            position = position.wrapping_add(1);
        }
        Some((side, until.min(after)))
    }

    /// Takes the timers of the piece that could not join the run.
    #[cold]
    pub(crate) fn take_piece(&mut self, mut visit: impl FnMut(SlotIndex)) {
        let mut piece = self.taken_piece();
        piece.iter().for_each(|entry| visit(entry.slot));
        piece.clear();
        self.piece = piece;
    }

    /// Takes the piece away, so that a store of headers that panics leaves none behind.
    fn taken_piece(&mut self) -> Piece {
        mem::replace(&mut self.piece, Piece::new())
    }

    #[inline]
    fn push_back<H: Headers>(&mut self, headers: &mut H, piece: &Piece) {
        self.entries.reserve(piece.len());
        for &entry in piece.iter() {
            let position = self.first.wrapping_add(self.entries.len() as u32);
            headers
                .header_mut(entry.slot)
                .set_place(Place::RUN, position);
            self.entries.push_back(entry);
        }
    }

    fn push_front<H: Headers>(&mut self, headers: &mut H, piece: &Piece) {
        for &entry in piece.iter().rev() {
            self.first = self.first.wrapping_sub(1);
            headers
                .header_mut(entry.slot)
                .set_place(Place::RUN, self.first);
            self.entries.push_front(entry);
        }
    }

    /// Forgets every entry. O(1).
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.used_up();
    }

    /// Takes note that the timers have been renumbered in the same order. A hole takes the number of the
    /// timer before it, if that is of the same deadline.
    pub(crate) fn renumber<H: Headers>(&mut self, headers: &H) {
        let mut last = (0, Sequence::default());
        for entry in &mut self.entries {
            entry.sequence = match entry.is_hole() {
                false => headers.header(entry.slot).sequence(),
                true if last.0 == entry.deadline => last.1,
                true => Sequence::default(),
            };
            last = entry.rank();
        }
    }

    /// Gives back spare memory.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.entries.shrink_to_fit();
        self.piece = Piece::new();
    }

    /// Checks the laws of the run, and hands each timer to `visit`.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<H: Headers>(&self, headers: &H, mut visit: impl FnMut(SlotIndex)) {
        assert!(self.piece.is_empty(), "no piece is left half collected");
        let is_hole = |entry: Option<&Entry>| entry.is_some_and(Entry::is_hole);
        assert!(
            !is_hole(self.entries.front()) && !is_hole(self.entries.back()),
            "neither end of the run is a hole"
        );
        let mut index = 0;
        let rank = Entry::rank;
        assert!(
            self.entries.iter().is_sorted_by_key(rank),
            "the run and its holes are sorted by (deadline, sequence)"
        );
        let mut last: Option<&Entry> = None;
        while let Some(entry) = self.entries.get(index) {
            if entry.is_hole() {
                let end = index + entry.hole as usize;
                assert!(
                    (index..end).all(|index| self.entries[index].is_hole())
                        && self.entries[end - 1].hole == entry.hole
                        && !self.entries[end].is_hole(),
                    "a hole has its length at both ends"
                );
                index = end;
                continue;
            }
            let header = headers.header(entry.slot);
            assert!(
                (header.deadline, header.sequence()) == entry.rank(),
                "an entry of the run has its timer's deadline and sequence"
            );
            assert!(
                header.place() == Place::RUN
                    && header.position() == self.first.wrapping_add(index as u32),
                "the header of a timer in the run says where"
            );
            assert!(
                last.is_none_or(|last| last.rank() < entry.rank()),
                "the run is sorted by (deadline, sequence)"
            );
            last = Some(entry);
            visit(entry.slot);
            index += 1;
        }
    }
}

/// The end of the run that a piece joins.
#[derive(Copy, Clone)]
enum Side {
    Front,
    Back,
}
