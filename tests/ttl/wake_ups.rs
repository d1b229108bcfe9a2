//! When to poll again, how little it takes to know, and what a poll does within its budget.

use std::time::Duration;

use timer_wheel::Backoff;
use timer_wheel::ttl::TtlQueue;

use crate::pair::LEVELS;
use crate::script::MS;
use crate::start::{SECOND, created, fill, is_due, leader_with, poll};

#[test]
fn jittered_backoff_spreads_retries_within_its_bounds() {
    let cap = Duration::from_secs(8);
    let mut queue = leader_with(|it| (it.backoff, it.retry_batch) = (Backoff::Jittered { cap }, 100));
    for key in 0..20 {
        queue.init(key, u64::from(key), 1, created(0)).unwrap();
    }
    let mut now = MS;
    assert_eq!(queue.poll(now).count(), 20);
    for longest in [1, 2, 4, 8, 8] {
        for key in 0..20 {
            queue.failed(&key, u64::from(key), now);
        }
        let (failed, mut came) = (now, 0);
        let mut moments = Vec::new();
        while came < 20 {
            let (at, due, idle) = sleep_until_due(&mut queue, now);
            assert!(idle <= LEVELS, "{idle} early wake-ups");
            now = at;
            came += due.len();
            moments.push(now);
            let least = (longest * SECOND / 2).max(SECOND);
            assert!((failed + least..=failed + longest * SECOND).contains(&now));
        }
        let together = moments.len() == 1;
        assert_eq!(together, longest == 1, "spread from the second failure on");
    }
}

/// Sleeps for as long as the queue says until something is proposed. Answers when that is, and how many polls found
/// nothing before that although no budget was used up.
fn sleep_until_due(queue: &mut TtlQueue<u32>, mut now: u64) -> (u64, Vec<u32>, usize) {
    let mut idle = 0;
    for _ in 0..10_000 {
        let wait = queue.expiration_delay().expect("something is to be proposed");
        now += wait;
        let due = poll(queue, now);
        if !due.is_empty() {
            return (now, due, idle);
        }
        idle += usize::from(wait != 0);
    }
    panic!("no progress");
}

/// Twenty thousand proposals of one moment time out together, when twenty thousand other entries are due. Both crowds
/// must be moved down, and no poll moves more entries, on both wheels together, than its budget allows.
#[test]
fn polls_bring_crowds_on_both_wheels_down_within_their_budgets() {
    let (count, budget) = (20_000, 250);
    let mut queue = leader_with(|it| (it.max_pending, it.poll_budget) = (2 * count, budget));
    fill(&mut queue, count as u32, |_| 1);
    (0..count / 10).for_each(|_| queue.poll(MS).for_each(drop));
    assert_eq!(queue.as_set().pending_len(), count);
    (0..count as u32).for_each(|key| _ = queue.init(!key, 2, 10_001, created(0)).unwrap());
    let timeout = MS + 10 * SECOND;
    let (mut before_timeouts, mut before_expiries) = (0, 0);
    loop {
        let found = queue.poll(timeout).count();
        assert_eq!(queue.expiration_delay(), Some(0));
        if found != 0 {
            break;
        }
        match queue.as_set().stats().timed_out {
            0 => before_timeouts += 1,
            _ => before_expiries += 1,
        }
        assert!(before_timeouts + before_expiries < 10_000, "no progress");
    }
    let least = count / budget;
    assert!(before_timeouts.min(before_expiries) >= least, "{before_timeouts} and {before_expiries} polls");
    queue.check_invariants();
}

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
