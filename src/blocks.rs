//! The unrolled lists that buckets are made of.
//!
//! A bucket is an intrusive list whose nodes are *blocks* of 32 entries, each entry the index of a
//! timer's slot. The links of the blocks live in a [`Slab`], which also says which blocks are free;
//! their entries live in pages. One list node a timer, the textbook form, makes every pass over a
//! bucket a chain of dependent cache misses; a block is streamed.
//!
//! A list grows and shrinks at its end only: what is taken out of the middle is replaced by the last
//! entry. So one link a block, to the one before, is enough, and every block but the last is full.

use core::ops::Range;

use slab::Slab;

use crate::geometry::ListId;
use crate::key::SlotIndex;
use crate::pages::{Pages, Placeholder};

/// Entries in a block: two cache lines of them.
pub(crate) const BLOCK: usize = 32;

/// As many blocks as the position of an entry can tell apart.
const MOST_BLOCKS: usize = u32::MAX as usize / BLOCK;

/// Entries on a page, and in one of the groups that the first page consists of.
const PAGE: usize = 64 * BLOCK;
const GROUP: usize = 8 * BLOCK;

impl Placeholder for SlotIndex {
    const PLACEHOLDER: Self = Self::NONE;
}

/// The position of an entry among those of all blocks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location(u32);

impl Location {
    /// No location. It is the last of its block, so that what follows it starts a new one.
    const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(crate) const fn from_position(position: u32) -> Self {
        Self(position)
    }

    #[inline]
    pub(crate) const fn position(self) -> u32 {
        self.0
    }

    #[inline]
    const fn get(self) -> usize {
        self.0 as usize
    }

    /// The index of its block among those of the slab.
    #[inline]
    const fn block(self) -> usize {
        self.get() / BLOCK
    }

    /// The first location of a block.
    #[inline]
    const fn first_of(block: usize) -> Self {
        Self((block * BLOCK) as u32)
    }

    #[inline]
    const fn offset(self) -> usize {
        self.0 as usize % BLOCK
    }

    /// Whether the entry is the first of its block.
    #[inline]
    pub(crate) const fn begins_block(self) -> bool {
        self.offset() == 0
    }

    #[inline]
    const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// The sentinel of one list: where it ends, and how long it is.
#[derive(Copy, Clone, Debug)]
pub(crate) struct List {
    last: Location,
    len: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self {
        last: Location::NONE,
        len: 0,
    };

    /// The number of entries.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether every block is full: a removal has just freed one.
    #[inline]
    pub(crate) fn ends_with_block(self) -> bool {
        self.last.next().offset() == 0
    }
}

/// What a block knows besides its entries.
///
/// Its list is there for whoever cannot trust a header that says where its entry is.
#[derive(Copy, Clone, Debug)]
struct Link {
    /// The last location of the block before it.
    before: Location,
    list: ListId,
}

/// Entries that were taken off the end of a list, at most a block of them: a copy of the block.
pub(crate) struct Taken {
    block: [SlotIndex; BLOCK],
    range: Range<usize>,
    /// Where the block begins.
    first: Location,
}

impl Taken {
    pub(crate) const NONE: Self = Self {
        block: [SlotIndex::NONE; BLOCK],
        range: 0..0,
        first: Location(0),
    };

    #[inline]
    pub(crate) fn as_slice(&self) -> &[SlotIndex] {
        &self.block[self.range.clone()]
    }

    /// Where the nth of the entries was.
    #[inline]
    pub(crate) fn location(&self, nth: usize) -> Location {
        Location(self.first.0 + (self.range.start + nth) as u32)
    }
}

/// The blocks of all lists.
///
/// Invariant: the slab holds exactly the blocks that are in lists.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    links: Slab<Link>,
    entries: Pages<SlotIndex, GROUP, PAGE>,
}

impl Blocks {
    pub(crate) const fn new() -> Self {
        Self {
            links: Slab::new(),
            entries: Pages::new(),
        }
    }

    /// Makes room for so many more blocks, and in the tables for `spare` more, so that these take a page
    /// at a time when they are needed, and nothing is copied.
    pub(crate) fn reserve(&mut self, blocks: usize, spare: usize) {
        let wanted = (self.links.len() + blocks) * BLOCK;
        self.links.reserve(blocks + spare);
        let additional = wanted.saturating_sub(self.entries.len());
        self.entries.reserve_table(additional + spare * BLOCK);
        self.entries.reserve(additional);
    }

    /// The number of blocks in lists.
    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// The heap memory of the blocks, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        // The slab's entry is a link, or the next vacant index where the link has no such value.
        self.links.capacity() * size_of::<Link>() + self.entries.bytes()
    }

    /// Appends an entry to a list whose last block has room, and says where it is; `None` if it has
    /// none. O(1).
    #[inline]
    pub(crate) fn append(&mut self, list: &mut List, slot: SlotIndex) -> Option<Location> {
        let location = list.last.next();
        if location.begins_block() {
            return None;
        }
        list.last = location;
        list.len += 1;
        *self.entries.at_mut(location.get()) = slot;
        Some(location)
    }

    /// Appends an entry to a list that is empty or whose last block is full, and says where it is. O(1).
    pub(crate) fn append_block(
        &mut self,
        list: &mut List,
        id: ListId,
        slot: SlotIndex,
    ) -> Location {
        assert!(
            self.links.len() < MOST_BLOCKS,
            "a timer wheel has at most {MOST_BLOCKS} blocks"
        );
        let index = self.links.insert(Link {
            before: list.last,
            list: id,
        });
        let location = Location::first_of(index);
        while self.entries.len() < location.get() + BLOCK {
            self.entries.push_any();
        }
        list.last = location;
        list.len += 1;
        *self.entries.at_mut(location.get()) = slot;
        location
    }

    /// Whether a list has the entry of a slot at a location. O(1).
    #[inline]
    pub(crate) fn holds(
        &self,
        list: List,
        id: ListId,
        location: Location,
        slot: SlotIndex,
    ) -> bool {
        let block = location.block();
        let is_within = block != list.last.block() || location.0 <= list.last.0;
        let link = self.links.get(block);
        link.is_some_and(|link| link.list == id)
            && is_within
            && self.entries.get(location.get()) == Some(&slot)
    }

    /// Takes an entry out of a list. The last entry moves to where it was, unless it was the same one;
    /// its slot and where it has been are returned. O(1).
    #[inline]
    pub(crate) fn remove(
        &mut self,
        list: &mut List,
        location: Location,
    ) -> Option<(SlotIndex, Location)> {
        let last = list.last;
        let moved = *self.entries.at(last.get());
        *self.entries.at_mut(location.get()) = moved;
        self.shorten(list, 1);
        (location != last).then_some((moved, last))
    }

    /// Takes up to `most` entries off the end of a list that is not empty, and at most those of its last
    /// block. O(1).
    #[inline]
    pub(crate) fn take_last(&mut self, list: &mut List, most: usize) -> Taken {
        let first = Location::first_of(list.last.block());
        let block = self.entries.slice(first.get(), BLOCK);
        let Some(&block) = block.first_chunk() else {
            return Taken::NONE;
        };
        let end = list.last.offset() + 1;
        let count = most.min(end);
        self.shorten(list, count);
        Taken {
            block,
            range: end - count..end,
            first,
        }
    }

    /// Forgets the last entries of a list, at most those of its last block.
    #[inline]
    fn shorten(&mut self, list: &mut List, count: usize) {
        list.len -= count as u32;
        if list.last.offset() + 1 == count {
            list.last = self.links.remove(list.last.block()).before;
        } else {
            list.last = Location(list.last.0 - count as u32);
        }
    }

    /// The entries of a list, a block at a time, the last block first.
    pub(crate) fn slices(&self, list: List) -> impl Iterator<Item = &[SlotIndex]> {
        self.walk(list).map(|(_, entries)| entries)
    }

    /// The entries of a list, and where each is.
    pub(crate) fn entries(&self, list: List) -> impl Iterator<Item = (SlotIndex, Location)> {
        self.walk(list).flat_map(|(first, entries)| {
            let locations = (first.0..).map(Location);
            entries.iter().copied().zip(locations)
        })
    }

    fn walk(&self, list: List) -> impl Iterator<Item = (Location, &[SlotIndex])> {
        let mut last = list.last;
        core::iter::from_fn(move || {
            if last == Location::NONE {
                return None;
            }
            let (block, first) = (last.block(), Location::first_of(last.block()));
            let entries = self.entries.slice(first.get(), last.offset() + 1);
            last = self.links[block].before;
            Some((first, entries))
        })
    }

    /// Forgets every list, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.links.clear();
    }

    /// Gives back the spare memory of blocks of which none was freed.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.links.shrink_to_fit();
        self.entries.truncate(self.entries.len());
    }

    /// Checks the laws of one list, and hands each entry and its location to `visit`. Returns the
    /// number of its blocks.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check_list(
        &self,
        list: List,
        id: ListId,
        mut visit: impl FnMut(SlotIndex, Location),
    ) -> usize {
        let (mut blocks, mut entries, mut last) = (0, 0, list.last);
        while last != Location::NONE {
            assert!(
                blocks == 0 || last.next().offset() == 0,
                "every block but the last of a list is full"
            );
            let block = last.block();
            blocks += 1;
            assert!(
                blocks <= self.links.len(),
                "a list does not run in a circle"
            );
            for offset in 0..=last.offset() {
                entries += 1;
                let location = Location(Location::first_of(block).0 + offset as u32);
                visit(*self.entries.at(location.get()), location);
            }
            let link = self.links.get(block);
            let link = link.expect("no free block is reachable from a list");
            assert!(link.list == id, "a block knows its list");
            last = link.before;
        }
        assert!(entries == list.len(), "the entries of a list are counted");
        blocks
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const ID: ListId = ListId::Far(7);

    fn entries(blocks: &Blocks, list: List) -> Vec<usize> {
        let mut found = Vec::new();
        blocks.check_list(list, ID, |slot, _| found.push(slot.get()));
        found.sort_unstable();
        found
    }

    fn append(blocks: &mut Blocks, list: &mut List, index: usize) -> Location {
        let slot = SlotIndex::new(index);
        let appended = blocks.append(list, slot);
        appended.unwrap_or_else(|| blocks.append_block(list, ID, slot))
    }

    #[test]
    fn removal_moves_the_last_entry_and_frees_blocks_as_they_empty() {
        let mut blocks = Blocks::new();
        let mut list = List::EMPTY;
        let locations: Vec<Location> = (0..3 * BLOCK)
            .map(|index| append(&mut blocks, &mut list, index))
            .collect();
        assert_eq!((list.len(), blocks.len()), (3 * BLOCK, 3));
        let moved = blocks.remove(&mut list, locations[5]);
        let last = SlotIndex::new(3 * BLOCK - 1);
        assert_eq!(moved, Some((last, locations[3 * BLOCK - 1])));
        let last = blocks.remove(&mut list, locations[3 * BLOCK - 2]);
        assert_eq!(last, None, "it was the last itself");
        let mut left = (0..3 * BLOCK).collect::<Vec<_>>();
        left.retain(|&index| index != 5 && index != 3 * BLOCK - 2);
        assert_eq!(entries(&blocks, list), left);
        for _ in 0..BLOCK - 2 {
            blocks.take_last(&mut list, 1);
        }
        assert_eq!((list.len(), blocks.len()), (2 * BLOCK, 2));
    }

    #[test]
    fn taking_from_the_end_stops_at_a_block_and_empties_the_list() {
        let mut blocks = Blocks::new();
        let mut list = List::EMPTY;
        for index in 0..BLOCK + 3 {
            append(&mut blocks, &mut list, index);
        }
        assert_eq!(blocks.take_last(&mut list, 100).as_slice().len(), 3);
        assert_eq!(blocks.take_last(&mut list, 7).as_slice().len(), 7);
        assert_eq!(blocks.take_last(&mut list, 100).as_slice().len(), BLOCK - 7);
        assert_eq!((list.len(), blocks.len()), (0, 0));
        assert_eq!(blocks.slices(list).count(), 0);
    }

    #[test]
    fn shrinking_leaves_room_for_what_is_there() {
        let mut blocks = Blocks::new();
        let mut list = List::EMPTY;
        for _ in 0..5 * BLOCK {
            let slot = SlotIndex::new(7);
            if blocks.append(&mut list, slot).is_none() {
                blocks.append_block(&mut list, ID, slot);
            }
        }
        blocks.shrink_to_fit();
        assert_eq!(blocks.links.capacity(), 5);
        assert_eq!(
            blocks.bytes(),
            5 * size_of::<Link>() + blocks.entries.bytes()
        );
    }
}
