//! The order in which timers fire.

use super::run::RunIndex;
use crate::header::{Header, Headers, Place, Sequence};
use crate::key::SlotIndex;

/// A timer and what it is ordered by: an entry of the near heap.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ordered {
    pub(crate) deadline: u64,
    pub(crate) sequence: Sequence,
    pub(crate) slot: SlotIndex,
    /// In the near heap, the run that the timer is in. It takes what would be padding.
    pub(crate) run: RunIndex,
}

impl Ordered {
    #[inline]
    pub(crate) const fn new(deadline: u64, sequence: Sequence, slot: SlotIndex) -> Self {
        Self {
            deadline,
            sequence,
            slot,
            run: RunIndex::NONE,
        }
    }

    /// Of a timer as its header says.
    #[inline]
    pub(crate) fn of<H: Headers>(headers: &H, slot: SlotIndex) -> Self {
        let header = headers.header(slot);
        Self::new(header.deadline, header.sequence(), slot)
    }

    /// Writes the header of this timer, whose entry is there, or is to go to the near heap.
    #[inline]
    pub(crate) fn complete(&self, header: &mut Header, place: Option<(Place, u32)>) {
        header.deadline = self.deadline;
        header.set_sequence(self.sequence);
        if let Some((place, position)) = place {
            header.set_place(place, position);
        }
    }

    /// The place in the order of firing.
    #[inline]
    pub(crate) fn rank(&self) -> (u64, Sequence) {
        (self.deadline, self.sequence)
    }

    /// Whether this timer fires before another.
    #[inline]
    pub(crate) fn precedes(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }
}
