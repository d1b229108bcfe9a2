//! The contract in the small: what each call promises, one promise a test. What a script can tell is in `random`,
//! `small_worlds` and `traps`.

use std::cell::Cell;
use std::rc::Rc;

use timer_wheel::{Advance, Budget, Caffeine, Compact, Full, Geometry, Micros, Millis, TimerKey, Verdict, Wheel};

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
fn wheel_of_values_without_any_trait_works() {
    struct Plain(#[expect(dead_code, reason = "only its type counts")] [u8; 3]);
    let mut wheel: Wheel<Plain, Caffeine> = Wheel::with_geometry(0);
    let key = wheel.schedule(3, Plain([1, 2, 3]));
    assert!(wheel.reschedule(key, 4));
    assert_eq!(wheel.iter().count(), 1);
    assert_eq!(wheel.advance(4).count(), 1);

    let mut tasks: Wheel<Box<dyn FnOnce() -> u32>> = Wheel::new(0);
    tasks.schedule(2, Box::new(|| 2));
    tasks.schedule(1, Box::new(|| 1));
    let results: Vec<u32> = tasks.advance(2).map(|task| (task.value)()).collect();
    assert_eq!(results, [1, 2]);
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
    assert!(wheel.advance_with_budget(0, 0).next().is_none());
    assert_eq!(wheel.now(), 1_500, "the clock ran backwards");
    let item = wheel.pop_expired(3).expect("due at the clock");
    assert_eq!((item.deadline, item.value), (1_500, 1));
    assert!(wheel.pop_expired(0).is_none());
    let remove = |_: TimerKey, _: u64, _: &mut u64| Verdict::Remove;
    assert_eq!(wheel.advance_with(1, usize::MAX, remove).fired, 0);
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
        all.extend((0..100).map(|n| (5 + ((n % 10) << 21), n)));
        check(all.iter(), 100, "iter");
        check(all.ascending(), 100, "ascending");
        check(all.descending(), 100, "descending");
        for level in all.levels() {
            check(level.buckets(), level.buckets().len(), "buckets");
        }
        // Ten are due.
        for (fires, left) in [(0, 10), (3, 10), (9, 7), (1, 0)] {
            let budget = Budget::UNLIMITED.with_fires(fires);
            check(all.advance_with_budget(5, budget), fires.min(left), "advance");
        }
        check(all.drain(), 90, "drain");
    }
    check_all::<Millis>();
    check_all::<Narrow>();
    check_all::<Tiny>();
}

#[test]
fn rearmed_timer_keeps_its_key_and_its_value() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let key = wheel.schedule(10, 0);
    let slots = wheel.stats().slots;
    for round in 1..=1_000 {
        let progress = wheel.advance_with(round * 10, usize::MAX, |fired, deadline, value| {
            assert_eq!((fired, deadline), (key, round * 10));
            *value += 1;
            Verdict::Rearm(deadline + 10)
        });
        assert_eq!((progress.fired, progress.has_backlog), (1, false));
        assert_eq!(wheel.get(key), Some(&round));
        assert_eq!(wheel.deadline(key), Some(round * 10 + 10));
        assert_eq!(wheel.stats().slots, slots, "a slot was freed and taken again");
    }
}

#[test]
fn timer_rearmed_to_the_past_is_bounded_by_the_budget_alone() {
    let mut wheel: Wheel<u64> = Wheel::new(1_000);
    let key = wheel.schedule(500, 0);
    wheel.schedule(600, 0);
    for budget in [1, 2, 50] {
        let progress = wheel.advance_with(1_000, budget, |fired, deadline, value| {
            assert_eq!(fired, key, "the other must wait behind it");
            *value += 1;
            Verdict::Rearm(deadline)
        });
        assert!(progress.fired <= budget && progress.has_backlog);
        assert_eq!(progress.unused, 0);
        wheel.check_invariants();
    }
    // A unit each time it fires, and one for placing it again.
    assert!(wheel.get(key).is_some_and(|&times| times >= 53 / 2 - 2));
    assert_eq!(wheel.advance(1_000).count(), 2);
}

#[test]
fn try_schedule_at_the_limit_hands_the_value_back() {
    let mut wheel: Wheel<String> = Wheel::new(0);
    assert_eq!(wheel.limit(), 1_610_612_736, "the most a wheel can hold");
    wheel.set_limit(2);
    let attempt = |wheel: &mut Wheel<String>, at| wheel.try_schedule(at, "value".to_owned()).is_ok();
    assert!(attempt(&mut wheel, 1) && attempt(&mut wheel, 2));
    let refused = wheel.try_schedule(0, "third".to_owned()).unwrap_err();
    assert_eq!(refused.to_string(), "the timer wheel holds as many timers as its limit allows");
    assert_eq!(refused, Full("third".to_owned()));
    assert_eq!(refused.clone().into_inner(), "third");
    assert_eq!((wheel.len(), wheel.limit()), (2, 2));
    // Only `try_schedule` is bound, and what left makes room.
    wheel.schedule(3, "unbound".to_owned());
    assert!(!attempt(&mut wheel, 4));
    assert_eq!(wheel.advance(2).count(), 2);
    assert!(attempt(&mut wheel, 4));
    wheel.set_limit(0);
    assert!(!attempt(&mut wheel, 4));
    assert_eq!(wheel.len(), 2, "a lower limit drops nothing");
    wheel.set_limit(usize::MAX);
    assert!(attempt(&mut wheel, 4));
    wheel.check_invariants();
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
                let last = u64::MAX / spans[4] * spans[4];
                assert_eq!(wheel.peek_ahead(4), Some(last - now));
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

#[test]
fn stopped_call_leaves_the_rest_of_its_budget() {
    let mut wheel: Wheel<u32> = Wheel::new(0);
    (0..10).for_each(|n| _ = wheel.schedule(10, n));
    let progress = wheel.advance_with(10, 100, |_, _, value| match *value {
        3 => Verdict::Stop,
        _ => Verdict::Remove,
    });
    assert_eq!((progress.fired, progress.unused), (3, 97));
    let progress = wheel.advance_with(10, 100, |_, _, _| Verdict::Stop);
    assert_eq!((progress.fired, progress.unused, wheel.len()), (0, 100, 7));
    // With no fires to spend nobody is asked.
    let none = Budget::UNLIMITED.with_fires(0);
    let progress = wheel.advance_with(10, none, |_, _, _| panic!("asked"));
    assert_eq!((progress.fired, progress.has_backlog), (0, true));
}
