//! Each lie by name.

use std::panic::{AssertUnwindSafe, catch_unwind};

use slab::Slab;
use timer_wheel::index::{IndexWheel, Timer, Timers};
use timer_wheel::{Millis, Verdict};

use crate::geometries::Bare;
use crate::shelf::Shelf;

/// A wheel with a crowd in one bucket, far enough ahead to lie in a list, and its store.
fn crowd(timers: u32) -> (IndexWheel, Shelf) {
    let (mut wheel, mut store) = (IndexWheel::new(0), Shelf::new(timers));
    for index in 0..timers {
        wheel.schedule(&mut store, index, (1 << 32) + u64::from(index));
    }
    (wheel, store)
}

/// What fires until the end of time.
fn fired(wheel: &mut IndexWheel, store: &mut Shelf) -> Vec<u32> {
    std::iter::from_fn(|| wheel.pop_expired(store, u64::MAX))
        .map(|(index, _)| index)
        .collect()
}

/// Panics when it is asked for one of its records.
struct Fragile(Shelf, Option<u32>);

impl Timers for Fragile {
    fn timer(&self, index: u32) -> Option<&Timer> {
        assert_ne!(Some(index), self.1, "as told");
        self.0.timer(index)
    }

    fn timer_mut(&mut self, index: u32) -> Option<&mut Timer> {
        assert_ne!(Some(index), self.1, "as told");
        self.0.timer_mut(index)
    }
}

/// Panics when it is asked to change one of its records.
struct Unchanging(Shelf, Option<u32>);

impl Timers for Unchanging {
    fn timer(&self, index: u32) -> Option<&Timer> {
        self.0.timer(index)
    }

    fn timer_mut(&mut self, index: u32) -> Option<&mut Timer> {
        assert_ne!(Some(index), self.1, "as told");
        self.0.timer_mut(index)
    }
}

#[test]
fn store_that_panics_in_a_cancel_leaves_no_timer_that_never_fires() {
    let (mut wheel, store) = crowd(500);
    // The entry of the last record takes the place of the one that is cancelled.
    let mut store = Fragile(store, Some(499));
    let cancelled = catch_unwind(AssertUnwindSafe(|| wheel.cancel(&mut store, 100)));
    assert!(cancelled.is_err());
    assert_eq!(wheel.len(), 499);
    store.1 = None;
    let fired = std::iter::from_fn(|| wheel.pop_expired(&mut store, u64::MAX)).count();
    assert!((498..=499).contains(&fired), "{fired} have fired");
    assert_eq!((wheel.len(), wheel.expiration_delay()), (0, None));
}

/// What the store no longer knows is work too, though none of it fires.
#[test]
fn records_that_are_gone_are_passed_within_the_budget() {
    let (mut wheel, mut store) = crowd(500);
    let now = (1 << 32) + 500;
    assert!(wheel.peek_expired(&mut store, now).is_some(), "sorted");
    (0..500).for_each(|index| _ = store.replace(index, None));
    let calls = (1..).find(|_| {
        let progress = wheel.advance_with(&mut store, now, 10, |_, _, _| unreachable!());
        assert_eq!(progress.fired, 0);
        !progress.has_backlog
    });
    assert!(calls >= Some(50), "{calls:?}");
}

/// Timers that were being sorted when the store panicked are lost, and count until the wheel is cleared; but
/// none of them comes back.
#[test]
fn store_that_panics_in_an_advance_leaves_nothing_behind() {
    const TICK: u64 = 1 << 20;
    let mut wheel = IndexWheel::new(0);
    let mut store = Fragile(Shelf::new(500), None);
    (400..432).for_each(|index| wheel.schedule(&mut store, index, u64::MAX));
    (0..200).for_each(|index| wheel.schedule(&mut store, index, 5 * TICK));
    store.1 = Some(150);
    let popped = catch_unwind(AssertUnwindSafe(|| wheel.pop_expired(&mut store, 5 * TICK)));
    assert!(popped.is_err());
    store.1 = None;
    assert!(!wheel.cancel(&mut store, 195));
    wheel.schedule(&mut store, 300, 6 * TICK);
    let pop = |wheel: &mut IndexWheel, store: &mut Fragile| -> Vec<u32> {
        std::iter::from_fn(|| wheel.pop_expired(store, 9 * TICK))
            .map(|(index, _)| index)
            .collect()
    };
    let fired = pop(&mut wheel, &mut store);
    assert!(fired.last() == Some(&300) && !fired.contains(&195));
    wheel.clear(&mut store);
    (0..40).for_each(|index| wheel.schedule(&mut store, index, 9 * TICK));
    assert_eq!(pop(&mut wheel, &mut store), Vec::from_iter(0..40));
    assert_eq!((wheel.len(), wheel.expiration_delay()), (0, None));
}

/// Ours: each timer of the run was taken for one that its record had forgotten.
#[test]
fn store_that_panics_where_timers_join_others_leaves_those_behind_them() {
    const TICK: u64 = 1 << 20;
    let mut wheel = IndexWheel::<Bare<Millis>>::with_geometry(0);
    let mut store = Unchanging(Shelf::new(300), None);
    // A coarse bucket of few timers: they are sorted together.
    wheel.schedule(&mut store, 299, 256 * TICK);
    for index in 0..200 {
        wheel.schedule(&mut store, index, (300 + u64::from(index)) * TICK);
    }
    assert!(wheel.pop_expired(&mut store, 256 * TICK).is_some());
    // And others before them, one of which cannot be told so.
    (200..210).for_each(|index| wheel.schedule(&mut store, index, 260 * TICK));
    store.1 = Some(205);
    let popped = catch_unwind(AssertUnwindSafe(|| {
        wheel.pop_expired(&mut store, 260 * TICK)
    }));
    assert!(popped.is_err());
    store.1 = None;
    let fired = std::iter::from_fn(|| wheel.pop_expired(&mut store, u64::MAX));
    let fired: Vec<u32> = fired.map(|(index, _)| index).collect();
    assert!(fired.into_iter().eq((200..205).chain(0..200)));
}

/// Ours: two entries of the record were in the heap, and what the old one was told was taken for the new one's.
#[test]
fn record_begun_anew_in_a_small_wheel_fires_when_it_was_scheduled_last() {
    let mut wheel = IndexWheel::new(0);
    let mut store = Shelf::new(10);
    for (index, deadline) in (0..).zip([10, 20, 200, 200, 200, 30, 120, 130, 140, 210]) {
        wheel.schedule(&mut store, index, deadline);
    }
    store.replace(5, Some(Timer::new()));
    wheel.schedule(&mut store, 5, 1_000);
    let fired = std::iter::from_fn(|| wheel.pop_expired(&mut store, 2_000));
    let fired: Vec<(u32, u64)> = fired.collect();
    assert_eq!(
        fired
            .iter()
            .filter(|(index, _)| *index == 5)
            .collect::<Vec<_>>(),
        [&(5, 1_000)]
    );
    assert_eq!((fired.len(), wheel.len()), (10, 0));
}

/// Ours: a run whose first timer left went with the panic, and all its timers.
#[test]
fn store_that_panics_where_a_run_gives_way_loses_none_of_its_timers() {
    const TICK: u64 = 1 << 20;
    let mut wheel = IndexWheel::<Bare<Millis>>::with_geometry(0);
    let mut store = Unchanging(Shelf::new(300), None);
    for index in 0..200 {
        wheel.schedule(&mut store, index, 5 * TICK + 1_000 * u64::from(index));
    }
    assert!(wheel.pop_expired(&mut store, 5 * TICK).is_some(), "sorted");
    // Between the first two, in the current tick.
    wheel.schedule(&mut store, 299, 5 * TICK + 1_500);
    store.1 = Some(299);
    let cancelled = catch_unwind(AssertUnwindSafe(|| wheel.cancel(&mut store, 1)));
    assert!(cancelled.is_err());
    store.1 = None;
    let fired = std::iter::from_fn(|| wheel.pop_expired(&mut store, u64::MAX));
    let fired: Vec<u32> = fired
        .map(|(index, _)| index)
        .filter(|&it| it != 299)
        .collect();
    assert!(fired.into_iter().eq(2..200));
    assert_eq!((wheel.len(), wheel.expiration_delay()), (0, None));
}

/// Ours: those that were left in the bucket were moved behind its first tick, and fired late.
#[test]
fn store_that_panics_while_a_bucket_is_sorted_leaves_no_timer_that_fires_late() {
    let (start, end) = (1 << 28, (1 << 28) + 200);
    let mut wheel = IndexWheel::<Bare<Millis>>::with_geometry(0);
    let mut store = Fragile(Shelf::new(200), None);
    (0..200).for_each(|index| wheel.schedule(&mut store, index, start + u64::from(index)));
    store.1 = Some(150);
    let popped = catch_unwind(AssertUnwindSafe(|| wheel.pop_expired(&mut store, end)));
    assert!(popped.is_err());
    store.1 = None;
    let fired = std::iter::from_fn(|| wheel.pop_expired(&mut store, end)).count();
    assert!(fired >= 100, "{fired} are in time");
    assert_eq!(wheel.pop_expired(&mut store, u64::MAX), None);
}

/// Ours: the lists that had not been packed yet spoke of blocks that were gone.
#[test]
fn store_that_panics_in_a_shrink_leaves_lists_that_fire() {
    for asked in [32, 100, 300, 499] {
        let mut wheel = IndexWheel::new(0);
        let mut store = Fragile(Shelf::new(500), None);
        for index in 0..500 {
            wheel.schedule(&mut store, index, (1 + u64::from(index % 10)) << 32);
        }
        store.1 = Some(asked);
        let shrunk = catch_unwind(AssertUnwindSafe(|| wheel.shrink_to_fit(&mut store)));
        assert!(shrunk.is_err());
        store.1 = None;
        // What says that it has moved, and has not, is lost.
        let fired = std::iter::from_fn(|| wheel.pop_expired(&mut store, u64::MAX));
        let fired: Vec<(u32, u64)> = fired.collect();
        assert!(fired.is_sorted_by_key(|&(_, deadline)| deadline));
        assert!(fired.iter().any(|&(index, _)| index == asked));
        assert_eq!((wheel.len(), wheel.expiration_delay()), (0, None));
        (0..500).for_each(|index| _ = wheel.cancel(&mut store, index));
        (0..500).for_each(|index| wheel.schedule(&mut store, index, u64::MAX));
        assert_eq!(wheel.len(), 500);
        wheel.check_invariants(&mut store);
    }
}

/// A record's timer is kept, and put back two rotations later: by then another entry of the same record is at
/// the same position of the same list, and the deadline that the old timer tells is long past.
#[test]
fn timer_put_back_two_rotations_later_holds_up_no_other() {
    const TICK: u64 = 1 << 20;
    let (mut wheel, mut store) = (IndexWheel::new(0), Shelf::new(1_100));
    let fill = |wheel: &mut IndexWheel, store: &mut Shelf, tick: u64| {
        (1_000..1_032).for_each(|index| wheel.schedule(store, index, u64::MAX));
        (0..300).for_each(|index| wheel.schedule(store, index, tick * TICK));
    };
    fill(&mut wheel, &mut store, 600);
    wheel.schedule(&mut store, 900, 517 * TICK);
    let old = store.replace(900, Some(Timer::new()));
    wheel.clear(&mut store);
    let rotations = 2 * 256 * 256;
    assert_eq!(wheel.pop_expired(&mut store, (rotations + 10) * TICK), None);
    fill(&mut wheel, &mut store, rotations + 517);
    wheel.schedule(&mut store, 900, (rotations + 517) * TICK);
    store.replace(900, old);
    let mut fired = 0;
    for _ in 0..1_000 {
        let now = (rotations + 900) * TICK;
        let progress = wheel.advance_with(&mut store, now, 1_000, |_, index, _| {
            fired += usize::from(index < 300);
            Verdict::Remove
        });
        if !progress.has_backlog {
            break;
        }
    }
    assert_eq!((fired, wheel.len()), (300, 32), "all others have fired");
}

#[test]
fn room_for_more_than_a_wheel_holds_is_refused() {
    for additional in [usize::MAX, usize::MAX / 2, 1_610_612_737] {
        let mut wheel: IndexWheel = IndexWheel::new(0);
        let reserved = catch_unwind(AssertUnwindSafe(|| wheel.reserve(additional)));
        let message = *reserved.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(message, "a timer wheel holds at most 1610612736 timers");
    }
}

#[test]
fn record_freed_without_a_cancel_does_not_fire() {
    let (mut wheel, mut store) = crowd(500);
    store.replace(100, None);
    assert_eq!(wheel.len(), 500, "nobody has noticed yet");
    let expected: Vec<u32> = (0..500).filter(|&index| index != 100).collect();
    assert_eq!(fired(&mut wheel, &mut store), expected);
    assert!(wheel.is_empty());
}

#[test]
fn record_reused_without_a_cancel_fires_once_at_its_new_time() {
    let (mut wheel, mut store) = crowd(500);
    store.replace(100, Some(Timer::new()));
    wheel.schedule(&mut store, 100, 1 << 33);
    let mut expected: Vec<u32> = (0..500).filter(|&index| index != 100).collect();
    expected.push(100);
    assert_eq!(fired(&mut wheel, &mut store), expected);
}

#[test]
fn timer_put_back_after_its_entry_was_dropped_is_not_scheduled() {
    let (mut wheel, mut store) = crowd(500);
    let old = store.replace(100, Some(Timer::new()));
    assert_eq!(fired(&mut wheel, &mut store).len(), 499);
    // The blocks are used again, by another bucket's list, and one of the entries is of the same record.
    for index in 0..500 {
        wheel.schedule(&mut store, index, 1 << 40);
    }
    store.replace(100, old);
    assert!(!wheel.cancel(&mut store, 100));
    let expected: Vec<u32> = (0..500).filter(|&index| index != 100).collect();
    assert_eq!(fired(&mut wheel, &mut store), expected);
}

#[test]
fn records_that_change_places_are_lost_and_no_others() {
    let (mut wheel, mut store) = crowd(500);
    store.swap(7, 400);
    assert!(!wheel.cancel(&mut store, 7));
    let expected: Vec<u32> = (0..500).filter(|index| ![7, 400].contains(index)).collect();
    assert_eq!(fired(&mut wheel, &mut store), expected);
}

#[test]
fn timer_of_another_wheel_is_not_cancelled_here() {
    let (mut wheel, mut store) = crowd(500);
    let (mut other, mut theirs) = crowd(500);
    let timer = theirs.replace(3, None);
    store.replace(4, timer);
    assert!(!wheel.cancel(&mut store, 4));
    assert!(!other.cancel(&mut theirs, 3), "there is no record");
    assert_eq!(fired(&mut wheel, &mut store).len(), 499);
    assert_eq!(fired(&mut other, &mut theirs).len(), 499);
}

#[test]
fn record_freed_in_the_run_or_the_near_heap_does_not_fire() {
    // The first is in the near heap, and the next in the run, as the clock has come to their tick.
    let (mut wheel, mut store) = crowd(500);
    assert_eq!(wheel.pop_expired(&mut store, 1 << 32), Some((0, 1 << 32)));
    for freed in [1, 2, 3, 40, 41, 499] {
        store.replace(freed, None);
    }
    assert_eq!(wheel.peek_first(&mut store), Some((4, (1 << 32) + 4)));
    assert_eq!(fired(&mut wheel, &mut store).len(), 500 - 7);
    assert!(wheel.is_empty());
}

#[test]
fn callback_that_frees_its_record_and_asks_for_more_is_left_with_nothing() {
    let mut store = Slab::new();
    let mut wheel = IndexWheel::new(0);
    for deadline in [10, 20] {
        let index = store.insert(Timer::new()) as u32;
        wheel.schedule(&mut store, index, deadline);
    }
    let progress = wheel.advance_with(&mut store, 30, usize::MAX, |store, index, _| {
        store.remove(index as usize);
        timer_wheel::Verdict::Rearm(40)
    });
    assert_eq!((progress.fired, wheel.len()), (2, 0));
}

#[test]
#[should_panic(expected = "the store has no record at index 3")]
fn schedule_of_a_record_that_is_not_there_panics() {
    let mut store = vec![Timer::new()];
    IndexWheel::new(0).schedule(&mut store, 3, 10);
}

#[test]
fn cancel_of_a_record_that_is_not_there_is_false() {
    let (mut wheel, mut store) = crowd(2);
    for index in [2, u32::MAX] {
        assert!(store.timer(index).is_none() && !wheel.cancel(&mut store, index));
    }
}

#[test]
fn record_reused_while_its_old_entry_moves_is_scheduled_as_it_says() {
    let (mut wheel, mut store) = crowd(500);
    // The last of the near heap and the last of the list: they take the places of what is cancelled.
    for (reused, cancelled) in [(31, 5), (499, 100)] {
        store.replace(reused, Some(Timer::new()));
        wheel.schedule(&mut store, reused, 1 << 40);
        assert!(wheel.cancel(&mut store, cancelled));
        assert!(wheel.cancel(&mut store, reused));
        wheel.schedule(&mut store, reused, 1 << 40);
    }
    let mut expected: Vec<u32> = (0..499).filter(|it| ![5, 31, 100].contains(it)).collect();
    expected.extend([31, 499]);
    assert_eq!(fired(&mut wheel, &mut store), expected);
}

#[test]
fn record_reused_while_others_are_sorted_is_scheduled_as_it_says() {
    let mut wheel = IndexWheel::<Bare<Millis>>::with_geometry(0);
    let mut store = Shelf::new(100);
    // A coarse bucket with few timers: they are sorted together.
    let (start, at) = (1 << 32, |ns: u64| (1 << 32) + (5 << 20) + ns);
    wheel.schedule(&mut store, 99, start);
    for index in 0..10 {
        wheel.schedule(&mut store, index, at(10 * u64::from(index)));
    }
    assert_eq!(wheel.pop_expired(&mut store, start), Some((99, start)));
    store.replace(3, Some(Timer::new()));
    wheel.schedule(&mut store, 3, 1 << 40);
    // Into the list of their tick, among them.
    wheel.schedule(&mut store, 50, at(45));
    let fired = std::iter::from_fn(|| wheel.pop_expired(&mut store, u64::MAX));
    let fired: Vec<u32> = fired.map(|(index, _)| index).collect();
    assert_eq!(fired, [0, 1, 2, 4, 50, 5, 6, 7, 8, 9, 3]);
}

#[test]
fn timer_put_back_when_its_list_is_shorter_is_not_scheduled() {
    let mut wheel = IndexWheel::<Bare<Millis>>::with_geometry(0);
    let mut store = Shelf::new(100);
    for index in 0..30 {
        wheel.schedule(&mut store, index, 1 << 32);
    }
    let old = store.replace(20, Some(Timer::new()));
    for index in (0..30).rev().filter(|&index| index != 20) {
        assert!(wheel.cancel(&mut store, index));
    }
    for index in 50..53 {
        wheel.schedule(&mut store, index, 1 << 32);
    }
    // What it says is behind the end of the list, where its entry was and still can be read.
    store.replace(20, old);
    assert!(!wheel.cancel(&mut store, 20));
    let fired = std::iter::from_fn(|| wheel.pop_expired(&mut store, u64::MAX));
    assert_eq!(
        fired.map(|(index, _)| index).collect::<Vec<_>>(),
        [50, 51, 52]
    );
}
