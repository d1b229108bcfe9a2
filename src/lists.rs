//! The lists of all levels, linked through the nodes, and which of them hold timers.
//!
//! A bucket of levels 0 to 3 is found by arithmetic, in an array that reaches up to the highest level
//! in use. The far timers lie in a list for each rotation of the top level, under an ordered map.
//!
//! A walk along one list waits for one cache miss after the other. So a bucket has several lists, its *lanes*,
//! and is emptied from both ends of all of them at once: the misses overlap. A node's lane follows from its
//! index. The order within a bucket does not matter, because its timers are sorted when it begins.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem;

use crate::geometry::{Bucket, BucketIndex, FAR, Geometry, LEVELS, Layout, Tick};
use crate::node::{Links, NodeIndex, Nodes, Place};
use crate::occupancy::Occupancy;

/// The lists of a bucket of levels 0 to 3.
pub(crate) type Sentinels = Lanes<4>;

/// Nodes that are taken from a bucket together.
const BATCH: usize = 64;

/// A sentinel: the two ends of a list.
///
/// Invariant: both are [`NodeIndex::NIL`], or neither is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Ends {
    head: NodeIndex,
    tail: NodeIndex,
}

impl Ends {
    const EMPTY: Self = Self { head: NodeIndex::NIL, tail: NodeIndex::NIL };

    /// Links a node behind the tail, and returns what that was. The links of the node are the caller's to write.
    #[inline]
    fn append<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex) -> NodeIndex {
        let prev = self.tail;
        self.tail = index;
        match nodes.get_mut(prev.get()) {
            Some(node) => node.next = index,
            None => self.head = index,
        }
        prev
    }

    #[inline]
    fn unlink<V>(&mut self, nodes: &mut Nodes<V>, prev: NodeIndex, next: NodeIndex) {
        match nodes.get_mut(prev.get()) {
            Some(node) => node.next = next,
            None => self.head = next,
        }
        match nodes.get_mut(next.get()) {
            Some(node) => node.prev = prev,
            None => self.tail = prev,
        }
    }

    /// The nodes of the list, in order.
    fn iter<V>(self, nodes: &Nodes<V>) -> impl Iterator<Item = NodeIndex> + '_ {
        let mut next = self.head;
        core::iter::from_fn(move || {
            let index = next;
            next = nodes.get(index.get())?.next;
            Some(index)
        })
    }
}

/// The lists of a bucket, one for each lane: of one of levels 0 to 3 there are several, of a far rotation one.
///
/// Invariants: `len` is the number of timers in all lanes; a node is in the lane that follows from its index, and its
/// neighbours name it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Lanes<const LANES: usize> {
    ends: [Ends; LANES],
    len: u32,
}

impl<const LANES: usize> Lanes<LANES> {
    const EMPTY: Self = Self { ends: [Ends::EMPTY; LANES], len: 0 };

    /// The number of timers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Links a node at the end of its lane, and returns the node before it there.
    #[inline]
    fn append<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex) -> NodeIndex {
        self.len += 1;
        self.ends[index.get() % LANES].append(nodes, index)
    }

    #[inline]
    fn unlink<V>(&mut self, nodes: &mut Nodes<V>, index: NodeIndex, links: Links) {
        self.len -= 1;
        self.ends[index.get() % LANES].unlink(nodes, links.prev, links.next);
    }

    /// Checks every invariant of the bucket, and hands each node to `visit`.
    fn check<V>(&self, nodes: &Nodes<V>, place: Place, mut visit: impl FnMut(NodeIndex)) {
        let mut len = 0;
        for (lane, ends) in self.ends.iter().enumerate() {
            let mut prev = NodeIndex::NIL;
            for index in ends.iter(nodes) {
                let node = nodes.at(index.get());
                len += 1;
                assert!(len <= self.len, "a list does not run in a circle");
                assert!(index.get() % LANES == lane, "a node is in the lane that follows from its index");
                assert!(node.place == place, "a node in a list says which");
                assert!(node.prev == prev, "neighbours in a list name each other");
                prev = index;
                visit(index);
            }
            assert!(ends.tail == prev, "a list ends with its tail");
        }
        assert!(len == self.len, "the timers of a bucket are counted");
    }
}

/// Nodes that were taken from a bucket, at most [`BATCH`] of them.
pub(crate) struct Batch {
    indexes: [NodeIndex; BATCH],
    len: usize,
}

impl Batch {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { indexes: [NodeIndex::NIL; BATCH], len: 0 }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[NodeIndex] {
        &self.indexes[..self.len]
    }
}

/// The lists of all levels.
///
/// Invariants: a bit of `occupancy` is set if and only if the bucket holds timers; no far list is empty.
pub(crate) struct Lists<G> {
    buckets: Vec<Sentinels>,
    occupancy: Occupancy,
    far: BTreeMap<u64, Lanes<1>>,
    geometry: PhantomData<fn() -> G>,
}

impl<G> Clone for Lists<G> {
    fn clone(&self) -> Self {
        Self {
            buckets: self.buckets.clone(),
            occupancy: self.occupancy.clone(),
            far: self.far.clone(),
            geometry: PhantomData,
        }
    }
}

impl<G: Geometry> Lists<G> {
    pub(crate) fn new() -> Self {
        Self { buckets: Vec::new(), occupancy: Occupancy::default(), far: BTreeMap::new(), geometry: PhantomData }
    }

    /// Links a node at the end of a bucket of levels 0 to 3. Returns the node before it, and the timers of the bucket;
    /// the links of the node itself are the caller's to write. O(1).
    #[inline]
    pub(crate) fn append<V>(
        &mut self,
        nodes: &mut Nodes<V>,
        bucket: BucketIndex,
        index: NodeIndex,
    ) -> (NodeIndex, usize) {
        if bucket.get() >= self.buckets.len() {
            self.add_level_of(bucket);
        }
        let bucket = &mut self.buckets[bucket.get()];
        let prev = bucket.append(nodes, index);
        (prev, bucket.len())
    }

    /// As [`append`](Self::append), to a far rotation. O(log rotations).
    pub(crate) fn append_far<V>(
        &mut self,
        nodes: &mut Nodes<V>,
        rotation: u64,
        index: NodeIndex,
    ) -> (NodeIndex, usize) {
        let bucket = self.far.entry(rotation).or_insert(Lanes::EMPTY);
        let prev = bucket.append(nodes, index);
        (prev, bucket.len())
    }

    /// Unlinks a node from a bucket of levels 0 to 3, and returns the timers that are left there. O(1).
    #[inline]
    pub(crate) fn unlink<V>(
        &mut self,
        nodes: &mut Nodes<V>,
        bucket: BucketIndex,
        index: NodeIndex,
        links: Links,
    ) -> usize {
        let bucket = &mut self.buckets[bucket.get()];
        bucket.unlink(nodes, index, links);
        bucket.len()
    }

    /// As [`unlink`](Self::unlink), from a far rotation. O(log rotations).
    pub(crate) fn unlink_far<V>(
        &mut self,
        nodes: &mut Nodes<V>,
        rotation: u64,
        index: NodeIndex,
        links: Links,
    ) -> usize {
        let bucket = self.far.get_mut(&rotation);
        let bucket = bucket.expect("a far timer is in the list of its rotation");
        bucket.unlink(nodes, index, links);
        let left = bucket.len();
        if left == 0 {
            self.far.remove(&rotation);
        }
        left
    }

    /// Makes room for the levels up to that of a bucket.
    #[cold]
    fn add_level_of(&mut self, bucket: BucketIndex) {
        let (level, _) = Layout::<G>::level_and_index(bucket);
        let room = Layout::<G>::room_below(level + 1);
        self.buckets.reserve_exact(room - self.buckets.len());
        self.buckets.resize(room, Lanes::EMPTY);
        self.occupancy.add_levels(level + 1);
    }

    /// Takes note that a bucket of levels 0 to 3 has its first timer.
    pub(crate) fn set_occupied(&mut self, bucket: Bucket) {
        let index = Layout::<G>::index_on_level(bucket.level, bucket.number);
        self.occupancy.set(bucket.level, index);
    }

    /// Takes note that a bucket of levels 0 to 3 has lost its last timer.
    pub(crate) fn clear_occupied(&mut self, bucket: Bucket) {
        let index = Layout::<G>::index_on_level(bucket.level, bucket.number);
        self.occupancy.clear(bucket.level, index);
    }

    /// The sentinels of a bucket, and its timers.
    #[inline]
    fn get(&self, bucket: Bucket) -> (&[Ends], usize) {
        if bucket.level == FAR {
            let bucket = self.far.get(&bucket.number);
            return bucket.map_or((&[], 0), |bucket| (&bucket.ends, bucket.len()));
        }
        let bucket = self.buckets.get(Layout::<G>::index(bucket).get());
        bucket.map_or((&[], 0), |bucket| (&bucket.ends, bucket.len()))
    }

    /// The number of timers in a bucket. O(1), far O(log rotations).
    #[inline]
    pub(crate) fn len(&self, bucket: Bucket) -> usize {
        self.get(bucket).1
    }

    /// The nodes of a bucket, in no particular order.
    pub(crate) fn iter<'a, V>(&'a self, nodes: &'a Nodes<V>, bucket: Bucket) -> impl Iterator<Item = NodeIndex> + 'a {
        self.get(bucket).0.iter().flat_map(|ends| ends.iter(nodes))
    }

    /// Takes up to `most` nodes from a bucket, at most a batch of them. They are linked nowhere then. O(taken),
    /// far O(log rotations).
    pub(crate) fn take<V>(&mut self, nodes: &mut Nodes<V>, bucket: Bucket, most: usize, batch: &mut Batch) {
        batch.len = 0;
        let (lanes, len) = if bucket.level == FAR {
            let Some(list) = self.far.get_mut(&bucket.number) else {
                return;
            };
            (&mut list.ends[..], &mut list.len)
        } else {
            let list = &mut self.buckets[Layout::<G>::index(bucket).get()];
            (&mut list.ends[..], &mut list.len)
        };
        take_from(nodes, lanes, most.min(*len as usize), batch);
        *len -= batch.len as u32;
        if *len == 0 {
            if bucket.level == FAR {
                self.far.remove(&bucket.number);
            } else {
                self.clear_occupied(bucket);
            }
        }
    }

    /// The number of a level's first occupied bucket from one on. None that is occupied has a number
    /// below that of the cursor's. O(1), far O(log rotations).
    #[inline]
    pub(crate) fn first_from(&self, level: usize, number: u64, cursor: Tick) -> Option<u64> {
        if level == FAR {
            let mut rotations = self.far.range(number..);
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

    /// The number of occupied buckets of a level; all that is far counts as one.
    pub(crate) fn occupied(&self, level: usize) -> usize {
        if level == FAR {
            return usize::from(!self.far.is_empty());
        }
        self.occupancy.count(level)
    }

    /// The buckets of a level, by their indexes on it; none if it was never used, or is the far one.
    pub(crate) fn buckets_of(&self, level: usize) -> &[Sentinels] {
        let first = Layout::<G>::room_below(level);
        let buckets = self.buckets.get(first..first + Layout::<G>::room(level));
        buckets.unwrap_or_default()
    }

    /// The number of far timers. O(rotations).
    pub(crate) fn far_timers(&self) -> usize {
        self.far.values().map(|bucket| bucket.len()).sum()
    }

    /// The heap memory of the sentinels, in bytes. The map's is an estimate: its nodes are not to be
    /// looked into.
    pub(crate) fn bytes(&self) -> usize {
        self.buckets.capacity() * mem::size_of::<Sentinels>()
            + self.occupancy.bytes()
            + self.far.len() * 2 * mem::size_of::<(u64, Lanes<1>)>()
    }

    /// Gives back the sentinels of the levels above the highest that is occupied. O(buckets).
    pub(crate) fn shrink_to_fit(&mut self) {
        let highest = (0..LEVELS).rfind(|&level| self.occupied(level) != 0);
        let levels = highest.map_or(0, |highest| highest + 1);
        self.buckets.truncate(Layout::<G>::room_below(levels));
        self.buckets.shrink_to_fit();
        self.occupancy.truncate(levels);
    }

    /// Checks every invariant of the lists, and hands each timer and its bucket to `visit`.
    ///
    /// # Panics
    ///
    /// If an invariant is broken, with its name.
    pub(crate) fn check<V>(&self, nodes: &Nodes<V>, cursor: Tick, mut visit: impl FnMut(NodeIndex, Bucket)) {
        for (index, list) in self.buckets.iter().enumerate() {
            let index = BucketIndex::new(index);
            let (level, on_level) = Layout::<G>::level_and_index(index);
            assert!(
                self.occupancy.is_set(level, on_level) == (list.len != 0),
                "a bucket's bit is set if and only if it holds timers"
            );
            list.check(nodes, Place::bucket(index), |node| {
                visit(node, Layout::<G>::bucket(index, cursor));
            });
        }
        for (&number, list) in &self.far {
            assert!(list.len != 0, "no far list is empty");
            list.check(nodes, Place::FAR, |node| {
                let tick = Layout::<G>::tick(nodes.at(node.get()).deadline);
                assert!(Layout::<G>::number(FAR, tick) == number, "a far timer is in the list of its rotation");
                visit(node, Bucket { level: FAR, number });
            });
        }
    }
}

/// Takes `most` nodes off some lists, which hold at least as many: head and tail of each list in turn.
#[inline]
fn take_from<V>(nodes: &mut Nodes<V>, lanes: &mut [Ends], most: usize, batch: &mut Batch) {
    let most = most.min(BATCH);
    while batch.len < most {
        for ends in &mut *lanes {
            if ends.head == NodeIndex::NIL || batch.len == most {
                continue;
            }
            let head = ends.head;
            batch.indexes[batch.len] = head;
            batch.len += 1;
            if head == ends.tail {
                *ends = Ends::EMPTY;
                continue;
            }
            ends.head = nodes.at(head.get()).next;
            if batch.len == most {
                continue;
            }
            let tail = ends.tail;
            batch.indexes[batch.len] = tail;
            batch.len += 1;
            if ends.head == tail {
                *ends = Ends::EMPTY;
            } else {
                ends.tail = nodes.at(tail.get()).prev;
            }
        }
    }
    for ends in lanes {
        if ends.head != NodeIndex::NIL {
            nodes.at_mut(ends.head.get()).prev = NodeIndex::NIL;
            nodes.at_mut(ends.tail.get()).next = NodeIndex::NIL;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Millis;

    const BUCKET: Bucket = Bucket { level: 1, number: 7 };

    /// A bucket of `len` nodes.
    fn filled(len: usize, bucket: Bucket) -> (Lists<Millis>, Nodes<()>) {
        let (mut lists, mut nodes) = (Lists::new(), Nodes::new());
        for index in (0..len).map(NodeIndex::new) {
            nodes.push_any();
            let index_of = Layout::<Millis>::index(bucket);
            let (prev, count) = lists.append(&mut nodes, index_of, index);
            if count == 1 {
                lists.set_occupied(bucket);
            }
            nodes.at_mut(index.get()).link_behind(prev, Place::bucket(index_of));
        }
        (lists, nodes)
    }

    fn sorted(found: impl Iterator<Item = NodeIndex>) -> Vec<usize> {
        let mut found: Vec<usize> = found.map(NodeIndex::get).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn node_is_unlinked_at_the_head_the_tail_and_in_the_middle() {
        for out in [0, 4, 9, 13, 16] {
            let (mut lists, mut nodes) = filled(17, BUCKET);
            let index = NodeIndex::new(out);
            let links = nodes.at(out).links();
            let bucket = links.place.as_bucket().unwrap();
            assert_eq!(lists.unlink(&mut nodes, bucket, index, links), 16);
            lists.check(&nodes, Tick::ZERO, |_, _| {});
            let left = (0..17).filter(|&it| it != out);
            assert_eq!(sorted(lists.iter(&nodes, BUCKET)), Vec::from_iter(left));
        }
    }

    #[test]
    fn all_nodes_are_taken_once_however_few_at_a_time() {
        for level in [0, 1] {
            let bucket = Bucket { level, ..BUCKET };
            for most in [1, 2, 3, 5, 7, 64, 1_000] {
                let (mut lists, mut nodes) = filled(200, bucket);
                let (mut taken, mut batch) = (Vec::new(), Batch::new());
                while lists.len(bucket) != 0 {
                    lists.take(&mut nodes, bucket, most, &mut batch);
                    assert!((1..=most).contains(&batch.as_slice().len()));
                    taken.extend_from_slice(batch.as_slice());
                    lists.check(&nodes, Tick::ZERO, |_, _| {});
                }
                assert_eq!(sorted(taken.into_iter()), Vec::from_iter(0..200));
            }
        }
    }

    #[test]
    fn batch_begins_with_both_ends_of_every_lane() {
        let (mut lists, mut nodes) = filled(40, BUCKET);
        let mut batch = Batch::new();
        lists.take(&mut nodes, BUCKET, 8, &mut batch);
        let ends = [0, 1, 2, 3, 36, 37, 38, 39];
        assert_eq!(sorted(batch.as_slice().iter().copied()), ends);
    }

    #[test]
    fn sentinels_of_empty_levels_are_given_back() {
        let (mut lists, mut nodes) = filled(3, BUCKET);
        let far = Bucket { level: 3, number: 1 };
        nodes.push_any();
        let index = NodeIndex::new(3);
        let index_of = Layout::<Millis>::index(far);
        let (prev, _) = lists.append(&mut nodes, index_of, index);
        lists.set_occupied(far);
        nodes.at_mut(3).link_behind(prev, Place::bucket(index_of));
        let bytes = lists.bytes();
        lists.shrink_to_fit();
        assert_eq!(lists.bytes(), bytes, "the level is occupied");
        lists.take(&mut nodes, far, 1, &mut Batch::new());
        lists.shrink_to_fit();
        assert!(lists.bytes() < bytes * 2 / 3);
        lists.check(&nodes, Tick::ZERO, |_, _| {});
        assert_eq!(lists.len(BUCKET), 3);
    }
}
