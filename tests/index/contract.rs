//! What an index wheel has in common with a wheel, and what it has besides.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::Budget;
use timer_wheel::index::IndexWheel;

/// No index is so high.
const INDEXES: u32 = 1_610_612_736;

/// What fires until the end of time.
fn fired(wheel: &mut IndexWheel) -> Vec<u32> {
    wheel.advance(u64::MAX).map(|due| due.index).collect()
}

#[test]
fn index_takes_24_bytes() {
    let mut wheel = IndexWheel::new(0);
    wheel.set(10 * 1_024 - 1, 0);
    // And a table of the forty pages, which doubles.
    let table = wheel.stats().bytes - 24 * 10 * 1_024 - size_of::<IndexWheel>();
    assert!(table <= 64 * size_of::<usize>(), "{table} bytes");
}

/// C17: whether they are new in the lane or move to its end.
#[test]
fn indexes_set_in_a_lane_in_order_need_no_bucket() {
    let mut wheel = IndexWheel::new(0);
    (0..40).for_each(|index| wheel.set(index, u64::MAX));
    let (lane, buckets) = (wheel.add_lane(), wheel.stats().occupied);
    for round in [1, 2] {
        (100..1_100).for_each(|index| wheel.set_in(lane, index, round << 40));
        assert_eq!((wheel.stats().lanes, wheel.stats().occupied), (1, buckets));
    }
    assert!(wheel.advance(2 << 40).map(|due| due.index).eq(100..1_100));
}

#[test]
fn shrink_gives_back_the_memory_above_the_highest_index_in_use() {
    let mut wheel = IndexWheel::with_capacity(0, 100_000);
    (0..100_000).for_each(|index| wheel.set(index, 1 << 40));
    (0..100_000).filter(|index| index % 1_000 != 7).for_each(|index| assert!(wheel.cancel(index)));
    let before = wheel.stats().bytes;
    wheel.shrink_to_fit();
    assert!(before - wheel.stats().bytes < 200_000, "99,007 is in use");
    (50..100).for_each(|thousands| assert!(wheel.cancel(thousands * 1_000 + 7)));
    wheel.shrink_to_fit();
    assert!(wheel.stats().bytes < before * 6 / 10);
    assert!(!wheel.cancel(99_007) && wheel.deadline(49_008).is_none());
    wheel.set(99_007, 1 << 39);
    wheel.check_invariants();
    assert_eq!(fired(&mut wheel)[..2], [99_007, 7]);
    wheel.shrink_to_fit();
    assert!(wheel.stats().bytes < 1_000);
}

#[test]
fn index_that_is_too_high_leaves_the_wheel_as_it_was() {
    let mut wheel = IndexWheel::new(0);
    (0..3).for_each(|index| wheel.set(index, 1));
    let bytes = wheel.stats().bytes;
    for index in [INDEXES, u32::MAX] {
        assert!(catch_unwind(AssertUnwindSafe(|| wheel.set(index, 10))).is_err());
        assert!(!wheel.cancel(index) && wheel.deadline(index).is_none());
        wheel.check_invariants();
        assert_eq!((wheel.len(), wheel.stats().bytes), (3, bytes));
    }
}

#[test]
fn room_for_more_than_a_wheel_can_hold_is_refused() {
    let mut wheel = IndexWheel::new(0);
    wheel.set(0, 1);
    wheel.reserve(300);
    let bytes = wheel.stats().bytes;
    assert!(bytes >= 24 * 300);
    for additional in [usize::MAX, usize::MAX / 2, INDEXES as usize] {
        let reserved = catch_unwind(AssertUnwindSafe(|| wheel.reserve(additional)));
        let message = *reserved.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, "an index would be out of range (must be below 1610612736)");
        assert_eq!((wheel.stats().bytes, wheel.len()), (bytes, 1));
    }
}

#[test]
fn debug_output_names_no_timer() {
    let mut wheel: IndexWheel = IndexWheel::default();
    wheel.set(7, 10);
    let due = wheel.peek_expired(15).expect("it is due");
    assert_eq!(format!("{due:?}"), "DueIndex { index: 7, deadline: 10, .. }");
    assert_eq!(format!("{wheel:?}"), "IndexWheel { now: 15, len: 1, .. }");
}

#[test]
fn advance_promises_no_more_than_there_are_and_the_budget_allows() {
    let mut wheel = IndexWheel::new(0);
    (0..4).for_each(|index| wheel.set(index, 1));
    assert_eq!(wheel.advance(1).size_hint(), (0, Some(4)));
    let mut hint = |mut budget| wheel.advance_with_budget(1, &mut budget).size_hint();
    assert_eq!(hint(Budget::of_work(3)), (0, Some(3)));
    assert_eq!(hint(Budget::of_work(3).with_fires(2)), (0, Some(2)));
}
