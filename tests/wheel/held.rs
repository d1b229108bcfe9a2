//! C18: a due timer can be held. Random scripts hold and release timers, too.

use timer_wheel::{DueTimer, TimerKey, Wheel};

/// Three timers that are due at one time, of which the second is held.
fn with_one_held() -> (Wheel<u64>, [TimerKey; 3]) {
    let mut wheel = Wheel::new(0);
    let keys = [0, 1, 2].map(|value| wheel.schedule(10, value));
    assert_eq!(wheel.peek_expired(10).map(DueTimer::hold), Some(keys[0]));
    assert_eq!(wheel.peek_expired(10).map(DueTimer::hold), Some(keys[1]));
    assert!(wheel.release(keys[0]));
    (wheel, keys)
}

#[test]
fn held_timer_is_live_and_passed_over_by_all_that_has_to_do_with_time() {
    let (mut wheel, [first, held, last]) = with_one_held();
    assert_eq!((wheel.len(), wheel.get(held), wheel.deadline(held)), (3, Some(&1), Some(10)));
    *wheel.get_mut(held).unwrap() = 7;
    let mut all: Vec<u64> = wheel.iter().map(|timer| *timer.value).collect();
    all.sort_unstable();
    assert_eq!(all, [0, 2, 7]);
    assert!(wheel.ascending().map(|timer| timer.key).eq([first, last]));
    assert!(wheel.descending().map(|timer| timer.key).eq([last, first]));
    assert!(wheel.advance(u64::MAX).map(|timer| timer.key).eq([first, last]));
    assert_eq!((wheel.wake_at(), wheel.expiration_delay(), wheel.next_deadline()), (None, None, None));
    assert!((0..6).all(|level| wheel.peek_ahead(level).is_none()) && !wheel.has_backlog());
    assert!(wheel.peek_first().is_none() && wheel.pop_first().is_none());
    assert_eq!((wheel.len(), wheel.stats().held), (1, 1));
}

/// A page with a held timer is not given back, and a clone holds what the original does.
#[test]
fn held_timer_keeps_its_slot_while_memory_comes_back() {
    let mut wheel = Wheel::new(0);
    (0..10_000).for_each(|n| _ = wheel.schedule(n, n));
    let mut held = Vec::new();
    while let Some(due) = wheel.peek_expired(10_000) {
        match due.deadline() % 1_000 {
            999 => held.push(due.hold()),
            _ => drop(due.remove()),
        }
    }
    (10_001..10_100).for_each(|now| assert_eq!(wheel.advance(now).count(), 0));
    assert!(wheel.stats().slots >= 9_999, "the last is held");
    for (&key, thousands) in held[5..].iter().zip(6..) {
        assert_eq!(
            (wheel.clone().cancel(key), wheel.cancel(key)),
            (Some(thousands * 1_000 - 1), Some(thousands * 1_000 - 1))
        );
    }
    (10_100..10_200).for_each(|now| assert_eq!(wheel.advance(now).count(), 0));
    assert!(wheel.stats().slots <= 5_120, "{:?}", wheel.stats());
    held[..5].iter().for_each(|&key| assert!(wheel.release(key)));
    assert!(wheel.advance(10_200).map(|timer| timer.value).eq([999, 1_999, 2_999, 3_999, 4_999]));
    wheel.check_invariants();
}
