//! Keys: one that is stale or made up reaches nothing, and a value that learns its own may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{TimerKey, Wheel};

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
