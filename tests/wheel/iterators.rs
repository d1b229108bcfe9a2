//! The iterators over timers: what they show, how many are left, and their ends.

use timer_wheel::{Budget, Geometry, Millis, TimerKey, Wheel};

use crate::geometries::{Narrow, Tiny};

/// Values of every size, as large ones live in boxes and a few in groups of their own.
#[test]
fn values_of_every_size_and_number_are_shown_once() {
    fn check<const WORDS: usize>() {
        for count in [0, 1, 7, 8, 9, 127, 128, 129, 256, 257, 600] {
            let mut wheel: Wheel<[u64; WORDS]> = Wheel::new(0);
            (0..count).for_each(|n| _ = wheel.schedule(n, [n; WORDS]));
            let mut seen: Vec<u64> = Vec::new();
            wheel.retain(|_, deadline, value| {
                assert_eq!(value[WORDS - 1], deadline);
                seen.push(deadline);
                true
            });
            assert!(seen.iter().copied().eq(0..count));
            let mut timers = wheel.iter();
            assert_eq!(timers.size_hint(), (count as usize, Some(count as usize)));
            assert!(timers.by_ref().map(|timer| timer.value[0]).eq(0..count));
            assert_eq!((timers.len(), timers.next()), (0, None));
        }
    }
    check::<1>();
    check::<12>();
    check::<13>();
    check::<100>();
}

#[test]
fn iterators_know_how_many_are_left() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..5).map(|n| wheel.schedule(n << 20, n)).collect();
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

/// Every iterator of the wheel says that it is fused, and what is left of a budget is not spent after the end.
#[test]
fn every_iterator_stays_at_its_end() {
    fn check<I: std::iter::FusedIterator>(mut items: I, count: usize, what: &str) {
        assert_eq!(items.by_ref().count(), count, "{what}");
        for _ in 0..3 {
            assert!(items.next().is_none(), "{what} goes on after its end");
        }
    }
    fn check_all<G: Geometry>() {
        let mut all: Wheel<u64, G> = Wheel::with_geometry(0);
        (0..100).for_each(|n| _ = all.schedule(5 + ((n % 10) << 21), n));
        check(all.iter(), 100, "iter");
        check(all.ascending(), 100, "ascending");
        check(all.descending(), 100, "descending");
        // Ten are due.
        for (fires, left) in [(0, 10), (3, 10), (9, 7), (1, 0)] {
            let mut budget = Budget::of_fires(fires);
            check(all.advance_with_budget(5, &mut budget), fires.min(left), "advance");
            assert_eq!(budget.fires, fires - fires.min(left));
        }
        check(all.drain(), 90, "drain");
    }
    check_all::<Millis>();
    check_all::<Narrow>();
    check_all::<Tiny>();
}
