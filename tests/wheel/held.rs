//! C18: a due timer can be held. Random scripts hold and release timers, too.

use timer_wheel::{DueTimer, TimerKey, Wheel};

/// Three timers that are due at one time, of which the second is held.
fn with_one_held() -> (Wheel<u64>, [TimerKey; 3]) {
    let mut wheel = Wheel::new(0);
    let keys = [0, 1, 2].map(|value| wheel.schedule(10, value));
    let first = wheel.peek_expired(10).map(DueTimer::hold);
    assert_eq!(first, Some(keys[0]));
    assert_eq!(wheel.peek_expired(10).map(DueTimer::hold), Some(keys[1]));
    assert!(wheel.release(keys[0]));
    (wheel, keys)
}

#[test]
fn held_timer_is_live_and_passed_over_by_all_that_has_to_do_with_time() {
    let (mut wheel, [first, held, last]) = with_one_held();
    assert!(wheel.contains(held) && wheel.len() == 3);
    assert_eq!((wheel.get(held), wheel.deadline(held)), (Some(&1), Some(10)));
    *wheel.get_mut(held).unwrap() = 7;
    let mut all: Vec<u64> = wheel.iter().map(|timer| *timer.value).collect();
    all.sort_unstable();
    assert_eq!(all, [0, 2, 7]);
    assert!(wheel.ascending().map(|timer| timer.key).eq([first, last]));
    assert!(wheel.descending().map(|timer| timer.key).eq([last, first]));
    assert_eq!(wheel.ascending().len(), 2);
    assert!(wheel.advance(u64::MAX).map(|timer| timer.key).eq([first, last]));
    assert_eq!((wheel.wake_at(), wheel.expiration_delay(), wheel.next_deadline()), (None, None, None));
    assert!((0..6).all(|level| wheel.peek_ahead(level).is_none()) && !wheel.has_backlog());
    assert!(wheel.peek_first().is_none() && wheel.pop_first().is_none());
    assert!(!wheel.is_empty() && wheel.stats().held == 1);
    wheel.check_invariants();
}

#[test]
fn released_timer_has_its_old_place_in_the_order_and_a_rescheduled_one_a_new_one() {
    let (mut wheel, [first, held, last]) = with_one_held();
    assert!(wheel.release(held) && !wheel.release(held));
    assert!(wheel.advance(10).map(|timer| timer.key).eq([first, held, last]));
    assert!(!wheel.release(held), "it is stale");

    let (mut wheel, [first, held, last]) = with_one_held();
    assert!(wheel.reschedule(held, 10) && !wheel.release(held));
    assert!(wheel.advance(10).map(|timer| timer.key).eq([first, last, held]));

    let (mut wheel, [first, held, last]) = with_one_held();
    let lane = wheel.add_lane();
    assert!(wheel.reschedule_in(lane, held, 50));
    assert!(wheel.advance(50).map(|timer| timer.key).eq([first, last, held]));
}

#[test]
fn held_timer_is_cancelled_cleared_drained_and_retained_like_any_live_one() {
    let (mut wheel, [_, held, _]) = with_one_held();
    assert_eq!((wheel.cancel(held), wheel.cancel(held), wheel.len()), (Some(1), None, 2));
    wheel.check_invariants();

    let (mut wheel, [_, held, _]) = with_one_held();
    wheel.clear();
    assert!(wheel.is_empty() && !wheel.contains(held) && wheel.stats().held == 0);

    let (mut wheel, _) = with_one_held();
    let mut drained: Vec<u64> = wheel.drain().map(|timer| timer.value).collect();
    drained.sort_unstable();
    assert_eq!(drained, [0, 1, 2]);

    let (mut wheel, [_, held, _]) = with_one_held();
    wheel.retain(|key, deadline, _| key != held && deadline == 10);
    assert!(!wheel.contains(held) && wheel.len() == 2);
    wheel.check_invariants();
}

/// A page with a held timer is not given back, and a clone holds what the original does.
#[test]
fn held_timer_keeps_its_slot_while_memory_comes_back() {
    let mut wheel = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..10_000).map(|n| wheel.schedule(n, n)).collect();
    let mut held = Vec::new();
    while let Some(due) = wheel.peek_expired(10_000) {
        if due.deadline() % 1_000 == 999 {
            held.push(due.hold());
        } else {
            due.remove();
        }
    }
    (10_001..10_100).for_each(|now| assert_eq!(wheel.advance(now).count(), 0));
    assert!(wheel.stats().slots >= 9_999, "the last is held");
    for &key in &held[5..] {
        assert_eq!(wheel.clone().cancel(key), Some(keys.iter().position(|&other| other == key).unwrap() as u64));
        wheel.cancel(key);
    }
    (10_100..10_200).for_each(|now| assert_eq!(wheel.advance(now).count(), 0));
    assert!(wheel.stats().slots <= 5_120, "{:?}", wheel.stats());
    held[..5].iter().for_each(|&key| assert!(wheel.release(key)));
    assert!(wheel.advance(10_200).map(|timer| timer.value).eq([999, 1_999, 2_999, 3_999, 4_999]));
    wheel.check_invariants();
}
