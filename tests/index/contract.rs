//! What an index wheel has in common with a wheel, and what it has besides.

use slab::Slab;
use std::panic::{AssertUnwindSafe, catch_unwind};
use timer_wheel::index::{IndexWheel, Timer};
use timer_wheel::{Verdict, Wheel};

#[test]
fn timer_is_24_bytes_and_leaves_room_for_a_tag() {
    assert_eq!((size_of::<Timer>(), size_of::<Option<Timer>>()), (24, 24));
}

#[test]
fn same_calls_fire_in_the_same_order_as_a_wheel() {
    let (mut ours, mut theirs) = (IndexWheel::new(0), Wheel::new(0));
    let mut store = Slab::new();
    let mut state = 1_u64;
    for now in (0..200).map(|step| step << 24) {
        for _ in 0..50 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let deadline = now + (state >> 32);
            let index = store.insert(Timer::new()) as u32;
            ours.schedule(&mut store, index, deadline);
            theirs.schedule(deadline, ());
        }
        loop {
            let expired = theirs.pop_expired(now);
            let popped = ours.pop_expired(&mut store, now);
            assert_eq!(popped.map(|it| it.1), expired.map(|it| it.deadline));
            let Some((index, _)) = popped else { break };
            store.remove(index as usize);
        }
        assert_eq!(ours.expiration_delay(), theirs.expiration_delay());
        assert_eq!((ours.len(), ours.now()), (theirs.len(), theirs.now()));
        // As much as the wheel, but for the slots, which are the store's.
        let (bytes, stats) = (ours.bytes(), theirs.stats());
        assert!(bytes > 4 * ours.len() && bytes + 24 * stats.slots < stats.bytes);
    }
}

#[test]
fn handle_that_is_dropped_leaves_the_timer_due() {
    let mut store = vec![Timer::new(), Timer::new()];
    let mut wheel = IndexWheel::new(0);
    wheel.schedule(&mut store, 0, 10);
    wheel.schedule(&mut store, 1, 10);
    for _ in 0..3 {
        let due = wheel.peek_expired(&mut store, 10).expect("it is due");
        assert_eq!((due.index(), due.deadline()), (0, 10));
    }
    assert_eq!(wheel.expiration_delay(), Some(0));
    assert_eq!(wheel.pop_expired(&mut store, 10), Some((0, 10)));
    let due = wheel.peek_expired(&mut store, 10).expect("it is due");
    assert_eq!(due.remove(), (1, 10));
    assert!(wheel.is_empty() && !store[1].is_scheduled());
}

#[test]
fn backlog_is_what_a_budget_has_left() {
    let mut store: Vec<Timer> = (0..100).map(|_| Timer::new()).collect();
    let mut wheel = IndexWheel::new(0);
    (0..100).for_each(|index| wheel.schedule(&mut store, index, 10));
    assert!(!wheel.has_backlog());
    for calls in 1.. {
        let progress = wheel.advance_with(&mut store, 10, 30, |_, _, _| Verdict::Remove);
        assert_eq!(progress.has_backlog, wheel.has_backlog());
        assert_eq!(
            wheel.has_backlog(),
            !wheel.is_empty(),
            "after {calls} calls"
        );
        if !wheel.has_backlog() {
            break;
        }
    }
}

#[test]
fn panic_in_a_callback_leaves_its_timer_due() {
    let mut store = vec![Timer::new(), Timer::new(), Timer::new()];
    let mut wheel = IndexWheel::new(0);
    for index in 0..3 {
        wheel.schedule(&mut store, index, 10 + u64::from(index));
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        wheel.advance_with(&mut store, 20, usize::MAX, |_, index, _| match index {
            0 => Verdict::Remove,
            _ => panic!("as told"),
        })
    }));
    assert!(result.is_err());
    wheel.check_invariants(&mut store);
    assert_eq!(wheel.len(), 2);
    assert_eq!(wheel.pop_expired(&mut store, 20), Some((1, 11)));
}

#[test]
fn clear_keeps_the_clock_and_the_records() {
    let mut store: Vec<Timer> = (0..1_000).map(|_| Timer::new()).collect();
    let mut wheel = IndexWheel::new(77);
    for index in 0..1_000 {
        wheel.schedule(&mut store, index, u64::from(index) << 24);
    }
    wheel.clear(&mut store);
    wheel.check_invariants(&mut store);
    assert_eq!((wheel.len(), wheel.now()), (0, 77));
    assert!(store.iter().all(|timer| !timer.is_scheduled()));
    assert_eq!(wheel.expiration_delay(), None);
    wheel.schedule(&mut store, 5, 100);
    assert_eq!(wheel.pop_expired(&mut store, 100), Some((5, 100)));
}

#[test]
fn put_off_timer_stays_where_it_is() {
    let mut store: Vec<Timer> = (0..1_000).map(|_| Timer::new()).collect();
    let mut wheel = IndexWheel::new(0);
    for index in 0..1_000 {
        wheel.schedule(&mut store, index, 1 << 34);
    }
    let bytes = wheel.bytes();
    // All that wait in a bucket, as the first does not.
    for index in 1..1_000 {
        wheel.schedule(&mut store, index, 1 << 44);
    }
    assert_eq!(wheel.bytes(), bytes, "nothing was placed anew");
    assert_eq!(wheel.pop_expired(&mut store, 1 << 35), Some((0, 1 << 34)));
    assert_eq!(wheel.pop_expired(&mut store, 1 << 35), None);
    assert_eq!(wheel.pop_expired(&mut store, 1 << 44), Some((1, 1 << 44)));
}

#[test]
fn store_is_at_hand_while_a_timer_is_due() {
    let mut store = Slab::from_iter([(0, Timer::new()), (1, Timer::new())]);
    let mut wheel: IndexWheel = IndexWheel::default();
    wheel.schedule(&mut store, 0, 10);
    wheel.schedule(&mut store, 1, 20);
    let mut due = wheel.peek_expired(&mut store, 15).expect("it is due");
    assert_eq!(due.store()[1].deadline(), Some(20));
    assert_eq!(
        format!("{due:?}"),
        "DueIndex { index: 0, deadline: 10, .. }"
    );
    let more = due.store_mut().insert(Timer::new()) as u32;
    assert_eq!(due.remove(), (0, 10));
    wheel.schedule(&mut store, more, 12);
    assert_eq!(format!("{wheel:?}"), "IndexWheel { now: 15, len: 2, .. }");
    let due = wheel.peek_expired(&mut store, 15).expect("it is due");
    assert_eq!(due.index(), more);
}

#[test]
fn room_for_more_than_a_wheel_can_hold_is_refused() {
    let mut store = vec![Timer::new()];
    let mut wheel = IndexWheel::new(0);
    wheel.schedule(&mut store, 0, 10);
    wheel.reserve(1_000);
    let bytes = wheel.bytes();
    assert!(bytes >= 4_000);
    for additional in [usize::MAX, 1 << 31] {
        let refused = catch_unwind(AssertUnwindSafe(|| wheel.reserve(additional)));
        assert!(refused.is_err());
        assert_eq!((wheel.bytes(), wheel.len()), (bytes, 1));
    }
}
