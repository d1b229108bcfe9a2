//! What the filing spares itself, in numbers that cannot be seen from outside.

use super::*;
use crate::Millis;
use crate::filing::deck::Deck;
use crate::filing::search::{Ascent, Descent};

/// Nanoseconds of a tick, and of a bucket of levels 1 and 2.
pub(super) const TICK: u64 = 1 << 20;
const MINUTE: u64 = TICK << 8;
const HOUR: u64 = MINUTE << 8;

/// A filing of timers with these deadlines, at time 0.
pub(super) fn filed(deadlines: impl IntoIterator<Item = u64>) -> (Filing<Millis>, Deck) {
    let mut filing = Filing::new(0);
    let mut deck = Deck::of(deadlines);
    for (slot, card) in deck.cards.iter_mut().enumerate() {
        filing.file(card, SlotIndex::new(slot));
    }
    (filing, deck)
}

/// Advances, and says how many have fired.
fn advance(filing: &mut Filing<Millis>, deck: &mut Deck, now: u64) -> usize {
    filing.set_now(now);
    let mut fired = 0;
    while let Some(head) = filing.next_due(deck, &mut { usize::MAX }) {
        deck.cards[head.slot.get()].place = Place::NOWHERE;
        filing.pop_due(head);
        fired += 1;
    }
    fired
}

pub(super) fn cancel(filing: &mut Filing<Millis>, deck: &mut Deck, slot: usize) {
    let was = deck.cards[slot].filed();
    deck.cards[slot].place = Place::NOWHERE;
    filing.withdraw(deck, was);
}

#[test]
fn timer_is_refiled_alone_unless_its_bucket_is_left_empty() {
    let (mut filing, mut deck) = filed([5, 5, 9].map(|tick| tick * TICK));
    filing.set_next_sequence(100);
    let mut refile = |slot: usize, tick: u64| {
        let order = Order::filed(10 + tick);
        let card = &mut deck.cards[slot];
        let is_filed = filing.refile_alone(card, SlotIndex::new(slot), tick * TICK, order);
        assert_eq!(card.deadline == tick * TICK, is_filed);
        assert_eq!(card.order() == order, is_filed);
        filing.check(&deck, 3);
        (is_filed, filing.stale)
    };
    assert_eq!(refile(0, 7), (true, 1));
    assert_eq!(refile(1, 7), (false, 1), "the last one of its bucket");
    assert_eq!(refile(0, 9), (false, 1), "the only one of its bucket");
    assert_eq!(refile(2, 7), (false, 1), "likewise");
}

#[test]
fn timer_of_no_level_is_not_refiled_alone() {
    // Arrivals, and timers of the next rotation.
    for deadline in [0, u64::MAX] {
        let (mut filing, mut deck) = filed([deadline; 2]);
        filing.set_next_sequence(100);
        let order = Order::filed(10);
        let card = &mut deck.cards[0];
        assert!(!filing.refile_alone(card, SlotIndex::new(0), TICK, order));
        filing.check(&deck, 2);
    }
}

#[test]
fn timer_that_is_refiled_alone_is_not_postponed_any_more() {
    let (mut filing, mut deck) = filed([5 * TICK; 2]);
    filing.set_next_sequence(100);
    let card = &mut deck.cards[0];
    assert!(filing.postpone(card, 9 * TICK, Order::filed(10)));
    assert_eq!(filing.postponed(), 1);
    assert!(filing.refile_alone(card, SlotIndex::new(0), 7 * TICK, Order::filed(11)));
    assert_eq!(filing.postponed(), 0);
    filing.check(&deck, 2);
}

#[test]
fn advance_is_idle_until_the_first_bucket_begins() {
    let (mut filing, _) = filed([5 * TICK + 3]);
    filing.set_now(5 * TICK - 1);
    assert!(filing.is_idle());
    filing.set_now(5 * TICK);
    assert!(!filing.is_idle());
}

#[test]
fn start_of_the_next_bucket_is_known_when_one_has_been_emptied() {
    let (mut filing, mut deck) = filed([5 * TICK, 9 * TICK + 1]);
    assert_eq!(advance(&mut filing, &mut deck, 5 * TICK), 1);
    assert_eq!(filing.first_start, 9 * TICK);
    assert_eq!(advance(&mut filing, &mut deck, 9 * TICK + 1), 1);
    assert_eq!(filing.first_start, NEVER);
}

#[test]
fn search_for_the_next_deadline_ends_with_the_first_bucket() {
    // Of those that begin with their tick none can be earlier than the first that is looked at.
    for (into_tick, looks) in [(0, 1), (1, 4)] {
        let (filing, deck) = filed([5, 5, 5, 5, 9, 9].map(|tick| tick * TICK + into_tick));
        let before = deck.looks();
        assert_eq!(filing.next_deadline(&deck), Some(5 * TICK + into_tick));
        assert_eq!(deck.looks() - before, looks);
    }
}

#[test]
fn head_of_the_due_run_is_the_next_deadline_without_a_look_at_the_others() {
    // Few enough to be brought up early.
    let (mut filing, mut deck) = filed((0..200).map(|nth| MINUTE + TICK + nth * TICK / 2));
    assert_eq!(advance(&mut filing, &mut deck, MINUTE), 0);
    assert_eq!(filing.due_len(), 200);
    let before = deck.looks();
    assert_eq!(filing.next_deadline(&deck), Some(MINUTE + TICK));
    assert_eq!(deck.looks() - before, 0);
}

#[test]
fn walk_in_either_direction_reads_a_bucket_when_it_comes_there() {
    let (filing, deck) = filed([5, 5, 5, 9, 9, 9].map(|tick| tick * TICK));
    let mut ascent = Ascent::new(&filing, &deck);
    let mut descent = Descent::new(&filing, &deck);
    // Of three timers: whose the entry is, backwards also if it is postponed, and when it is due.
    for looks in [3 * (2 + 3), 0, 0, 3 * (2 + 3), 0, 0] {
        let before = deck.looks();
        assert!(ascent.next(&filing, &deck).is_some());
        assert!(descent.next(&filing, &deck).is_some());
        assert_eq!(deck.looks() - before, looks);
    }
}

#[test]
fn plain_cascade_touches_no_timer_above_level_1_and_each_once_there() {
    // More than are brought up early.
    let timers = 300;
    let deadlines = |bucket: u64| (0..timers).map(move |nth| bucket + nth * (TICK / 2));
    let (mut filing, mut deck) = filed(deadlines(MINUTE + TICK));
    assert_eq!(advance(&mut filing, &mut deck, MINUTE), 0);
    assert_eq!(deck.touches, timers as usize);
    let (mut filing, mut deck) = filed(deadlines(HOUR + TICK));
    assert_eq!(advance(&mut filing, &mut deck, HOUR), 0);
    assert_eq!(deck.touches, 0);
}
