//! The unrolled lists that buckets are made of.
//!
//! A bucket is an intrusive list whose nodes are *blocks* of 32 entries. The links live in a
//! [`Slab`]; the entries of all blocks live side by side in one array, so that an entry's
//! [`Location`] is its index there. One list node a timer, the textbook form, makes every pass over
//! a bucket a chain of dependent cache misses; a block is streamed.
//!
//! Nothing is ever taken out of the middle: what goes stale there is passed over later. So the
//! lists are linked forwards only.
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
    const fn block(self) -> BlockIndex {
        BlockIndex(self.0 / BLOCK as u32)
    }

    #[inline]
    const fn is_first(self) -> bool {
        self.0 % BLOCK as u32 == 0
    }
}

/// The stale entries of a list, counted in steps of two; the lowest bit tells which mark the last
/// sweep of the list has given.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stale(u32);

impl Stale {
    const NONE: Self = Self(0);

    #[inline]
    pub(crate) const fn count(self) -> u32 {
        self.0 >> 1
    }

    #[inline]
    pub(crate) fn add_one(&mut self) {
        self.0 += 2;
    }

    #[inline]
    pub(crate) fn subtract(&mut self, count: u32) {
        self.0 -= count << 1;
    }

    /// Changes the mark, and says which it is now.
    pub(crate) fn change_mark(&mut self) -> bool {
        self.0 ^= 1;
        self.is_odd()
    }

    pub(crate) const fn is_odd(self) -> bool {
        self.0 & 1 != 0
    }
}

/// The sentinel of one list: where its entries begin and end, and how many they are.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Sentinel {
    /// The first entry, in the middle of a block if those before it were taken from the front.
    head: Location,
    last: Location,
    /// Timers whose entries are in the list.
    pub(crate) live: u32,
    /// All other entries.
    pub(crate) stale: Stale,
}

impl Sentinel {
    pub(crate) const EMPTY: Self = Self {
        head: Location::NONE,
        last: Location::NONE,
        live: 0,
        stale: Stale::NONE,
    };

    /// Whether there are no entries.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.last == Location::NONE
    }

    /// The number of entries.
    #[inline]
    pub(crate) fn entries(self) -> u32 {
        self.live + self.stale.count()
    }

    /// Forgets where the entries are, and how many.
    pub(crate) fn unlink(&mut self) {
        *self = Self::EMPTY;
    }
}

/// Why an entry could not be appended at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeedsBlock;

/// The blocks of all lists.
///
/// Blocks of a list that is given up as a whole are not freed one by one: their chain is kept, to
/// be taken apart as blocks are needed.
///
/// Invariant: the array holds [`BLOCK`] entries for each block that the slab has ever held at
/// once; those of free blocks, and those before a list's head or behind its last, mean nothing.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    /// The block that follows each block in its list.
    next: Slab<BlockIndex>,
    entries: Vec<Entry>,
    /// The first block of the chain of spare ones.
    spare: BlockIndex,
    spares: u32,
}

impl Blocks {
    pub(crate) const fn new() -> Self {
        Self {
            next: Slab::new(),
            entries: Vec::new(),
            spare: BlockIndex::NONE,
            spares: 0,
        }
    }

    pub(crate) fn with_capacity(entries: usize) -> Self {
        let blocks = entries.div_ceil(BLOCK);
        Self {
            next: Slab::with_capacity(blocks),
            entries: Vec::with_capacity(blocks * BLOCK),
            ..Self::new()
        }
    }

    pub(crate) fn reserve(&mut self, entries: usize) {
        let blocks = entries.div_ceil(BLOCK);
        self.next.reserve(blocks);
        let wanted = (self.next.len() + blocks) * BLOCK;
        self.entries
            .reserve(wanted.saturating_sub(self.entries.len()));
    }

    /// The number of blocks in lists.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.next.len() - self.spares as usize
    }

    /// The number of blocks that there are entries for, those in no list included.
    pub(crate) fn made(&self) -> usize {
        self.entries.len() / BLOCK
    }

    /// Whether every block is in a list.
    pub(crate) fn is_used_up(&self) -> bool {
        self.len() == self.made()
    }

    /// The heap memory of the blocks, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        // The slab's entry is a link or a vacant index, and a tag.
        self.next.capacity() * 2 * size_of::<usize>() + self.entries.capacity() * size_of::<Entry>()
    }

    /// Appends an entry to a list whose last block has room. O(1).
    #[inline]
    pub(crate) fn append(&mut self, list: &mut Sentinel, entry: Entry) -> Result<(), NeedsBlock> {
        let location = list.last.next();
        if location.is_first() {
            return Err(NeedsBlock);
        }
        list.last = location;
        self.entries[location.get()] = entry;
        Ok(())
    }

    /// Appends an entry to a list that is empty or whose last block is full. O(1).
    #[inline(never)]
    pub(crate) fn append_block(&mut self, list: &mut Sentinel, entry: Entry) {
        let block = self.take_block();
        if list.is_empty() {
            list.head = block.first();
        } else {
            self.next[list.last.block().get()] = block;
        }
        list.last = block.first();
        self.entries[list.last.get()] = entry;
    }

    /// A block that is in no list.
    fn take_block(&mut self) -> BlockIndex {
        if self.spare != BlockIndex::NONE {
            let block = self.spare;
            self.spare = self.next[block.get()];
            self.spares -= 1;
            return block;
        }
        let block = BlockIndex(self.next.insert(BlockIndex::NONE) as u32);
        if self.entries.len() <= block.first().get() {
            self.entries
                .resize(block.first().get() + BLOCK, Entry::default());
        }
        block
    }

    /// Empties a list, whatever it holds. O(1).
    pub(crate) fn give_up(&mut self, list: &mut Sentinel) {
        if list.is_empty() {
            return;
        }
        let before = list.head.get() % BLOCK;
        self.next[list.last.block().get()] = self.spare;
        self.spare = list.head.block();
        self.spares += (before + list.entries() as usize).div_ceil(BLOCK) as u32;
        list.unlink();
        if self.len() == 0 {
            // So that blocks are used in the order of their addresses again.
            self.clear();
        }
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

    /// Removes entries from the front of a list: as many as [`Blocks::front`] said. Their
    /// number is the caller's to correct. O(1).
    #[inline]
    pub(crate) fn drop_front(&mut self, list: &mut Sentinel, count: usize) {
        let end = Location(list.head.0 + (count as u32 - 1));
        if end == list.last {
            self.next.remove(end.block().get());
            list.head = Location::NONE;
            list.last = Location::NONE;
        } else if end == end.block().last() {
            list.head = self.next.remove(end.block().get()).first();
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
                (block.last(), self.next[block.get()].first())
            };
            let entries = &self.entries[head.get()..=end.get()];
            head = next;
            Some(entries)
        })
    }

    /// Forgets every entry, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.next.clear();
        self.spare = BlockIndex::NONE;
        self.spares = 0;
    }

    /// Checks the laws of one list, and hands each of its entries to `visit`. Returns the number
    /// of its blocks.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check_list(&self, list: Sentinel, mut visit: impl FnMut(Entry)) -> usize {
        if list.is_empty() {
            assert!(
                list.head == Location::NONE && list.entries() == 0,
                "an empty list has neither head nor entries"
            );
            return 0;
        }
        let mut blocks = 0;
        let mut entries = 0;
        let mut head = list.head;
        loop {
            let block = head.block();
            let next = *self
                .next
                .get(block.get())
                .expect("no free block is reachable from a list");
            blocks += 1;
            assert!(blocks <= self.next.len(), "a list does not run in a circle");
            let is_last = block == list.last.block();
            let end = if is_last { list.last } else { block.last() };
            assert!(head.0 <= end.0, "a list's head is not behind its last");
            for location in head.0..=end.0 {
                entries += 1;
                visit(self.entries[location as usize]);
            }
            if is_last {
                assert!(
                    entries == list.entries(),
                    "the entries of a list are counted"
                );
                return blocks;
            }
            head = next.first();
        }
    }

    /// Checks the laws of the spare blocks.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check_spares(&self) {
        let mut spare = self.spare;
        for _ in 0..self.spares {
            spare = *self
                .next
                .get(spare.get())
                .expect("no free block is reachable from the spare ones");
        }
        assert!(spare == BlockIndex::NONE, "spare blocks are counted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(blocks: &mut Blocks, list: &mut Sentinel, entries: u32) {
        for _ in 0..entries {
            if blocks.append(list, Entry::default()).is_err() {
                blocks.append_block(list, Entry::default());
            }
        }
        list.live += entries;
    }

    #[test]
    fn memory_that_was_asked_for_is_there_and_no_more() {
        let mut blocks = Blocks::with_capacity(2 * BLOCK + 1);
        let memory = blocks.bytes();
        let mut list = Sentinel::EMPTY;
        fill(&mut blocks, &mut list, 3 * BLOCK as u32);
        assert_eq!(blocks.bytes(), memory, "three blocks");
        assert_eq!(blocks.entries.capacity(), 3 * BLOCK);
        assert_eq!(blocks.next.capacity(), 3);
    }

    #[test]
    fn blocks_are_used_up_while_all_are_in_lists() {
        let mut blocks = Blocks::new();
        let (mut one, mut other) = (Sentinel::EMPTY, Sentinel::EMPTY);
        fill(&mut blocks, &mut one, 1);
        fill(&mut blocks, &mut other, BLOCK as u32 + 1);
        assert_eq!((blocks.len(), blocks.made()), (3, 3));
        assert!(blocks.is_used_up());
        blocks.give_up(&mut other);
        assert_eq!((blocks.len(), blocks.made()), (1, 3));
        assert!(!blocks.is_used_up());
        fill(&mut blocks, &mut other, BLOCK as u32);
        assert!(!blocks.is_used_up(), "one is left");
        fill(&mut blocks, &mut other, 1);
        assert!(blocks.is_used_up());
    }
}
