//! The passage of time: opening buckets, cascading them, and bringing up what is due.

use crate::filing::blocks::{BLOCK, Entry, Location};
use crate::filing::card::{Cards, NOWHERE, Order};
use crate::filing::due_run::{DUE, Head};
use crate::filing::{Filing, NEVER};
use crate::geometry::{BucketIndex, Geometry, Layout};
use crate::key::SlotIndex;

/// A bit for each entry of a block.
const _: () = assert!(BLOCK <= u32::BITS as usize);

impl<G: Geometry> Filing<G> {
    /// Whether an advance to the present has nothing to do; if so, moves the cursor along.
    #[inline]
    pub(crate) fn is_idle(&mut self) -> bool {
        if self.wake <= self.now {
            return false;
        }
        // Nothing is filed between the two: placement relative to either is the same.
        self.cursor = self.cursor.max(Layout::<G>::tick(self.now));
        true
    }

    /// The next timer that is due, brought to the head of the due run. `None` when nothing more
    /// is due or the budget is used up.
    ///
    /// Each entry visited and each bucket opened takes one unit from `budget`; firing the timer
    /// is the caller's to pay for.
    #[inline]
    pub(crate) fn next_due<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) -> Option<Head> {
        loop {
            if *budget == 0 {
                return None;
            }
            if self.opened == NOWHERE && !self.has_due_arrivals() {
                match self.due.head() {
                    Some(head) if self.due.is_stale(cards, head) => {
                        self.due.pop_stale();
                        *budget -= 1;
                        continue;
                    }
                    Some(head) if head.deadline <= self.now => return Some(head),
                    Some(head) => {
                        self.settle(head.deadline.min(self.arrivals_floor));
                        return None;
                    }
                    None => {}
                }
            }
            if !self.open_or_drain(cards, budget) {
                return None;
            }
        }
    }

    /// Whether an advance to the present would find something to do. O(levels).
    pub(crate) fn has_work(&self) -> bool {
        self.earliest_work().is_some_and(|work| work <= self.now)
    }

    #[inline]
    fn has_due_arrivals(&self) -> bool {
        self.arrivals_floor <= self.now && !self.buckets[Self::ARRIVALS.get()].is_empty()
    }

    /// Removes the head of the due run, whose card says [`NOWHERE`] now. O(1), or O(log n) if it
    /// joined the run late.
    #[inline]
    pub(crate) fn pop_due(&mut self) {
        self.due.pop();
    }

    /// Gives the head of the due run a new deadline and order, and files it there. As
    /// [`Filing::pop_due`].
    pub(crate) fn rearm_due<C: Cards>(&mut self, cards: &mut C, slot: SlotIndex, deadline: u64) {
        let order = self.next_order(cards);
        cards.card_mut(slot).bucket = NOWHERE;
        self.due.pop();
        let card = cards.card_mut(slot);
        card.deadline = deadline;
        card.set_order(order);
        self.file(card, slot);
    }

    /// Takes note, when an advance has nothing more to do, of when there is work again.
    #[inline]
    fn settle(&mut self, wake: u64) {
        self.wake = wake;
        if wake > self.now {
            self.cursor = self.cursor.max(Layout::<G>::tick(self.now));
        }
    }

    /// Does a piece of the work that stands between the present and the next due timer. `false`
    /// when there is none, and then it has settled when there is work again.
    #[inline(never)]
    fn open_or_drain<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) -> bool {
        if self.opened == NOWHERE {
            if self.has_due_arrivals() {
                self.drain_arrivals(cards, budget);
                return true;
            }
            match self.first_bucket() {
                Some((start, bucket)) if start <= self.now => self.open(start, bucket),
                later => {
                    let wake = later.map_or(NEVER, |(start, _)| start);
                    self.settle(wake.min(self.arrivals_floor));
                    return false;
                }
            }
            *budget -= 1;
        }
        if self.opened.get() >= Layout::<G>::BUCKETS {
            self.drain_overflow(cards, budget);
        } else if Layout::<G>::is_finest(self.opened) {
            self.drain_tick(cards, budget);
        } else {
            self.drain_coarse(cards, budget);
        }
        true
    }

    /// Opens a bucket that has begun, and moves the cursor to it.
    fn open(&mut self, start: u64, bucket: BucketIndex) {
        debug_assert!(self.due.is_empty(), "what is due precedes every bucket");
        self.opened = bucket;
        self.cursor = Layout::<G>::tick(start);
        if bucket == self.overflow {
            // Nothing is left before the overflow, so the cursor may go all the way: every timer
            // that lies beyond the levels is looked at once a jump, not once a rotation.
            self.cursor = Layout::<G>::tick(self.now);
            self.overflow = if bucket == Self::OVERFLOW[0] {
                Self::OVERFLOW[1]
            } else {
                Self::OVERFLOW[0]
            };
            self.overflow_floor = NEVER;
        }
        self.due.open(Layout::<G>::start_ns(self.cursor));
    }

    /// Takes note that the opened bucket has been emptied.
    fn close_if_empty(&mut self) {
        if !self.buckets[self.opened.get()].is_empty() {
            return;
        }
        if self.opened.get() < Layout::<G>::BUCKETS {
            let (level, digit) = Layout::<G>::level_and_digit(self.opened);
            self.occupancy.clear(level, digit);
        }
        self.opened = NOWHERE;
    }

    /// Visits the entries at the front of a list, within the budget, a block at a time: `visit`
    /// is told where they begin and how many they are. They are still there while they are
    /// visited, and no visit may touch their list; afterwards they are dropped.
    #[inline]
    fn drain_blocks<C: Cards>(
        &mut self,
        list: BucketIndex,
        cards: &mut C,
        budget: &mut usize,
        visit: impl Fn(&mut Self, &mut C, Location, usize),
    ) {
        loop {
            let sentinel = self.buckets[list.get()];
            let (first, count) = self.blocks.front(sentinel, *budget);
            if count == 0 {
                return;
            }
            visit(self, cards, first, count);
            self.blocks.drop_front(&mut self.buckets[list.get()], count);
            *budget -= count;
        }
    }

    /// As [`Filing::drain_blocks`], one entry at a time.
    #[inline]
    fn drain<C: Cards>(
        &mut self,
        list: BucketIndex,
        cards: &mut C,
        budget: &mut usize,
        visit: impl Fn(&mut Self, &mut C, Entry),
    ) {
        self.drain_blocks(list, cards, budget, |filing, cards, first, count| {
            for offset in 0..count {
                let entry = filing.blocks.entry(first, offset);
                visit(filing, cards, entry);
            }
        });
    }

    /// Collects the cursor's tick into the due run.
    fn drain_tick<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) {
        let collected = self.due.collected();
        self.drain(self.opened, cards, budget, |filing, cards, entry| {
            filing.collect(cards, entry.slot);
        });
        self.due.sort(collected);
        self.close_if_empty();
    }

    /// Moves the entries of a bucket of levels 1 to 3 down to where they belong as seen from the
    /// bucket's start.
    fn drain_coarse<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) {
        let collected = self.due.collected();
        if self.postponed == 0 {
            // No slot is loaded: the entries say where they go.
            self.drain(self.opened, cards, budget, |filing, cards, entry| {
                filing.move_down(cards, entry);
            });
        } else {
            // A postponed timer is filed again here, at its first visit, and spared the way down.
            // All slots of a block are looked at before any is branched on, so that the misses
            // overlap.
            self.drain_blocks(self.opened, cards, budget, |filing, cards, first, count| {
                let postponed = (0..count).fold(0_u32, |postponed, offset| {
                    let slot = filing.blocks.entry(first, offset).slot;
                    postponed | u32::from(cards.card(slot).is_postponed()) << offset
                });
                for offset in 0..count {
                    let entry = filing.blocks.entry(first, offset);
                    if postponed >> offset & 1 == 0 {
                        filing.move_down(cards, entry);
                    } else {
                        filing.collect_any(cards, entry.slot);
                    }
                }
            });
        }
        self.due.sort(collected);
        self.close_if_empty();
    }

    #[inline(always)]
    fn move_down<C: Cards>(&mut self, cards: &mut C, entry: Entry) {
        let Some(bucket) = Layout::<G>::place_low(entry.tick, self.cursor.low()) else {
            self.collect(cards, entry.slot);
            return;
        };
        let location = self.append(bucket, entry);
        let card = cards.card_mut(entry.slot);
        card.bucket = bucket;
        card.location = location;
    }

    /// Distributes the overflow bucket, as seen from the cursor.
    fn drain_overflow<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) {
        self.drain(self.opened, cards, budget, |filing, cards, entry| {
            filing.collect_any(cards, entry.slot);
        });
        self.close_if_empty();
    }

    /// Brings what was scheduled into the current tick or the past into the due run.
    fn drain_arrivals<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) {
        self.drain(Self::ARRIVALS, cards, budget, |filing, cards, entry| {
            filing.collect_any(cards, entry.slot);
        });
        if self.buckets[Self::ARRIVALS.get()].is_empty() {
            self.arrivals_floor = NEVER;
        }
    }

    /// Adds a timer that was filed under the cursor's tick to the due run, unless it has been
    /// postponed beyond it.
    #[inline]
    fn collect<C: Cards>(&mut self, cards: &mut C, slot: SlotIndex) {
        let card = cards.card_mut(slot);
        if card.is_postponed() {
            self.collect_any(cards, slot);
            return;
        }
        card.bucket = DUE;
        self.due.collect(card.deadline, card.order(), slot);
    }

    /// Files a timer, whose entry has been taken out, by its true deadline: in the due run if its
    /// tick has come, else on the levels.
    #[inline(never)]
    fn collect_any<C: Cards>(&mut self, cards: &mut C, slot: SlotIndex) {
        let card = cards.card_mut(slot);
        self.postponed -= card.order().postponed() as u32;
        card.set_order(Order::filed(card.order().sequence()));
        if Layout::<G>::tick(card.deadline) <= self.cursor {
            card.bucket = DUE;
            self.due.insert(card.deadline, card.order(), slot);
        } else {
            self.file(card, slot);
        }
    }
}
