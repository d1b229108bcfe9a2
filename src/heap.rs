//! The near heap: timers in exact order, each found again by its position.
//!
//! It takes what is scheduled into the cursor's tick or before it, and the first few timers of any
//! deadline, so that a small wheel is a heap and makes no lists. A heap of fan-out four is half as
//! deep as a binary one, and every level less is a header that need not be told where its entry is.

use crate::header::{Headers, Ordered, Place, Sequence};
use crate::key::SlotIndex;
use crate::pages::{Pages, Placeholder};

/// Children of an entry.
const FANOUT: usize = 4;

impl Placeholder for Ordered {
    const PLACEHOLDER: Self = Self::new(0, Sequence::new(0), SlotIndex::NONE);
}

/// An indexed heap of timers, the earliest first.
///
/// Invariant: no entry precedes its parent, at `(index - 1) / 4`, and the header of each timer says
/// at which index its entry is.
#[derive(Clone, Debug)]
pub(crate) struct NearHeap {
    entries: Pages<Ordered, 8, 64>,
}

impl NearHeap {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Pages::new(),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// The timer that fires first. O(1).
    #[inline]
    pub(crate) fn first(&self) -> Option<&Ordered> {
        if self.len() == 0 {
            return None;
        }
        self.entries.get(0)
    }

    /// The entry that is the least trouble to remove. O(1).
    pub(crate) fn last(&self) -> Option<&Ordered> {
        self.entries.get(self.len().checked_sub(1)?)
    }

    /// All entries, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Ordered> {
        (0..self.len()).map(|index| self.entries.at(index))
    }

    /// Whether the entry of a slot is at a position. O(1).
    pub(crate) fn holds(&self, position: u32, slot: SlotIndex) -> bool {
        let index = position as usize;
        index < self.len() && self.entries.at(index).slot == slot
    }

    /// Adds a timer. O(log n), O(1) on average.
    #[inline]
    pub(crate) fn push<H: Headers>(&mut self, headers: &mut H, entry: Ordered) {
        let end = self.len();
        self.entries.push(entry);
        let index = self.rise(headers, end, &entry);
        *self.entries.at_mut(index) = entry;
        headers
            .header_mut(entry.slot)
            .set_place(Place::HEAP, index as u32);
    }

    /// Removes the entry at an index. O(log n).
    pub(crate) fn remove<H: Headers>(&mut self, headers: &mut H, index: usize) {
        let end = self.len() - 1;
        let last = *self.entries.at(end);
        self.entries.pop();
        // What a crowd has left behind is given back as it goes.
        self.entries.trim(1);
        if index == end {
            return;
        }
        let index = match self.rise(headers, index, &last) {
            risen if risen != index => risen,
            _ => self.sink(headers, index, &last),
        };
        self.put(headers, end, index, last);
    }

    /// Makes room for an entry that belongs at an index or above it, and says where.
    #[inline]
    fn rise<H: Headers>(&mut self, headers: &mut H, mut index: usize, entry: &Ordered) -> usize {
        while index != 0 {
            let above = (index - 1) / FANOUT;
            let parent = *self.entries.at(above);
            if !entry.precedes(&parent) {
                break;
            }
            self.put(headers, above, index, parent);
            index = above;
        }
        index
    }

    /// Makes room for an entry that belongs at an index or below it, and says where.
    fn sink<H: Headers>(&mut self, headers: &mut H, mut index: usize, entry: &Ordered) -> usize {
        loop {
            let first = FANOUT * index + 1;
            let children = first..(first + FANOUT).min(self.len());
            let Some(least) = children.reduce(|least, child| {
                if self.entries.at(child).precedes(self.entries.at(least)) {
                    child
                } else {
                    least
                }
            }) else {
                break;
            };
            let child = *self.entries.at(least);
            if !child.precedes(entry) {
                break;
            }
            self.put(headers, least, index, child);
            index = least;
        }
        index
    }

    /// Moves an entry.
    #[inline]
    fn put<H: Headers>(&mut self, headers: &mut H, from: usize, to: usize, entry: Ordered) {
        *self.entries.at_mut(to) = entry;
        headers.moved(entry.slot, Place::HEAP, from as u32, to as u32);
    }

    /// Takes note that the timers have been renumbered in the same order.
    pub(crate) fn renumber<H: Headers>(&mut self, headers: &H) {
        for entry in self.entries.iter_mut() {
            entry.sequence = headers.header(entry.slot).sequence();
        }
    }

    /// Forgets every entry and gives back the memory of all but the first.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.entries.trim(1);
    }

    /// Gives back spare memory.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.entries.truncate(self.len());
    }

    /// Checks the laws of the heap, and hands each timer to `visit`.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<H: Headers>(&self, headers: &H, mut visit: impl FnMut(SlotIndex)) {
        for (index, entry) in self.iter().enumerate() {
            assert!(
                index == 0 || !entry.precedes(self.entries.at((index - 1) / FANOUT)),
                "no entry of the near heap precedes its parent"
            );
            assert!(
                *entry == Ordered::of(headers, entry.slot),
                "an entry of the near heap has its timer's deadline and sequence"
            );
            assert!(
                headers.header(entry.slot).is_at(Place::HEAP, index as u32),
                "the header of a timer in the near heap says where"
            );
            visit(entry.slot);
        }
    }
}
