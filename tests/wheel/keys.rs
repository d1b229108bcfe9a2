//! Keys: one that is stale or made up reaches nothing, and a value that learns its own may panic. And what types promise
//! the compiler: `Send`, `Sync`, unwind safety, sizes.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::rc::Rc;

use timer_wheel::inspect::Stats;
use timer_wheel::{Advance, Budget, Expired, Geometry, Millis, TimerKey, TimerRef, Wheel};

use crate::rng::Rng;

#[test]
fn panic_of_the_value_takes_no_slot() {
    let mut wheel: Wheel<u32> = Wheel::new(0);
    let first = wheel.schedule(10, 1);
    assert_eq!(wheel.cancel(first), Some(1));
    let mut promised = Vec::new();
    let mut place = Some(first);
    for _ in 0..3 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            wheel.schedule_with(20, |key| {
                promised.push(key);
                std::panic::resume_unwind(Box::new(()))
            })
        }));
        assert!(panicked.is_err());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            wheel.reschedule_or_insert(&mut place, 20, || std::panic::resume_unwind(Box::new(())))
        }));
        assert!(panicked.is_err());
        wheel.check_invariants();
        assert_eq!((wheel.len(), wheel.stats().slots), (0, 1));
        assert_eq!(place, Some(first), "nothing has changed");
    }
    assert!(promised.iter().all(|&key| key == promised[0]));
    assert_eq!(wheel.schedule(20, 2), promised[0]);
}

/// Any number at all, shown to a wheel that has free, taken and worn slots.
#[test]
fn made_up_numbers_are_harmless() {
    let mut wheel: Wheel<u32> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..50).map(|n| wheel.schedule(u64::from(n), n)).collect();
    for key in keys.iter().step_by(2) {
        wheel.cancel(*key);
    }
    let live: Vec<TimerKey> = wheel.iter().map(|timer| timer.key).collect();
    let mut numbers = Rng(7);
    let edges = [0, 1, u64::MAX, u64::MAX - 1, 1 << 32, u64::MAX << 32, 1 << 63];
    let near = (0..64).flat_map(|slot| (0..8).map(move |generation| slot << 32 | generation));
    let words = edges.into_iter().chain(near);
    for word in words.chain((0..2_000).map(|_| numbers.next())) {
        let Some(key) = TimerKey::from_bits(word) else {
            assert_eq!(word % 2, 0, "an odd generation is that of a key");
            continue;
        };
        assert_eq!((key.to_bits(), word % 2), (word, 1));
        assert_eq!(key.cmp(&live[0]), word.cmp(&live[0].to_bits()), "in the same order");
        let is_live = live.contains(&key);
        assert_eq!(wheel.contains(key), is_live);
        assert_eq!(wheel.timer(key).is_some(), is_live);
        if !is_live {
            assert_eq!(wheel.cancel(key), None);
            assert!(!wheel.reschedule(key, 7));
        }
    }
    assert_eq!(wheel.len(), live.len());
    wheel.check_invariants();
}

/// A geometry of the kind that no thread could share: it must not matter, none is ever made.
struct Unshared(#[expect(dead_code, reason = "only its type counts")] Rc<()>);

impl Geometry for Unshared {
    const TICK_BITS: u32 = 5;
    const LEVEL_BITS: [u32; 4] = [3, 3, 3, 3];
}

/// A wheel of values that are not is not either: the library has no `unsafe` to say otherwise.
#[test]
fn wheel_is_send_sync_and_unwind_safe_if_its_values_are_and_keys_are_small() {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    is_send::<Wheel<Cell<u64>>>();
    is_send::<Advance<'_, u64, Millis>>();
    is_shared::<Wheel<Box<u64>, Unshared>>();
    is_shared::<TimerRef<'_, u64>>();
    is_shared::<(TimerKey, Expired<u64>, Budget, Stats)>();
    let wheel: Wheel<u64> = Wheel::new(0);
    let is_safe = |_: &dyn UnwindSafe| ();
    is_safe(&wheel.iter());
    is_safe(&wheel.ascending());
    is_safe(&wheel.descending());
    assert_eq!((size_of::<TimerKey>(), size_of::<Option<TimerKey>>()), (8, 8));
}
