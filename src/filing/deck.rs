//! Cards for unit tests of the filing.

use alloc::vec::Vec;
use core::cell::Cell;

use crate::filing::card::{Card, Cards, Order};
use crate::key::SlotIndex;

/// Timers by slot, of which it is counted how often one is looked at, and how often it is touched to be changed.
pub(crate) struct Deck {
    pub(crate) cards: Vec<Card>,
    looks: Cell<usize>,
    pub(crate) touches: usize,
}

impl Cards for Deck {
    fn card(&self, slot: SlotIndex) -> &Card {
        self.looks.set(self.looks.get() + 1);
        &self.cards[slot.get()]
    }

    fn card_mut(&mut self, slot: SlotIndex) -> &mut Card {
        self.touches += 1;
        &mut self.cards[slot.get()]
    }

    fn slots(&self) -> usize {
        self.cards.len()
    }

    fn filed(&self) -> impl Iterator<Item = SlotIndex> {
        (0..self.cards.len()).map(SlotIndex::new)
    }
}

impl Deck {
    /// Timers with these deadlines, scheduled in this order, and in no list.
    pub(crate) fn of(deadlines: impl IntoIterator<Item = u64>) -> Self {
        let cards = (0..).zip(deadlines);
        let cards = cards.map(|(nth, deadline)| Card::new(deadline, Order::filed(nth), 0));
        Self {
            cards: cards.collect(),
            looks: Cell::new(0),
            touches: 0,
        }
    }

    /// The number of looks at a card until now.
    pub(crate) fn looks(&self) -> usize {
        self.looks.get()
    }
}
