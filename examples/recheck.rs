//! A window scans its store again after a lost notification, and forgets nothing meanwhile.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features window`

use std::collections::BTreeSet;
use std::iter;
use std::ops::Bound::{Excluded, Unbounded};

use timer_wheel::window::{Position, Window};

/// Answers the scans that the window asks for, from a set that stands for a database.
fn load(window: &mut Window<&'static str>, store: &BTreeSet<Position<&'static str>>) {
    while let Some(load) = window.load() {
        let rest = store.range((load.after.map_or(Unbounded, Excluded), Unbounded));
        let rows: Vec<_> = rest.copied().take(load.limit).collect();
        println!("scanned after {:?}: {rows:?}", load.after);
        let is_end = rows.len() < load.limit;
        window.loaded(load, rows, is_end);
    }
}

fn main() {
    let mut store = BTreeSet::from([(10, "tea"), (40, "bread")]);
    let mut window = Window::new(4);
    load(&mut window, &store);

    store.insert((20, "eggs")); // Its notification is lost with the connection. Once that is back:
    let floor = window.wake_at().map(|first| (first - 1, ""));
    window.recheck(floor);
    assert_eq!(window.poll(10), Some((10, "tea")), "due rows do not wait for the recheck");
    load(&mut window, &store);

    let due: Vec<_> = iter::from_fn(|| window.poll(40)).collect();
    println!("then due: {due:?}");
    assert_eq!(due, [(20, "eggs"), (40, "bread")]);
}
