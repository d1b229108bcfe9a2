//! Keys: one that is stale or made up reaches nothing, and a value that learns its own may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{Budget, Geometry, TimerKey, Wheel};

use crate::geometries::Widest;
use crate::pair::Pair;
use crate::rng::Rng;
use crate::schedule::END;
use crate::script::{Op, Pick, Rule, When};

/// moka#524 and #565: a handle outlived its node and was followed into memory given to another.
#[test]
fn stale_keys_of_every_age_never_reach_another_timer() {
    fn check<G: Geometry>() {
        let mut pair = Pair::<G>::new(0);
        for round in 0..100 {
            // The same few slots, left in every way there is.
            pair.apply(&Op::Schedule(When::In(10)));
            pair.apply(&Op::Schedule(END));
            pair.apply(&match round % 8 {
                0 => Op::Cancel(Pick::Live(0)),
                1 => Op::Advance(When::In(10)),
                2 => Op::Pop(When::In(10)),
                3 => Op::AdvanceWith(When::In(10), Budget::unlimited(), Rule::Remove),
                4 => Op::Clear,
                5 => Op::Drain(1),
                6 => Op::PeekExpired(When::In(10), 1, Rule::Remove),
                _ => Op::PopFirst,
            });
            pair.apply(&Op::CancelMany(0));
            let slots = pair.wheel.stats().slots;
            assert!(slots <= 2, "{slots} slots: they are not reused");
            if round % 11 == 0 {
                pair.apply(&Op::Shrink);
            }
        }
        pair.finish();
    }
    in_every_geometry!(check);
    check::<Widest>();
}

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
