//! The wheel proper: which timer is due when, without the timers' values.
//!
//! It knows timers by slot index and reads and writes their [`Header`]s wherever the owner keeps them
//! ([`Headers`]). It never sees a value, a generation or a key.
//!
//! [`Header`]: crate::header::Header

mod advance;
mod ahead;
mod check;
pub(crate) mod search;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use crate::blocks::Location;
use crate::buckets::Buckets;
use crate::geometry::{Bucket, FAR, Geometry, LEVELS, Layout, ListId, Tick};
use crate::header::{Header, Headers, Place, Sequence};
use crate::heap::{NearHeap, Ordered};
use crate::key::SlotIndex;

pub(crate) use self::advance::Due;

/// No time: later than every wake-up.
const NEVER: u64 = u64::MAX;

/// A hierarchical timer wheel over slots of somebody else's.
///
/// Every timer has exactly one entry:
///
/// - in the *list* of a bucket of levels 0 to 3, or of a far rotation;
/// - in the *near heap*, if it was due by the cursor's tick when it was placed, or its bucket has been opened
///   and sorted, or there are only a few timers, and no lists.
///
/// A tick belongs on the lowest level whose reach covers it. The reach of level *k* ends with the last
/// bucket of level *k + 1* that has been opened, which is the one that the cursor is in, or the next:
/// a crowded bucket, one of more than [`FEW`](Geometry::FEW) timers, is opened one bucket ahead of its
/// time, and its timers are moved down a few at a time until then.
///
/// A timer that is put off keeps its entry where it is until the old time comes. So an entry is never
/// in a later bucket than its timer, and that is all that exactness needs.
///
/// Invariants, checked by name in `check`:
///
/// - entries and headers point at each other;
/// - nothing in a bucket is due before the bucket's start, and no bucket starts before the cursor's;
/// - the numbers of a level's occupied buckets lie within two rotations from the cursor's on;
/// - `first` is the first occupied bucket, the coarser of two that start together;
/// - `wake` is no later than the next thing to be done.
pub(crate) struct Hierarchy<G> {
    /// The latest time that the owner has advanced to, in nanoseconds.
    now: u64,
    /// Nobody need advance before this. [`NEVER`] may mean that, or that there are no timers.
    wake: u64,
    /// An advance from this time on has buckets to enter or timers to move ahead, though nobody need
    /// be woken up for that.
    chores: u64,
    /// Whoever sleeps is to be woken up by then to move timers ahead.
    moves_due: u64,
    first: First,
    /// Placement is relative to this tick. It lags behind `now` while there is a backlog, and is ahead
    /// of it when the earliest timer was asked for before its time.
    cursor: Tick,
    /// For levels 1 to 4, the number of the first bucket that has not been opened.
    reach: [u64; LEVELS + 1],
    /// For levels 1 to 4, until when the share of the bucket ahead has been moved, in nanoseconds.
    moved_until: [u64; LEVELS + 1],
    next_sequence: u64,
    heap: NearHeap,
    buckets: Buckets<G>,
}

/// The first occupied bucket and when it starts, if there is one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct First {
    start: u64,
    bucket: Option<Bucket>,
}

impl First {
    #[inline]
    fn at<G: Geometry>(bucket: Option<Bucket>) -> Self {
        let start = bucket.map_or(NEVER, |it| Layout::<G>::start_ns(Layout::<G>::start(it)));
        Self { start, bucket }
    }
}

impl<G> Clone for Hierarchy<G> {
    fn clone(&self) -> Self {
        Self {
            heap: self.heap.clone(),
            buckets: self.buckets.clone(),
            ..*self
        }
    }
}

impl<G: Geometry> Hierarchy<G> {
    pub(crate) fn new(now: u64) -> Self {
        let () = Layout::<G>::CHECKED;
        let mut wheel = Self {
            now,
            wake: NEVER,
            chores: 0,
            moves_due: NEVER,
            first: First::at::<G>(None),
            cursor: Layout::<G>::tick(now),
            reach: [0; LEVELS + 1],
            moved_until: [0; LEVELS + 1],
            next_sequence: 0,
            heap: NearHeap::new(),
            buckets: Buckets::new(),
        };
        wheel.enter();
        wheel.refresh_moves();
        wheel
    }

    pub(crate) fn reserve(&mut self, timers: usize) {
        self.buckets.reserve(timers);
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The time before which no advance has anything to do; without meaning when empty.
    #[inline]
    pub(crate) fn wake(&self) -> u64 {
        self.wake
    }

    /// Schedules a timer that is not scheduled. O(1); O(log k) among the k timers of the near heap.
    #[inline]
    pub(crate) fn schedule<H: Headers>(&mut self, headers: &mut H, slot: SlotIndex, deadline: u64) {
        let sequence = self.next_sequence(headers);
        self.place(headers, Ordered::new(deadline, sequence, slot));
    }

    /// Schedules a timer again that was taken out, at the deadline and the place in the order that its
    /// header still holds. O(1); O(log k) among the k timers of the near heap.
    #[cfg(feature = "ttl")]
    pub(crate) fn put_back<H: Headers>(&mut self, headers: &mut H, slot: SlotIndex) {
        self.place(headers, Ordered::of(headers, slot));
    }

    /// Takes the entry of a slot out if it is where the slot's header has said, and answers whether it was.
    /// O(1), O(log k) from the near heap, O(log rotations) far.
    // Always: where two callers share a copy, a call takes a sixth more instructions.
    #[inline(always)]
    pub(crate) fn cancel<H: Headers>(
        &mut self,
        headers: &mut H,
        slot: SlotIndex,
        header: Header,
    ) -> bool {
        let doubted = (!H::IS_TRUE).then_some(slot);
        let (place, position) = (header.place, header.position);
        match place.as_bucket() {
            Some(index) => self.cancel_in_list(headers, ListId::Bucket(index), position, doubted),
            None => self.cancel_elsewhere(headers, place, position, header.deadline, doubted),
        }
    }

    #[inline]
    fn cancel_in_list<H: Headers>(
        &mut self,
        headers: &mut H,
        list: ListId,
        position: u32,
        doubted: Option<SlotIndex>,
    ) -> bool {
        let location = Location::from_position(position);
        let Some((moved, left)) = self.buckets.remove(list, location, doubted) else {
            return false;
        };
        if let Some((moved, from)) = moved {
            headers.moved(moved, Place::list(list), from.position(), position);
        }
        if left.ends_with_block() {
            self.block_freed(list, left.len());
        }
        true
    }

    #[inline(never)]
    fn cancel_elsewhere<H: Headers>(
        &mut self,
        headers: &mut H,
        place: Place,
        position: u32,
        deadline: u64,
        doubted: Option<SlotIndex>,
    ) -> bool {
        let is_held = match place {
            Place::HEAP | Place::RUN => {
                let is_held = doubted.is_none_or(|slot| self.heap.holds(place, position, slot));
                if is_held {
                    self.heap.remove(headers, place, position);
                }
                is_held
            }
            Place::FAR => {
                let rotation = Layout::<G>::number(FAR, Layout::<G>::tick(deadline));
                self.cancel_in_list(headers, ListId::Far(rotation), position, doubted)
            }
            _ => false,
        };
        self.refresh_wake();
        is_held
    }

    /// Puts a scheduled timer off, if that takes no more than writing it down. O(1).
    ///
    /// The entry of a timer with a later deadline stays in its bucket, is looked at when the old time
    /// comes, and placed again then. `false` if the timer must be [moved](Hierarchy::reschedule) instead.
    #[inline]
    pub(crate) fn postpone(&mut self, header: &mut Header, deadline: u64) -> bool {
        if header.place.as_bucket().is_none() || deadline < header.deadline {
            return false;
        }
        if self.next_sequence == Sequence::COUNT {
            return false;
        }
        header.deadline = deadline;
        header.set_sequence(Sequence::new(self.next_sequence));
        self.next_sequence += 1;
        true
    }

    /// Gives a scheduled timer a new deadline and moves its entry to where it belongs then. O(1),
    /// O(log k) in the near heap.
    pub(crate) fn reschedule<H: Headers>(
        &mut self,
        headers: &mut H,
        slot: SlotIndex,
        deadline: u64,
    ) {
        let header = *headers.header(slot);
        self.cancel(headers, slot, header);
        self.schedule(headers, slot, deadline);
    }

    /// The place in the order of the timer that is scheduled or rescheduled next. O(1), but for one
    /// renumbering in every 2^48 calls.
    #[inline]
    pub(crate) fn next_sequence<H: Headers>(&mut self, headers: &mut H) -> Sequence {
        if self.next_sequence >= Sequence::COUNT {
            self.renumber(headers);
        }
        let sequence = Sequence::new(self.next_sequence);
        self.next_sequence += 1;
        sequence
    }

    /// Places a timer that has no entry, and completes its header.
    #[inline]
    fn place<H: Headers>(&mut self, headers: &mut H, timer: Ordered) {
        let place = self.append_unless_near(headers, &timer);
        timer.complete(headers.header_mut(timer.slot), place);
        if place.is_none() {
            self.place_near(headers, timer.slot);
        }
    }

    /// Appends the entry of a timer where it belongs, unless that is the near heap.
    #[inline]
    pub(crate) fn append_unless_near<H: Headers>(
        &mut self,
        headers: &mut H,
        timer: &Ordered,
    ) -> Option<(Place, u32)> {
        let tick = Layout::<G>::tick(timer.deadline);
        if tick <= self.cursor {
            return None;
        }
        if self.first.bucket.is_none() && !self.begin_lists(headers) {
            return None;
        }
        Some(self.append(tick, timer.slot))
    }

    /// Gets ready for the first entry in a list, unless there are so few timers that none is needed.
    #[cold]
    fn begin_lists<H: Headers>(&mut self, headers: &mut H) -> bool {
        if self.heap.entries() < G::NEAR {
            return false;
        }
        // Without any lists nobody takes note of the buckets that time enters.
        self.enter();
        self.chores = 0;
        // Most of what lies in the heap and is not due soon follows: every timer that fires would have to be put in
        // order with it. But for the first, so that whoever sleeps until then need not be woken up for its bucket.
        for index in (1..self.heap.entries()).rev().take(G::NEAR) {
            let position = index as u32;
            let Some(timer) = self.heap.lone(index) else {
                continue;
            };
            let tick = Layout::<G>::tick(timer.deadline);
            if tick > self.cursor && headers.owns(timer.slot, Place::HEAP, position) {
                self.heap.remove(headers, Place::HEAP, position);
                let (place, position) = self.append(tick, timer.slot);
                headers.header_mut(timer.slot).set_place(place, position);
            }
        }
        true
    }

    /// Puts the entry of a timer whose header is complete but for that into the near heap.
    #[inline(never)]
    pub(crate) fn place_near<H: Headers>(&mut self, headers: &mut H, slot: SlotIndex) {
        let timer = Ordered::of(headers, slot);
        self.heap.push(headers, timer);
        self.wake = self.wake.min(timer.deadline);
    }

    /// Appends an entry to the list of the bucket where a tick after the cursor's belongs, and says where it
    /// is.
    #[inline]
    fn append(&mut self, tick: Tick, slot: SlotIndex) -> (Place, u32) {
        // Level by level, so that every shift is an immediate.
        let lies_on = |level: usize| Layout::<G>::number(level + 1, tick) < self.reach[level + 1];
        let index_on = |level: usize| {
            let number = Layout::<G>::number(level, tick);
            Layout::<G>::index(Bucket { level, number })
        };
        let index = if lies_on(0) {
            index_on(0)
        } else if lies_on(1) {
            index_on(1)
        } else if lies_on(2) {
            index_on(2)
        } else if lies_on(3) {
            index_on(3)
        } else {
            return self.append_any(ListId::Far(Layout::<G>::number(FAR, tick)), slot);
        };
        let id = ListId::Bucket(index);
        match self.buckets.append(index, slot) {
            Some(location) => (Place::list(id), location.position()),
            None => self.append_any(id, slot),
        }
    }

    #[inline(never)]
    fn append_any(&mut self, id: ListId, slot: SlotIndex) -> (Place, u32) {
        let (location, list) = self.buckets.append_any(id, slot);
        if location.begins_block() {
            self.block_added(Layout::<G>::bucket(id, self.cursor), list.len());
        }
        (Place::list(id), location.position())
    }

    /// Takes note that a bucket's list, which has so many entries now, has begun a block.
    fn block_added(&mut self, bucket: Bucket, len: usize) {
        if len == 1 {
            let added = First::at::<G>(Some(bucket));
            // One of the same start is coarser, half moved down, and stays the first; and none at all is as if it
            // started at `NEVER`, where the last tick of all may start too.
            if self.first.bucket.is_none() || added.start < self.first.start {
                self.first = added;
                self.wake = self.wake.min(added.start);
            }
        }
        if len > G::FEW && bucket.level != 0 {
            self.crowded(bucket, len);
        }
    }

    /// Takes note that a list, which has so many entries left, has freed a block.
    #[inline(never)]
    fn block_freed(&mut self, list: ListId, len: usize) {
        let bucket = Layout::<G>::bucket(list, self.cursor);
        if len == 0 && self.first.bucket == Some(bucket) {
            self.refresh_first();
        }
        // A crowd is none any longer, or the first of its level now that the bucket before it is empty.
        if (len == G::FEW || len == 0) && bucket.level != 0 {
            self.refresh_moves();
        }
        self.refresh_wake();
    }

    /// Takes note of the first occupied bucket. O(levels).
    fn refresh_first(&mut self) {
        // A coarser bucket begins no sooner than the next of level 1, unless it is half moved down.
        let number = Layout::<G>::number(0, self.cursor);
        let finest = self.buckets.first_from(0, number, self.cursor);
        let finest = finest.map(|number| Bucket { level: 0, number });
        let is_first = |it: &Bucket| {
            let of_level_1 = |tick| Layout::<G>::number(1, tick);
            of_level_1(Layout::<G>::start(*it)) == of_level_1(self.cursor)
        };
        let bucket = finest.filter(is_first).or_else(|| self.bucket_after(None));
        self.first = First::at::<G>(bucket);
    }

    /// Takes note of when there is work again. O(1).
    #[inline]
    fn refresh_wake(&mut self) {
        self.wake = self.first_ready().min(self.first.start).min(self.moves_due);
    }

    /// The earliest deadline in the near heap.
    #[inline]
    fn first_ready(&self) -> u64 {
        self.heap.first().map_or(NEVER, |near| near.deadline)
    }

    /// The first occupied bucket, or the first after the given one, in the order of their starts; of
    /// those that start together the coarser first. O(levels).
    fn bucket_after(&self, bucket: Option<Bucket>) -> Option<Bucket> {
        let mut next: Option<Bucket> = None;
        for level in (0..=FAR).rev() {
            let least = Layout::<G>::number(level, self.cursor);
            let from = bucket.map_or(Some(least), |last| {
                let number = Layout::<G>::number(level, Layout::<G>::start(last));
                Some(least.max(number.checked_add(u64::from(level >= last.level))?))
            });
            let number = from.and_then(|from| self.buckets.first_from(level, from, self.cursor));
            let Some(number) = number else {
                continue;
            };
            let found = Bucket { level, number };
            if next.is_none_or(|next| Layout::<G>::start(found) < Layout::<G>::start(next)) {
                next = Some(found);
            }
        }
        next
    }

    /// When a level's next occupied bucket falls due, if one is occupied. What is in no bucket counts
    /// as level 0. O(1).
    pub(crate) fn level_wake(&self, level: usize) -> Option<u64> {
        if level > FAR {
            return None;
        }
        let least = Layout::<G>::number(level, self.cursor);
        let number = self.buckets.first_from(level, least, self.cursor);
        let bucket = number
            .map(|number| Layout::<G>::start_ns(Layout::<G>::start(Bucket { level, number })));
        let ready = (level == 0 && self.ready() != 0).then(|| self.first_ready());
        [bucket, ready].into_iter().flatten().min()
    }

    /// The slots of all timers, in no particular order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = SlotIndex> {
        let near = self.heap.iter().map(|(.., near)| near.slot);
        near.chain(self.buckets.iter())
    }

    /// One of the timers, whichever is at hand. O(1).
    pub(crate) fn any(&self) -> Option<SlotIndex> {
        let near = self.heap.last().map(|near| near.slot);
        let listed = || {
            self.buckets
                .slices(self.first.bucket?)
                .next()?
                .last()
                .copied()
        };
        near.or_else(listed)
    }

    /// The slots of timers that fire next, if a run of them does; in order.
    #[cfg(feature = "ttl")]
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = SlotIndex> {
        self.heap.upcoming().map(|timer| timer.slot)
    }

    /// Renumbers all timers in their present order, to make room for another 2^48 sequence numbers.
    /// O(n log n).
    #[cold]
    fn renumber<H: Headers>(&mut self, headers: &mut H) {
        let mut slots: Vec<SlotIndex> = self.slots().collect();
        sort_by_sequence(&mut slots, &|slot| headers.header(slot).sequence());
        self.next_sequence = 0;
        for slot in slots {
            let sequence = Sequence::new(self.next_sequence);
            headers.header_mut(slot).set_sequence(sequence);
            self.next_sequence += 1;
        }
        self.heap.renumber(headers);
    }

    /// Leaves at most `left` sequence numbers before the next renumbering, so that a test need not take
    /// 2^48 of them.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn exhaust_sequence(&mut self, left: u64) {
        self.next_sequence = self.next_sequence.max(Sequence::COUNT - left);
    }

    /// Forgets every entry, keeping the clock, the sequence and the memory of the blocks.
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
        self.buckets.clear();
        self.first = First::at::<G>(None);
        self.wake = NEVER;
        self.refresh_moves();
    }

    /// Packs the entries into as little memory as they need. O(n).
    pub(crate) fn shrink_to_fit<H: Headers>(&mut self, headers: &mut H) {
        self.heap.shrink_to_fit(headers);
        self.buckets.shrink_to_fit(headers);
    }

    /// The lists of all levels.
    pub(crate) fn buckets(&self) -> &Buckets<G> {
        &self.buckets
    }

    /// The index on a level of the bucket that the cursor is in.
    pub(crate) fn cursor_on(&self, level: usize) -> usize {
        Layout::<G>::index_on_level(level, Layout::<G>::number(level, self.cursor))
    }

    /// Timers that are in no list.
    pub(crate) fn ready(&self) -> usize {
        self.heap.len()
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.heap.bytes() + self.buckets.bytes()
    }
}

/// Behind a pointer, so that this is compiled once and not for each geometry and each store of headers.
#[cold]
fn sort_by_sequence(slots: &mut [SlotIndex], sequence: &dyn Fn(SlotIndex) -> Sequence) {
    slots.sort_unstable_by_key(|&slot| sequence(slot));
}
