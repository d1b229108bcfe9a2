//! What the window holds and what it asks for, where the random histories would not notice a difference.

use std::iter;

use timer_wheel::window::Window;

fn poll_all(window: &mut Window<u64>, now: u64) -> Vec<u64> {
    iter::from_fn(|| window.poll(now)).map(|row| row.1).collect()
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
