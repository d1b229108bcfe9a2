//! The near heap beside an ordered set, what it sorts, and how full its pages are.

use alloc::vec::Vec;
use std::collections::BTreeMap;

use super::*;
use crate::header::Header;

struct Store(Vec<Header>);

impl Headers for Store {
    fn header(&self, slot: SlotIndex) -> &Header {
        &self.0[slot.get()]
    }

    fn header_mut(&mut self, slot: SlotIndex) -> &mut Header {
        &mut self.0[slot.get()]
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// A heap, its headers, and the timers that must be in it.
struct Pair {
    heap: NearHeap,
    store: Store,
    model: BTreeMap<(u64, u64), SlotIndex>,
    next: u64,
}

impl Pair {
    fn new() -> Self {
        Self {
            heap: NearHeap::new(),
            store: Store(Vec::new()),
            model: BTreeMap::new(),
            next: 0,
        }
    }

    fn timer(&mut self, deadline: u64) -> Ordered {
        let slot = SlotIndex::new(self.store.0.len());
        let timer = Ordered::new(deadline, Sequence::new(self.next), slot);
        self.store.0.push(Header::new(0));
        timer.complete(self.store.header_mut(slot), None);
        self.model.insert((deadline, self.next), slot);
        self.next += 1;
        timer
    }

    fn add(&mut self, deadlines: impl Iterator<Item = u64>) {
        let mut timers = self.heap.room(0);
        timers.extend(deadlines.map(|deadline| self.timer(deadline)));
        self.heap.add(&mut self.store, timers);
    }

    fn remove(&mut self, nth: usize) {
        let (&key, &slot) = self.model.iter().nth(nth).expect("there are as many");
        self.model.remove(&key);
        let Header {
            place, position, ..
        } = *self.store.header(slot);
        assert!(self.heap.holds(place, position, slot));
        assert!(!self.heap.holds(place, position, SlotIndex::NONE));
        self.heap.remove(&mut self.store, place, position);
        assert!(!self.heap.holds(place, position, slot));
    }

    fn check(&self) {
        let mut timers = 0;
        self.heap.check(&self.store, |_| timers += 1);
        assert_eq!(
            (timers, self.heap.len()),
            (self.model.len(), self.model.len())
        );
        let first = self.heap.first().map(|first| first.slot);
        assert_eq!(first, self.model.values().next().copied());
    }

    /// Takes all out in order, runs as [`NearHeap::after`] leads through them.
    fn drain(mut self) {
        let mut follows = None;
        while let Some((_, slot)) = self.model.pop_first() {
            let first = *self.heap.first().expect("as many as in the model");
            assert_eq!(first.slot, slot);
            let (place, position) = self.heap.first_place();
            assert!(self.store.header(slot).is_at(place, position));
            let after = self.heap.after(position).filter(|_| place == Place::RUN);
            let after = after.map(|after| after.slot);
            assert!(follows.is_none_or(|(run, expected)| run != first.run || expected == slot));
            follows = after.map(|after| (first.run, after));
            assert_eq!(self.heap.upcoming().nth(1).map(|it| it.slot), after);
            self.heap.pop(&mut self.store);
            if self.model.len() % 64 == 0 {
                self.check();
            }
        }
        assert!(self.heap.first().is_none());
    }
}

#[test]
fn heap_of_timers_and_runs_behaves_as_an_ordered_set() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut pair = Pair::new();
        let spread = [1, 5, 1_000, 1 << 40][seed as usize % 4];
        for step in 0..60 {
            let base = random.below(spread);
            match random.below(7) {
                0 => {
                    let timer = pair.timer(random.below(spread));
                    pair.heap.push(&mut pair.store, timer);
                }
                1 => {
                    let count = random.below(LARGE as u64 + 1);
                    pair.add((0..count).map(|_| random.below(spread)));
                }
                2 => pair.add((0..random.below(9)).map(|n| base + n)),
                3 => pair.add((0..random.below(9)).map(|n| base.saturating_sub(n))),
                4 => pair.add((0..random.below(40)).map(|_| 1_000 * step)),
                // The first, the last, and from between.
                _ => {
                    for _ in 0..random.below(60).min(pair.model.len() as u64) {
                        let len = pair.model.len();
                        let nth = [0, len - 1, random.below(len as u64) as usize];
                        pair.remove(nth[random.below(3) as usize]);
                    }
                }
            }
            if step % 4 == 0 {
                pair.check();
            }
        }
        let slots: Vec<_> = pair.model.values().copied().collect();
        for (number, &slot) in (0..).zip(&slots) {
            pair.store
                .header_mut(slot)
                .set_sequence(Sequence::new(number));
        }
        pair.heap.renumber(&pair.store);
        pair.check();
        pair.heap.shrink_to_fit(&mut pair.store);
        pair.check();
        pair.drain();
    }
}

#[test]
fn timers_that_come_in_order_or_in_reverse_share_pages() {
    const COUNT: u64 = 7 * 1_000;
    for is_reverse in [false, true] {
        let mut pair = Pair::new();
        for piece in 0..COUNT / 7 {
            let from = if is_reverse {
                COUNT - 7 * piece
            } else {
                7 * piece
            };
            pair.add(from..from + 7);
        }
        // Half a page of each that was begun in its middle.
        let least = COUNT as usize / (PAGE / 2) + 2;
        assert!(pair.heap.runs.len() <= least, "{}", pair.heap.runs.len());
        assert_eq!(pair.heap.entries(), pair.heap.runs.len(), "none is alone");
        pair.drain();
    }
}

#[test]
fn pages_are_not_made_for_a_few_timers_each() {
    for few in [2, 3, 10] {
        let mut pair = Pair::new();
        for piece in 0..1_000 {
            // Among all others.
            pair.add((0..few).map(|nth| 1_000_000 * nth + piece));
        }
        assert_eq!(pair.heap.runs.len(), FEW_RUNS);
        assert!(pair.heap.bytes() < 100_000 * few as usize);
        pair.drain();
    }
}

#[test]
fn pages_an_eighth_full_are_not_too_many() {
    const EIGHTH: u64 = PAGE as u64 / 8;
    let mut pair = Pair::new();
    let mut add = |timers| {
        let from = pair.next;
        pair.add((0..timers).map(|nth| 1_000_000 * nth + from));
        pair.heap.runs.len()
    };
    for piece in 0..3 * FEW_RUNS {
        assert_eq!(add(EIGHTH), piece + 1);
    }
    // One less would be less than an eighth, and goes on being that.
    for _ in 0..100 {
        assert_eq!(add(EIGHTH - 1), 3 * FEW_RUNS);
    }
    pair.drain();
}

#[test]
fn shrunk_heap_has_no_page_that_it_does_not_need() {
    // Less than an eighth of a page lies in the heap itself.
    const ALONE: usize = PAGE / 8 - 1;
    for (timers, pages, alone) in [
        (ALONE, 0, ALONE),
        (ALONE + 1, 1, 0),
        (LARGE, 1, 0),
        (2 * LARGE + ALONE, 2, ALONE),
    ] {
        let mut pair = Pair::new();
        let mut left = timers;
        while left != 0 {
            let piece = left.min(40);
            let from = pair.next;
            pair.add((0..piece as u64).map(|nth| 1_000_000 * nth + from));
            left -= piece;
        }
        pair.heap.shrink_to_fit(&mut pair.store);
        pair.check();
        assert_eq!(pair.heap.runs.len(), pages, "{timers} timers");
        assert_eq!(pair.heap.entries(), pages + alone, "{timers} timers");
        pair.drain();
    }
}

#[test]
fn cleared_heap_is_empty_and_shrinks_to_nothing() {
    let mut pair = Pair::new();
    (0..5).for_each(|n| pair.add(n..n + 300 * (n + 1) % 257));
    pair.heap.clear();
    pair.model.clear();
    pair.check();
    pair.heap.shrink_to_fit(&mut pair.store);
    assert_eq!(pair.heap.bytes(), 0);
    pair.add(5..9);
    pair.drain();
}

#[test]
fn runs_of_any_size_and_spread_are_sorted_as_the_standard_sort_does() {
    // The last two do not fit into words: with the 8 bits of an index that is more than 64.
    for (deadline_bits, sequence_bits) in [(0, 30), (20, 30), (56, 0), (26, 30), (27, 30), (64, 48)]
    {
        for len in [1, 2, 20, 32, 33, 64, 65, 256, 1_024] {
            let mut random = Random(len);
            let mut bits = |bits: u32| {
                let word = random.below(1 << 31) << 62
                    ^ random.below(1 << 31) << 31
                    ^ random.below(1 << 31);
                word & u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
            };
            let mut timers: Vec<Ordered> = (0..len)
                .map(|index| {
                    let deadline = u64::MAX - bits(deadline_bits);
                    let sequence = Sequence::new(Sequence::COUNT - 1 - bits(sequence_bits));
                    Ordered::new(deadline, sequence, SlotIndex::new(index as usize))
                })
                .collect();
            let mut expected = timers.clone();
            expected.sort_by_key(Ordered::rank);
            let spread = |of: fn(&Ordered) -> u64| {
                let numbers = timers.iter().map(of);
                let spread = numbers.clone().max().zip(numbers.min());
                spread.map_or(0, |(most, least)| {
                    (most - least).checked_ilog2().map_or(0, |it| it + 1)
                })
            };
            let bits = (u64::BITS - len.leading_zeros())
                + spread(|it| it.deadline)
                + spread(|it| it.sequence.get());
            let before = timers.clone();
            let mut order = Vec::new();
            run::sort(&mut timers, &mut order);
            let are_words = timers == before;
            assert!(if bits > 64 {
                timers.is_sorted()
            } else {
                are_words
            });
            let sorted: Vec<_> = order.iter().map(|&index| timers[index as usize]).collect();
            assert_eq!(
                sorted, expected,
                "{len} of {deadline_bits} and {sequence_bits} bits"
            );
        }
    }
}
