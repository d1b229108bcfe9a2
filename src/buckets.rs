//! The lists of all levels, and which of them hold timers.
//!
//! A bucket of levels 0 to 3 is found by arithmetic, in an array that reaches up to the highest level
//! in use. The far timers lie in a list for each rotation of the top level, under an ordered map.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::blocks::{BLOCK, Blocks, List, Location, Taken};
use crate::geometry::{Bucket, BucketIndex, FAR, Geometry, LEVELS, Layout, ListId, Tick};
use crate::header::{Headers, Place};
use crate::key::SlotIndex;
use crate::occupancy::Occupancy;

/// The lists of all levels.
///
/// Invariant: a bit of `occupancy` is set if and only if the list is not empty; no far list is empty;
/// every entry is where its timer's header says.
pub(crate) struct Buckets<G> {
    lists: Lists,
    occupancy: Occupancy,
    blocks: Blocks,
    geometry: PhantomData<fn() -> G>,
}

/// The sentinels of the lists.
#[derive(Clone, Default)]
struct Lists {
    near: Vec<List>,
    far: BTreeMap<u64, List>,
}

impl Lists {
    #[inline]
    fn get(&self, id: ListId) -> List {
        let list = match id {
            ListId::Bucket(index) => self.near.get(index.get()),
            ListId::Far(number) => self.far.get(&number),
        };
        list.copied().unwrap_or(List::EMPTY)
    }

    #[inline]
    fn get_mut(&mut self, id: ListId) -> Option<&mut List> {
        match id {
            ListId::Bucket(index) => self.near.get_mut(index.get()),
            ListId::Far(number) => self.far.get_mut(&number),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (ListId, List)> {
        let far = self.far.iter();
        let near = (0..).zip(&self.near);
        near.map(|(index, &list)| (ListId::Bucket(BucketIndex::new(index)), list))
            .chain(far.map(|(&number, &list)| (ListId::Far(number), list)))
    }
}

impl<G> Clone for Buckets<G> {
    fn clone(&self) -> Self {
        Self {
            lists: self.lists.clone(),
            occupancy: self.occupancy.clone(),
            blocks: self.blocks.clone(),
            geometry: PhantomData,
        }
    }
}

impl<G: Geometry> Buckets<G> {
    pub(crate) fn new() -> Self {
        Self {
            lists: Lists::default(),
            occupancy: Occupancy::default(),
            blocks: Blocks::new(),
            geometry: PhantomData,
        }
    }

    /// Makes room for the fewest blocks that so many more entries may need, and in the tables for one more
    /// in each bucket that they may go to, which is filled in part.
    pub(crate) fn reserve(&mut self, entries: usize) {
        let in_part = entries.min(Layout::<G>::room_below(LEVELS));
        self.blocks.reserve(entries.div_ceil(BLOCK), in_part);
    }

    /// The list of a bucket. O(1), far O(log rotations).
    #[inline]
    pub(crate) fn list(&self, bucket: Bucket) -> List {
        self.lists.get(Layout::<G>::list(bucket))
    }

    /// Appends an entry to the list of a bucket of levels 0 to 3, if its last block has room. O(1).
    #[inline]
    pub(crate) fn append(&mut self, index: BucketIndex, slot: SlotIndex) -> Option<Location> {
        let list = self.lists.near.get_mut(index.get())?;
        self.blocks.append(list, slot)
    }

    /// Appends an entry to any list, with another block if need be, and returns where it is and the list.
    /// O(1), far O(log rotations).
    pub(crate) fn append_any(&mut self, id: ListId, slot: SlotIndex) -> (Location, List) {
        let list = match id {
            ListId::Far(number) => self.lists.far.entry(number).or_insert(List::EMPTY),
            ListId::Bucket(index) => {
                let (level, on_level) = Layout::<G>::level_and_index(index);
                if index.get() >= self.lists.near.len() {
                    self.add_levels(level + 1);
                }
                self.occupancy.set(level, on_level);
                &mut self.lists.near[index.get()]
            }
        };
        let location = self
            .blocks
            .append(list, slot)
            .unwrap_or_else(|| self.blocks.append_block(list, id, slot));
        (location, *list)
    }

    #[cold]
    fn add_levels(&mut self, levels: usize) {
        let lists = &mut self.lists.near;
        let room = Layout::<G>::room_below(levels);
        lists.reserve_exact(room - lists.len());
        lists.resize(room, List::EMPTY);
        self.occupancy.add_levels(levels);
    }

    /// Takes note that a list has been emptied.
    fn clear_occupied(&mut self, id: ListId) {
        match id {
            ListId::Bucket(index) => {
                let (level, index) = Layout::<G>::level_and_index(index);
                self.occupancy.clear(level, index);
            }
            ListId::Far(number) => drop(self.lists.far.remove(&number)),
        }
    }

    /// Takes an entry out of a list, unless it is not that of the slot which is `doubted` to have it there.
    /// Returns the slot of the entry that has taken its location, if one has, and where that has been; and
    /// what is left of the list. O(1), far O(log rotations).
    #[inline]
    pub(crate) fn remove(
        &mut self,
        id: ListId,
        location: Location,
        doubted: Option<SlotIndex>,
    ) -> Option<(Option<(SlotIndex, Location)>, List)> {
        let list = self.lists.get_mut(id)?;
        if doubted.is_some_and(|slot| !self.blocks.holds(*list, id, location, slot)) {
            return None;
        }
        let moved = self.blocks.remove(list, location);
        let left = *list;
        if left.is_empty() {
            self.clear_occupied(id);
        }
        Some((moved, left))
    }

    /// Takes up to `most` entries off the end of the list of a bucket, at most a block of them. O(1), far
    /// O(log rotations).
    #[inline]
    pub(crate) fn take_last(&mut self, bucket: Bucket, most: usize) -> Taken {
        let id = Layout::<G>::list(bucket);
        let Some(list) = self.lists.get_mut(id) else {
            return Taken::NONE;
        };
        let taken = self.blocks.take_last(list, most);
        if list.is_empty() {
            self.clear_occupied(id);
        }
        taken
    }

    /// The number of a level's first occupied bucket from one on. None that is occupied has a number
    /// below that of the cursor's. O(words of a level), far O(log rotations).
    #[inline]
    pub(crate) fn first_from(&self, level: usize, number: u64, cursor: Tick) -> Option<u64> {
        if level == FAR {
            let mut rotations = self.lists.far.range(number..);
            return rotations.next().map(|(&number, _)| number);
        }
        let least = Layout::<G>::number(level, cursor);
        if number - least >= Layout::<G>::room(level) as u64 {
            return None;
        }
        let from = Layout::<G>::index_on_level(level, number);
        let index = self.occupancy.first_from(level, from)?;
        let found = Layout::<G>::number_from(level, index, least);
        (found >= number).then_some(found)
    }

    /// The entries of a bucket, a block at a time.
    pub(crate) fn slices(&self, bucket: Bucket) -> impl Iterator<Item = &[SlotIndex]> {
        self.blocks.slices(self.list(bucket))
    }

    /// The entries of all lists, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SlotIndex> {
        let entries = |(_, list)| self.blocks.slices(list).flatten().copied();
        self.lists.iter().flat_map(entries)
    }

    /// The number of blocks in lists.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of occupied buckets of a level; all that is far counts as one.
    pub(crate) fn occupied(&self, level: usize) -> usize {
        if level == FAR {
            return usize::from(!self.lists.far.is_empty());
        }
        self.occupancy.count(level)
    }

    /// The lists of a level, by their indexes on it; none if it was never used, or is the far one.
    pub(crate) fn lists_of(&self, level: usize) -> &[List] {
        let first = Layout::<G>::room_below(level);
        let lists = self.lists.near.get(first..first + Layout::<G>::room(level));
        lists.unwrap_or_default()
    }

    /// The number of far timers. O(rotations).
    pub(crate) fn far_timers(&self) -> usize {
        self.lists.far.values().map(|list| list.len()).sum()
    }

    /// The heap memory of the lists, in bytes. The map's is an estimate: its nodes are not to be
    /// looked into.
    pub(crate) fn bytes(&self) -> usize {
        let far = self.lists.far.len() * 2 * size_of::<(u64, List)>();
        self.lists.near.capacity() * size_of::<List>()
            + self.occupancy.bytes()
            + far
            + self.blocks.bytes()
    }

    /// Forgets every entry, keeping the memory of the blocks. O(buckets + rotations).
    pub(crate) fn clear(&mut self) {
        self.lists.near.fill(List::EMPTY);
        self.lists.far.clear();
        self.occupancy.clear_all();
        self.blocks.clear();
    }

    /// Makes new lists of the entries, with no more levels and blocks than they need, and gives back the
    /// old ones. O(n).
    pub(crate) fn shrink_to_fit<H: Headers>(&mut self, headers: &mut H) {
        // Beside the old ones, which stay as they are should the store of headers panic on the way.
        let mut packed = Self::new();
        for (id, list) in self.lists.iter() {
            for (slot, from) in self.blocks.entries(list) {
                let (location, _) = packed.append_any(id, slot);
                headers.moved(slot, Place::list(id), from.position(), location.position());
            }
        }
        packed.blocks.shrink_to_fit();
        *self = packed;
    }

    /// Checks the laws of all lists, and hands each timer and its bucket to `visit`.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<H: Headers>(
        &self,
        headers: &H,
        cursor: Tick,
        mut visit: impl FnMut(SlotIndex, Bucket),
    ) {
        let mut blocks = 0;
        for (id, list) in self.lists.iter() {
            let is_marked = match id {
                ListId::Bucket(index) => {
                    let (level, index) = Layout::<G>::level_and_index(index);
                    self.occupancy.is_set(level, index)
                }
                ListId::Far(_) => true,
            };
            assert!(
                is_marked != list.is_empty(),
                "a bucket's bit is set if and only if it holds timers, and no far list is empty"
            );
            if list.is_empty() {
                continue;
            }
            let bucket = Layout::<G>::bucket(id, cursor);
            blocks += self.blocks.check_list(list, id, |slot, location| {
                let header = headers.header(slot);
                assert!(
                    header.is_at(Place::list(id), location.position()),
                    "the header of a timer in a list says where"
                );
                visit(slot, bucket);
            });
        }
        assert!(
            blocks == self.blocks.len(),
            "every block in use belongs to exactly one list"
        );
    }
}
