//! The contract in the small: what each call promises, one promise a test. What a script can tell is in `random`,
//! `small_worlds` and `traps`.

use std::cell::Cell;
use std::rc::Rc;

use timer_wheel::{Advance, Budget, Caffeine, Compact, Geometry, Micros, Millis, TimerKey, Wheel};

use crate::geometries::{Lopsided, Narrow, Tiny, with_lists};
use crate::script::spans;

/// A geometry of the kind that no thread could share: it must not matter, none is ever made.
struct Unshared(#[expect(dead_code, reason = "only its type counts")] Rc<()>);

impl Geometry for Unshared {
    const TICK_BITS: u32 = 5;
    const LEVEL_BITS: [u32; 4] = [3, 3, 3, 3];
}

fn is_send<T: Send>() {}

fn is_sync<T: Sync>() {}

/// Fails to compile for a type that is both `Send` and `Sync`, or the one asked for.
macro_rules! assert_not {
    ($type:ty: $bound:ident) => {
        const _: fn() = || {
            trait AmbiguousIf<A> {
                fn some_item() {}
            }
            impl<T: ?Sized> AmbiguousIf<()> for T {}
            impl<T: ?Sized + $bound> AmbiguousIf<u8> for T {}
            <$type as AmbiguousIf<_>>::some_item();
        };
    };
}

assert_not!(Wheel<Rc<()>>: Send);
assert_not!(Wheel<Rc<()>>: Sync);
assert_not!(Wheel<Cell<u64>>: Sync);

#[test]
fn wheel_send_and_sync_follow_its_values() {
    is_send::<Wheel<u64>>();
    is_sync::<Wheel<u64>>();
    is_send::<Wheel<Cell<u64>, Compact>>();
    is_send::<Wheel<u64, Unshared>>();
    is_sync::<Wheel<u64, Unshared>>();
    is_send::<Advance<'_, u64, Millis>>();
    is_send::<TimerKey>();
    is_sync::<TimerKey>();
}

#[test]
fn timer_key_takes_eight_bytes_also_when_optional() {
    assert_eq!(size_of::<TimerKey>(), 8);
    assert_eq!(size_of::<Option<TimerKey>>(), 8);
}

#[test]
fn advance_backwards_is_an_advance_to_now() {
    let mut wheel: Wheel<u64> = Wheel::new(1_000);
    wheel.schedule(1_500, 1);
    wheel.schedule(1_501, 2);
    wheel.schedule(900, 3);
    let fired: Vec<u64> = wheel.advance(10).map(|item| item.value).collect();
    assert_eq!(fired, [3]);
    assert_eq!(wheel.now(), 1_000);
    assert_eq!(wheel.advance(1_500).take(0).count(), 0);
    assert!(wheel.advance_with_budget(0, &mut Budget::of_work(0)).next().is_none());
    assert_eq!(wheel.now(), 1_500, "the clock ran backwards");
    let item = wheel.advance(3).next().expect("due at the clock");
    assert_eq!((item.deadline, item.value), (1_500, 1));
    assert!(wheel.peek_expired(0).is_none());
    assert_eq!((wheel.now(), wheel.len()), (1_500, 1));
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

#[test]
fn timer_rearmed_to_the_past_is_bounded_by_the_budget_alone() {
    let mut wheel: Wheel<u64> = Wheel::new(1_000);
    let key = wheel.schedule(500, 0);
    wheel.schedule(600, 0);
    for work in [1, 2, 50] {
        let mut budget = Budget::of_work(work);
        while let Some(mut due) = wheel.peek_expired_with_budget(1_000, &mut budget) {
            assert_eq!(due.key(), key, "the other must wait behind it");
            *due.get_mut() += 1;
            let again = due.deadline();
            due.rearm(again);
        }
        assert!(budget.work == 0 && wheel.has_backlog());
        wheel.check_invariants();
    }
    // A unit each time it fires, and one for placing it again.
    assert!(wheel.get(key).is_some_and(|&times| times >= 53 / 2 - 2));
    assert_eq!(wheel.advance(1_000).count(), 2);
}

/// On each level, the answer is the start of the next occupied bucket and nothing else.
#[test]
fn peek_ahead_tells_the_next_bucket_of_each_level() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for now in [0, spans[0] / 2, spans[4] * 5 + spans[1] + 3] {
            for level in 1..4 {
                // In the bucket after next, which no finer level can hold, unless it is the last
                // of its rotation; then a coarser level holds the timer.
                let start = (now / spans[level] + 1) * spans[level];
                if start % spans[level + 1] == 0 {
                    continue;
                }
                let deadline = start + spans[level] / 2;
                let mut wheel = with_lists::<G>(now);
                wheel.schedule(deadline, 0);
                for other in 1..4 {
                    let expected = (other == level).then_some(start - now);
                    assert_eq!(wheel.peek_ahead(other), expected, "{other} of {level}");
                }
                // Of the ballast one is in the near heap and the others are far.
                assert_eq!(wheel.peek_ahead(0), Some(u64::MAX - now));
                assert_eq!(wheel.peek_ahead(4), Some((1 << 63) - now), "the second half of time");
                wheel.schedule(now, 1);
                assert_eq!(wheel.peek_ahead(0), Some(0), "the current tick");
                assert_eq!(wheel.peek_ahead(level), Some(start - now));
            }
        }
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Micros>();
    check::<Compact>();
    check::<Lopsided>();
}
