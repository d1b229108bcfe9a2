//! Where every timer is filed and when it is due: the wheel proper, without the timers' values.
//!
//! The filing knows timers by slot index and reads and writes their [`Card`]s wherever the owner
//! keeps them ([`Cards`]). It never sees a value, a generation or a key, so that an index-only
//! wheel, for a cache with a slab of its own, needs no second copy of it.

pub(crate) mod blocks;
pub(crate) mod card;
pub(crate) mod due_run;
pub(crate) mod place;

pub(crate) mod search;
pub(crate) mod shape;

mod advance;
mod check;
mod rank_sort;
mod sweep;

#[cfg(test)]
mod deck;
#[cfg(test)]
mod tests;

use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use self::blocks::{BLOCK, Blocks, Entry, Sentinel};
use self::card::{Card, Cards, Filed, Order};
use self::due_run::DueRun;
use self::place::{Kind, Place};
use self::sweep::Sweep;
use crate::geometry::{
    APART, BucketIndex, Geometry, LEVELS, Layout, OVERFLOW_LEVEL, Placement, Tick,
};
use crate::key::SlotIndex;
use crate::occupancy::Occupancy;

/// No time: later than every wake-up.
const NEVER: u64 = u64::MAX;

/// No bucket.
const NO_BUCKET: BucketIndex = BucketIndex::new(u16::MAX);

/// Files timers by deadline.
///
/// Four kinds of place hold a timer's entry:
///
/// - a *bucket* of levels 0 to 3, for ticks after the cursor's in its rotation of the top level;
/// - the *overflow* bucket, for later rotations. It is one of a pair: while one is emptied into
///   the levels, what still lies beyond goes to the other;
/// - the *arrivals*, for timers scheduled into the cursor's tick or before it;
/// - the *due run*, for timers of the cursor's tick or before it that an advance has collected, and
///   for those of a sparse bucket, collected early.
///
/// A timer that is cancelled, or moved to an earlier time, leaves its entry behind. The entry is
/// stale then: counted by its list, passed over by whoever comes by, and swept up when there are
/// too many of them. That way a cancel touches one slot and one counter. Since every list counts
/// its timers, none looks occupied for the sake of stale entries.
///
/// Invariants, checked by name in `check`:
///
/// - every filed card has an entry in the list where it is looked for;
/// - every list counts its timers and its stale entries, and has no entry without a timer;
/// - an occupancy bit is set if and only if its bucket holds timers;
/// - nothing on the levels lies before the cursor, or in a bucket of the cursor's own digits,
///   but for the bucket that is being emptied (`opened`);
/// - `wake` is no later than the next thing to be done.
pub(crate) struct Filing<G> {
    /// The latest time that the owner has advanced to, in nanoseconds.
    now: u64,
    /// No advance to a time before this has anything to do. [`NEVER`] may mean that, or that the
    /// filing is empty.
    wake: u64,
    /// No bucket of the levels nor the overflow is due before this.
    first_start: u64,
    /// The tick that placement is relative to. It lags behind `now` while there is a backlog.
    cursor: Tick,
    next_sequence: u64,
    /// The lists that are on no level and those of the levels, up to the highest that was used.
    lists: Vec<Sentinel>,
    occupancy: Occupancy,
    blocks: Blocks,
    due: DueRun,
    /// The bucket that is being emptied, or [`NO_BUCKET`].
    opened: BucketIndex,
    /// The one of the overflow pair that takes new timers.
    overflow: BucketIndex,
    /// No timer in that bucket is due before this.
    overflow_floor: u64,
    /// No arrival is due before this.
    arrivals_floor: u64,
    /// The number of timers that were put off to a later tick than their entry's.
    postponed: u32,
    /// The number of stale entries in all lists.
    stale: u32,
    sweep: Sweep,
    /// Whether stale entries are to be swept before more is filed.
    is_sweeping: bool,
    geometry: PhantomData<fn() -> G>,
}

impl<G> Clone for Filing<G> {
    fn clone(&self) -> Self {
        Self {
            lists: self.lists.clone(),
            occupancy: self.occupancy.clone(),
            blocks: self.blocks.clone(),
            due: self.due.clone(),
            ..*self
        }
    }
}

impl<G: Geometry> Filing<G> {
    const ARRIVALS: BucketIndex = BucketIndex::new(0);
    const OVERFLOW: [BucketIndex; 2] = [BucketIndex::new(1), BucketIndex::new(2)];

    pub(crate) fn new(now: u64) -> Self {
        let () = Layout::<G>::CHECKED;
        Self {
            now,
            wake: NEVER,
            first_start: NEVER,
            cursor: Layout::<G>::tick(now),
            next_sequence: 0,
            lists: vec![Sentinel::EMPTY; APART as usize],
            occupancy: Occupancy::default(),
            blocks: Blocks::new(),
            due: DueRun::default(),
            opened: NO_BUCKET,
            overflow: Self::OVERFLOW[0],
            overflow_floor: NEVER,
            arrivals_floor: NEVER,
            postponed: 0,
            stale: 0,
            sweep: Sweep::NONE,
            is_sweeping: false,
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
        let tick = Layout::<G>::tick(card.deadline);
        let entry = Entry {
            tick: tick.low(),
            slot,
        };
        card.filed = entry.tick;
        match Layout::<G>::place(tick, self.cursor) {
            Placement::Bucket(bucket, level) => {
                card.place = Place::filed(Kind::level(level));
                self.append(bucket, entry);
            }
            apart => card.place = self.file_apart(apart, card.deadline, entry),
        }
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
        if deadline < card.deadline || card.place.is_due() {
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

    /// [Refiles](Filing::refile) a timer of a level, if no card but its own has to be looked at for
    /// that; otherwise `false`, and nothing has changed. O(1).
    #[inline]
    pub(crate) fn refile_alone(
        &mut self,
        card: &mut Card,
        slot: SlotIndex,
        deadline: u64,
        order: Order,
    ) -> bool {
        let was = card.filed();
        match self.bucket_on_level(was) {
            Some(bucket) if self.lists[bucket.get()].live > 1 => {
                self.postponed -= u32::from(was.postponed);
                self.leave(bucket);
                card.deadline = deadline;
                card.set_order(order);
                self.file(card, slot);
                true
            }
            _ => false,
        }
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
        if card.place.reaches(Self::kind(Self::ARRIVALS))
            && Layout::<G>::tick(deadline) <= self.cursor
        {
            // Still an arrival: only the earliest time to look at the arrivals may change.
            self.postponed -= card.order().postponed() as u32;
            card.deadline = deadline;
            card.set_order(order);
            self.arrivals_floor = self.arrivals_floor.min(deadline);
            self.wake = self.wake.min(deadline);
            return;
        }
        let was = card.filed();
        card.place = Place::NOWHERE;
        self.withdraw(cards, was);
        if self.is_sweeping() {
            self.sweep(cards);
        }
        let card = cards.card_mut(slot);
        card.deadline = deadline;
        card.set_order(order);
        self.file(card, slot);
    }

    /// Takes note that a timer, whose card says [`Place::NOWHERE`] now, has left its entry. O(1),
    /// amortized in the due run.
    #[inline]
    pub(crate) fn withdraw<C: Cards>(&mut self, cards: &mut C, was: Filed) {
        self.postponed -= u32::from(was.postponed);
        if was.place.is_due() {
            self.withdraw_due(cards);
            return;
        }
        let bucket = self.bucket_of(was);
        if self.leave(bucket) == 0 {
            self.bucket_emptied(cards, bucket);
        }
    }

    /// Takes note that a timer has left its entry in a list, and says how many are left there.
    #[inline]
    fn leave(&mut self, bucket: BucketIndex) -> u32 {
        let list = &mut self.lists[bucket.get()];
        list.live -= 1;
        list.stale.add_one();
        self.stale += 1;
        list.live
    }

    #[cold]
    fn withdraw_due<C: Cards>(&mut self, cards: &mut C) {
        self.due.remove(cards);
        self.refresh_wake(cards);
    }

    /// The bucket that holds the entry of a timer that is in a list. O(1).
    ///
    /// On the levels that is where the entry would be filed now, as seen from the cursor: an entry
    /// moves down when the cursor comes to its bucket, and not before.
    #[inline]
    fn bucket_of(&self, was: Filed) -> BucketIndex {
        match self.bucket_on_level(was) {
            Some(bucket) => bucket,
            None => self.bucket_apart(was),
        }
    }

    #[inline]
    fn bucket_on_level(&self, was: Filed) -> Option<BucketIndex> {
        if was.place.is_on_level() && self.opened == NO_BUCKET {
            Layout::<G>::place_low(was.tick, self.cursor.low())
        } else {
            None
        }
    }

    /// As [`Filing::bucket_of`], for a timer that is on no level, and while a bucket is open.
    #[cold]
    fn bucket_apart(&self, was: Filed) -> BucketIndex {
        let kind = was.place.kind();
        if let Err(apart) = kind.level_or_apart() {
            return BucketIndex::new(apart as u16);
        }
        let below = Layout::<G>::place_low(was.tick, self.cursor.low());
        // The cursor stands at the start of the opened bucket. What belongs there as seen from it
        // has been moved down, unless it was filed at least as high up.
        match below {
            Some(bucket)
                if !Layout::<G>::is_on_level(self.opened)
                    || Layout::<G>::level(bucket) >= Layout::<G>::level(self.opened)
                    || !was.place.reaches(Self::kind(self.opened)) =>
            {
                bucket
            }
            _ => self.opened,
        }
    }

    /// The kind of list that a bucket is.
    #[inline]
    fn kind(bucket: BucketIndex) -> Kind {
        if bucket.get() < usize::from(APART) {
            Kind::apart(bucket.get())
        } else {
            Kind::level(Layout::<G>::level(bucket))
        }
    }

    /// Files an entry that belongs on no level, and says where it is.
    #[inline(never)]
    fn file_apart(&mut self, placement: Placement, deadline: u64, entry: Entry) -> Place {
        let bucket = if placement == Placement::Overflow {
            self.lower_overflow_floor(deadline);
            self.overflow
        } else {
            self.arrivals_floor = self.arrivals_floor.min(deadline);
            self.wake = self.wake.min(deadline);
            Self::ARRIVALS
        };
        self.append(bucket, entry);
        Place::filed(Self::kind(bucket))
    }

    fn lower_overflow_floor(&mut self, deadline: u64) {
        if deadline <= self.overflow_floor {
            self.overflow_floor = deadline;
            self.bucket_begins(self.overflow_start());
        }
    }

    /// Appends the entry of a timer to a list.
    #[inline]
    fn append(&mut self, bucket: BucketIndex, entry: Entry) {
        if let Some(list) = self.lists.get_mut(bucket.get()) {
            list.live += 1;
            if self.blocks.append(list, entry).is_ok() {
                return;
            }
        }
        self.append_block(bucket, entry);
    }

    /// Goes on where [`Filing::append`] found no room.
    #[inline(never)]
    fn append_block(&mut self, bucket: BucketIndex, entry: Entry) {
        if bucket.get() >= self.lists.len() {
            let lists = Layout::<G>::buckets_below(Layout::<G>::level(bucket) + 1);
            self.lists.reserve_exact(lists - self.lists.len());
            self.lists.resize(lists, Sentinel::EMPTY);
            self.lists[bucket.get()].live = 1;
        }
        let list = &mut self.lists[bucket.get()];
        if list.is_empty() && Layout::<G>::is_on_level(bucket) {
            let (level, digit) = Layout::<G>::level_and_digit(bucket);
            self.occupancy.set(level, digit);
            self.bucket_begins(self.start_ns(level, digit));
        }
        self.blocks
            .append_block(&mut self.lists[bucket.get()], entry);
        if self.blocks.is_used_up() {
            self.growth_is_next();
        }
    }

    /// Takes note of a bucket that is due at `start`.
    fn bucket_begins(&mut self, start: u64) {
        self.first_start = self.first_start.min(start);
        self.wake = self.wake.min(start);
    }

    /// Takes note that a list has lost its last timer.
    #[inline(never)]
    fn bucket_emptied<C: Cards>(&mut self, cards: &C, bucket: BucketIndex) {
        self.give_up(bucket);
        if bucket == Self::ARRIVALS {
            self.arrivals_floor = NEVER;
        } else if bucket == self.overflow {
            self.overflow_floor = NEVER;
        }
        if bucket == self.opened {
            self.opened = NO_BUCKET;
        }
        self.refresh_first_start();
        self.refresh_wake(cards);
    }

    /// Forgets what is left in a list, none of it alive. O(1).
    fn give_up(&mut self, bucket: BucketIndex) {
        let list = &mut self.lists[bucket.get()];
        debug_assert!(list.live == 0, "only a list without timers is given up");
        self.stale -= list.stale.count();
        self.blocks.give_up(list);
        self.sweep.forget(bucket);
        if Layout::<G>::is_on_level(bucket) {
            let (level, digit) = Layout::<G>::level_and_digit(bucket);
            self.occupancy.clear(level, digit);
        }
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

    /// Takes note of when the first bucket is due.
    fn refresh_first_start(&mut self) {
        self.first_start = self.first_bucket().map_or(NEVER, |(start, _)| start);
    }

    /// Takes note of when there is work again.
    pub(crate) fn refresh_wake<C: Cards>(&mut self, cards: &C) {
        self.wake = self.earliest_work(cards).unwrap_or(NEVER);
    }

    /// The earliest time at which an advance has something to do, if ever. O(levels).
    pub(crate) fn earliest_work<C: Cards>(&self, cards: &C) -> Option<u64> {
        if self.opened != NO_BUCKET {
            return Some(0);
        }
        let due = self.due.head(cards).map(|head| head.deadline);
        let bucket = self.first_bucket().map(|(start, _)| start);
        [due, self.arrivals_wake(), bucket]
            .into_iter()
            .flatten()
            .min()
    }

    /// The first occupied bucket, the overflow included, and when it falls due. O(levels).
    fn first_bucket(&self) -> Option<(u64, BucketIndex)> {
        if let Some((level, digit)) = self.occupancy.first() {
            return Some((
                self.start_ns(level, digit),
                Layout::<G>::bucket(level, digit),
            ));
        }
        let is_empty = self.lists[self.overflow.get()].is_empty();
        (!is_empty).then(|| (self.overflow_start(), self.overflow))
    }

    fn arrivals_wake(&self) -> Option<u64> {
        let is_empty = self.lists[Self::ARRIVALS.get()].is_empty();
        (!is_empty).then_some(self.arrivals_floor)
    }

    /// When a level's next occupied bucket falls due, if one is occupied; the cursor's own tick
    /// counts as level 0.
    pub(crate) fn level_wake<C: Cards>(&self, cards: &C, level: usize) -> Option<u64> {
        if level == OVERFLOW_LEVEL {
            let spare = Self::OVERFLOW.iter().find(|&&list| list != self.overflow);
            if spare.is_some_and(|list| !self.lists[list.get()].is_empty()) {
                return Some(self.now);
            }
            return (!self.lists[self.overflow.get()].is_empty()).then(|| self.overflow_start());
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
        let due = self.due.head(cards).map(|head| {
            // One that was brought up early counts as in its tick's bucket.
            let tick = Layout::<G>::tick(head.deadline);
            if tick > self.cursor {
                Layout::<G>::start_ns(tick)
            } else {
                head.deadline
            }
        });
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
            self.due.insert(cards.card_mut(slot), slot);
        }
    }

    /// Starts the sequence numbers at `sequence`, so that a test need not take 2^47 of them.
    #[cfg(test)]
    pub(crate) fn set_next_sequence(&mut self, sequence: u64) {
        self.next_sequence = sequence;
    }

    /// Leaves at most `left` sequence numbers before the next renumbering.
    #[cfg(fuzzing)]
    pub(crate) fn exhaust_sequence(&mut self, left: u64) {
        self.next_sequence = self.next_sequence.max(Order::SEQUENCES - left);
    }

    /// Forgets every entry, keeping the clock, the sequence and the memory of the blocks.
    pub(crate) fn clear(&mut self) {
        self.lists.fill(Sentinel::EMPTY);
        self.stale = 0;
        self.sweep = Sweep::NONE;
        self.is_sweeping = false;
        self.occupancy = Occupancy::default();
        self.blocks.clear();
        self.due.clear();
        self.opened = NO_BUCKET;
        self.overflow_floor = NEVER;
        self.arrivals_floor = NEVER;
        self.postponed = 0;
        self.wake = NEVER;
        self.first_start = NEVER;
        self.cursor = self.cursor.max(Layout::<G>::tick(self.now));
    }

    /// Drops all stale entries, packs the others into as few blocks as they need and gives back
    /// the rest. O(n).
    pub(crate) fn shrink_to_fit<C: Cards>(&mut self, cards: &mut C) {
        self.due.shrink_to_fit(cards);
        self.sweep_everything(cards);
        let entries = self
            .lists
            .iter()
            .map(|list| (list.entries() as usize).next_multiple_of(BLOCK))
            .sum();
        let old = core::mem::replace(&mut self.blocks, Blocks::with_capacity(entries));
        for list in &mut self.lists {
            let was = *list;
            list.unlink();
            for &entry in old.slices(was).flatten() {
                if self.blocks.append(list, entry).is_err() {
                    self.blocks.append_block(list, entry);
                }
            }
            // With the mark of the sweep.
            (list.live, list.stale) = (was.live, was.stale);
        }
        let used = self.lists.iter().rposition(|list| !list.is_empty());
        let levels = (0..=LEVELS).map(Layout::<G>::buckets_below);
        let kept = levels
            .into_iter()
            .find(|&lists| used.is_none_or(|used| used < lists));
        self.lists.truncate(kept.unwrap_or(self.lists.len()));
        self.lists.shrink_to_fit();
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
                    .any(|list| !self.lists[list.get()].is_empty()),
            );
        }
        self.occupancy.count(level)
    }

    /// The heap memory of the filing, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.lists.capacity() * size_of::<Sentinel>() + self.blocks.bytes() + self.due.bytes()
    }
}
