//! The pending entries: proposed, and without an answer yet.
//!
//! All wait for the same span of time, so the order of their proposals is the order of their
//! timeouts, and a list linked through the entries themselves is all it takes. Forgetting a
//! million of them, when the role changes, is forgetting where the list begins.

use super::item::{ItemIndex, Link, NO_ITEM};
use super::roster::Roster;

/// The list of pending entries.
///
/// Invariant: linked both ways, in order of the times of their proposals.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    first: ItemIndex,
    last: ItemIndex,
    len: usize,
}

impl Pending {
    pub(super) const EMPTY: Self = Self {
        first: NO_ITEM,
        last: NO_ITEM,
        len: 0,
    };

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The entry that has been pending for longest.
    #[inline]
    pub(super) fn first(&self) -> Option<ItemIndex> {
        (self.len != 0).then_some(self.first)
    }

    /// Counts an entry that is proposed now as the last of the list, and gives the link that it
    /// must hold from now on. O(1).
    #[inline]
    #[must_use = "the entry must hold its link"]
    pub(super) fn append<K, S>(
        &mut self,
        roster: &mut Roster<K, S>,
        item: ItemIndex,
        proposed_ns: u64,
    ) -> Link {
        let previous = self.last;
        if previous == NO_ITEM {
            self.first = item;
        } else {
            roster.item_mut(previous).link_mut().next = item;
        }
        self.last = item;
        self.len += 1;
        Link::new(proposed_ns, previous, NO_ITEM)
    }

    /// Takes out the entry that held this link. O(1).
    #[inline]
    pub(super) fn unlink<K, S>(&mut self, roster: &mut Roster<K, S>, link: Link) {
        if link.previous == NO_ITEM {
            self.first = link.next;
        } else {
            roster.item_mut(link.previous).link_mut().next = link.next;
        }
        if link.next == NO_ITEM {
            self.last = link.previous;
        } else {
            roster.item_mut(link.next).link_mut().previous = link.previous;
        }
        self.len -= 1;
    }
}
