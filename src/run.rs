//! The run: timers of buckets that have been opened, sorted, to fire one after the other.
//!
//! A tick's bucket is sorted when it is opened, and that is what buys exactness below the tick; so is
//! a coarser bucket with few timers, which then need not go down level by level. A timer that is
//! cancelled leaves a hole. Holes side by side are one, known by its length at either end, so that
//! stepping over it takes one step however many timers it was.

mod piece;
mod rank_sort;

use alloc::collections::VecDeque;
use core::{iter, mem};

pub(crate) use self::piece::Piece;
use crate::header::{Headers, Ordered, Place, Sequence};
use crate::key::SlotIndex;

/// Entries that memory is kept for when the run has nearly been used up.
const KEPT: usize = 1024;

impl Ordered {
    /// Whether it stands where a timer was, and keeps the place in the order.
    #[inline]
    fn is_hole(&self) -> bool {
        self.slot == SlotIndex::NONE
    }
}

/// Sorted timers.
///
/// Invariant: ascending by deadline and sequence, holes apart; neither the first nor the last is a
/// hole; the header of each timer says at which position its entry is, counted so that the first is
/// at `first`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    entries: VecDeque<Ordered>,
    first: u32,
    /// The memory of the last [`Piece`], for the next; there is nothing in it.
    room: Piece,
}

impl Run {
    /// Entries, holes included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The heap memory of the run, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Ordered>() + self.room.bytes()
    }

    /// The timer that fires first. O(1).
    #[inline]
    pub(crate) fn first(&self) -> Option<&Ordered> {
        self.entries.front()
    }

    /// The position of the first timer.
    #[inline]
    pub(crate) fn first_position(&self) -> u32 {
        self.first
    }

    /// The timers from the nth entry on, which is a timer or the first of a hole; in order, each with its
    /// index. O(1) a timer, however many holes there are.
    pub(crate) fn iter_from(&self, nth: usize) -> impl Iterator<Item = (usize, &Ordered)> {
        let mut next = nth;
        iter::from_fn(move || {
            let mut entry = self.entries.get(next)?;
            if entry.is_hole() {
                next += entry.hole as usize;
                entry = self.entries.get(next)?;
            }
            next += 1;
            Some((next - 1, entry))
        })
    }

    /// Removes the first timer. O(1).
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.entries.pop_front();
        self.first = self.first.wrapping_add(1);
        match self.entries.front() {
            Some(front) if !front.is_hole() && self.entries.len() != KEPT / 2 => {}
            _ => self.popped(),
        }
    }

    /// Sees to it that the run does not begin with a hole, nor keeps memory when little is left.
    #[cold]
    fn popped(&mut self) {
        if let Some(front) = self.entries.front().filter(|front| front.is_hole()) {
            let hole = front.hole;
            self.first = self.first.wrapping_add(hole);
            self.entries.drain(..hole as usize);
        }
        self.trim();
    }

    /// Gives back what a crowd has left behind when little of it is left.
    fn trim(&mut self) {
        if self.entries.len() <= KEPT / 2 && self.entries.capacity() > KEPT {
            self.entries.shrink_to(KEPT);
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
        let hole_at = |index: usize| self.entries.get(index).map_or(0, |it| it.hole as usize);
        // Whichever holes end and begin beside it become one with it.
        let (start, end) = (index - hole_at(index - 1), index + hole_at(index + 1));
        if end + 1 == self.entries.len() {
            self.entries.truncate(start);
            return self.trim();
        }
        self.entries[index].slot = SlotIndex::NONE;
        for side in [start, end] {
            self.entries[side].hole = (end + 1 - start) as u32;
        }
    }

    /// An empty piece, for so many timers.
    ///
    /// It is the caller's until it joins the run, so that a store of headers that panics leaves none behind.
    #[inline]
    pub(crate) fn piece(&mut self, timers: usize) -> Piece {
        let mut piece = mem::take(&mut self.room);
        if timers > KEPT {
            piece.reserve(timers);
        }
        piece
    }

    /// Takes back the memory of a piece whose timers are elsewhere.
    #[inline]
    pub(crate) fn keep_room(&mut self, mut piece: Piece) {
        piece.clear();
        self.room = piece;
    }

    /// Sorts a piece and lets it join the run, moving no more than `most` entries of that out of its way.
    /// Returns how many it has moved; if more were in the way, the piece. If there are `in_all` timers in
    /// the bucket that it comes from, a crowd, room is made for all, so that the run is not to be copied
    /// while that is collected piece by piece. O(n log n) in what is collected and moved.
    #[inline]
    pub(crate) fn join<H: Headers>(
        &mut self,
        headers: &mut H,
        mut piece: Piece,
        in_all: usize,
        most: usize,
    ) -> Result<usize, Piece> {
        piece.sort();
        let (Some(first), Some(last)) = (piece.iter().next(), piece.iter().next_back()) else {
            self.keep_room(piece);
            return Ok(0);
        };
        let (first, last) = (first.rank(), last.rank());
        let (side, moved) = match (self.entries.front(), self.entries.back()) {
            (Some(front), _) if last < front.rank() => (Side::Front, 0),
            (_, Some(back)) if back.rank() > first => {
                let Some(way) = self.make_way(headers, &mut piece, (first, last), most) else {
                    return Err(piece);
                };
                piece.sort();
                way
            }
            _ => (Side::Back, 0),
        };
        if in_all > KEPT {
            self.entries.reserve(in_all);
        }
        match side {
            Side::Front => self.push_front(headers, &piece),
            Side::Back => self.push_back(headers, &piece),
        }
        self.keep_room(piece);
        Ok(moved)
    }

    /// Moves the timers of the run that may lie among those of a piece into it, with all before them or
    /// with all behind them, whichever are fewer. O(1) a timer, however many holes there are.
    fn make_way<H: Headers>(
        &mut self,
        headers: &mut H,
        piece: &mut Piece,
        (first, last): ((u64, Sequence), (u64, Sequence)),
        most: usize,
    ) -> Option<(Side, usize)> {
        let before = self.entries.partition_point(|it| it.rank() < first);
        let until = self.entries.partition_point(|it| it.rank() < last);
        let after = self.len() - before;
        if until.min(after) > most {
            return None;
        }
        // A hole at the border goes as a whole, in one step. A timer's is 0 long.
        let step = |entry: &Ordered| entry.hole.max(1) as usize;
        let (side, range) = if until <= after {
            let mut end = 0;
            while end < until {
                end += step(&self.entries[end]);
            }
            (Side::Front, 0..end)
        } else {
            let mut start = self.len();
            while start > before {
                start -= step(&self.entries[start - 1]);
            }
            (Side::Back, start..self.len())
        };
        let timers = self.iter_from(range.start);
        for (index, &timer) in timers.take_while(|(index, _)| range.contains(index)) {
            let position = self.first.wrapping_add(index as u32);
            if headers.owns(timer.slot, Place::RUN, position) {
                piece.push(timer);
            } else {
                headers.disowned();
            }
        }
        if range.start == 0 {
            self.first = self.first.wrapping_add(range.end as u32);
        }
        self.entries.drain(range);
        Some((side, until.min(after)))
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
        self.trim();
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
        self.room = Piece::default();
    }

    /// Checks the laws of the run, and hands each timer to `visit`.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<H: Headers>(&self, headers: &H, mut visit: impl FnMut(SlotIndex)) {
        assert!(self.room.len() == 0, "the room for a piece is empty");
        let is_hole = |entry: Option<&Ordered>| entry.is_some_and(Ordered::is_hole);
        assert!(
            !is_hole(self.entries.front()) && !is_hole(self.entries.back()),
            "neither end of the run is a hole"
        );
        assert!(
            self.entries.iter().is_sorted_by_key(Ordered::rank),
            "the run and its holes are sorted by (deadline, sequence)"
        );
        let mut index = 0;
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
            assert!(
                Ordered::of(headers, entry.slot).rank() == entry.rank(),
                "an entry of the run has its timer's deadline and sequence"
            );
            assert!(
                headers
                    .header(entry.slot)
                    .is_at(Place::RUN, self.first.wrapping_add(index as u32)),
                "the header of a timer in the run says where"
            );
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::header::Header;

    struct Store(Vec<Header>);

    impl Headers for Store {
        fn header(&self, slot: SlotIndex) -> &Header {
            &self.0[slot.get()]
        }

        fn header_mut(&mut self, slot: SlotIndex) -> &mut Header {
            &mut self.0[slot.get()]
        }
    }

    fn join(run: &mut Run, store: &mut Store, timers: impl Iterator<Item = (u64, usize)>) -> usize {
        let mut piece = run.piece(0);
        for (deadline, slot) in timers {
            store.0[slot].deadline = deadline;
            let slot = SlotIndex::new(slot);
            piece.push(Ordered::new(deadline, Sequence::default(), slot));
        }
        let moved = run.join(store, piece, 0, 50);
        moved.expect("no more are in the way")
    }

    /// A run of 100 timers with a hole of 90 from the sixth on, of whose inner entries nothing may be read:
    /// each has the slot of a timer that there is not.
    fn with_hole() -> (Run, Store) {
        let mut store = Store(alloc::vec![Header::new(0); 200]);
        let mut run = Run::default();
        join(
            &mut run,
            &mut store,
            (0..100).map(|nth| (10 * nth, nth as usize)),
        );
        (5..95).for_each(|position| run.remove(position));
        for entry in run.entries.range_mut(6..94) {
            entry.slot = SlotIndex::new(1_000);
        }
        (run, store)
    }

    #[test]
    fn walk_steps_over_a_hole() {
        let (run, _) = with_hole();
        let walk = |from| -> Vec<u64> {
            run.iter_from(from)
                .map(|(_, it)| it.deadline / 10)
                .collect()
        };
        assert_eq!(walk(0), [0, 1, 2, 3, 4, 95, 96, 97, 98, 99]);
        assert_eq!(walk(5), [95, 96, 97, 98, 99]);
        assert_eq!(walk(98), [98, 99]);
        assert!(walk(100).is_empty() && walk(200).is_empty());
    }

    #[test]
    fn hole_makes_way_in_a_step() {
        for (deadline, place) in [(61, 5), (939, 5)] {
            let (mut run, mut store) = with_hole();
            // In the hole: five timers on the nearer side of it make way.
            let ends = [deadline, deadline + 1];
            join(&mut run, &mut store, ends.into_iter().zip(100..));
            run.check(&store, |_| {});
            let slots = run.iter_from(0).map(|(_, it)| it.slot.get());
            assert_eq!(slots.skip(place).take(2).collect::<Vec<_>>(), [100, 101]);
        }
    }
}
