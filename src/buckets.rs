//! The lists of all levels, and which of them hold timers.
//!
//! A bucket of levels 0 to 3 is found by arithmetic, in an array that reaches up to the highest level
//! in use. The far timers lie in a list for each rotation of the top level, under an ordered map.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::blocks::{BLOCK, Blocks, List, Location, Taken};
use crate::geometry::{Bucket, BucketIndex, FAR, Geometry, LEVELS, Layout, Tick};
use crate::header::{Headers, Place};
use crate::key::SlotIndex;
use crate::occupancy::Occupancy;

/// The lists of all levels.
///
/// Invariant: a bit of `occupancy` is set if and only if the list is not empty; `far` has no empty
/// lists; every entry is where its timer's header says.
pub(crate) struct Buckets<G> {
    lists: Vec<List>,
    occupancy: Occupancy,
    far: BTreeMap<u64, List>,
    blocks: Blocks,
    geometry: PhantomData<fn() -> G>,
}

/// Where an entry has been put.
pub(crate) struct Appended {
    pub(crate) place: Place,
    pub(crate) location: Location,
    /// The list it is the last of.
    pub(crate) list: List,
}

impl<G> Clone for Buckets<G> {
    fn clone(&self) -> Self {
        Self {
            lists: self.lists.clone(),
            occupancy: self.occupancy.clone(),
            far: self.far.clone(),
            blocks: self.blocks.clone(),
            geometry: PhantomData,
        }
    }
}

impl<G: Geometry> Buckets<G> {
    pub(crate) fn new() -> Self {
        Self {
            lists: Vec::new(),
            occupancy: Occupancy::new(),
            far: BTreeMap::new(),
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
        let list = if bucket.level == FAR {
            self.far.get(&bucket.number)
        } else {
            self.lists.get(Layout::<G>::index(bucket).get())
        };
        list.copied().unwrap_or(List::EMPTY)
    }

    /// Appends an entry to the list of a bucket of levels 0 to 3, if its last block has room. O(1).
    #[inline]
    pub(crate) fn append(&mut self, index: BucketIndex, slot: SlotIndex) -> Option<Location> {
        self.blocks.append(self.lists.get_mut(index.get())?, slot)
    }

    /// Appends an entry to the list of any bucket, with another block if need be, and returns that. O(1),
    /// far O(log rotations).
    pub(crate) fn append_any(&mut self, bucket: Bucket, slot: SlotIndex) -> Appended {
        let index = Layout::<G>::index(bucket);
        let (place, list) = if bucket.level == FAR {
            (
                Place::FAR,
                self.far.entry(bucket.number).or_insert(List::EMPTY),
            )
        } else {
            if index.get() >= self.lists.len() {
                self.add_levels(bucket.level + 1);
            }
            (Place::bucket(index), &mut self.lists[index.get()])
        };
        let location = self
            .blocks
            .append(list, slot)
            .unwrap_or_else(|| self.blocks.append_block(list, slot));
        let list = *list;
        if list.len() == 1 && bucket.level != FAR {
            let index = Layout::<G>::index_on_level(bucket.level, bucket.number);
            self.occupancy.set(bucket.level, index);
        }
        Appended {
            place,
            location,
            list,
        }
    }

    #[cold]
    fn add_levels(&mut self, levels: usize) {
        let room = Layout::<G>::room_below(levels);
        self.lists.reserve_exact(room - self.lists.len());
        self.lists.resize(room, List::EMPTY);
        self.occupancy.resize(levels);
    }

    /// Takes an entry out of the list of a bucket of levels 0 to 3. Returns the slot of the entry that
    /// has taken its location, if one has, and what is left of the list. O(1).
    #[inline]
    pub(crate) fn remove(
        &mut self,
        index: BucketIndex,
        location: Location,
    ) -> (Option<SlotIndex>, List) {
        let list = &mut self.lists[index.get()];
        let moved = self.blocks.remove(list, location);
        if list.is_empty() {
            let (level, index) = Layout::<G>::level_and_index(index);
            self.occupancy.clear(level, index);
        }
        (moved, *list)
    }

    /// As [`Buckets::remove`], of a far rotation. O(log rotations).
    pub(crate) fn remove_far(
        &mut self,
        number: u64,
        location: Location,
    ) -> (Option<SlotIndex>, List) {
        let Some(list) = self.far.get_mut(&number) else {
            return (None, List::EMPTY);
        };
        let moved = self.blocks.remove(list, location);
        let left = *list;
        if left.is_empty() {
            self.far.remove(&number);
        }
        (moved, left)
    }

    /// Takes up to `most` entries off the end of the list of a bucket that is not empty, at most a block
    /// of them. O(1), far O(log rotations).
    #[inline]
    pub(crate) fn take_last(&mut self, bucket: Bucket, most: usize) -> Taken {
        if bucket.level == FAR {
            return self.take_last_far(bucket, most);
        }
        let list = &mut self.lists[Layout::<G>::index(bucket).get()];
        let taken = self.blocks.take_last(list, most);
        if list.is_empty() {
            let index = Layout::<G>::index_on_level(bucket.level, bucket.number);
            self.occupancy.clear(bucket.level, index);
        }
        taken
    }

    #[cold]
    fn take_last_far(&mut self, bucket: Bucket, most: usize) -> Taken {
        let mut list = self.list(bucket);
        let taken = self.blocks.take_last(&mut list, most);
        if list.is_empty() {
            self.far.remove(&bucket.number);
        } else {
            self.far.insert(bucket.number, list);
        }
        taken
    }

    /// The number of a level's first occupied bucket from one on. None that is occupied has a number
    /// below that of the cursor's. O(words of a level), far O(log rotations).
    #[inline]
    pub(crate) fn first_from(&self, level: usize, number: u64, cursor: Tick) -> Option<u64> {
        if level == FAR {
            return self.far.range(number..).next().map(|(&number, _)| number);
        }
        let least = Layout::<G>::number(level, cursor);
        if number - least >= 2 * Layout::<G>::buckets(level) as u64 {
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
        let lists = self.lists.iter().chain(self.far.values());
        lists
            .flat_map(|&list| self.blocks.slices(list).flatten())
            .copied()
    }

    /// The number of blocks in lists.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of occupied buckets of a level; all that is far counts as one.
    pub(crate) fn occupied(&self, level: usize) -> usize {
        if level == FAR {
            return usize::from(!self.far.is_empty());
        }
        self.occupancy.count(level)
    }

    /// The lists of a level, by their indexes on it; none if it was never used, or is the far one.
    pub(crate) fn lists_of(&self, level: usize) -> &[List] {
        if level == FAR {
            return &[];
        }
        let range = Layout::<G>::room_below(level)..Layout::<G>::room_below(level + 1);
        self.lists.get(range).unwrap_or_default()
    }

    /// The number of far timers. O(rotations).
    pub(crate) fn far_timers(&self) -> usize {
        self.far.values().map(|list| list.len()).sum()
    }

    /// The heap memory of the lists, in bytes. The map's is an estimate: its nodes are not to be
    /// looked into.
    pub(crate) fn bytes(&self) -> usize {
        let far = self.far.len() * 2 * size_of::<(u64, List)>();
        self.lists.capacity() * size_of::<List>()
            + self.occupancy.bytes()
            + far
            + self.blocks.bytes()
    }

    /// Forgets every entry, keeping the memory of the blocks. O(buckets + rotations).
    pub(crate) fn clear(&mut self) {
        self.lists.fill(List::EMPTY);
        self.occupancy.clear_all();
        self.far.clear();
        self.blocks.clear();
    }

    /// Packs the entries into as few blocks as they need and gives back the rest. O(n).
    pub(crate) fn shrink_to_fit<H: Headers>(&mut self, headers: &mut H) {
        let old = core::mem::replace(&mut self.blocks, Blocks::new());
        for list in self.lists.iter_mut().chain(self.far.values_mut()) {
            let was = core::mem::replace(list, List::EMPTY);
            for &slot in old.slices(was).flatten() {
                let location = self
                    .blocks
                    .append(list, slot)
                    .unwrap_or_else(|| self.blocks.append_block(list, slot));
                headers.header_mut(slot).set_position(location.position());
            }
        }
        self.blocks.shrink_to_fit();
        let used = self.lists.iter().rposition(|list| !list.is_empty());
        let levels = (0..=LEVELS)
            .find(|&level| used.is_none_or(|used| used < Layout::<G>::room_below(level)))
            .unwrap_or(LEVELS);
        self.lists.truncate(Layout::<G>::room_below(levels));
        self.lists.shrink_to_fit();
        if self.occupancy.bytes() != 0 {
            self.occupancy.resize(levels);
        }
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
        for (index, &list) in self.lists.iter().enumerate() {
            let (level, on_level) = Layout::<G>::level_and_index(BucketIndex::new(index));
            assert!(
                self.occupancy.is_set(level, on_level) != list.is_empty(),
                "a bucket's bit is set if and only if it holds timers"
            );
            if list.is_empty() {
                continue;
            }
            let least = Layout::<G>::number(level, cursor);
            let number = Layout::<G>::number_from(level, on_level, least);
            let place = Place::bucket(BucketIndex::new(index));
            let bucket = Bucket { level, number };
            blocks += self.check_list(headers, list, place, bucket, &mut visit);
        }
        for (&number, &list) in &self.far {
            assert!(!list.is_empty(), "no far rotation is empty");
            let bucket = Bucket { level: FAR, number };
            blocks += self.check_list(headers, list, Place::FAR, bucket, &mut visit);
        }
        assert!(
            blocks == self.blocks.len(),
            "every block in use belongs to exactly one list"
        );
    }

    fn check_list<H: Headers>(
        &self,
        headers: &H,
        list: List,
        place: Place,
        bucket: Bucket,
        visit: &mut impl FnMut(SlotIndex, Bucket),
    ) -> usize {
        self.blocks.check_list(list, |slot, location| {
            let header = headers.header(slot);
            assert!(
                header.place() == place && header.position() == location.position(),
                "the header of a timer in a list says where"
            );
            visit(slot, bucket);
        })
    }
}
