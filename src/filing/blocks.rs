//! The unrolled lists that buckets are made of.
//!
//! A bucket is an intrusive, doubly linked list whose nodes are *blocks* of 32 entries. The links
//! live in a [`Slab`]; the entries of all blocks live side by side in one array, so that an
//! entry's [`Location`] is its index there. One list node a timer, the textbook form, makes every
//! pass over a bucket a chain of dependent cache misses; a block is streamed.
//!
//! Invariant: every block but a list's last is full, from the list's head on.

use alloc::vec::Vec;

use slab::Slab;

use crate::geometry::LowTick;
use crate::key::SlotIndex;

/// Entries in a block: four cache lines of them.
pub(crate) const BLOCK: usize = 32;

/// A timer as its bucket sees it.
///
/// It carries the tick that it is filed under, so that a cascade can tell where it goes without
/// loading its slot.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) tick: LowTick,
    pub(crate) slot: SlotIndex,
}

/// The index of a block.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct BlockIndex(u32);

impl BlockIndex {
    const NONE: Self = Self(u32::MAX);

    #[inline]
    const fn get(self) -> usize {
        self.0 as usize
    }

    #[inline]
    const fn first(self) -> Location {
        Location(self.0 * BLOCK as u32)
    }

    #[inline]
    const fn last(self) -> Location {
        Location(self.0 * BLOCK as u32 + (BLOCK as u32 - 1))
    }
}

/// The position of an entry among those of all blocks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location(u32);

impl Location {
    /// No location. It is a last position, so that what would follow it starts a block.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline]
    const fn get(self) -> usize {
        self.0 as usize
    }

    #[inline]
    const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    #[inline]
    const fn previous(self) -> Self {
        Self(self.0 - 1)
    }

    #[inline]
    const fn block(self) -> BlockIndex {
        BlockIndex(self.0 / BLOCK as u32)
    }

    #[inline]
    const fn is_first(self) -> bool {
        self.0 % BLOCK as u32 == 0
    }
}

/// The neighbours of a block in its list.
#[derive(Copy, Clone, Debug)]
struct Links {
    previous: BlockIndex,
    next: BlockIndex,
}

/// The sentinel of one list: where its entries begin and end.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Sentinel {
    /// The first entry, in the middle of a block if those before it were taken from the front.
    head: Location,
    last: Location,
}

impl Sentinel {
    pub(crate) const EMPTY: Self = Self {
        head: Location::NONE,
        last: Location::NONE,
    };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.last == Location::NONE
    }
}

/// What removing an entry did to its list.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The list is now empty.
    Emptied,
    /// The list still holds entries.
    Left,
}

/// Why an entry could not be appended at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeedsBlock;

/// The blocks of all lists.
///
/// Invariant: the array holds [`BLOCK`] entries for each block that the slab has ever held at
/// once; those of free blocks, and those before a list's head or behind its last, mean nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    links: Slab<Links>,
    entries: Vec<Entry>,
}

impl Blocks {
    pub(crate) fn with_capacity(entries: usize) -> Self {
        let blocks = entries.div_ceil(BLOCK);
        Self {
            links: Slab::with_capacity(blocks),
            entries: Vec::with_capacity(blocks * BLOCK),
        }
    }

    pub(crate) fn reserve(&mut self, entries: usize) {
        let blocks = entries.div_ceil(BLOCK);
        self.links.reserve(blocks);
        let wanted = (self.links.len() + blocks) * BLOCK;
        self.entries
            .reserve(wanted.saturating_sub(self.entries.len()));
    }

    /// The number of blocks in lists.
    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// The heap memory of the blocks, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        // The slab's entry is a `Links` and a tag, no larger than three words.
        self.links.capacity() * (size_of::<Links>() + size_of::<usize>())
            + self.entries.capacity() * size_of::<Entry>()
    }

    /// Appends an entry to a list whose last block has room. O(1).
    #[inline]
    pub(crate) fn append(
        &mut self,
        list: &mut Sentinel,
        entry: Entry,
    ) -> Result<Location, NeedsBlock> {
        let location = list.last.next();
        if location.is_first() {
            return Err(NeedsBlock);
        }
        list.last = location;
        self.entries[location.get()] = entry;
        Ok(location)
    }

    /// Appends an entry to a list that is empty or whose last block is full. O(1).
    #[inline(never)]
    pub(crate) fn append_block(&mut self, list: &mut Sentinel, entry: Entry) -> Location {
        let previous = if list.is_empty() {
            BlockIndex::NONE
        } else {
            list.last.block()
        };
        let block = BlockIndex(self.links.insert(Links {
            previous,
            next: BlockIndex::NONE,
        }) as u32);
        if self.entries.len() <= block.first().get() {
            self.entries
                .resize(block.first().get() + BLOCK, Entry::default());
        }
        if list.is_empty() {
            list.head = block.first();
        } else {
            self.links[previous.get()].next = block;
        }
        list.last = block.first();
        self.entries[list.last.get()] = entry;
        list.last
    }

    /// Removes the entry at a location by moving the list's last entry into the hole, and hands
    /// back that entry: its timer is now at `hole`. O(1).
    ///
    /// The order of the entries does not matter: the order of timers is in their cards.
    #[inline]
    pub(crate) fn remove(&mut self, list: &mut Sentinel, hole: Location) -> (Entry, Removal) {
        let last = list.last;
        let moved = self.entries[last.get()];
        self.entries[hole.get()] = moved;
        if last == list.head || last.is_first() {
            return (moved, self.drop_last_block(list));
        }
        list.last = last.previous();
        (moved, Removal::Left)
    }

    #[inline(never)]
    fn drop_last_block(&mut self, list: &mut Sentinel) -> Removal {
        let block = list.last.block();
        let links = self.links.remove(block.get());
        if list.last == list.head {
            *list = Sentinel::EMPTY;
            return Removal::Emptied;
        }
        self.links[links.previous.get()].next = BlockIndex::NONE;
        list.last = links.previous.last();
        Removal::Left
    }

    /// Up to `limit` entries from the front of a list, and at most those of its first block: where
    /// they begin, and how many they are. O(1).
    #[inline]
    pub(crate) fn front(&self, list: Sentinel, limit: usize) -> (Location, usize) {
        if list.is_empty() {
            return (list.head, 0);
        }
        let block = list.head.block();
        let end = if block == list.last.block() {
            list.last
        } else {
            block.last()
        };
        (list.head, limit.min(end.get() + 1 - list.head.get()))
    }

    /// The entry that lies `offset` behind a location, in the same block.
    #[inline]
    pub(crate) fn entry(&self, location: Location, offset: usize) -> Entry {
        self.entries[location.get() + offset]
    }

    /// Removes entries from the front of a list: as many as [`Blocks::front`] said. O(1).
    #[inline]
    pub(crate) fn drop_front(&mut self, list: &mut Sentinel, count: usize) {
        let end = Location(list.head.0 + (count as u32 - 1));
        if end == list.last {
            self.links.remove(end.block().get());
            *list = Sentinel::EMPTY;
        } else if end == end.block().last() {
            let next = self.links.remove(end.block().get()).next;
            self.links[next.get()].previous = BlockIndex::NONE;
            list.head = next.first();
        } else {
            list.head = end.next();
        }
    }

    /// The entries of a list, block by block, in the order in which they were filed.
    pub(crate) fn slices(&self, list: Sentinel) -> impl Iterator<Item = &[Entry]> {
        let mut head = list.head;
        core::iter::from_fn(move || {
            if head == Location::NONE {
                return None;
            }
            let block = head.block();
            let (end, next) = if block == list.last.block() {
                (list.last, Location::NONE)
            } else {
                (block.last(), self.links[block.get()].next.first())
            };
            let entries = &self.entries[head.get()..=end.get()];
            head = next;
            Some(entries)
        })
    }

    /// The entries that the blocks of a list have room for once they are packed.
    pub(crate) fn room(&self, list: Sentinel) -> usize {
        let entries: usize = self.slices(list).map(<[Entry]>::len).sum();
        entries.next_multiple_of(BLOCK)
    }

    /// Forgets every entry, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.links.clear();
        self.entries.clear();
    }

    /// Checks the laws of one list, and hands each of its entries and locations to `visit`.
    /// Returns the number of its blocks.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check_list(
        &self,
        list: Sentinel,
        mut visit: impl FnMut(Entry, Location),
    ) -> usize {
        if list.is_empty() {
            assert!(
                list.head == Location::NONE,
                "an empty list has neither head nor last"
            );
            return 0;
        }
        let mut blocks = 0;
        let mut head = list.head;
        let mut previous = BlockIndex::NONE;
        loop {
            let block = head.block();
            let links = self
                .links
                .get(block.get())
                .expect("no free block is reachable from a list");
            blocks += 1;
            assert!(
                blocks <= self.links.len(),
                "a list does not run in a circle"
            );
            assert!(links.previous == previous, "a list is doubly consistent");
            let is_last = links.next == BlockIndex::NONE;
            assert!(
                is_last == (block == list.last.block()),
                "the sentinel's last entry is in the last block"
            );
            let end = if is_last { list.last } else { block.last() };
            assert!(head.0 <= end.0, "a list's head is not behind its last");
            for location in head.0..=end.0 {
                visit(self.entries[location as usize], Location(location));
            }
            if is_last {
                return blocks;
            }
            previous = block;
            head = links.next.first();
        }
    }
}
