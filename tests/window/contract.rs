//! What the window holds and what it asks for, where the random histories would not notice a difference.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::window::{Position, Window};

type Row = Position<u64>;

fn poll_all(window: &mut Window<u64>, now: u64) -> Vec<u64> {
    iter::from_fn(|| window.poll(now)).map(|row| row.1).collect()
}

/// Asks for a load or a page, and answers it. Says after which row it begins, and its limit.
#[track_caller]
fn answer<const N: usize>(window: &mut Window<u64>, rows: [Row; N], is_end: bool) -> (Option<Row>, usize) {
    let load = window.load().expect("a load is asked for");
    let asked = (load.after, load.limit);
    window.loaded(load, rows.into(), is_end);
    asked
}

/// A window that has loaded these rows first.
fn loaded<const N: usize>(capacity: usize, rows: [Row; N], is_end: bool) -> Window<u64> {
    let mut window = Window::new(capacity);
    assert_eq!(answer(&mut window, rows, is_end), (None, capacity));
    window
}

/// A window of capacity 8 that knows the rows 10, 20, ... up to 60.
fn known() -> Window<u64> {
    loaded(8, [1, 2, 3, 4, 5, 6].map(|n| (10 * n, n)), false)
}

/// The same, which is full: the rows 7 and 8 were told.
fn full() -> Window<u64> {
    let mut window = known();
    (7..9).for_each(|n| window.inserted((n, n)));
    window
}

#[test]
fn row_told_beyond_what_is_known_is_left_to_the_next_load() {
    let mut window = loaded(8, [(10, 1)], false);
    window.inserted((20, 2));
    assert_eq!(window.len(), 1, "no load is under way");
    window.inserted((5, 3));
    assert_eq!(window.len(), 2, "it is known up to 10");
    assert_eq!(answer(&mut window, [], false), (Some((10, 1)), 6));
}

#[test]
fn answer_without_rows_that_is_not_the_end_counts_as_failed() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.inserted((10, 1));
    window.loaded(load, vec![], false);
    assert!(window.is_empty());
    assert!(window.load().is_some());
}

#[test]
fn load_of_another_window_is_ignored() {
    let (mut window, mut other) = (Window::new(8), Window::new(8));
    let (load, others) = (window.load().unwrap(), other.load().unwrap());
    window.loaded(others, vec![(20, 2)], true);
    assert!(window.is_empty() && window.load().is_none(), "its own load is under way");
    window.load_failed(other.load().unwrap());
    assert!(window.load().is_none());
    window.loaded(load, vec![(10, 1)], true);
    assert_eq!(poll_all(&mut window, u64::MAX), [1]);
}

#[test]
fn loads_are_asked_for_when_a_quarter_is_free_and_not_at_the_end() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    assert!(window.load().is_none(), "one at a time");
    window.loaded(load, (0..7).map(|n| (n, n)).collect(), false);
    assert!(window.load().is_none(), "less than a quarter is free");
    window.poll(0).unwrap();
    assert_eq!(answer(&mut window, [], true), (Some((6, 6)), 2));
    assert!(window.load().is_none(), "all rows are known");
    window.inserted((100, 100));
    assert_eq!(window.len(), 7);
    (0..8).for_each(|id| window.inserted((50, id))); // the farthest give way
    assert_eq!(window.len(), 8);
    assert_eq!(poll_all(&mut window, 6), [1, 2, 3, 4, 5, 6]);
    assert_eq!(window.load().unwrap().after, Some((50, 1)));

    let mut window = loaded(5, [0, 1, 2, 3].map(|n| (n, n)), false); // a quarter of it, rounded up, is two
    assert!(window.load().is_none());
}

#[test]
fn capacity_of_zero_is_one_and_any_other_will_do() {
    let mut window = Window::<u64>::new(0);
    assert_eq!(window.load().unwrap().limit, 1);
    assert_eq!(Window::<u64>::new(usize::MAX).load().unwrap().limit, usize::MAX);
}

#[test]
fn answer_with_more_rows_than_the_limit_keeps_the_first() {
    let mut window = loaded(2, [1, 2, 3, 4, 5].map(|n| (n, n)), true);
    assert_eq!(poll_all(&mut window, 9), [1, 2]);
    assert_eq!(window.load().unwrap().after, Some((2, 2)));
}

#[test]
#[should_panic = "in order"]
fn store_that_orders_ids_by_a_collation_is_found_out() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, "a"), (10, "B")], false);
}

#[test]
fn answer_or_page_that_begins_too_early_or_has_a_row_twice_is_found_out() {
    let page = || {
        let mut window = full();
        window.recheck(Some((20, 2)));
        window
    };
    for (mut window, rows) in
        [(Window::new(8), [(10, 1), (10, 1)]), (known(), [(60, 6), (70, 7)]), (page(), [(20, 2), (30, 3)])]
    {
        let refused = catch_unwind(AssertUnwindSafe(|| answer(&mut window, rows, false))).unwrap_err();
        let said = refused.downcast_ref::<&str>();
        assert_eq!(said, Some(&"the rows of a load are in order, and after its beginning"), "{rows:?}");
    }
}

#[test]
fn poll_and_news_go_on_during_a_recheck() {
    let mut window = known();
    window.recheck(None);
    assert_eq!((window.len(), window.wake_at()), (6, Some(10)));
    let needed = answer(&mut window, [(70, 7), (80, 8)], false);
    assert_eq!(needed, (Some((60, 6)), 2), "the load is needed, and goes first");
    let page = window.load().unwrap();
    assert_eq!((page.after, page.limit), (None, 2));
    assert_eq!(window.poll(10), Some((10, 1)));
    window.inserted((15, 15));
    window.inserted((90, 9)); // it is not known, and no load is under way
    assert_eq!((window.len(), window.wake_at()), (8, Some(15)));
    window.loaded(page, vec![(5, 5), (10, 1)], false);
    window.done(&(10, 1));
    assert_eq!(poll_all(&mut window, 15), [5, 1, 15], "the lost row, one that was told again, the news");
}

#[test]
fn recheck_ends_when_it_has_passed_what_was_known() {
    let mut window = known();
    (1..7).for_each(|n| assert!(window.removed(&(10 * n, n))));
    window.recheck(Some((30, 3)));
    answer(&mut window, [7, 8, 9, 10, 11, 12, 13, 14].map(|n| (10 * n, n)), false); // also one that was asked for since
    assert_eq!(answer(&mut window, [(40, 4), (70, 7)], false).0, Some((30, 3)));
    assert!(window.load().is_none(), "the rows from 70 on were loaded after the call");
    assert_eq!(window.len(), 8);
    assert_eq!(poll_all(&mut window, 80), [4, 7, 8]);
}

#[test]
fn recheck_ends_at_the_last_known_row() {
    let mut window = full();
    window.recheck(Some((40, 4)));
    answer(&mut window, [(50, 5), (60, 6)], false);
    assert!(window.load().is_none());
    window.recheck(Some((60, 6)));
    assert!(window.load().is_none(), "no known row is after it");
}

#[test]
fn recheck_ends_when_new_rows_have_displaced_those_that_were_left() {
    let mut window = loaded(8, [1, 2, 3, 4, 5, 6, 7, 8].map(|n| (10 * n, n)), true);
    window.recheck(None);
    let page = window.load().unwrap();
    (0..8).for_each(|n| window.inserted((1, n)));
    window.loaded(page, vec![(1, 0), (10, 1)], false);
    assert!(window.load().is_none(), "loads find what is beyond");
    assert_eq!(window.len(), 8);
}

#[test]
fn recheck_waits_for_a_load_that_began_before_and_passes_its_rows() {
    let mut window = known();
    let load = window.load().unwrap();
    window.recheck(None);
    assert!(window.load().is_none(), "one scan at a time");
    window.loaded(load, vec![(80, 8)], false);
    window.inserted((75, 75));
    assert_eq!(answer(&mut window, [(10, 1), (20, 2)], false), (None, 2));
    assert_eq!(answer(&mut window, [(30, 3), (60, 6)], false), (Some((20, 2)), 2));
    assert_eq!(answer(&mut window, [(70, 7), (80, 8)], false), (Some((60, 6)), 2));
    assert!(window.load().is_none());
    assert_eq!(poll_all(&mut window, 80), [1, 2, 3, 4, 5, 6, 7, 75]);
}

#[test]
fn loads_and_pages_take_turns() {
    let mut window = Window::new(4);
    window.recheck(None);
    let nothing_to_recheck = answer(&mut window, [1, 2, 3, 4].map(|n| (10 * n, n)), false);
    assert_eq!(nothing_to_recheck, (None, 4));
    assert!(window.load().is_none());
    window.recheck(None);
    assert_eq!(poll_all(&mut window, 20), [1, 2]);
    assert_eq!(answer(&mut window, [(50, 5)], false).1, 2, "a load goes first");
    for n in [1, 2] {
        assert_eq!(answer(&mut window, [(10 * n, n)], false).1, 1);
        assert_eq!(answer(&mut window, [], false).0, Some((50, 5)));
    }
}

#[test]
fn recheck_during_another_goes_on_from_the_lower_position() {
    for (first, second) in [(20, 40), (40, 20)] {
        let mut window = full();
        window.recheck(Some((first, 0)));
        let page = window.load().unwrap();
        window.recheck(Some((second, 0)));
        let joined = window.load().unwrap();
        assert_eq!(joined.after, Some((20, 0)));
        // The rows of the page may lack what was committed between the two.
        window.loaded(page, vec![(60, 6)], false);
        assert!(window.load().is_none());
        window.loaded(joined, vec![], true);
        assert!(window.load().is_none());
    }
}

#[test]
fn eviction_does_not_void_a_page() {
    let mut window = loaded(1, [(30, 3)], false);
    window.recheck(None);
    let page = window.load().unwrap();
    assert_eq!(page.limit, 1, "the window is full");
    window.inserted((20, 2));
    window.loaded(page, vec![(10, 1)], false);
    assert_eq!(window.wake_at(), Some(10));
    assert!(window.load().is_none());
}

#[test]
fn reset_from_a_position_knows_news_up_to_it() {
    let mut window = known();
    window.recheck(None);
    assert_eq!(window.poll(10), Some((10, 1)));
    window.reset(Some((40, 4)));
    assert!(window.is_empty() && window.pending().eq(&[(10, 1)]));
    window.inserted((20, 2)); // no load will find it
    assert_eq!(window.poll(20), Some((20, 2)));
    assert_eq!(answer(&mut window, [(50, 5)], true), (Some((40, 4)), 8));
    assert!(window.load().is_none(), "the recheck is over as well");
    window.recheck(None);
    assert_eq!(window.load().unwrap().after, None);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "pending"]
fn row_that_is_done_without_being_pending_is_found_out() {
    known().done(&(10, 1));
}
