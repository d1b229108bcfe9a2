//! What the due run does and what it spares itself, in numbers that cannot be seen from outside.

use core::ops::Range;

use super::*;
use crate::filing::deck::Deck;

/// Nanoseconds that the buckets here span, as a power of two.
const SPAN_BITS: u32 = 20;

/// A run of a bucket that begins at 0, with all timers of the deck.
fn run_of(deck: &mut Deck) -> DueRun {
    let mut run = DueRun::default();
    run.open(deck, 0, SPAN_BITS, 0);
    collect(&mut run, deck, 0..deck.cards.len());
    run
}

fn collect(run: &mut DueRun, deck: &mut Deck, slots: Range<usize>) {
    let from = run.collected(deck, usize::MAX);
    for slot in slots {
        run.collect(&mut deck.cards[slot], SlotIndex::new(slot));
    }
    run.sort(deck, from);
    run.check(deck, |_| ());
}

fn insert(run: &mut DueRun, deck: &mut Deck, slot: usize) {
    run.insert(&mut deck.cards[slot], SlotIndex::new(slot));
}

fn cancel(run: &mut DueRun, deck: &mut Deck, slot: usize) {
    deck.cards[slot].place = Place::NOWHERE;
    run.remove(deck);
    run.check(deck, |_| ());
}

/// The slots in the order in which they fire, without the stale.
fn fire(run: &mut DueRun, deck: &mut Deck) -> Vec<usize> {
    let mut fired = Vec::new();
    while let Some(head) = run.head(deck) {
        if run.is_stale(deck, head) {
            run.pop_stale(head);
        } else {
            fired.push(head.slot.get());
            deck.cards[head.slot.get()].place = Place::NOWHERE;
            run.pop(head);
        }
    }
    run.check(deck, |_| ());
    fired
}

#[test]
fn bytes_are_those_of_both_parts() {
    let mut deck = Deck::of(0..7);
    let mut run = run_of(&mut deck);
    cancel(&mut run, &mut deck, 6);
    insert(&mut run, &mut deck, 6);
    let (sorted, heap) = (run.sorted.capacity(), run.heap.capacity());
    assert!(sorted >= 7 && heap >= 1);
    assert_eq!(run.bytes(), sorted * 8 + heap * 24);
}

#[test]
fn what_is_left_of_a_run_makes_way_if_it_is_no_more_than_that() {
    for (movable, moved) in [(2, 2), (1, 0)] {
        let mut deck = Deck::of(0..5);
        let mut run = run_of(&mut deck);
        for slot in 0..3 {
            let head = run.head(&deck).unwrap();
            assert_eq!(head.slot.get(), slot);
            deck.cards[slot].place = Place::NOWHERE;
            run.pop(head);
        }
        assert_eq!(
            run.open(&mut deck, 1 << SPAN_BITS, SPAN_BITS, movable),
            moved
        );
        assert_eq!((run.takes_more, run.heap.len()), (moved != 0, moved));
        assert_eq!(fire(&mut run, &mut deck), [3, 4]);
    }
}

#[test]
fn room_is_made_for_a_crowd_alone() {
    let mut deck = Deck::of(0..KEPT_CAPACITY as u64);
    let mut run = run_of(&mut deck);
    run.expect(5);
    assert!(run.sorted.capacity() >= KEPT_CAPACITY + 5);
    let room = run.sorted.capacity();
    run.open(&mut deck, 1 << SPAN_BITS, SPAN_BITS, 0);
    run.expect(10 * room);
    assert_eq!(
        run.sorted.capacity(),
        room,
        "the other bucket's go to the heap"
    );
    let mut few = run_of(&mut Deck::of(0..3));
    few.expect(KEPT_CAPACITY);
    assert!(few.sorted.capacity() < KEPT_CAPACITY, "they are no crowd");
}

#[test]
fn stale_end_is_removed_as_far_as_allowed_before_more_is_collected() {
    let mut deck = Deck::of(0..6);
    let mut run = run_of(&mut deck);
    assert_eq!(run.collected(&deck, 9), 6);
    for slot in [3, 4, 5] {
        cancel(&mut run, &mut deck, slot);
    }
    assert_eq!(run.collected(&deck, 0), 6);
    assert_eq!(run.collected(&deck, 2), 4);
    assert_eq!(run.collected(&deck, 9), 3);
    assert_eq!((run.stale, run.live()), (0, 3));
    cancel(&mut run, &mut deck, 2);
    run.open(&mut deck, 1 << SPAN_BITS, SPAN_BITS, 1);
    assert_eq!(
        run.collected(&deck, 9),
        3,
        "what is collected now goes elsewhere"
    );
    assert_eq!(fire(&mut run, &mut deck), [0, 1]);
}

#[test]
fn head_of_the_sorted_part_is_told_in_time_since_the_origin() {
    let base = 7 << SPAN_BITS;
    let mut deck = Deck::of([base + 5, base + 3]);
    let mut run = DueRun::default();
    assert_eq!(run.sorted_head(), u64::MAX);
    run.open(&mut deck, base, SPAN_BITS, 0);
    collect(&mut run, &mut deck, 0..2);
    assert_eq!(run.sorted_head(), base + 3);
    assert_eq!(run.latest(), Some(base + 5));
}

#[test]
fn run_that_is_used_up_keeps_the_memory_of_so_many_and_no_more() {
    for (timers, kept) in [(KEPT_CAPACITY, KEPT_CAPACITY), (KEPT_CAPACITY + 1, 0)] {
        let mut deck = Deck::of(0..timers as u64);
        let mut run = run_of(&mut deck);
        assert!(run.sorted.capacity() >= timers);
        assert_eq!(fire(&mut run, &mut deck).len(), timers);
        assert_eq!(run.sorted.capacity(), kept, "{timers} timers");
    }
}

#[test]
fn shrink_leaves_room_for_the_live_alone() {
    let mut deck = Deck::of(0..100);
    let mut run = run_of(&mut deck);
    for slot in 40..50 {
        cancel(&mut run, &mut deck, slot);
        insert(&mut run, &mut deck, slot);
    }
    for slot in 30..60 {
        cancel(&mut run, &mut deck, slot);
    }
    run.shrink_to_fit(&deck);
    assert_eq!((run.sorted.capacity(), run.heap.capacity()), (70, 0));
    assert_eq!((run.stale, run.live()), (0, 70));
}

#[test]
fn run_that_was_used_up_goes_on_with_its_bucket() {
    // So late that a time takes more bits than there are beside a slot.
    let base = 1 << 60;
    let crowd = KEPT_CAPACITY + 1;
    // Few enough, behind the crowd, to be sorted by their keys.
    let few = [9_000, 4_000, 70_000, 2].map(|ns| base + (1 << 19) + ns);
    let mut deck = Deck::of((0..crowd as u64).map(|ns| base + ns).chain(few));
    let mut run = DueRun::default();
    run.open(&mut deck, base, SPAN_BITS, 0);
    collect(&mut run, &mut deck, 0..crowd);
    assert_eq!(fire(&mut run, &mut deck).len(), crowd);
    assert_eq!(run.bytes(), 0, "the crowd's memory is given back");
    collect(&mut run, &mut deck, crowd..crowd + 4);
    assert_eq!(run.heap.len(), 0);
    let fired = fire(&mut run, &mut deck);
    assert_eq!(fired, [3, 1, 0, 2].map(|nth| crowd + nth));
}

#[test]
fn crowd_that_comes_in_order_is_not_sorted() {
    let mut deck = Deck::of([5; 100]);
    let mut run = DueRun::default();
    run.open(&mut deck, 0, SPAN_BITS, 0);
    for slot in 0..100 {
        run.collect(&mut deck.cards[slot], SlotIndex::new(slot));
    }
    let before = deck.looks();
    run.sort(&mut deck, 0);
    assert_eq!(
        deck.looks() - before,
        2 * 99,
        "each is compared with the next"
    );
}
