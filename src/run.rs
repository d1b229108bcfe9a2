//! The run: timers of buckets that have been opened, sorted, to fire one after the other.
//!
//! A tick's bucket is sorted when it is opened, and that is what buys exactness below the tick; so is
//! a coarser bucket with few timers, which then need not go down level by level. A timer that is
//! cancelled leaves a hole. Holes side by side are one, known by its length at either end, so that
//! stepping over it takes one step however many timers it was.

mod deque;
mod piece;
mod rank_sort;

use core::{iter, mem};

use self::deque::Deque;

pub(crate) use self::piece::Piece;
use crate::header::{Headers, Ordered, Place, Sequence};
use crate::key::SlotIndex;

/// Timers that a piece keeps memory for.
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
/// hole, and the hole of a timer is 0 long; the header of each timer says at which position its entry is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    entries: Deque,
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
        self.entries.bytes() + self.room.bytes()
    }

    /// The timer that fires first. O(1).
    #[inline]
    pub(crate) fn first(&self) -> Option<&Ordered> {
        self.entries.first()
    }

    /// The position of the first timer.
    #[inline]
    pub(crate) fn first_position(&self) -> u32 {
        self.entries.position(0)
    }

    /// The timers from the nth entry on, which is a timer or the first of a hole; in order, each with its
    /// index. O(1) a timer, however many holes there are.
    pub(crate) fn iter_from(&self, nth: usize) -> impl Iterator<Item = (usize, &Ordered)> {
        let mut next = nth;
        iter::from_fn(move || {
            let index = next + self.entries.get(next)?.hole as usize;
            next = index + 1;
            Some((index, self.entries.get(index)?))
        })
    }

    /// Removes the first timer. O(1).
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.entries.pop_front();
        match self.entries.first() {
            Some(first) if first.is_hole() => self.entries.drop_first(first.hole as usize),
            _ => {}
        }
    }

    /// Whether the entry of a slot is at a position. O(1).
    pub(crate) fn holds(&self, position: u32, slot: SlotIndex) -> bool {
        let entry = self.entries.get(self.entries.index(position));
        slot != SlotIndex::NONE && entry.is_some_and(|entry| entry.slot == slot)
    }

    /// Makes a hole of the timer at a position. O(1).
    pub(crate) fn remove(&mut self, position: u32) {
        let index = self.entries.index(position);
        if index == 0 {
            return self.pop();
        }
        let hole_at = |index: usize| self.entries.get(index).map_or(0, |it| it.hole as usize);
        // Whichever holes end and begin beside it become one with it.
        let (start, end) = (index - hole_at(index - 1), index + hole_at(index + 1));
        if end + 1 == self.len() {
            return self.entries.truncate(start);
        }
        self.entries.at_mut(index).slot = SlotIndex::NONE;
        for side in [start, end] {
            self.entries.at_mut(side).hole = (end + 1 - start) as u32;
        }
        for side in [index - 1, index + 1] {
            self.entries.free_within((start, end), side);
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
    /// Returns how many it has moved; if more were in the way, the piece. O(n log n) in what is collected
    /// and moved.
    #[inline]
    pub(crate) fn join<H: Headers>(
        &mut self,
        headers: &mut H,
        mut piece: Piece,
        most: usize,
    ) -> Result<usize, Piece> {
        piece.sort();
        let (Some(first), Some(last)) = (piece.iter().next(), piece.iter().next_back()) else {
            self.keep_room(piece);
            return Ok(0);
        };
        let ends = (first.rank(), last.rank());
        let Some((side, moved)) = self.make_way(headers, &mut piece, ends, most) else {
            return Err(piece);
        };
        if moved != 0 {
            piece.sort();
        }
        match side {
            Side::Front => self.push_front(headers, &piece),
            Side::Back => self.push_back(headers, &piece),
        }
        self.keep_room(piece);
        Ok(moved)
    }

    /// Moves the timers of the run that may lie among those of a piece into it, with all before them or
    /// with all behind them, whichever are fewer, and returns how many. `None` if there may be more than `most`.
    /// O(1) a timer, however many holes there are, and O(log n) if there are none in the way.
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
        let step = |index: usize| {
            self.entries
                .get(index)
                .map_or(1, |it| it.hole.max(1) as usize)
        };
        let (side, range) = if until < after {
            let mut end = 0;
            while end < until {
                end += step(end);
            }
            (Side::Front, 0..end)
        } else {
            let mut start = self.len();
            while start > before {
                start -= step(start - 1);
            }
            (Side::Back, start..self.len())
        };
        let timers = self.iter_from(range.start);
        let mut moved = 0;
        for (index, &timer) in timers.take_while(|(index, _)| range.contains(index)) {
            moved += 1;
            if headers.owns(timer.slot, Place::RUN, self.entries.position(index)) {
                piece.push(timer);
            } else {
                headers.disowned();
            }
        }
        match side {
            Side::Front => self.entries.drop_first(range.end),
            Side::Back => self.entries.truncate(range.start),
        }
        Some((side, moved))
    }

    #[inline]
    fn push_back<H: Headers>(&mut self, headers: &mut H, piece: &Piece) {
        for &entry in piece.iter() {
            let position = self.entries.position(self.len());
            headers
                .header_mut(entry.slot)
                .set_place(Place::RUN, position);
            self.entries.push_back(entry);
        }
    }

    fn push_front<H: Headers>(&mut self, headers: &mut H, piece: &Piece) {
        for &entry in piece.iter().rev() {
            let position = self.entries.position(0).wrapping_sub(1);
            headers
                .header_mut(entry.slot)
                .set_place(Place::RUN, position);
            self.entries.push_front(entry);
        }
    }

    /// Forgets every entry. O(n).
    pub(crate) fn clear(&mut self) {
        self.entries.truncate(0);
    }

    /// Takes note that the timers have been renumbered in the same order. A hole takes the number of the
    /// timer before it, if that is of the same deadline.
    pub(crate) fn renumber<H: Headers>(&mut self, headers: &H) {
        let mut last = (0, Sequence::default());
        for index in 0..self.len() {
            let entry = self.entries.at_mut(index);
            entry.sequence = match entry.is_hole() {
                false => headers.header(entry.slot).sequence(),
                true if last.0 == entry.deadline => last.1,
                true => Sequence::default(),
            };
            last = entry.rank();
        }
        self.entries.refresh_first();
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
        self.entries.check();
        let is_hole = |entry: Option<&Ordered>| entry.is_some_and(Ordered::is_hole);
        assert!(
            !is_hole(self.entries.first()) && !is_hole(self.entries.last()),
            "neither end of the run is a hole"
        );
        let ranks = (0..self.len()).map(|index| self.entries.get(index).map(Ordered::rank));
        assert!(
            ranks.is_sorted(),
            "the run and its holes are sorted by (deadline, sequence)"
        );
        let mut index = 0;
        while let Some(entry) = self.entries.get(index) {
            if entry.is_hole() {
                let end = index + entry.hole as usize;
                let is_hole_at = |index| is_hole(self.entries.get(index));
                assert!(
                    (index..end).all(is_hole_at)
                        && self.entries.get(end - 1).map(|last| last.hole) == Some(entry.hole)
                        && !is_hole_at(end),
                    "a hole has its length at both ends"
                );
                self.entries.check_hole(index, end - 1);
                index = end;
                continue;
            }
            assert!(
                *entry == Ordered::of(headers, entry.slot),
                "an entry of the run has its timer's deadline and sequence, and is no hole"
            );
            assert!(
                headers
                    .header(entry.slot)
                    .is_at(Place::RUN, self.entries.position(index)),
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
        // More than what lies on the nearer side of any hole in these tests, and less than the holes.
        let mut piece = run.piece(0);
        for (deadline, slot) in timers {
            store.0[slot].deadline = deadline;
            let slot = SlotIndex::new(slot);
            piece.push(Ordered::new(deadline, Sequence::default(), slot));
        }
        let moved = run.join(store, piece, 50);
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
        for index in 6..94 {
            run.entries.at_mut(index).slot = SlotIndex::new(1_000);
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

    /// Whichever side of it has fewer timers makes way, and no timer besides.
    #[test]
    fn fewer_make_way() {
        for (deadline, expected) in [(5, 0_usize), (4_005, 400), (9_905, 10), (10_005, 0)] {
            let mut store = Store(alloc::vec![Header::new(0); 1_001]);
            let mut run = Run::default();
            let timers = (0..1_000).map(|nth| (10 * (nth + 1), nth as usize));
            join(&mut run, &mut store, timers);
            let joins = |run: &mut Run, store: &mut Store, most| {
                let mut piece = run.piece(1);
                store.0[1_000].deadline = deadline;
                let slot = SlotIndex::new(1_000);
                piece.push(Ordered::new(deadline, Sequence::default(), slot));
                run.join(store, piece, most)
            };
            if let Some(fewer) = expected.checked_sub(1) {
                let refused = joins(&mut run, &mut store, fewer).expect_err("more are in the way");
                run.keep_room(refused);
            }
            assert_eq!(joins(&mut run, &mut store, expected).ok(), Some(expected));
            run.check(&store, |_| {});
        }
    }

    /// Holes of several pages, made in different orders: of what is within them nothing is left, and what joins
    /// the run, in them or beside them, is in its place.
    #[test]
    fn holes_keep_no_pages() {
        for stride in [1, 2_959, 7, 301] {
            let mut store = Store(alloc::vec![Header::new(0); 3_003]);
            let mut run = Run::default();
            let timers = (0..3_000).map(|nth| (10 * nth, nth as usize));
            join(&mut run, &mut store, timers);
            let whole = run.entries.bytes();
            for nth in 0..2_960 {
                run.remove(20 + nth * stride % 2_960);
                if nth % 16 == 0 {
                    run.check(&store, |_| {});
                }
            }
            let left = run.entries.bytes();
            assert!(left < whole / 2, "{left} of {whole} bytes");
            run.renumber(&store);
            run.check(&store, |_| {});
            for (deadline, slot) in [(300, 3_000), (201, 3_001), (29_799, 3_002)] {
                join(&mut run, &mut store, [(deadline, slot)].into_iter());
                run.check(&store, |_| {});
            }
            let mut deadlines = Vec::new();
            while let Some(first) = run.first() {
                deadlines.push(first.deadline);
                run.pop();
                run.check(&store, |_| {});
            }
            assert!(deadlines.len() == 43 && deadlines.is_sorted());
        }
    }
}
