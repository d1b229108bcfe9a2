//! Where every timer is filed and when it is due: the wheel proper, without the timers' values.
//!
//! The filing knows timers by slot index and reads and writes their [`Card`]s wherever the owner
//! keeps them ([`Cards`]). It never sees a value, a generation or a key, so that an index-only
//! wheel, for a cache with a slab of its own, needs no second copy of it.

pub(crate) mod blocks;
pub(crate) mod card;
pub(crate) mod due_run;

pub(crate) mod search;

mod advance;
mod check;
mod rank_sort;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use self::blocks::{Blocks, Entry, Location, Removal, Sentinel};
use self::card::{Card, Cards, NOWHERE, Order};
use self::due_run::{DUE, DueRun};
use crate::geometry::{BucketIndex, Geometry, Layout, OVERFLOW_LEVEL, Placement, Tick};
use crate::key::SlotIndex;
use crate::occupancy::Occupancy;

/// No time: later than every wake-up.
const NEVER: u64 = u64::MAX;

/// Files timers by deadline.
///
/// Four kinds of place hold a timer's entry:
///
/// - a *bucket* of levels 0 to 3, for ticks after the cursor's in its rotation of the top level;
/// - the *overflow* bucket, for later rotations. It is one of a pair: while one is emptied into
///   the levels, what still lies beyond goes to the other;
/// - the *arrivals*, for timers scheduled into the cursor's tick or before it;
/// - the *due run*, for timers of the cursor's tick or before it that an advance has collected.
///
/// Invariants, checked by name in `check`:
///
/// - every filed card has exactly one entry and knows where it is;
/// - an occupancy bit is set if and only if its bucket holds entries;
/// - nothing on the levels lies before the cursor, or in a bucket of the cursor's own digits,
///   but for the bucket that is being emptied (`opened`);
/// - `wake` is no later than the next thing to be done.
pub(crate) struct Filing<G> {
    /// The latest time that the owner has advanced to, in nanoseconds.
    now: u64,
    /// No advance to a time before this has anything to do. [`NEVER`] may mean that, or that the
    /// filing is empty.
    wake: u64,
    /// The tick that placement is relative to. It lags behind `now` while there is a backlog.
    cursor: Tick,
    next_sequence: u64,
    buckets: Box<[Sentinel]>,
    occupancy: Occupancy,
    blocks: Blocks,
    due: DueRun,
    /// The bucket that is being emptied, or [`NOWHERE`].
    opened: BucketIndex,
    /// The one of the overflow pair that takes new timers.
    overflow: BucketIndex,
    /// No timer in that bucket is due before this.
    overflow_floor: u64,
    /// No arrival is due before this.
    arrivals_floor: u64,
    /// The number of timers that were put off to a later tick than their entry's.
    postponed: u32,
    geometry: PhantomData<fn() -> G>,
}

impl<G> Clone for Filing<G> {
    fn clone(&self) -> Self {
        Self {
            buckets: self.buckets.clone(),
            occupancy: self.occupancy.clone(),
            blocks: self.blocks.clone(),
            due: self.due.clone(),
            ..*self
        }
    }
}

impl<G: Geometry> Filing<G> {
    const OVERFLOW: [BucketIndex; 2] = [
        BucketIndex::new(Layout::<G>::BUCKETS as u16),
        BucketIndex::new(Layout::<G>::BUCKETS as u16 + 1),
    ];
    const ARRIVALS: BucketIndex = BucketIndex::new(Layout::<G>::BUCKETS as u16 + 2);
    const LISTS: usize = Layout::<G>::BUCKETS + 3;

    pub(crate) fn new(now: u64) -> Self {
        Self {
            now,
            wake: NEVER,
            cursor: Layout::<G>::tick(now),
            next_sequence: 0,
            buckets: vec![Sentinel::EMPTY; Self::LISTS].into_boxed_slice(),
            occupancy: Occupancy::default(),
            blocks: Blocks::default(),
            due: DueRun::default(),
            opened: NOWHERE,
            overflow: Self::OVERFLOW[0],
            overflow_floor: NEVER,
            arrivals_floor: NEVER,
            postponed: 0,
            geometry: PhantomData,
        }
    }

    pub(crate) fn reserve(&mut self, timers: usize) {
        self.blocks.reserve(timers);
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Moves the clock, never backwards.
    #[inline]
    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// The time before which no advance has anything to do; without meaning when empty.
    #[inline]
    pub(crate) fn wake(&self) -> u64 {
        self.wake
    }

    /// Files a timer and completes its card. O(1).
    #[inline]
    pub(crate) fn file(&mut self, card: &mut Card, slot: SlotIndex) {
        (card.bucket, card.location) = self.place(card.deadline, slot);
    }

    /// The order of the timer that is scheduled or rescheduled next. O(1), but for one
    /// renumbering in every 2^47 calls.
    #[inline]
    pub(crate) fn next_order<C: Cards>(&mut self, cards: &mut C) -> Order {
        if self.next_sequence == Order::SEQUENCES {
            self.renumber(cards);
        }
        let order = Order::filed(self.next_sequence);
        self.next_sequence += 1;
        order
    }

    /// Puts a filed timer off, if that takes no more than writing it down. O(1).
    ///
    /// The entry of a timer with a later deadline stays where it is, is visited at its old time,
    /// and filed again then. `false` if the timer must be [refiled](Filing::refile) instead.
    #[inline]
    pub(crate) fn postpone(&mut self, card: &mut Card, deadline: u64, order: Order) -> bool {
        if deadline < card.deadline || card.bucket == DUE {
            return false;
        }
        let was = card.order().postponed();
        let moves_on = Layout::<G>::tick(deadline) != Layout::<G>::tick(card.deadline);
        let is = was | u64::from(moves_on);
        card.deadline = deadline;
        card.set_order(order.marked(is));
        self.postponed += (is - was) as u32;
        true
    }

    /// Gives a filed timer a new deadline and order, and moves its entry to where it belongs then.
    /// O(1), amortized in the due run.
    pub(crate) fn refile<C: Cards>(
        &mut self,
        cards: &mut C,
        slot: SlotIndex,
        deadline: u64,
        order: Order,
    ) {
        let card = cards.card_mut(slot);
        if card.bucket == Self::ARRIVALS && Layout::<G>::tick(deadline) <= self.cursor {
            // Still an arrival: only the earliest time to look at the arrivals may change.
            self.postponed -= card.order().postponed() as u32;
            card.deadline = deadline;
            card.set_order(order);
            self.arrivals_floor = self.arrivals_floor.min(deadline);
            self.wake = self.wake.min(deadline);
            return;
        }
        let was = *card;
        card.bucket = NOWHERE;
        self.withdraw(cards, &was);
        let card = cards.card_mut(slot);
        card.deadline = deadline;
        card.set_order(order);
        self.file(card, slot);
    }

    /// Takes out the entry of a timer whose card was `was`, and says [`NOWHERE`] now. O(1),
    /// amortized in the due run.
    #[inline]
    pub(crate) fn withdraw<C: Cards>(&mut self, cards: &mut C, was: &Card) {
        self.postponed -= was.order().postponed() as u32;
        if was.bucket == DUE {
            self.withdraw_due(cards);
            return;
        }
        let list = &mut self.buckets[was.bucket.get()];
        let (moved, removal) = self.blocks.remove(list, was.location);
        cards.card_mut(moved.slot).location = was.location;
        if removal == Removal::Emptied {
            self.bucket_emptied(was.bucket);
        }
    }

    #[cold]
    fn withdraw_due<C: Cards>(&mut self, cards: &mut C) {
        self.due.remove(cards);
        self.refresh_wake();
    }

    /// Appends an entry for a timer to the list where its deadline belongs.
    #[inline]
    fn place(&mut self, deadline: u64, slot: SlotIndex) -> (BucketIndex, Location) {
        let tick = Layout::<G>::tick(deadline);
        let bucket = match Layout::<G>::place(tick, self.cursor) {
            Placement::Bucket(bucket) => bucket,
            Placement::Due => {
                self.arrivals_floor = self.arrivals_floor.min(deadline);
                self.wake = self.wake.min(deadline);
                Self::ARRIVALS
            }
            Placement::Overflow => {
                self.lower_overflow_floor(deadline);
                self.overflow
            }
        };
        let entry = Entry {
            tick: tick.low(),
            slot,
        };
        (bucket, self.append(bucket, entry))
    }

    fn lower_overflow_floor(&mut self, deadline: u64) {
        if deadline <= self.overflow_floor {
            self.overflow_floor = deadline;
            self.wake = self.wake.min(self.overflow_start());
        }
    }

    #[inline]
    fn append(&mut self, bucket: BucketIndex, entry: Entry) -> Location {
        match self.blocks.append(&mut self.buckets[bucket.get()], entry) {
            Ok(location) => location,
            Err(_) => self.append_block(bucket, entry),
        }
    }

    #[inline(never)]
    fn append_block(&mut self, bucket: BucketIndex, entry: Entry) -> Location {
        if self.buckets[bucket.get()].is_empty() && bucket.get() < Layout::<G>::BUCKETS {
            let (level, digit) = Layout::<G>::level_and_digit(bucket);
            self.occupancy.set(level, digit);
            self.wake = self.wake.min(self.start_ns(level, digit));
        }
        self.blocks
            .append_block(&mut self.buckets[bucket.get()], entry)
    }

    /// Takes note that a list has lost its last entry.
    #[inline(never)]
    fn bucket_emptied(&mut self, bucket: BucketIndex) {
        if bucket == Self::ARRIVALS {
            self.arrivals_floor = NEVER;
        } else if bucket == self.overflow {
            self.overflow_floor = NEVER;
        } else if bucket.get() < Layout::<G>::BUCKETS {
            let (level, digit) = Layout::<G>::level_and_digit(bucket);
            self.occupancy.clear(level, digit);
        }
        if bucket == self.opened {
            self.opened = NOWHERE;
        }
        self.refresh_wake();
    }

    #[inline]
    fn start_ns(&self, level: usize, digit: usize) -> u64 {
        Layout::<G>::start_ns(Layout::<G>::bucket_start(level, digit, self.cursor))
    }

    /// When the overflow bucket is next due: at the start of the rotation of its earliest timer.
    fn overflow_start(&self) -> u64 {
        Layout::<G>::start_ns(Layout::<G>::rotation_start(Layout::<G>::tick(
            self.overflow_floor,
        )))
    }

    /// Takes note of when there is work again.
    pub(crate) fn refresh_wake(&mut self) {
        self.wake = self.earliest_work().unwrap_or(NEVER);
    }

    /// The earliest time at which an advance has something to do, if ever. O(levels).
    pub(crate) fn earliest_work(&self) -> Option<u64> {
        if self.opened != NOWHERE {
            return Some(0);
        }
        let due = self.due.head().map(|head| head.deadline);
        let current = [due, self.arrivals_wake()].into_iter().flatten().min();
        current.or_else(|| self.first_bucket().map(|(start, _)| start))
    }

    /// The first occupied bucket, the overflow included, and when it falls due. O(levels).
    fn first_bucket(&self) -> Option<(u64, BucketIndex)> {
        if let Some((level, digit)) = self.occupancy.first() {
            return Some((
                self.start_ns(level, digit),
                Layout::<G>::bucket(level, digit),
            ));
        }
        let is_empty = self.buckets[self.overflow.get()].is_empty();
        (!is_empty).then(|| (self.overflow_start(), self.overflow))
    }

    fn arrivals_wake(&self) -> Option<u64> {
        let is_empty = self.buckets[Self::ARRIVALS.get()].is_empty();
        (!is_empty).then_some(self.arrivals_floor)
    }

    /// When a level's next occupied bucket falls due, if one is occupied; the cursor's own tick
    /// counts as level 0.
    pub(crate) fn level_wake(&self, level: usize) -> Option<u64> {
        if level == OVERFLOW_LEVEL {
            let spare = Self::OVERFLOW.iter().find(|&&list| list != self.overflow);
            if spare.is_some_and(|list| !self.buckets[list.get()].is_empty()) {
                return Some(self.now);
            }
            return (!self.buckets[self.overflow.get()].is_empty()).then(|| self.overflow_start());
        }
        if level > OVERFLOW_LEVEL {
            return None;
        }
        let bucket = self
            .occupancy
            .lowest_in(level)
            .map(|digit| self.start_ns(level, digit));
        if level != 0 {
            return bucket;
        }
        let due = self.due.head().map(|head| head.deadline);
        [due, self.arrivals_wake(), bucket]
            .into_iter()
            .flatten()
            .min()
    }

    /// Renumbers all timers in their present order, to make room for another 2^47 sequence
    /// numbers. O(n log n).
    #[cold]
    fn renumber<C: Cards>(&mut self, cards: &mut C) {
        let mut slots: Vec<SlotIndex> = cards.filed().collect();
        slots.sort_unstable_by_key(|&slot| cards.card(slot).order());
        let due: Vec<SlotIndex> = self.due.slots(cards).collect();
        self.next_sequence = 0;
        for slot in slots {
            let card = cards.card_mut(slot);
            let order = Order::filed(self.next_sequence);
            card.set_order(order.marked(card.order().postponed()));
            self.next_sequence += 1;
        }
        self.due.clear();
        for slot in due {
            let card = cards.card(slot);
            self.due.insert(card.deadline, card.order(), slot);
        }
    }

    /// Starts the sequence numbers at `sequence`, so that a test need not take 2^47 of them.
    #[cfg(test)]
    pub(crate) fn set_next_sequence(&mut self, sequence: u64) {
        self.next_sequence = sequence;
    }

    /// Forgets every entry, keeping the clock, the sequence and the memory of the blocks.
    pub(crate) fn clear(&mut self) {
        self.buckets.fill(Sentinel::EMPTY);
        self.occupancy = Occupancy::default();
        self.blocks.clear();
        self.due.clear();
        self.opened = NOWHERE;
        self.overflow_floor = NEVER;
        self.arrivals_floor = NEVER;
        self.postponed = 0;
        self.wake = NEVER;
        self.cursor = self.cursor.max(Layout::<G>::tick(self.now));
    }

    /// Packs all entries into as few blocks as they need and gives back the rest. O(n).
    pub(crate) fn shrink_to_fit<C: Cards>(&mut self, cards: &mut C) {
        self.due.shrink_to_fit(cards);
        let entries = self
            .buckets
            .iter()
            .map(|&list| self.blocks.room(list))
            .sum();
        let old = core::mem::replace(&mut self.blocks, Blocks::with_capacity(entries));
        for index in 0..self.buckets.len() {
            let list = core::mem::replace(&mut self.buckets[index], Sentinel::EMPTY);
            for &entry in old.slices(list).flatten() {
                let list = &mut self.buckets[index];
                let location = self
                    .blocks
                    .append(list, entry)
                    .unwrap_or_else(|_| self.blocks.append_block(list, entry));
                cards.card_mut(entry.slot).location = location;
            }
        }
    }

    /// The number of postponed timers.
    pub(crate) fn postponed(&self) -> usize {
        self.postponed as usize
    }

    /// Entries in the due run, the stale ones included.
    pub(crate) fn due_len(&self) -> usize {
        self.due.len()
    }

    /// The number of blocks in lists.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of occupied buckets of a level, the overflow level included.
    pub(crate) fn occupied(&self, level: usize) -> usize {
        if level == OVERFLOW_LEVEL {
            return usize::from(
                Self::OVERFLOW
                    .iter()
                    .any(|list| !self.buckets[list.get()].is_empty()),
            );
        }
        self.occupancy.count(level)
    }

    /// The heap memory of the filing, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.buckets) + self.blocks.bytes() + self.due.bytes()
    }
}
