//! What a poll does within its budget.

use crate::script::MS;
use crate::start::{SECOND, created, fill, is_due, leader_with, poll};

/// Our own, in its first year: a caller who may delete their own keys could leave entries in flight that a search
/// went through one by one, uncharged. Now no poll does more than its budget, whatever was deleted before it.
#[test]
fn late_entry_is_proposed_within_a_small_budget_whatever_was_deleted() {
    const COUNT: u32 = 20_000;
    for kept in [2, 4, 16, 64] {
        let mut queue = leader_with(|it| (it.max_pending, it.poll_budget) = (2 * COUNT as usize, 8));
        fill(&mut queue, COUNT, |_| 1);
        while is_due(&queue, MS) {
            queue.poll(MS).for_each(drop);
        }
        assert_eq!(queue.as_set().pending_len(), COUNT as usize);
        for key in (0..COUNT).filter(|key| key.wrapping_mul(2_654_435_761) >> 16 & (kept - 1) != 0) {
            assert!(queue.remove(&key).is_some());
        }
        for key in COUNT..COUNT + 1_000 {
            queue.init(key, 2, 1, created(0)).unwrap();
            assert_eq!(queue.expiration_delay(), Some(0));
            assert_eq!(poll(&mut queue, MS), [key], "eight units are enough for one");
        }
        queue.check_invariants();
    }
}

/// Each entry that is found takes a unit. So few wait in exact order already, and nothing else is to be paid.
#[test]
fn entry_that_is_proposed_is_paid_for_by_the_budget() {
    for budget in [1, 5, 19, 20, 30] {
        let mut queue = leader_with(|it| it.poll_budget = budget);
        fill(&mut queue, 20, |_| 1);
        assert_eq!(queue.poll(MS).count(), budget.min(20));
    }
}

/// A proposal that has timed out is looked at and does not fire: with one unit a poll all of them are found.
#[test]
fn timeout_takes_no_unit_of_the_budget() {
    let mut queue = leader_with(|it| it.poll_budget = 1);
    fill(&mut queue, 20, |_| 1);
    (0..20).for_each(|_| assert_eq!(queue.poll(MS).count(), 1));
    assert_eq!(queue.poll(MS + 10 * SECOND).count(), 0);
    assert_eq!(queue.as_set().retrying_len(), 20);
}

/// Our own: `Due` said that it is fused, and yielded after `None` when its budget was small.
#[test]
fn poll_that_came_to_its_end_stays_there() {
    let mut queue = leader_with(|it| it.poll_budget = 1);
    fill(&mut queue, 500, |_| 60_000);
    let (mut polls, mut found) = (0, 0);
    while queue.as_set().pending_len() < 500 {
        let mut due = queue.poll(60_000 * MS);
        found += due.by_ref().count();
        assert!((0..100).all(|_| due.next().is_none()), "the budget is used up");
        assert_eq!(due.size_hint(), (0, Some(0)));
        polls += 1;
        assert!(polls < 10_000);
    }
    assert_eq!(found, 500);
}
