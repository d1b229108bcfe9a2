//! All timers at once: changed, taken out, looked at twice.

use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};

use timer_wheel::inspect::Stats;
use timer_wheel::{Budget, Expired, Geometry, TimerKey, TimerRef, Wheel};

use crate::script::spans;

/// Timers on every level and beyond, more than a page of them, and free slots in between.
fn spread<G: Geometry>() -> Wheel<u64, G> {
    let spans = spans::<G>();
    let mut wheel = Wheel::with_geometry(spans[0] / 2);
    let keys: Vec<TimerKey> =
        (0..700_u64).map(|n| wheel.schedule(spans[n as usize % 5].saturating_mul(1 + n % 9), n)).collect();
    for key in keys.iter().skip(3).step_by(11) {
        assert!(wheel.cancel(*key).is_some());
    }
    assert!(wheel.advance(wheel.now() + spans[0]).next().is_some());
    wheel
}

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
fn cloned_walk_goes_on_from_where_it_is() {
    fn check<G: Geometry>() {
        let wheel = spread::<G>();
        let (mut iter, mut up, mut down) = (wheel.iter(), wheel.ascending(), wheel.descending());
        for _ in 0..wheel.len() / 2 {
            assert!(iter.next().is_some() && up.next().is_some() && down.next().is_some());
        }
        assert!(iter.clone().eq(iter));
        assert!(up.clone().eq(up));
        assert_eq!(down.clone().len(), down.len());
        assert!(down.clone().eq(down));
    }
    in_every_geometry!(check);
}

#[test]
fn room_that_cannot_be_had_is_an_error_and_changes_nothing() {
    // As many as a wheel holds, but 400 TB of them: more than there are addresses.
    let mut wheel: Wheel<[u64; 1 << 15]> = Wheel::new(0);
    let before = wheel.stats();
    for additional in [usize::MAX, 1_610_612_737, 1_610_612_736] {
        assert!(wheel.try_reserve(additional).is_err(), "{additional}");
        assert_eq!(wheel.stats(), before);
    }
    let mut wheel: Wheel<u64> = Wheel::new(0);
    wheel.schedule(10, 0);
    let before = wheel.stats();
    for additional in [3 << 29, usize::MAX / 2, usize::MAX] {
        assert!(wheel.try_reserve(additional).is_err(), "one is there");
        let reserved = catch_unwind(AssertUnwindSafe(|| wheel.reserve(additional)));
        assert!(reserved.is_err(), "{additional} more reserved");
        let made = catch_unwind(|| Wheel::<u64>::with_capacity(0, additional.max((3 << 29) + 1)));
        assert!(made.is_err(), "made with room for {additional}");
    }
    assert_eq!(wheel.stats(), before);
    assert!(wheel.try_reserve(0).is_ok());
    assert!(wheel.try_reserve(100).is_ok());
    assert!(wheel.capacity() > 100);
    let before = wheel.stats();
    assert!(wheel.try_reserve(100).is_ok());
    assert_eq!(wheel.stats(), before, "there was room");
}

fn survives_a_panic<T: UnwindSafe>() {}

fn may_be_seen_after_a_panic<T: RefUnwindSafe>() {}

/// Nothing in a wheel changes behind a shared reference, and no panic leaves one broken.
#[test]
fn wheel_is_unwind_safe_if_its_values_are() {
    survives_a_panic::<Wheel<u64>>();
    survives_a_panic::<Wheel<Box<u64>, crate::geometries::Tiny>>();
    may_be_seen_after_a_panic::<Wheel<u64>>();
    let wheel: Wheel<u64> = Wheel::new(0);
    let is_safe = |_: &dyn UnwindSafe| ();
    is_safe(&wheel.iter());
    is_safe(&wheel.ascending());
    is_safe(&wheel.descending());
    survives_a_panic::<TimerRef<'_, u64>>();
    survives_a_panic::<(TimerKey, Expired<u64>, Budget, Stats)>();
}
