//! The passage of time: opening buckets, cascading them, and bringing up what is due.

use crate::filing::blocks::{BLOCK, Entry, Location};
use crate::filing::card::{Cards, Order};
use crate::filing::due_run::{DueRun, Head};
use crate::filing::place::{Kind, Place};
use crate::filing::{Filing, NEVER, NO_BUCKET};
use crate::geometry::{BucketIndex, Geometry, Layout};
use crate::key::SlotIndex;

/// The most timers of a bucket of level 1 that are collected at once: with more, a bucket of its own
/// for each tick costs less than sorting them. A quarter of that on each level above: the longer the
/// bucket, the more of its timers leave before they are due, and the more join it.
const SPARSE: usize = 256;

/// Of two sets of timers one is much smaller if it has fewer than this part of the other's.
const FEWER: usize = 4;

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
            if self.opened == NO_BUCKET && !self.has_due_arrivals() {
                match self.due.head(cards) {
                    Some(head) if self.due.is_stale(cards, head) => {
                        self.due.pop_stale(head);
                        *budget -= 1;
                        continue;
                    }
                    Some(head) if self.is_before_buckets(head.deadline.min(self.now)) => {
                        if head.deadline <= self.now {
                            return Some(head);
                        }
                        let next = head.deadline.min(self.first_start);
                        self.settle(next.min(self.arrivals_floor));
                        return None;
                    }
                    _ => {}
                }
            }
            if !self.open_or_drain(cards, budget) {
                return None;
            }
        }
    }

    /// Whether no bucket is due by a time.
    #[inline]
    fn is_before_buckets(&mut self, time: u64) -> bool {
        time < self.first_start || self.has_no_bucket_by(time)
    }

    /// The same, when the first bucket may have been emptied since.
    #[inline(never)]
    fn has_no_bucket_by(&mut self, time: u64) -> bool {
        let first = self.first_bucket();
        self.first_start = first.map_or(NEVER, |(start, _)| start);
        first.is_none_or(|(start, _)| time < start)
    }

    /// Whether an advance to the present would find something to do. O(levels).
    pub(crate) fn has_work<C: Cards>(&self, cards: &C) -> bool {
        self.earliest_work(cards)
            .is_some_and(|work| work <= self.now)
    }

    #[inline]
    fn has_due_arrivals(&self) -> bool {
        self.arrivals_floor <= self.now && !self.lists[Self::ARRIVALS.get()].is_empty()
    }

    /// The slots whose timers fire next, as far as that is known without a look at any of them: what
    /// has left is among them, what joined late is not.
    #[inline]
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = SlotIndex> {
        self.due.upcoming()
    }

    /// Removes the head of the due run, whose card says [`Place::NOWHERE`] now. O(1), or O(log n)
    /// if it joined the run late.
    #[inline]
    pub(crate) fn pop_due(&mut self, head: Head) {
        self.due.pop(head);
    }

    /// Whether it is plain that nothing more is due; if so, settles when there is work again. May
    /// say no when the truth is yes.
    #[inline]
    pub(crate) fn is_plainly_done(&mut self) -> bool {
        // In a crowded tick the answer is mostly no.
        let head = self.due.sorted_head();
        if head <= self.now || !self.due.is_plain() || self.opened != NO_BUCKET {
            return false;
        }
        let next = head.min(self.first_start).min(self.arrivals_floor);
        if next <= self.now {
            return false;
        }
        self.settle(next);
        true
    }

    /// Gives the head of the due run a new deadline and order, and files it there. As
    /// [`Filing::pop_due`].
    pub(crate) fn rearm_due<C: Cards>(&mut self, cards: &mut C, head: Head, deadline: u64) {
        self.due.pop(head);
        let order = self.next_order(cards);
        let card = cards.card_mut(head.slot);
        card.deadline = deadline;
        card.set_order(order);
        self.file(card, head.slot);
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
        let is_new = self.opened == NO_BUCKET;
        if is_new {
            if self.has_due_arrivals() {
                self.drain_arrivals(cards, budget);
                return true;
            }
            let moved = match self.first_bucket() {
                Some((start, bucket)) if start <= self.now => {
                    self.open(cards, start, bucket, *budget - 1)
                }
                later => {
                    self.first_start = later.map_or(NEVER, |(start, _)| start);
                    self.settle(self.first_start.min(self.arrivals_floor));
                    return false;
                }
            };
            *budget -= 1 + moved;
        }
        if !Layout::<G>::is_on_level(self.opened) {
            self.drain_overflow(cards, budget);
        } else {
            match Layout::<G>::level(self.opened) {
                0 => self.drain_tick(cards, budget),
                level if is_new && self.is_sparse(cards, level, *budget) => {
                    self.open_run(cards, level, 0);
                    self.drain_tick(cards, budget);
                }
                level => self.drain_coarse(cards, budget, level),
            }
        }
        if self.opened == NO_BUCKET {
            self.refresh_first_start();
        }
        true
    }

    /// Whether the timers of the opened bucket are so few that they are best brought up all at
    /// once, those of later ticks as well: sorting them costs less than a bucket for each.
    ///
    /// To be asked when the bucket is opened: the last of a crowded one are not few, as the others
    /// lie on the levels below.
    #[inline]
    fn is_sparse<C: Cards>(&self, cards: &C, level: usize, budget: usize) -> bool {
        let timers = self.lists[self.opened.get()].live as usize;
        timers <= budget.min(SPARSE >> (2 * (level - 1)))
            && DueRun::can_span(cards, Layout::<G>::span_bits(level))
            && self.due.is_empty()
    }

    /// Opens a bucket that has begun, and moves the cursor to it. Returns the number of entries
    /// that were moved for it, within the budget.
    fn open<C: Cards>(
        &mut self,
        cards: &mut C,
        start: u64,
        bucket: BucketIndex,
        budget: usize,
    ) -> usize {
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
        self.open_run(cards, 0, budget)
    }

    /// Tells the due run that timers within a bucket of the level, from the cursor on, are collected
    /// next. Returns the number of entries that were moved for it, within the budget.
    fn open_run<C: Cards>(&mut self, cards: &mut C, level: usize, budget: usize) -> usize {
        let start = Layout::<G>::start_ns(self.cursor);
        let span_bits = Layout::<G>::span_bits(level);
        let many = self.lists[self.opened.get()].live as usize / FEWER;
        self.due.open(cards, start, span_bits, many.min(budget))
    }

    /// Takes note that the opened bucket has been emptied, if it has.
    fn close_if_empty(&mut self) {
        if self.lists[self.opened.get()].live == 0 {
            self.give_up(self.opened);
            self.opened = NO_BUCKET;
        }
    }

    /// Visits the entries at the front of a list, within the budget, a block at a time, until none
    /// of its timers is left. `visit` is told where the entries begin and how many they are, and
    /// answers how many timers they were of. They are still there while they are visited, and no
    /// visit may touch their list; afterwards they are dropped.
    #[inline]
    fn drain_blocks<C: Cards>(
        &mut self,
        bucket: BucketIndex,
        cards: &mut C,
        budget: &mut usize,
        visit: impl Fn(&mut Self, &mut C, Location, usize) -> usize,
    ) {
        while self.lists[bucket.get()].live != 0 && *budget != 0 {
            let (first, count) = self.blocks.front(self.lists[bucket.get()], *budget);
            let live = visit(self, cards, first, count);
            let list = &mut self.lists[bucket.get()];
            self.blocks.drop_front(list, count);
            let stale = (count - live) as u32;
            list.live -= live as u32;
            list.stale.subtract(stale);
            self.stale -= stale;
            self.sweep.passed(bucket, count);
            *budget -= count;
        }
    }

    /// As [`Filing::drain_blocks`], one timer at a time, without the stale entries.
    ///
    /// A visit must change the timer's place: of entries that look alike only the first counts.
    #[inline]
    fn drain_timers<C: Cards>(
        &mut self,
        bucket: BucketIndex,
        cards: &mut C,
        budget: &mut usize,
        visit: impl Fn(&mut Self, &mut C, Entry),
    ) {
        let kind = Self::kind(bucket);
        let has_stale = self.lists[bucket.get()].stale.count() != 0;
        self.drain_blocks(bucket, cards, budget, |filing, cards, first, count| {
            if !has_stale {
                for offset in 0..count {
                    let entry = filing.blocks.entry(first, offset);
                    visit(filing, cards, entry);
                }
                return count;
            }
            let mut live = 0;
            for offset in 0..count {
                let entry = filing.blocks.entry(first, offset);
                if cards.card(entry.slot).owns(entry, kind) {
                    live += 1;
                    visit(filing, cards, entry);
                }
            }
            live
        });
    }

    /// Collects a bucket into the due run.
    fn drain_tick<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) {
        let collected = self.due.collected(cards, *budget);
        self.due.expect(self.lists[self.opened.get()].live as usize);
        self.drain_timers(self.opened, cards, budget, |filing, cards, entry| {
            filing.collect(cards, entry.slot);
        });
        self.due.sort(cards, collected);
        self.close_if_empty();
    }

    /// Moves the entries of a bucket of levels 1 to 3 down to where they belong as seen from the
    /// bucket's start.
    fn drain_coarse<C: Cards>(&mut self, cards: &mut C, budget: &mut usize, level: usize) {
        let collected = self.due.collected(cards, *budget);
        let list = self.lists[self.opened.get()];
        let is_plain =
            self.postponed == 0 && list.stale.count() == 0 && list.live as usize <= *budget;
        if !is_plain {
            self.drain_with_care(cards, budget, level);
        } else if level > 1 {
            // No slot is touched: the entries say where they go.
            self.drain_blocks(self.opened, cards, budget, |filing, cards, first, count| {
                for offset in 0..count {
                    let entry = filing.blocks.entry(first, offset);
                    filing.move_down(cards, entry);
                }
                count
            });
        } else {
            // The slots will be needed soon. A store that nobody waits for is the way to ask for
            // them early.
            self.drain_blocks(self.opened, cards, budget, |filing, cards, first, count| {
                for offset in 0..count {
                    let entry = filing.blocks.entry(first, offset);
                    cards.card_mut(entry.slot).place = Place::filed(Kind::level(0));
                    filing.move_down(cards, entry);
                }
                count
            });
        }
        self.due.sort(cards, collected);
        self.close_if_empty();
    }

    /// As [`Filing::drain_coarse`], where there are stale entries or postponed timers, or the
    /// budget ends within the bucket. What is moved down is told so, so that it can be told from
    /// what is not.
    ///
    /// A postponed timer is filed again here, at its first visit, and spared the way down.
    fn drain_with_care<C: Cards>(&mut self, cards: &mut C, budget: &mut usize, level: usize) {
        self.due.expect(self.lists[self.opened.get()].live as usize);
        let kind = Kind::level(level);
        self.drain_blocks(self.opened, cards, budget, |filing, cards, first, count| {
            // All slots of a block are looked at before any is branched on, so that the misses
            // overlap.
            let owned = (0..count).fold(0_u32, |owned, offset| {
                let entry = filing.blocks.entry(first, offset);
                owned | u32::from(cards.card(entry.slot).owns(entry, kind)) << offset
            });
            let mut live = 0;
            for offset in 0..count {
                let entry = filing.blocks.entry(first, offset);
                // Asked again, because a timer has moved if an entry that looks alike came first.
                if owned >> offset & 1 == 0 || !cards.card(entry.slot).owns(entry, kind) {
                    continue;
                }
                live += 1;
                if cards.card(entry.slot).is_postponed() {
                    filing.collect_any(cards, entry.slot);
                } else if let Some(bucket) = filing.move_down(cards, entry) {
                    cards.card_mut(entry.slot).place =
                        Place::filed(Kind::level(Layout::<G>::level(bucket)));
                }
            }
            live
        });
    }

    /// Moves an entry down to where it belongs as seen from the cursor, and says where that is,
    /// unless it is the due run.
    #[inline(always)]
    fn move_down<C: Cards>(&mut self, cards: &mut C, entry: Entry) -> Option<BucketIndex> {
        let Some(bucket) = Layout::<G>::place_low(entry.tick, self.cursor.low()) else {
            self.collect(cards, entry.slot);
            return None;
        };
        self.append(bucket, entry);
        Some(bucket)
    }

    /// Distributes the overflow bucket, as seen from the cursor.
    fn drain_overflow<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) {
        self.drain_timers(self.opened, cards, budget, |filing, cards, entry| {
            filing.collect_any(cards, entry.slot);
        });
        self.close_if_empty();
    }

    /// Brings what was scheduled into the current tick or the past into the due run.
    fn drain_arrivals<C: Cards>(&mut self, cards: &mut C, budget: &mut usize) {
        self.drain_timers(Self::ARRIVALS, cards, budget, |filing, cards, entry| {
            filing.collect_any(cards, entry.slot);
        });
        if self.lists[Self::ARRIVALS.get()].live == 0 {
            self.give_up(Self::ARRIVALS);
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
        self.due.collect(card, slot);
    }

    /// Files a timer, whose entry has been taken out, by its true deadline: in the due run if its
    /// tick has come, else on the levels.
    #[inline(never)]
    fn collect_any<C: Cards>(&mut self, cards: &mut C, slot: SlotIndex) {
        let card = cards.card_mut(slot);
        self.postponed -= card.order().postponed() as u32;
        card.set_order(Order::filed(card.order().sequence()));
        if Layout::<G>::tick(card.deadline) <= self.cursor {
            self.due.insert(card, slot);
        } else {
            self.file(card, slot);
        }
    }
}
