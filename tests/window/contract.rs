//! What the window promises in single cases.

use std::iter;

use timer_wheel::window::{Position, Window};

/// A window that knows all rows of the store.
fn knowing(capacity: usize, rows: &[Position<u64>]) -> Window<u64> {
    let mut window = Window::new(capacity);
    let load = window.load().expect("it knows nothing");
    window.loaded(load, rows.to_vec(), true);
    assert!(window.load().is_none());
    window
}

fn poll_all(window: &mut Window<u64>, now: u64) -> Vec<u64> {
    iter::from_fn(|| window.poll(now)).map(|row| row.1).collect()
}

#[test]
fn row_told_during_a_scan_that_missed_it_is_yielded_in_its_place() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    let seen = vec![(10, 1), (30, 3)];
    window.inserted((20, 2));
    assert_eq!((window.len(), window.wake_at()), (1, None));
    window.loaded(load, seen, true);
    assert_eq!(poll_all(&mut window, u64::MAX), [1, 2, 3]);
}

#[test]
fn row_told_beyond_what_is_known_is_left_to_the_next_load() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, 1)], false);
    window.inserted((20, 2));
    assert_eq!(window.len(), 1, "no load is under way");
    window.inserted((5, 3));
    assert_eq!(window.len(), 2, "it is known up to 10");
    let load = window.load().unwrap();
    assert_eq!((load.after, load.limit), (Some((10, 1)), 6));
}

#[test]
fn news_that_do_not_fit_during_a_scan_are_loaded_again() {
    let mut window = Window::new(4);
    let load = window.load().unwrap();
    for id in (0..100).rev() {
        window.inserted((20 + id, id));
        assert!(window.len() <= 4);
    }
    window.loaded(load, vec![(200, 200)], true);
    assert_eq!(poll_all(&mut window, u64::MAX), [0, 1, 2, 3]);
    assert_eq!(window.load().unwrap().after, Some((23, 3)));
}

#[test]
fn news_that_do_not_fit_cap_what_is_known_by_the_first_of_them() {
    for order in [[40, 50], [50, 40]] {
        let mut window = Window::new(2);
        let load = window.load().unwrap();
        window.inserted((10, 10));
        window.inserted((20, 20));
        order.into_iter().for_each(|id| window.inserted((id, id)));
        assert!(window.removed(&(10, 10)) && window.removed(&(20, 20)));
        window.loaded(load, vec![(30, 30), (45, 45)], true);
        assert_eq!(poll_all(&mut window, u64::MAX), [30], "40 is not known");
        assert_eq!(window.load().unwrap().after, Some((30, 30)));
    }
}

#[test]
fn news_that_do_not_fit_beyond_the_answer_change_nothing() {
    let mut window = Window::new(2);
    let load = window.load().unwrap();
    (1..4).for_each(|n| window.inserted((10 * n, n)));
    assert!(window.removed(&(10, 1)));
    window.loaded(load, vec![(20, 2)], false);
    assert_eq!((window.len(), window.wake_at()), (1, Some(20)));
    window.poll(20).unwrap();
    assert_eq!(window.load().unwrap().after, Some((20, 2)));
}

#[test]
fn forgotten_news_with_nothing_before_them_leave_what_is_known() {
    let mut window = Window::new(1);
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, 1)], false);
    window.poll(10).unwrap();
    let load = window.load().unwrap();
    window.inserted((20, 2));
    window.inserted((30, 3));
    assert!(window.removed(&(20, 2)));
    window.loaded(load, vec![(30, 3)], true);
    assert_eq!((window.len(), window.wake_at()), (0, None));
    assert_eq!(window.load().unwrap().after, Some((10, 1)));
}

#[test]
fn rows_told_beyond_an_answer_in_part_are_dropped() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.inserted((50, 5));
    window.loaded(load, vec![(10, 1), (20, 2)], false);
    assert_eq!(window.len(), 2);
    assert_eq!(window.load().unwrap().after, Some((20, 2)));
}

#[test]
fn rows_told_during_a_load_that_fails_are_dropped() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.inserted((10, 1));
    window.load_failed(load);
    assert_eq!((window.len(), window.wake_at()), (0, None));
    assert_eq!(window.load().unwrap().after, None);
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
fn load_that_is_dropped_is_asked_for_again() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.inserted((10, 1));
    assert!(window.load().is_none());
    drop(load);
    let load = window.load().unwrap();
    assert_eq!((load.after, load.limit, window.len()), (None, 8, 0));
    window.loaded(load, vec![(10, 1)], true);
    assert_eq!(window.wake_at(), Some(10));
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
fn load_of_a_window_before_its_reset_is_ignored() {
    let mut window = Window::new(8);
    let former = window.load().unwrap();
    window.reset();
    let load = window.load().unwrap();
    window.loaded(former, vec![(20, 2)], true);
    assert!(window.is_empty() && window.load().is_none());
    window.loaded(load, vec![(10, 1), (20, 2)], true);
    assert_eq!(poll_all(&mut window, u64::MAX), [1, 2]);
}

#[test]
fn load_whose_beginning_was_displaced_is_ignored() {
    let mut window = Window::new(4);
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, 1), (20, 2), (30, 3)], false);
    let late = window.load().unwrap();
    assert_eq!((late.after, late.limit), (Some((30, 3)), 1));
    window.inserted((1, 4));
    window.inserted((2, 5)); // 30 gives way
    assert_eq!(poll_all(&mut window, 2), [4, 5]);
    window.loaded(late, vec![(40, 4)], true);
    assert_eq!(poll_all(&mut window, u64::MAX), [1, 2], "30 is not known");
    assert_eq!(window.load().unwrap().after, Some((20, 2)));
}

#[test]
fn pending_row_that_a_scan_meets_is_yielded_again_after_done_only() {
    let mut window = knowing(2, &[(10, 1)]);
    assert_eq!(window.poll(10), Some((10, 1)));
    (2..5).for_each(|n| window.inserted((n, n))); // one too many, so 10 is not known any more
    assert_eq!(poll_all(&mut window, 10), [2, 3]);
    let load = window.load().unwrap();
    assert_eq!(load.after, Some((3, 3)));
    window.loaded(load, vec![(4, 4), (10, 1)], true);
    assert_eq!(poll_all(&mut window, 10), [4]);
    assert_eq!(window.pending().map(|row| row.1).collect::<Vec<_>>(), [2, 3, 4, 1]);
    // The scan may have seen a row that was inserted at the same position after the work.
    window.done(&(10, 1));
    assert_eq!(poll_all(&mut window, 10), [1]);
    window.done(&(10, 1));
    assert_eq!(poll_all(&mut window, 10), [0; 0]);
}

#[test]
fn pending_row_that_is_told_again_is_yielded_after_done() {
    let mut window = knowing(8, &[(10, 1)]);
    let row = window.poll(10).unwrap();
    window.inserted(row);
    assert_eq!((window.poll(10), window.wake_at(), window.len()), (None, None, 0));
    window.done(&row);
    assert_eq!(window.poll(10), Some(row));
    window.done(&row);
    window.done(&row); // which is not pending
    assert_eq!((window.poll(10), window.pending().len()), (None, 0));
}

#[test]
fn pending_rows_outlive_a_reset() {
    let mut window = knowing(8, &[(10, 1), (20, 2)]);
    window.poll(10).unwrap();
    window.reset();
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, 1), (20, 2)], true);
    assert_eq!(poll_all(&mut window, 20), [2]);
}

#[test]
fn loads_are_asked_for_when_a_quarter_is_free_and_not_at_the_end() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    assert!(window.load().is_none(), "one at a time");
    window.loaded(load, (0..7).map(|n| (n, n)).collect(), false);
    assert!(window.load().is_none(), "less than a quarter is free");
    window.poll(0).unwrap();
    let load = window.load().unwrap();
    assert_eq!((load.after, load.limit), (Some((6, 6)), 2));
    window.loaded(load, vec![], true);
    assert!(window.load().is_none(), "all rows are known");
    window.inserted((100, 100));
    assert_eq!(window.len(), 7);
    (0..8).for_each(|id| window.inserted((50, id))); // the farthest give way
    assert_eq!(window.len(), 8);
    assert_eq!(poll_all(&mut window, 6), [1, 2, 3, 4, 5, 6]);
    assert_eq!(window.load().unwrap().after, Some((50, 1)));

    let mut window = Window::new(5); // a quarter of it, rounded up, is two
    let load = window.load().unwrap();
    window.loaded(load, (0..4).map(|n| (n, n)).collect(), false);
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
    let mut window = Window::new(2);
    let load = window.load().unwrap();
    window.loaded(load, (1..6).map(|n| (n, n)).collect(), true);
    assert_eq!(poll_all(&mut window, 9), [1, 2]);
    assert_eq!(window.load().unwrap().after, Some((2, 2)));
}

#[test]
fn clock_set_back_makes_no_row_early() {
    let mut window = knowing(8, &[(10, 1), (50, 2)]);
    assert_eq!(window.poll(1_000), Some((10, 1)));
    assert_eq!(window.poll(20), None);
    window.inserted((30, 3));
    assert_eq!((window.poll(29), window.wake_at()), (None, Some(30)));
    assert_eq!(window.poll(30), Some((30, 3)));
}

#[test]
fn ends_of_time_are_deadlines() {
    let mut window = knowing(8, &[(0, 0), (u64::MAX, 1)]);
    assert_eq!((window.wake_at(), window.poll(0)), (Some(0), Some((0, 0))));
    assert_eq!((window.wake_at(), window.poll(u64::MAX - 1)), (Some(u64::MAX), None));
    assert_eq!(window.poll(u64::MAX), Some((u64::MAX, 1)));
}

#[test]
#[should_panic = "in order"]
fn store_that_orders_ids_by_a_collation_is_found_out() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, "a"), (10, "B")], false);
}

#[test]
#[should_panic = "in order"]
fn row_that_comes_twice_in_an_answer_is_found_out() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, 1), (10, 1)], false);
}

#[test]
#[should_panic = "after its beginning"]
fn answer_that_begins_too_early_is_found_out() {
    let mut window = Window::new(8);
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, 1)], false);
    let load = window.load().unwrap();
    window.loaded(load, vec![(10, 1), (20, 2)], false);
}
