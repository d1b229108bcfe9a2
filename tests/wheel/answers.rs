//! What the lesser calls answer, to the number: statistics, hints of size.

use timer_wheel::{Budget, Compact, Millis, TimerKey, Wheel};

use crate::geometries::with_lists;
use crate::script::spans;

const TICK: u64 = 1 << 20;

/// A touch writes to the timer and to nothing else: its entry stays where it is.
#[test]
fn postponed_timer_keeps_its_bucket_and_wakes_at_its_old_time() {
    let mut wheel = with_lists::<Millis>(0);
    let key = wheel.schedule(5 * TICK, 0);
    assert!(wheel.reschedule(key, 5 * TICK + 1));
    for ticks in [9, 70, 700_000] {
        assert!(wheel.reschedule(key, ticks * TICK));
        assert_eq!(wheel.stats().occupied, [1, 0, 0, 0, 1]);
        assert_eq!(wheel.expiration_delay(), Some(5 * TICK));
        assert_eq!(wheel.next_deadline(), Some(ticks * TICK), "exact");
    }
    assert!(wheel.advance(5 * TICK).next().is_none());
    assert_eq!(wheel.stats().occupied, [0, 0, 1, 0, 1], "placed again");
}

/// A bucket of few timers is brought up as a whole, and then they are known to the nanosecond.
#[test]
fn peek_ahead_finds_a_timer_that_was_brought_up_early() {
    let mut wheel = with_lists::<Millis>(0);
    wheel.schedule(300 * TICK + 5, 0);
    assert_eq!(wheel.peek_ahead(1), Some(256 * TICK));
    assert!(wheel.advance(256 * TICK).next().is_none());
    assert_eq!(wheel.stats().near, 2, "it is sorted");
    assert_eq!(wheel.peek_ahead(0), Some(44 * TICK + 5), "the timer");
    assert_eq!(wheel.expiration_delay(), Some(44 * TICK + 5));
    assert_eq!(wheel.peek_ahead(1), None);
    assert!(wheel.advance(300 * TICK).next().is_none());
    assert_eq!(wheel.peek_ahead(0), Some(5), "the tick has come");
}

#[test]
fn peek_ahead_at_the_far_level_leads_to_a_bucket_and_to_a_backlog() {
    let rotation = spans::<Compact>()[4];
    let mut wheel = with_lists::<Compact>(7);
    for n in 0..3 {
        wheel.schedule(2 * rotation + 5 + n, n);
    }
    assert_eq!(wheel.peek_ahead(4), Some(2 * rotation - 7));
    // One unit to open the bucket, and one for one of the three.
    let mut budget = Budget::of_work(2);
    assert!(wheel.advance_with_budget(2 * rotation, &mut budget).next().is_none());
    assert!(budget.work == 0 && wheel.has_backlog());
    assert_eq!(wheel.peek_ahead(4), Some(0), "it is being emptied");
    assert!(wheel.advance(2 * rotation).next().is_none());
    assert_eq!(wheel.peek_ahead(4), Some((1 << 63) - 2 * rotation), "the ballast, in the second half of time");
}

#[test]
fn iterators_know_how_many_are_left() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..5).map(|n| wheel.schedule(n * TICK, n)).collect();
    assert!(wheel.cancel(keys[2]).is_some());
    let (mut iter, mut up, mut down) = (wheel.iter(), wheel.ascending(), wheel.descending());
    for left in (0..4).rev() {
        assert!(iter.next().is_some() && up.next().is_some() && down.next().is_some());
        for hint in [iter.size_hint(), up.size_hint(), down.size_hint()] {
            assert_eq!(hint, (left, Some(left)));
        }
    }
    assert!(iter.next().is_none() && up.next().is_none() && down.next().is_none());
    drop((iter, up, down));
    let mut hint = |mut budget| wheel.advance_with_budget(u64::MAX, &mut budget).size_hint();
    assert_eq!(hint(Budget::of_work(3)), (0, Some(3)), "no more than the budget");
    assert_eq!(hint(Budget::of_fires(2)), (0, Some(2)), "nor than its fires");
    assert_eq!(wheel.advance(0).size_hint(), (0, Some(4)));
    let mut drain = wheel.drain();
    assert_eq!(drain.size_hint(), (4, Some(4)));
    assert!(drain.next().is_some());
    assert_eq!(drain.size_hint(), (3, Some(3)));
}
