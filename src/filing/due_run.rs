//! The timers that fire next, in order: those of the current tick and before it, and those of a
//! sparse bucket, brought up early.
//!
//! A tick's bucket is sorted when it is opened; that is what buys exactness below the tick. What
//! joins later goes to a heap beside the sorted run. Entries are not found again when their timer
//! is cancelled: they go stale. In the run they are recognized by the timer's place, in the heap
//! by the order number as well, which no two timers share: a slot can come to the heap again, but
//! not to the run before that is used up. A cancel that leaves more stale entries than live ones
//! sweeps them; an advance, whose budget a sweep would break, skips them one by one.

#[cfg(test)]
mod tests;

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::filing::card::{Card, Cards, Order};
use crate::filing::place::Place;
use crate::filing::rank_sort::sort_by_rank;
use crate::key::SlotIndex;

/// Stale entries that are tolerated however few are alive.
const STALE_TOLERATED: usize = 32;

/// Entries for which memory is kept when the run has been used up.
const KEPT_CAPACITY: usize = 1024;

/// A timer of the opened bucket: nanoseconds since the bucket began, and below them the slot. One
/// word, so that it is stored and loaded whole.
#[derive(Copy, Clone, Debug)]
struct Collected(u64);

/// How many bits of a [`Collected`] are the slot's: no more than the slots that there are need, so that
/// a long bucket can be collected where they are few.
#[derive(Copy, Clone, Debug, Default)]
struct Packing {
    slot_bits: u32,
}

impl Packing {
    /// For all slots that there are.
    fn of<C: Cards>(cards: &C) -> Self {
        let slots = cards.slots() as u64;
        Self {
            slot_bits: u64::BITS - slots.leading_zeros(),
        }
    }

    /// The longest bucket that can be collected, as a power of two in nanoseconds.
    fn span_bits(self) -> u32 {
        u64::BITS - self.slot_bits
    }

    #[inline]
    fn pack(self, offset_ns: u64, slot: SlotIndex) -> Collected {
        Collected(offset_ns << self.slot_bits | slot.get() as u64)
    }

    #[inline]
    fn offset_ns(self, collected: Collected) -> u64 {
        collected.0 >> self.slot_bits
    }

    #[inline]
    fn slot(self, collected: Collected) -> SlotIndex {
        SlotIndex::new((collected.0 & ((1 << self.slot_bits) - 1)) as usize)
    }

    /// Whether a timer of the opened bucket fires before another.
    #[inline]
    fn precedes<C: Cards>(self, cards: &C, a: Collected, b: Collected) -> bool {
        // Most differ in their deadlines, and then no slot is looked at.
        self.offset_ns(a) < self.offset_ns(b)
            || self.offset_ns(a) == self.offset_ns(b)
                && cards.card(self.slot(a)).order() < cards.card(self.slot(b)).order()
    }
}

/// A timer of any time, compared by `(deadline, order)`.
type Keyed = (u64, Order, SlotIndex);

/// The part of the due run that an entry is in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Part {
    Sorted,
    /// With the order that tells the entry from others of its slot.
    Heap(Order),
}

/// The timer that fires next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) deadline: u64,
    pub(crate) slot: SlotIndex,
    part: Part,
}

/// The sorted run of an opened bucket, and the heap of what joined it out of turn.
///
/// Invariant: between calls from outside everything collected has been sorted, and a run without a
/// live entry is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct DueRun {
    /// The first nanosecond of the bucket that `sorted` belongs to.
    base: u64,
    /// Whether what is collected is of the bucket of the run: a timer may have left the run and be
    /// collected again with a later bucket, and two entries of the run must not look alike.
    takes_more: bool,
    packing: Packing,
    /// What a collected timer must be shifted by to leave 16 bits of its time.
    key_shift: u32,
    /// Ascending by deadline and order from `taken` on.
    sorted: Vec<Collected>,
    heap: BinaryHeap<Reverse<Keyed>>,
    taken: u32,
    stale: u32,
}

/// Whether an entry of the sorted run is of a timer that has left it.
#[inline]
fn has_left<C: Cards>(cards: &C, slot: SlotIndex) -> bool {
    cards.card(slot).place != Place::RUN
}

/// Whether an entry of the heap is of a timer that has left it.
fn has_left_heap<C: Cards>(cards: &C, slot: SlotIndex, order: Order) -> bool {
    let card = cards.card(slot);
    card.place != Place::HEAP || card.order() != order
}

impl DueRun {
    /// Whether a bucket can be collected that spans so many nanoseconds, as a power of two.
    pub(crate) fn can_span<C: Cards>(cards: &C, span_bits: u32) -> bool {
        span_bits <= Packing::of(cards).span_bits()
    }

    /// Entries held, the stale ones included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.sorted.len() - self.taken() + self.heap.len()
    }

    #[inline]
    fn taken(&self) -> usize {
        self.taken as usize
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.taken() == self.sorted.len() && self.heap.is_empty()
    }

    /// Timers held.
    pub(crate) fn live(&self) -> usize {
        self.len() - self.stale as usize
    }

    /// The heap memory of the run, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.sorted.capacity() * size_of::<Collected>()
            + self.heap.capacity() * size_of::<Reverse<Keyed>>()
    }

    /// Names the start of the bucket whose timers are collected from now on, unless those of
    /// another are still there and more than `movable`. Returns the number of entries that were
    /// moved.
    ///
    /// What was brought up early, and joined by a bucket with many more timers since, makes way for
    /// that bucket: the heap is for the fewer of the two.
    #[inline]
    pub(crate) fn open<C: Cards>(
        &mut self,
        cards: &mut C,
        base: u64,
        span_bits: u32,
        movable: usize,
    ) -> usize {
        let left = self.sorted.len() - self.taken();
        self.takes_more = left <= movable;
        if !self.takes_more {
            return 0;
        }
        if left != 0 {
            self.make_way(cards);
        }
        self.sorted.clear();
        self.taken = 0;
        self.base = base;
        self.packing = Packing::of(cards);
        self.key_shift = self.packing.slot_bits + span_bits.saturating_sub(i16::BITS);
        left
    }

    /// Moves what is left of the sorted run to the heap.
    #[cold]
    fn make_way<C: Cards>(&mut self, cards: &mut C) {
        let before = self.len();
        self.drop_left(cards);
        self.stale -= (before - self.len()) as u32;
        self.move_to_heap(cards, 0);
    }

    /// Makes room for the `timers` that are left in a bucket, if it is a crowded one: the run is
    /// not to be moved while a budgeted advance collects it piece by piece.
    #[inline]
    pub(crate) fn expect(&mut self, timers: usize) {
        if self.takes_more && self.sorted.len() >= KEPT_CAPACITY {
            self.sorted.reserve(timers);
        }
    }

    /// The slots of the sorted run from its head on, whether their timers have left it or not.
    #[inline]
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = SlotIndex> {
        let left = self.sorted[self.taken()..].iter();
        left.map(|&collected| self.packing.slot(collected))
    }

    /// The latest deadline in the run, stale or not. O(heap).
    pub(crate) fn latest(&self) -> Option<u64> {
        let sorted = self.sorted[self.taken()..].last();
        let sorted = sorted.map(|&last| self.base + self.packing.offset_ns(last));
        let heap = self.heap.iter().map(|&Reverse((deadline, ..))| deadline);
        heap.chain(sorted).max()
    }

    /// Adds a timer of the opened tick, to be sorted by the next [`DueRun::sort`].
    #[inline]
    pub(crate) fn collect(&mut self, card: &mut Card, slot: SlotIndex) {
        if !self.takes_more {
            self.insert(card, slot);
            return;
        }
        debug_assert!(
            (card.deadline - self.base).leading_zeros() >= self.packing.slot_bits,
            "collected timers are of the bucket"
        );
        card.place = Place::RUN;
        self.sorted
            .push(self.packing.pack(card.deadline - self.base, slot));
    }

    /// Adds a timer of any tick. O(log n), O(1) on average.
    pub(crate) fn insert(&mut self, card: &mut Card, slot: SlotIndex) {
        card.place = Place::HEAP;
        self.heap.push(Reverse((card.deadline, card.order(), slot)));
    }

    /// Gets ready to collect: where the next timer goes, to be told to [`DueRun::sort`] afterwards.
    ///
    /// What is stale at the end of the run is removed, `most` entries at the most: what follows could
    /// not be told to extend the run otherwise.
    #[inline]
    pub(crate) fn collected<C: Cards>(&mut self, cards: &C, most: usize) -> usize {
        if self.stale != 0 && self.takes_more {
            self.drop_stale_end(cards, most);
        }
        self.sorted.len()
    }

    #[cold]
    fn drop_stale_end<C: Cards>(&mut self, cards: &C, most: usize) {
        for _ in 0..most {
            let end = self.sorted[self.taken()..].last();
            if end.is_none_or(|&end| !has_left(cards, self.packing.slot(end))) {
                return;
            }
            self.sorted.pop();
            self.stale -= 1;
        }
    }

    /// Brings what was collected `from` there on into order. O(n log n) in that, O(n) if it
    /// already was in order.
    ///
    /// A budgeted advance may collect a crowded tick in many calls. Each sorts only what it
    /// collected, so that its pause is bounded; what does not simply extend the run joins the
    /// heap.
    #[inline]
    pub(crate) fn sort<C: Cards>(&mut self, cards: &mut C, from: usize) {
        let packing = self.packing;
        let (before, collected) = self.sorted.split_at_mut(from);
        if collected.len() > 1 {
            sort(cards, collected, self.packing, self.key_shift);
        }
        if let (Some(&last), Some(&first)) = (before.last(), collected.first()) {
            // One that has left says nothing of its order.
            let extends = packing.offset_ns(last) < packing.offset_ns(first)
                || !has_left(cards, packing.slot(last)) && packing.precedes(cards, last, first);
            if !extends {
                self.move_to_heap(cards, from);
            }
        }
    }

    #[cold]
    fn move_to_heap<C: Cards>(&mut self, cards: &mut C, from: usize) {
        for collected in self.sorted.drain(from..) {
            let slot = self.packing.slot(collected);
            let card = cards.card_mut(slot);
            card.place = Place::HEAP;
            let keyed = (card.deadline, card.order(), slot);
            self.heap.push(Reverse(keyed));
        }
    }

    /// The timer that fires next, if its entry is not [stale](DueRun::is_stale). O(1).
    #[inline]
    pub(crate) fn head<C: Cards>(&self, cards: &C) -> Option<Head> {
        let sorted = self.sorted.get(self.taken()).map(|&collected| Head {
            deadline: self.base + self.packing.offset_ns(collected),
            slot: self.packing.slot(collected),
            part: Part::Sorted,
        });
        if self.heap.is_empty() {
            return sorted;
        }
        self.head_of_both(cards, sorted)
    }

    #[inline(never)]
    fn head_of_both<C: Cards>(&self, cards: &C, sorted: Option<Head>) -> Option<Head> {
        let &Reverse((deadline, order, slot)) = self.heap.peek()?;
        let heap = Head {
            deadline,
            slot,
            part: Part::Heap(order),
        };
        let is_behind = |sorted: &Head| {
            // One that has left says nothing of its order; it is to be passed first, so that it
            // hides none of those behind it.
            sorted.deadline > deadline
                || sorted.deadline == deadline
                    && !has_left(cards, sorted.slot)
                    && cards.card(sorted.slot).order() > order
        };
        sorted.filter(|sorted| !is_behind(sorted)).or(Some(heap))
    }

    /// Whether the timer of a head was cancelled or filed elsewhere since.
    #[inline]
    pub(crate) fn is_stale<C: Cards>(&self, cards: &C, head: Head) -> bool {
        self.stale != 0
            && match head.part {
                Part::Sorted => has_left(cards, head.slot),
                Part::Heap(order) => has_left_heap(cards, head.slot, order),
            }
    }

    /// Removes the head, whose timer has been taken or filed elsewhere just now. O(1) from the
    /// sorted run, O(log n) from the heap.
    #[inline]
    pub(crate) fn pop(&mut self, head: Head) {
        match head.part {
            Part::Sorted => self.taken += 1,
            Part::Heap(_) => drop(self.heap.pop()),
        }
        if self.stale as usize == self.len() {
            self.used_up();
        }
    }

    /// The deadline of the next entry of the sorted part, stale or not; the latest time of all if
    /// there is none.
    #[inline]
    pub(crate) fn sorted_head(&self) -> u64 {
        let head = self.sorted.get(self.taken());
        head.map_or(u64::MAX, |&head| self.base + self.packing.offset_ns(head))
    }

    /// Whether the sorted part is all there is, and none of it stale.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.stale == 0 && self.heap.is_empty()
    }

    /// Removes the head, which is stale. As [`DueRun::pop`].
    #[cold]
    pub(crate) fn pop_stale(&mut self, head: Head) {
        self.stale -= 1;
        self.pop(head);
    }

    /// Forgets what is left, none of it alive. O(1).
    #[inline]
    fn used_up(&mut self) {
        self.sorted.clear();
        self.heap.clear();
        self.taken = 0;
        self.stale = 0;
        if self.sorted.capacity().max(self.heap.capacity()) > KEPT_CAPACITY {
            self.clear();
        }
    }

    /// Takes note that the entry of a timer in the run went stale. Amortized O(1).
    ///
    /// The timer's card must already say so.
    pub(crate) fn remove<C: Cards>(&mut self, cards: &C) {
        self.stale += 1;
        if self.live() == 0 {
            self.used_up();
        } else if self.stale as usize > self.live() + STALE_TOLERATED {
            self.sweep(cards);
        } else {
            // So that nobody is woken up for the sake of the cancelled.
            while let Some(head) = self.head(cards).filter(|&head| self.is_stale(cards, head)) {
                self.pop_stale(head);
            }
        }
    }

    /// Removes every stale entry and gives back spare memory. O(n).
    #[cold]
    fn sweep<C: Cards>(&mut self, cards: &C) {
        self.drop_left(cards);
        self.heap
            .retain(|&Reverse((_, order, slot))| !has_left_heap(cards, slot, order));
        self.stale = 0;
        self.sorted.shrink_to(KEPT_CAPACITY);
        self.heap.shrink_to(KEPT_CAPACITY);
    }

    /// Removes from the sorted run what was taken, and what is stale.
    fn drop_left<C: Cards>(&mut self, cards: &C) {
        self.sorted.drain(..self.taken as usize);
        self.taken = 0;
        self.sorted
            .retain(|&collected| !has_left(cards, self.packing.slot(collected)));
    }

    /// Removes every stale entry and gives back all spare memory. O(n).
    pub(crate) fn shrink_to_fit<C: Cards>(&mut self, cards: &C) {
        self.sweep(cards);
        self.sorted.shrink_to_fit();
        self.heap.shrink_to_fit();
    }

    /// Forgets every entry and gives back the memory; the opened bucket stays the same.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            base: self.base,
            packing: self.packing,
            key_shift: self.key_shift,
            takes_more: self.takes_more,
            ..Self::default()
        };
    }

    /// The slots of all timers in the run, in no particular order.
    pub(crate) fn slots<C: Cards>(&self, cards: &C) -> impl Iterator<Item = SlotIndex> {
        let sorted = self.sorted[self.taken()..]
            .iter()
            .map(|&collected| self.packing.slot(collected))
            .filter(|&slot| !has_left(cards, slot));
        let heap = self
            .heap
            .iter()
            .filter(|&&Reverse((_, order, slot))| !has_left_heap(cards, slot, order))
            .map(|&Reverse((_, _, slot))| slot);
        sorted.chain(heap)
    }

    /// Checks the laws of the run, and hands each live entry's slot to `visit`.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<C: Cards>(&self, cards: &C, visit: impl FnMut(SlotIndex)) {
        let sorted = &self.sorted[self.taken()..];
        assert!(
            sorted.is_sorted_by_key(|&collected| self.packing.offset_ns(collected)),
            "the due run is sorted by deadline"
        );
        let live: Vec<Collected> = sorted
            .iter()
            .copied()
            .filter(|&collected| !has_left(cards, self.packing.slot(collected)))
            .collect();
        assert!(
            live.is_sorted_by(|&a, &b| self.packing.precedes(cards, a, b)),
            "the due run is sorted by (deadline, order)"
        );
        for collected in live {
            assert!(
                cards.card(self.packing.slot(collected)).deadline
                    == self.base + self.packing.offset_ns(collected),
                "an entry of the due run has its timer's deadline"
            );
        }
        for &Reverse((deadline, order, slot)) in &self.heap {
            assert!(
                has_left_heap(cards, slot, order) || cards.card(slot).deadline == deadline,
                "an entry of the due run has its timer's deadline"
            );
        }
        let live = self.slots(cards).count();
        self.slots(cards).for_each(visit);
        assert!(
            live == self.live(),
            "the due run's stale entries are counted"
        );
        assert!(
            live != 0 || self.is_empty(),
            "a due run without a live entry is empty"
        );
    }
}

/// Sorts timers of the opened bucket into the order in which they fire.
#[inline]
fn sort<C: Cards>(cards: &C, collected: &mut [Collected], packing: Packing, key_shift: u32) {
    // The highest bits, as a signed number.
    let key = |collected: &Collected| (collected.0 >> key_shift) as i16 ^ i16::MIN;
    // In a crowded tick most timers share a deadline and come in order.
    if collected.is_sorted_by(|&a, &b| packing.precedes(cards, a, b))
        || sort_by_rank(collected, key)
    {
        return;
    }
    let order = |collected| cards.card(packing.slot(collected)).order();
    collected.sort_unstable_by(|&a, &b| {
        let by_deadline = packing.offset_ns(a).cmp(&packing.offset_ns(b));
        by_deadline.then_with(|| order(a).cmp(&order(b)))
    });
}
