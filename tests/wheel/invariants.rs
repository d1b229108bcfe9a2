//! Random lives of wheels, looked at at every moment: what no comparison with a model tells.

use timer_wheel::{Budget, Caffeine, Compact, Geometry, Micros, Millis, TimerKey, Wheel};

use crate::geometries::few;
use crate::rng::Rng;

/// Calls a function for every geometry that the crate brings.
macro_rules! in_every_preset {
    ($check:ident) => {
        $check::<Millis>();
        $check::<Caffeine>();
        $check::<Micros>();
        $check::<Compact>();
    };
}

/// A time span of any order of magnitude, some of them alike.
fn span(numbers: &mut Rng) -> u64 {
    let any = numbers.next() >> numbers.below(64);
    match numbers.below(3) {
        0 => any & !0xfff_ffff,
        _ => any,
    }
}

/// Lets a wheel of at most so many timers live for a while, and looks at it at every moment.
fn live<G: Geometry>(most: usize, mut look: impl FnMut(&Wheel<u64, G>)) {
    for seed in 1..=20 {
        let mut numbers = Rng(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let mut wheel = Wheel::<u64, G>::with_geometry(span(&mut numbers) >> 8);
        let mut keys: Vec<TimerKey> = Vec::new();
        for _ in 0..300 {
            let at = wheel.now().saturating_add(span(&mut numbers));
            let some_key = keys.get(numbers.below(keys.len() as u64 + 1) as usize);
            match (numbers.below(8), some_key) {
                (0..4, _) => {
                    let some = numbers.below(most as u64 / 8) as usize;
                    let count = some.min(most - wheel.len());
                    keys.extend((0..count).map(|_| wheel.schedule(at, 0)));
                }
                (4, Some(&key)) => _ = wheel.cancel(key),
                (5, Some(&key)) => _ = wheel.reschedule(key, at),
                (6, _) => {
                    let mut budget = Budget::of_work(numbers.below(40) as usize);
                    _ = wheel.advance_with_budget(at >> 1, &mut budget).count();
                }
                _ => {
                    let delay = wheel.expiration_delay().unwrap_or(0);
                    _ = wheel.advance(wheel.now().saturating_add(delay)).count();
                }
            }
            look(&wheel);
        }
    }
}

fn least_of_all_levels<G: Geometry>(wheel: &Wheel<u64, G>) -> Option<u64> {
    (0..5).filter_map(|level| wheel.peek_ahead(level)).min()
}

/// C5: what a wake-up without a fire was for.
#[test]
fn wake_up_fires_or_opens_or_looks_at_what_was_postponed_or_moves_256() {
    fn check<G: Geometry>() {
        let mut without_a_fire = 0;
        live::<G>(5_000, |wheel| {
            let Some(delay) = wheel.expiration_delay() else {
                return;
            };
            let mut after = wheel.clone();
            if after.advance(wheel.now().saturating_add(delay)).count() > 0 {
                return;
            }
            without_a_fire += 1;
            let was_postponed = after.stats().near < wheel.stats().near;
            let mut levels = wheel.levels().into_iter().zip(after.levels());
            let is_moved = levels.any(|(before, after)| {
                let mut buckets = before.buckets.into_iter().zip(after.buckets);
                buckets.any(|(before, after)| before > after && after == 0 || before >= after + few::<G>() / 2)
            });
            assert!(was_postponed || is_moved, "{wheel:?}\n{after:?}");
        });
        assert!(without_a_fire > 100);
    }
    in_every_preset!(check);
}

/// C11: slots are given back from the end only.
#[test]
fn shrink_gives_slots_back_down_to_the_highest_in_use() {
    for in_use in [0, 1, 63, 64, 255, 256, 257, 999] {
        let mut wheel = Wheel::new(0);
        let keys: Vec<TimerKey> = (0..1_000).map(|n| wheel.schedule(n, n)).collect();
        for (_, key) in keys.iter().enumerate().filter(|(n, _)| *n != in_use) {
            assert!(wheel.cancel(*key).is_some());
        }
        wheel.shrink_to_fit();
        assert_eq!(wheel.stats().slots, in_use + 1);
        assert!(wheel.contains(keys[in_use]));
    }
}

/// C16: the bucket is opened and sorted as if its time had come, and what is scheduled before it goes to the near heap from
/// then on.
#[test]
fn finding_the_first_opens_its_bucket_and_sends_what_is_earlier_to_the_near_heap() {
    fn check<G: Geometry>() {
        let mut opened = 0;
        live::<G>(2_000, |wheel| {
            let mut copy = wheel.clone();
            let first = copy.peek_first().map(|timer| timer.deadline);
            assert_eq!((first, copy.now()), (wheel.next_deadline(), wheel.now()));
            let found = copy.stats();
            assert_eq!(copy.peek_first().map(|timer| timer.deadline), first);
            assert_eq!(copy.stats(), found, "it is prepared already");
            assert_eq!(found.near == 0, wheel.is_empty());

            let is_opened = found.occupied != wheel.stats().occupied;
            if is_opened && !wheel.has_backlog() {
                opened += 1;
                let start = wheel.now() + least_of_all_levels(wheel).expect("it is not empty");
                copy.schedule(start - 1, 0);
                let earlier = copy.stats();
                assert_eq!(earlier.near, found.near + 1);
                assert_eq!(earlier.occupied, found.occupied);
            }
        });
        assert!(opened > 100);
    }
    in_every_preset!(check);
}
