//! The timers of the current tick and before it, in the order in which they fire.
//!
//! A tick's bucket is sorted when it is opened; that is what buys exactness below the tick. What
//! joins later goes to a heap beside the sorted run. Entries are not found again when their timer
//! is cancelled: they go stale, and are recognized by their order number, which no two timers
//! share. A cancel that leaves more stale entries than live ones sweeps them; an advance, whose
//! budget a sweep would break, skips them one by one.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::filing::card::{Cards, Order};
use crate::filing::rank_sort::sort_by_rank;
use crate::geometry::BucketIndex;
use crate::key::SlotIndex;

/// The bucket of a card whose timer is in the due run.
pub(crate) const DUE: BucketIndex = BucketIndex::new(u16::MAX - 1);

/// Stale entries that are tolerated however few are alive.
const STALE_TOLERATED: usize = 32;

/// Entries for which memory is kept when the run has been used up.
const KEPT_CAPACITY: usize = 1024;

/// A timer of the opened tick, as one number that sorts by `(deadline, order)`: nanoseconds since
/// the tick began, order, slot.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u128);

impl Packed {
    #[inline]
    fn new(offset_ns: u64, order: Order, slot: SlotIndex) -> Self {
        Self(
            (u128::from(offset_ns) << Order::BITS | u128::from(order.to_bits())) << u32::BITS
                | u128::from(slot.to_bits()),
        )
    }

    #[inline]
    fn offset_ns(self) -> u64 {
        (self.0 >> (Order::BITS + u32::BITS)) as u64
    }

    /// The offset in 32 bits, which the ticks of every geometry fit into.
    #[inline]
    fn offset_bits(self) -> u32 {
        self.offset_ns() as u32
    }

    #[inline]
    fn order(self) -> Order {
        Order::from_bits((self.0 >> u32::BITS) as u64 & ((1 << Order::BITS) - 1))
    }

    #[inline]
    fn slot(self) -> SlotIndex {
        SlotIndex::from_bits(self.0 as u32)
    }
}

/// A timer of any time, compared by `(deadline, order)`.
type Keyed = (u64, Order, SlotIndex);

/// The timer that fires next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) deadline: u64,
    pub(crate) slot: SlotIndex,
    order: Order,
}

/// The sorted run of an opened tick, and the heap of what joined it out of turn.
///
/// Invariant: between calls from outside everything collected has been sorted, and a run without a
/// live entry is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct DueRun {
    /// The first nanosecond of the tick that `sorted` belongs to.
    base: u64,
    /// Ascending from `taken` on.
    sorted: Vec<Packed>,
    heap: BinaryHeap<Reverse<Keyed>>,
    taken: u32,
    stale: u32,
}

#[inline]
fn is_stale<C: Cards>(cards: &C, slot: SlotIndex, order: Order) -> bool {
    let card = cards.card(slot);
    card.bucket != DUE || card.order() != order
}

impl DueRun {
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
        self.sorted.capacity() * size_of::<Packed>()
            + self.heap.capacity() * size_of::<Reverse<Keyed>>()
    }

    /// Names the tick whose timers are collected from now on.
    #[inline]
    pub(crate) fn open(&mut self, base: u64) {
        debug_assert!(
            self.is_empty(),
            "a tick is opened after the last is used up"
        );
        self.base = base;
    }

    /// Adds a timer of the opened tick, to be sorted by the next [`DueRun::sort`].
    #[inline]
    pub(crate) fn collect(&mut self, deadline: u64, order: Order, slot: SlotIndex) {
        debug_assert!(deadline >= self.base, "collected timers are of the tick");
        self.sorted
            .push(Packed::new(deadline - self.base, order, slot));
    }

    /// Adds a timer of any tick. O(log n), O(1) on average.
    pub(crate) fn insert(&mut self, deadline: u64, order: Order, slot: SlotIndex) {
        self.heap.push(Reverse((deadline, order, slot)));
    }

    /// Where the next collected timer goes, to be told to [`DueRun::sort`] afterwards.
    #[inline]
    pub(crate) fn collected(&self) -> usize {
        self.sorted.len()
    }

    /// Brings what was collected `from` there on into order. O(n log n) in that, O(n) if it
    /// already was in order.
    ///
    /// A budgeted advance may collect a crowded tick in many calls. Each sorts only what it
    /// collected, so that its pause is bounded; what does not simply extend the run joins the
    /// heap.
    #[inline]
    pub(crate) fn sort(&mut self, from: usize) {
        let (before, collected) = self.sorted.split_at_mut(from);
        // In a crowded tick most timers share a deadline and come in order.
        if !collected.is_sorted() && !sort_by_rank(collected, |packed| packed.offset_bits()) {
            collected.sort_unstable();
        }
        let extends = match (before.last(), collected.first()) {
            (Some(last), Some(first)) => last < first,
            _ => true,
        };
        if !extends {
            self.move_to_heap(from);
        }
    }

    #[cold]
    fn move_to_heap(&mut self, from: usize) {
        let base = self.base;
        self.heap.extend(
            self.sorted
                .drain(from..)
                .map(|packed| Reverse((base + packed.offset_ns(), packed.order(), packed.slot()))),
        );
    }

    /// The timer that fires next, if its entry is not [stale](DueRun::is_stale). O(1).
    #[inline]
    pub(crate) fn head(&self) -> Option<Head> {
        let sorted = self.sorted.get(self.taken());
        if self.heap.is_empty() {
            return sorted.map(|&packed| self.sorted_head(packed));
        }
        self.head_of_both(sorted)
    }

    #[inline]
    fn sorted_head(&self, packed: Packed) -> Head {
        Head {
            deadline: self.base + packed.offset_ns(),
            slot: packed.slot(),
            order: packed.order(),
        }
    }

    fn head_of_both(&self, sorted: Option<&Packed>) -> Option<Head> {
        let &Reverse((deadline, order, slot)) = self.heap.peek()?;
        if self.heap_is_first(sorted) {
            return Some(Head {
                deadline,
                slot,
                order,
            });
        }
        sorted.map(|&packed| self.sorted_head(packed))
    }

    fn heap_is_first(&self, sorted: Option<&Packed>) -> bool {
        match (sorted, self.heap.peek()) {
            (Some(packed), Some(&Reverse((deadline, order, _)))) => {
                (deadline, order) < (self.base + packed.offset_ns(), packed.order())
            }
            (None, heap) => heap.is_some(),
            (Some(_), None) => false,
        }
    }

    /// Whether the timer of a head was cancelled or filed elsewhere since.
    #[inline]
    pub(crate) fn is_stale<C: Cards>(&self, cards: &C, head: Head) -> bool {
        self.stale != 0 && is_stale(cards, head.slot, head.order)
    }

    /// Removes the head, whose timer has been taken or filed elsewhere just now. O(1) from the
    /// sorted run, O(log n) from the heap.
    #[inline]
    pub(crate) fn pop(&mut self) {
        if self.heap.is_empty() || !self.heap_is_first(self.sorted.get(self.taken())) {
            self.taken += 1;
        } else {
            self.heap.pop();
        }
        if self.stale as usize == self.len() {
            self.used_up();
        }
    }

    /// Removes the head, which is stale. As [`DueRun::pop`].
    #[cold]
    pub(crate) fn pop_stale(&mut self) {
        self.stale -= 1;
        self.pop();
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
            while self.head().is_some_and(|head| self.is_stale(cards, head)) {
                self.pop_stale();
            }
        }
    }

    /// Removes every stale entry and gives back spare memory. O(n).
    #[cold]
    fn sweep<C: Cards>(&mut self, cards: &C) {
        self.sorted.drain(..self.taken as usize);
        self.taken = 0;
        self.sorted
            .retain(|packed| !is_stale(cards, packed.slot(), packed.order()));
        self.heap
            .retain(|&Reverse((_, order, slot))| !is_stale(cards, slot, order));
        self.stale = 0;
        self.sorted.shrink_to(KEPT_CAPACITY);
        self.heap.shrink_to(KEPT_CAPACITY);
    }

    /// Removes every stale entry and gives back all spare memory. O(n).
    pub(crate) fn shrink_to_fit<C: Cards>(&mut self, cards: &C) {
        self.sweep(cards);
        self.sorted.shrink_to_fit();
        self.heap.shrink_to_fit();
    }

    /// Forgets every entry and gives back the memory; the opened tick stays the same.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            base: self.base,
            ..Self::default()
        };
    }

    /// The slots of all timers in the run, in no particular order.
    pub(crate) fn slots<C: Cards>(&self, cards: &C) -> impl Iterator<Item = SlotIndex> {
        let sorted = self.sorted[self.taken()..]
            .iter()
            .map(|packed| (packed.slot(), packed.order()));
        let heap = self
            .heap
            .iter()
            .map(|&Reverse((_, order, slot))| (slot, order));
        sorted
            .chain(heap)
            .filter(|&(slot, order)| !is_stale(cards, slot, order))
            .map(|(slot, _)| slot)
    }

    /// Checks the laws of the run, and hands each live entry's deadline, order and slot to
    /// `visit`.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<C: Cards>(&self, cards: &C, mut visit: impl FnMut(u64, Order, SlotIndex)) {
        assert!(
            self.sorted[self.taken()..].is_sorted_by(|a, b| a < b),
            "the due run is sorted by (deadline, order)"
        );
        let sorted = self.sorted[self.taken()..].iter().map(|packed| {
            (
                self.base + packed.offset_ns(),
                packed.order(),
                packed.slot(),
            )
        });
        let heap = self.heap.iter().map(|&Reverse(keyed)| keyed);
        let mut stale = 0;
        for (deadline, order, slot) in sorted.chain(heap) {
            if is_stale(cards, slot, order) {
                stale += 1;
            } else {
                visit(deadline, order, slot);
            }
        }
        assert!(
            stale == self.stale as usize,
            "the due run's stale entries are counted"
        );
        assert!(
            self.live() != 0 || self.is_empty(),
            "a due run without a live entry is empty"
        );
    }
}
