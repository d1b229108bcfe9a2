//! Sentences of `docs/semantics.md` that no model tells of, as properties of wheels at any moment of a
//! random life.

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, TimerKey, Wheel};

/// Calls a function for every geometry that the crate brings.
macro_rules! in_every_preset {
    ($check:ident) => {
        $check::<Millis>();
        $check::<Caffeine>();
        $check::<Micros>();
        $check::<Compact>();
    };
}

/// The bits of a xorshift generator.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A time span of any order of magnitude, some of them alike.
    fn span(&mut self) -> u64 {
        let any = self.next() >> self.below(64);
        if self.below(3) == 0 {
            any & !0xfff_ffff
        } else {
            any
        }
    }
}

/// Lets a wheel of at most so many timers live for a while, and looks at it at every moment.
fn live<G: Geometry>(most: usize, mut look: impl FnMut(&Wheel<u64, G>)) {
    for seed in 1..=20 {
        let mut bits = Bits(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let mut wheel = Wheel::<u64, G>::with_geometry(bits.span() >> 8);
        let mut keys: Vec<TimerKey> = Vec::new();
        for _ in 0..300 {
            let at = wheel.now().saturating_add(bits.span());
            match bits.below(8) {
                0..4 => {
                    let room = most - wheel.len();
                    for _ in 0..room.min(bits.below(most / 8)) {
                        keys.push(wheel.schedule(at, 0));
                    }
                }
                4 if !keys.is_empty() => _ = wheel.cancel(keys[bits.below(keys.len())]),
                5 if !keys.is_empty() => _ = wheel.reschedule(keys[bits.below(keys.len())], at),
                6 => _ = wheel.advance_with_budget(at >> 1, bits.below(40)).count(),
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

/// C7, where no bucket can be crowded.
#[test]
fn least_peek_ahead_of_few_timers_is_the_expiration_delay() {
    fn check<G: Geometry>() {
        live::<G>(256, |wheel| {
            assert_eq!(least_of_all_levels(wheel), wheel.expiration_delay());
        });
    }
    in_every_preset!(check);
}

/// C7, in general.
#[test]
fn least_peek_ahead_is_never_before_the_expiration_delay() {
    fn check<G: Geometry>() -> u32 {
        let mut later = 0;
        live::<G>(5_000, |wheel| {
            let (least, delay) = (least_of_all_levels(wheel), wheel.expiration_delay());
            assert!(least >= delay, "{least:?} {delay:?}");
            assert_eq!(least.is_none(), wheel.is_empty());
            later += u32::from(least > delay);
        });
        later
    }
    let later = [check::<Millis>(), check::<Caffeine>(), check::<Micros>()];
    assert!(
        later.iter().sum::<u32>() > 0,
        "no crowd was ahead: this says no more than the one above"
    );
}

/// C10.
#[test]
fn backlog_is_told_of_exactly_while_the_delay_is_zero() {
    fn check<G: Geometry>() {
        let mut backlogs = 0;
        live::<G>(5_000, |wheel| {
            assert_eq!(wheel.has_backlog(), wheel.expiration_delay() == Some(0));
            backlogs += u32::from(wheel.has_backlog());
        });
        assert!(backlogs > 100);
    }
    in_every_preset!(check);
}

/// C12 and C16: the same order three times, and nobody moves the clock.
#[test]
fn ascending_descending_and_pop_first_agree() {
    fn check<G: Geometry>() {
        live::<G>(200, |wheel| {
            let up: Vec<_> = wheel
                .ascending()
                .map(|timer| (timer.deadline, timer.key))
                .collect();
            let mut down: Vec<_> = wheel
                .descending()
                .map(|timer| (timer.deadline, timer.key))
                .collect();
            down.reverse();
            assert_eq!(up, down);
            let mut copy = wheel.clone();
            let popped = std::iter::from_fn(|| copy.pop_first());
            let popped: Vec<_> = popped.map(|timer| (timer.deadline, timer.key)).collect();
            assert_eq!(up, popped);
            assert_eq!(copy.now(), wheel.now());
        });
    }
    check::<Millis>();
    check::<Caffeine>();
}

/// C3: the one difference that a split can make.
#[test]
fn timer_scheduled_for_a_time_that_has_passed_fires_in_the_next_advance() {
    fn check<G: Geometry>() {
        live::<G>(200, |wheel| {
            let mut copy = wheel.clone();
            let key = copy.schedule(wheel.now() / 2, 1);
            assert!(copy.advance(0).any(|timer| timer.key == key));
        });
    }
    in_every_preset!(check);
}

/// C8.
#[test]
fn advance_to_an_earlier_time_counts_as_one_to_now() {
    fn check<G: Geometry>() {
        live::<G>(200, |wheel| {
            let (mut back, mut stay) = (wheel.clone(), wheel.clone());
            let fired: Vec<_> = back.advance(wheel.now() / 2).collect();
            assert_eq!(fired, stay.advance(wheel.now()).collect::<Vec<_>>());
            assert_eq!(back.now(), wheel.now());
        });
    }
    in_every_preset!(check);
}

/// C9: what was not yielded is live until the next advance, and comes first in it.
#[test]
fn timers_that_a_dropped_advance_did_not_yield_are_live_and_come_first() {
    fn check<G: Geometry>() {
        let mut left_over = 0;
        live::<G>(200, |wheel| {
            let now = wheel.now().saturating_add(1 << 40);
            let due: Vec<_> = wheel.clone().advance(now).collect();
            for taken in [0, 1, due.len() / 2] {
                let mut copy = wheel.clone();
                let first: Vec<_> = copy.advance(now).take(taken).collect();
                let (yielded, rest) = due.split_at(taken.min(due.len()));
                assert_eq!(first, yielded);
                assert!(rest.iter().all(|timer| copy.contains(timer.key)));
                assert_eq!(copy.advance(now).collect::<Vec<_>>(), rest);
                left_over += rest.len();
            }
        });
        assert!(left_over > 1_000);
    }
    check::<Millis>();
    check::<Caffeine>();
}

/// C5: what was cancelled wakes nobody, and who is left wakes at most once a level and once to fire.
#[test]
fn wake_ups_follow_the_timers_that_are_left() {
    fn check<G: Geometry>() {
        for seed in 1..=20 {
            let mut bits = Bits(seed);
            let mut wheel = Wheel::<u64, G>::with_geometry(0);
            let keys: Vec<_> = (0..2_000)
                .map(|_| wheel.schedule(bits.span() >> 2, 0))
                .collect();
            let left = 1 + bits.below(20);
            for &key in &keys[left..] {
                assert!(wheel.cancel(key).is_some());
            }
            let (mut wake_ups, mut fired) = (0, 0);
            while let Some(delay) = wheel.expiration_delay() {
                fired += wheel.advance(wheel.now() + delay).count();
                wake_ups += 1;
            }
            assert_eq!(fired, left);
            assert!(wake_ups <= 6 * left, "{wake_ups} for {left}");
        }
    }
    in_every_preset!(check);
}
