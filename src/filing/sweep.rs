//! Getting rid of stale entries.
//!
//! A timer that is cancelled leaves its entry in the list. Mostly the list is given up as a whole
//! later, with its last timer, or the entry is passed over when the list is emptied; and until then
//! its room is no more than what the timer took while it lived. But where timers come and go while
//! others stay, stale entries would take ever more room. So when the last block is taken and more
//! than half of the room is stale, the next call that files a timer sweeps a block of one list, the
//! one after it the next block, and so on round the lists: no call takes long, and entries follow
//! the number of timers.

use crate::filing::Filing;
use crate::filing::blocks::{BLOCK, Entry};
use crate::filing::card::Cards;
use crate::filing::place::Place;
use crate::geometry::{BucketIndex, Geometry};

/// Stale entries that are tolerated however few blocks there are.
const STALE_TOLERATED: usize = BLOCK;

/// The list that is being swept, and how many entries at its front are left to look at.
///
/// What is kept goes to the back of the list, behind what has been filed since.
#[derive(Copy, Clone, Debug)]
pub(super) struct Sweep {
    list: BucketIndex,
    left: u32,
}

impl Sweep {
    /// No list is being swept; the next will be the one after the first.
    pub(super) const NONE: Self = Self {
        list: BucketIndex::new(0),
        left: 0,
    };

    /// Takes note that entries were taken from the front of a list.
    #[inline]
    pub(super) fn passed(&mut self, list: BucketIndex, count: usize) {
        if self.list == list {
            self.left = self.left.saturating_sub(count as u32);
        }
    }

    /// Takes note that a list was given up.
    pub(super) fn forget(&mut self, list: BucketIndex) {
        self.passed(list, u32::MAX as usize);
    }
}

impl<G: Geometry> Filing<G> {
    /// Takes note that the last block has been taken.
    pub(super) fn growth_is_next(&mut self) {
        let half = self.blocks.made() * (BLOCK / 2);
        self.is_sweeping |= self.stale as usize > half + STALE_TOLERATED;
    }

    /// Whether there is something to [sweep](Filing::sweep) before more is filed.
    #[inline]
    pub(crate) fn is_sweeping(&self) -> bool {
        self.is_sweeping
    }

    /// Sweeps one block, of the list that is being swept or else of the next that needs it.
    /// O(buckets) at the most, amortized O(1).
    #[cold]
    pub(crate) fn sweep<C: Cards>(&mut self, cards: &mut C) {
        if self.sweep.left == 0 {
            self.next_sweep();
        }
        if self.sweep.left != 0 {
            self.sweep_block(cards);
        }
        let quarter = self.blocks.made() * (BLOCK / 4);
        self.is_sweeping = self.stale as usize > quarter;
    }

    /// Goes on to the next list that has stale entries, if there still is one: those that called
    /// for the sweep may be gone with their list.
    fn next_sweep(&mut self) {
        let after = self.sweep.list.get() + 1;
        let next = (after..self.lists.len())
            .chain(0..after.min(self.lists.len()))
            .find(|&list| self.lists[list].stale.count() != 0);
        if let Some(list) = next {
            self.start_sweep(BucketIndex::new(list as u16));
        }
    }

    fn start_sweep(&mut self, list: BucketIndex) {
        let sentinel = &mut self.lists[list.get()];
        sentinel.stale.change_mark();
        self.sweep = Sweep {
            list,
            left: sentinel.entries(),
        };
    }

    fn sweep_block<C: Cards>(&mut self, cards: &mut C) {
        let Sweep { list, left } = self.sweep;
        let kind = Self::kind(list);
        let mut sentinel = self.lists[list.get()];
        // Of entries that look alike the first is kept, and the mark tells the others.
        let kept_mark = Place::kept(kind, sentinel.stale.is_odd());
        let (first, count) = self.blocks.front(sentinel, left as usize);
        let mut kept = [Entry::default(); BLOCK];
        let mut keeping = 0;
        for offset in 0..count {
            let entry = self.blocks.entry(first, offset);
            let card = cards.card_mut(entry.slot);
            if card.owns(entry, kind) && card.place != kept_mark {
                card.place = kept_mark;
                kept[keeping] = entry;
                keeping += 1;
            }
        }
        self.blocks.drop_front(&mut sentinel, count);
        for &entry in &kept[..keeping] {
            if self.blocks.append(&mut sentinel, entry).is_err() {
                self.blocks.append_block(&mut sentinel, entry);
            }
        }
        let dropped = (count - keeping) as u32;
        sentinel.stale.subtract(dropped);
        self.stale -= dropped;
        self.lists[list.get()] = sentinel;
        self.sweep.left -= count as u32;
    }

    /// Removes every stale entry. O(n).
    pub(super) fn sweep_everything<C: Cards>(&mut self, cards: &mut C) {
        // A sweep under way is finished first: what it has not seen still bears the other mark.
        while self.sweep.left != 0 {
            self.sweep_block(cards);
        }
        for list in 0..self.lists.len() {
            self.start_sweep(BucketIndex::new(list as u16));
            while self.sweep.left != 0 {
                self.sweep_block(cards);
            }
        }
        debug_assert!(self.stale == 0, "nothing stale is left behind");
        self.sweep = Sweep::NONE;
        self.is_sweeping = false;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use crate::Millis;
    use crate::filing::tests::{TICK, cancel, filed};
    use crate::geometry::Layout;

    #[test]
    fn sweep_begins_when_more_than_half_of_the_room_is_stale() {
        let (mut filing, _) = filed((1..=10).map(|tick| tick * TICK));
        assert_eq!(filing.blocks.made(), 10);
        // Half of ten blocks of 32, and one block more.
        for (stale, is_sweeping) in [(192, false), (193, true)] {
            filing.stale = stale;
            filing.growth_is_next();
            assert_eq!(filing.is_sweeping(), is_sweeping, "{stale}");
        }
    }

    #[test]
    fn sweep_goes_on_to_the_next_list_and_not_to_the_same() {
        let (mut filing, mut deck) = filed([1, 1, 1, 2, 2, 2].map(|tick| tick * TICK));
        let lists = [1, 2].map(|digit| Layout::<Millis>::bucket(0, digit));
        let mut swept = Vec::new();
        for slots in [[0, 3], [1, 4]] {
            for slot in slots {
                cancel(&mut filing, &mut deck, slot);
            }
            filing.sweep(&mut deck);
            swept.push(filing.sweep.list);
        }
        assert_eq!(swept, lists, "the first has stale entries again");
        assert_eq!(filing.stale, 1);
    }
}
