//! The traps that other timer wheels fell into, each under its name. Every test says whose it was.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, TimerKey, Verdict, Wheel};

use crate::geometries::{FAR_TIMERS, Lopsided, Tiny, Widest};
use crate::numbers::Numbers;
use crate::pair::{Fired, Pair};
use crate::script::{Op, Pick, When, spans};

/// Clocks at which the arithmetic of ticks has wrapped, changed sign or been cut short.
const CLOCKS: [u64; 12] = [
    0,
    1,
    (1 << 20) - 1,
    1 << 20,
    (1 << 20) + 1,
    (1 << 32) - 1,
    (1 << 52) + 12_345,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];

/// The jumps at which wheels have failed, for one geometry: nothing, one, each span and around it.
fn jumps<G: Geometry>() -> Vec<u64> {
    let around = |span: u64| [span - 1, span, span.saturating_add(1)];
    let mut jumps: Vec<u64> = spans::<G>().into_iter().flat_map(around).collect();
    jumps.extend([0, 1, 2, 1 << 61, u64::MAX]);
    jumps.sort_unstable();
    jumps.dedup();
    jumps
}

fn fired<G: Geometry>(wheel: &mut Wheel<u64, G>, now: u64) -> Vec<Fired> {
    let items = wheel.advance(now);
    items.map(|item| (item.deadline, item.value)).collect()
}

/// Caffeine (fixed in 2026) and tokio#8334 chose the level by duration and the bucket by absolute
/// time, so that a far timer wrapped onto a near bucket and the wake-up came after the earliest.
#[test]
fn expiration_delay_at_unaligned_clocks_is_never_late() {
    fn check<G: Geometry>() {
        let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
        let spans = spans::<G>();
        for _ in 0..20 {
            let unaligned = numbers.next() >> numbers.below(60);
            let mut pair = Pair::<G>::new(unaligned);
            for _ in 0..25 {
                // Nearly a whole rotation ahead: the distance at which a bucket is met again.
                let span = spans[numbers.below(5) as usize];
                let delay = span.saturating_mul(numbers.below(260)) | numbers.below(span);
                pair.apply(&Op::Schedule(When::In(delay)));
                let step = numbers.below(span) / 3;
                pair.apply(&Op::Advance(When::In(step)));
                pair.apply(&Op::Reschedule(Pick::Live(3), When::In(delay / 2)));
            }
            pair.finish();
        }
    }
    in_every_geometry!(check);
}

/// Caffeine, VPP and glommio#44 asked the finest occupied level for the next wake-up and forgot
/// that a coarser bucket may begin before it.
#[test]
fn expiration_delay_with_finer_level_occupied_sees_coarser_levels() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for (level, &span) in spans.iter().enumerate() {
            for offset in [-1, 0, 1] {
                for before in [1, 2, span / 2, span - 1] {
                    // Just before a boundary; one timer past it, one later on a finer level.
                    let boundary = span.saturating_mul(3);
                    let mut pair = Pair::<G>::new(boundary.saturating_sub(before));
                    pair.apply(&Op::Schedule(When::At(
                        boundary.saturating_add_signed(offset),
                    )));
                    for finer in &spans[..level] {
                        let last = boundary.saturating_sub(1).saturating_add(*finer);
                        pair.apply(&Op::Schedule(When::At(last)));
                        pair.apply(&Op::Schedule(When::At(boundary.saturating_sub(1))));
                    }
                    for _ in 0..8 {
                        let drive = Op::Drive {
                            wake_ups: 1,
                            within: u64::MAX,
                        };
                        pair.apply(&drive);
                    }
                    pair.finish();
                }
            }
        }
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// Caffeine's fuzzer held an assertion that its own condition kept from ever failing. Here a wheel
/// and a model that differ in one thing, any one, must be told apart.
#[test]
fn comparison_of_a_pair_that_differs_fails() {
    fn check(name: &str, spoil: fn(&mut Pair<Millis>)) {
        let mut pair = Pair::<Millis>::new(1_000);
        for delay in [5, 5, 1 << 21, 1 << 30, 1 << 50] {
            pair.apply(&Op::Schedule(When::In(delay)));
        }
        pair.compare();
        spoil(&mut pair);
        let compared = catch_unwind(AssertUnwindSafe(|| {
            pair.compare();
            pair.finish();
        }));
        assert!(compared.is_err(), "not noticed: {name}");
    }
    fn first(pair: &Pair<Millis>) -> TimerKey {
        pair.model.nth(0).expect("timers were scheduled")
    }
    check("a timer more", |pair| {
        pair.wheel.schedule(u64::MAX, 99);
    });
    check("a timer less", |pair| {
        pair.wheel.cancel(first(pair));
    });
    check("a deadline one later", |pair| {
        pair.wheel.reschedule(first(pair), 1_006);
    });
    check("another order among equals", |pair| {
        pair.wheel.reschedule(first(pair), 1_005);
    });
    check("another value", |pair| {
        *pair.wheel.get_mut(first(pair)).expect("it lives") = 99;
    });
    check("another clock", |pair| {
        drop(pair.wheel.advance(1_001));
    });
    check("a timer fired twice", |pair| {
        let item = pair.wheel.pop_expired(1_005).expect("one is due");
        pair.model.set_clock(1_005);
        pair.wheel.schedule(item.deadline, item.value);
    });
}

/// Caffeine (latent from 2017 to 2026): user code re-entered during expiry, and the rest of the
/// chain was stranded. Between two items: cancel the successor.
#[test]
fn pop_with_successor_cancelled_in_between_keeps_the_rest() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..40).map(|n| wheel.schedule(1_000, n)).collect();
    for n in (0..40).step_by(2) {
        let item = wheel.pop_expired(2_000).expect("due and not cancelled");
        assert_eq!(item.value, n);
        assert_eq!(wheel.cancel(keys[n as usize + 1]), Some(n + 1));
        wheel.check_invariants();
    }
    assert!(wheel.pop_expired(2_000).is_none());
    assert!(wheel.is_empty());
}

/// The same trap in this project's chains, which are what a bucket becomes when it is sorted: whichever of a chain
/// leave, from the front, the back or the middle, the others stay and keep their order.
#[test]
fn chain_cancelled_from_the_front_the_back_and_the_middle_keeps_the_rest() {
    /// The one to leave next, of so many.
    type Out = fn(usize) -> usize;
    fn check(step: u64, out: Out) {
        let coarse = spans::<Millis>()[1];
        let mut pair = Pair::<Millis>::new(0);
        pair.apply(&Op::Bunch {
            at: When::At(u64::MAX),
            count: FAR_TIMERS as u8,
        });
        let storm = |from, count| Op::Storm {
            from: When::At(from),
            step,
            count,
        };
        pair.apply(&storm(coarse, 24));
        pair.apply(&Op::Pop(When::At(coarse)));
        let ready = pair.wheel.stats().ready;
        assert_eq!(ready, 1 + 23, "one of the ballast, and a chain");
        // Others among them, each on its own.
        pair.apply(&storm(coarse + step / 2, 12));
        while pair.model.len() > FAR_TIMERS {
            let left = pair.model.len() - FAR_TIMERS;
            let nth = out(left) as u8;
            pair.apply(&match left % 7 {
                // To the same time, where it comes behind its equals.
                0 => Op::Reschedule(
                    Pick::Live(nth),
                    When::Like {
                        nth,
                        offset: 0,
                        within: u64::MAX,
                    },
                ),
                3 => Op::Pop(When::Like {
                    nth: 0,
                    offset: 0,
                    within: u64::MAX,
                }),
                _ => Op::Cancel(Pick::Live(nth)),
            });
            pair.apply(&Op::Cancel(Pick::Live(nth)));
        }
        pair.finish();
    }
    let outs: [Out; 3] = [|_| 0, |left| left - 1, |left| left / 2];
    for out in outs {
        // At one nanosecond, in one tick, and in the ticks of a bucket that is sorted whole.
        for step in [0, 8, spans::<Millis>()[0]] {
            check(step, out);
        }
    }
}

/// The same trap: between two items, schedule into the same tick, the past and the present.
#[test]
fn pop_with_timers_scheduled_in_between_yields_them_in_place() {
    fn check<G: Geometry>() {
        for clock in [1_000, 1 << 40, u64::MAX - 10] {
            let mut pair = Pair::<G>::new(clock - 500);
            for nth in 0..20 {
                pair.apply(&Op::Schedule(When::At(clock - 20 + nth)));
            }
            for _ in 0..30 {
                pair.apply(&Op::Pop(When::At(clock)));
                pair.apply(&Op::Schedule(When::Ago(15)));
                pair.apply(&Op::Schedule(When::In(0)));
                pair.apply(&Op::Schedule(When::In(1)));
                pair.apply(&Op::Pop(When::At(clock)));
                pair.apply(&Op::Reschedule(Pick::Live(1), When::Ago(7)));
            }
            pair.finish();
        }
    }
    in_every_geometry!(check);
}

/// The same trap: the iterator is dropped, or user code panics, between two items.
#[test]
fn advance_left_between_items_by_drop_or_panic_yields_the_rest_first() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    for n in 0..10 {
        wheel.schedule(100 * n, n);
    }
    let first: Vec<u64> = wheel.advance(450).take(2).map(|item| item.value).collect();
    assert_eq!(first, [0, 1]);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        for item in wheel.advance(450) {
            assert_ne!(item.value, 3, "user code panics here");
        }
    }));
    assert!(panicked.is_err());
    wheel.check_invariants();
    wheel.schedule(425, 42);
    wheel.schedule(0, 43);
    let rest = fired(&mut wheel, 460);
    assert_eq!(rest, [(0, 43), (400, 4), (425, 42)]);
    assert_eq!(wheel.len(), 5);
}

/// Caffeine's notes: resuming after a budget by rewinding the clock scans again what a cascade
/// moved, for ever. (A million timers in one coarse bucket are in `budget`.)
#[test]
fn advance_with_budget_one_over_cascades_ends() {
    fn check<G: Geometry>() {
        for span in spans::<G>() {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(7);
            let count = 50;
            let base = span.saturating_mul(2);
            for n in 0..count {
                wheel.schedule(base.saturating_add(n * (span / count)), n);
            }
            let now = base.saturating_add(span);
            let mut yielded = 0;
            // Two units a timer and level, and one for each bucket on the way.
            let calls = (2 * 7 * count * (count + 2)) as usize;
            for _ in 0..calls {
                let mut advance = wheel.advance_with_budget(now, 1);
                yielded += advance.by_ref().count() as u64;
                if !advance.has_backlog() {
                    break;
                }
            }
            assert_eq!(yielded, count, "not all fired after {calls} calls");
            assert!(wheel.is_empty());
        }
    }
    in_every_geometry!(check);
}

/// Caffeine (three fixes): signed wrap, the zero crossing, and the tick delta narrowed to 32 bits.
#[test]
fn advance_at_every_clock_and_jump_fires_exactly_what_is_due() {
    fn check<G: Geometry>() {
        let jumps = jumps::<G>();
        for clock in CLOCKS {
            for &jump in &jumps {
                let mut pair = Pair::<G>::new(clock);
                for &delay in &jumps {
                    pair.schedule(clock.saturating_add(delay));
                    pair.schedule(clock.saturating_sub(delay));
                }
                pair.compare();
                pair.apply(&Op::Advance(When::In(jump)));
                pair.apply(&Op::Schedule(When::In(jump)));
                pair.apply(&Op::Advance(When::In(1)));
                pair.apply(&Op::Advance(When::In(jump)));
                pair.finish();
            }
        }
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// Caffeine and moka#248: zero, past and tiny delays hashed into a bucket of the future, or looped
/// for ever.
#[test]
fn zero_tiny_and_past_delays_fire_on_the_very_next_advance() {
    fn check<G: Geometry>() {
        for clock in CLOCKS {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(clock);
            wheel.schedule(clock, 0);
            wheel.schedule(clock.saturating_add(1), 1);
            wheel.schedule(clock.saturating_sub(1), 2);
            wheel.schedule(0, 3);
            assert_eq!(wheel.expiration_delay(), Some(0), "at {clock}");
            let due: Vec<u64> = wheel.advance(clock).map(|item| item.value).collect();
            let expected: &[u64] = match clock {
                0 => &[0, 2, 3],
                1 => &[2, 3, 0],
                u64::MAX => &[3, 2, 0, 1],
                _ => &[3, 2, 0],
            };
            assert_eq!(due, expected, "at {clock}");
            if clock < u64::MAX {
                let delay = wheel.expiration_delay();
                assert_eq!(
                    delay,
                    Some(1),
                    "zero would be a wake-up for nothing, at {clock}"
                );
                assert_eq!(fired(&mut wheel, clock + 1), [(clock + 1, 1)]);
            }
            assert!(wheel.is_empty());
        }
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// theine-go#64 and nats#7070: a sweep off by one bucket, or a missed revolution.
#[test]
fn advance_by_whole_revolutions_leaves_nothing_due_alive() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for (level, &span) in spans.iter().enumerate() {
            // The rotation of a level is the span of the next; the far level has none.
            let rotation = spans.get(level + 1).copied().unwrap_or(span * 2);
            for jump in [span, rotation - 1, rotation, rotation + 1, 3 * rotation] {
                let mut pair = Pair::<G>::new(span / 2);
                for round in 0..12_u64 {
                    for delay in [1, span - 1, span, rotation - 1, rotation, rotation + span] {
                        pair.schedule(pair.model.now().saturating_add(delay + round));
                    }
                    pair.apply(&Op::Advance(When::In(jump)));
                }
                pair.finish();
            }
        }
    }
    in_every_geometry!(check);
}

/// tokio#3270: the level computed at removal was not the level at insertion, and the occupancy bit
/// of another bucket was cleared, or none.
#[test]
fn cancel_after_one_of_several_expired_clears_every_bit() {
    fn check<G: Geometry>() {
        for span in spans::<G>() {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(span / 3);
            let base = span * 2;
            let delays = [0, 0, 1, span / 2, span - 1, span, span * 2];
            let keys = delays.map(|delay| wheel.schedule(base + delay, delay));
            let due = delays.iter().filter(|&&delay| delay == 0).count();
            assert_eq!(fired(&mut wheel, base).len(), due);
            for key in keys {
                let alive = wheel.contains(key);
                assert_eq!(wheel.cancel(key).is_some(), alive);
                wheel.check_invariants();
            }
            let stats = wheel.stats();
            assert_eq!(stats.occupied, [0; 5], "a bit is set in an empty wheel");
            assert_eq!(stats.timers, 0);
            assert_eq!(wheel.expiration_delay(), None);
        }
    }
    in_every_geometry!(check);
}

/// wahern/timeout: the occupancy bit was not cleared on delete, and empty buckets woke the driver.
#[test]
fn cancel_of_the_last_in_a_bucket_clears_its_bit() {
    fn check<G: Geometry>() {
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        for span in spans::<G>() {
            for count in [1, 2, 15, 16, 17, 31, 32, 33, 100] {
                let deadline = span.saturating_mul(3) / 2;
                let keys: Vec<TimerKey> = (0..count).map(|n| wheel.schedule(deadline, n)).collect();
                let (front, back) = keys.split_at(keys.len() / 2);
                for &key in front.iter().chain(back.iter().rev()) {
                    assert!(wheel.expiration_delay().is_some());
                    assert!(wheel.cancel(key).is_some());
                    wheel.check_invariants();
                }
                assert_eq!(wheel.stats().occupied, [0; 5]);
                assert_eq!(wheel.expiration_delay(), None);
                for level in 0..5 {
                    assert_eq!(wheel.peek_ahead(level), None);
                }
            }
        }
    }
    in_every_geometry!(check);
}

/// moka#524 and #565: a handle outlived its node and was followed into memory given to another.
#[test]
fn stale_keys_of_every_age_never_reach_another_timer() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let mut stale: Vec<TimerKey> = Vec::new();
    for round in 0..200_u64 {
        // The same few slots, left in every way there is.
        let now = wheel.now() + 10;
        let key = wheel.schedule(now, round);
        let neighbour = wheel.schedule(u64::MAX, round);
        for &old in &stale {
            assert_ne!(old, key, "a key given out twice");
            assert!(!wheel.contains(old));
            assert!(wheel.get(old).is_none() && wheel.get_mut(old).is_none());
            assert_eq!(wheel.deadline(old), None);
            assert_eq!(wheel.cancel(old), None);
            assert!(!wheel.reschedule(old, 0));
        }
        match round % 7 {
            0 => assert_eq!(wheel.cancel(key), Some(round)),
            1 => assert_eq!(fired(&mut wheel, now), [(now, round)]),
            2 => {
                let item = wheel.pop_expired(now).expect("it is due");
                assert_eq!(item.key, key);
            }
            3 => {
                let progress = wheel.advance_with(now, usize::MAX, |_, _, _| Verdict::Remove);
                assert_eq!(progress.fired, 1);
            }
            4 => wheel.clear(),
            5 => assert_eq!(wheel.drain().count(), 2),
            _ => {
                assert_eq!(wheel.cancel(neighbour), Some(round));
                assert_eq!(wheel.cancel(key), Some(round));
                wheel.shrink_to_fit();
            }
        }
        if wheel.contains(neighbour) {
            assert_eq!(wheel.cancel(neighbour), Some(round));
        }
        stale.extend([key, neighbour]);
        wheel.check_invariants();
        assert!(wheel.is_empty());
        assert!(wheel.stats().slots <= 2, "slots are not reused");
    }
}

/// ratas: the lower level fired before the upper level's clock had moved, when timers were put back
/// by a rotation and one or two ticks.
#[test]
fn reschedule_by_a_rotation_and_one_in_a_loop_fires_on_time() {
    fn check<G: Geometry>(ticks: u64) {
        let [tick, rotation, ..] = spans::<G>();
        let period = rotation + ticks * tick;
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let key = wheel.schedule(period, 1);
        for round in 1..600 {
            let deadline = round * period;
            for moment in [deadline - tick, deadline - 1] {
                let progress = wheel.advance_with(moment, usize::MAX, |_, _, _| Verdict::Remove);
                assert_eq!(progress.fired, 0, "fired early, in round {round}");
            }
            let again = |_: TimerKey, at: u64, _: &mut u64| Verdict::Rearm(at + period);
            assert_eq!(wheel.advance_with(deadline, usize::MAX, again).fired, 1);
            wheel.check_invariants();
            // And once more from outside, to the same moment.
            assert!(wheel.reschedule(key, deadline + 3 * period));
            assert!(wheel.reschedule(key, deadline + period));
        }
    }
    for ticks in 0..4 {
        check::<Millis>(ticks);
        check::<Micros>(ticks);
        check::<Compact>(ticks);
        check::<Caffeine>(ticks);
        check::<Tiny>(ticks);
        check::<Lopsided>(ticks);
    }
}

/// netty#14959: the count of pending timers went down twice when a cancel met a firing.
#[test]
fn cancel_inside_the_firing_window_counts_once() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..6).map(|n| wheel.schedule(1_000, n)).collect();
    let fired = wheel.pop_expired(1_000).expect("all are due").key;
    assert_eq!(wheel.len(), 5);
    assert_eq!(wheel.cancel(fired), None);
    assert_eq!(wheel.len(), 5, "a fired timer was counted off again");
    assert_eq!(wheel.cancel(keys[1]), Some(1));
    assert_eq!(wheel.cancel(keys[1]), None);
    assert_eq!(wheel.len(), 4);
    // A budgeted call in the middle of its backlog.
    let yielded: Vec<TimerKey> = wheel.advance_with_budget(1_000, 2).map(|i| i.key).collect();
    let left = wheel.len();
    assert_eq!(left, 4 - yielded.len());
    for &key in &keys {
        let alive = wheel.contains(key);
        let before = wheel.len();
        assert_eq!(wheel.cancel(key).is_some(), alive);
        assert_eq!(wheel.len(), before - usize::from(alive));
    }
    assert_eq!(wheel.len(), 0);
    assert!(wheel.is_empty());
    wheel.check_invariants();
}

/// tokio#5536, kube#1772 and restate#5017: a far deadline panicked. Every entry point takes it.
#[test]
fn end_of_time_in_every_entry_point_does_not_panic() {
    fn check<G: Geometry>() {
        for clock in CLOCKS {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(clock);
            wheel.reserve(1);
            let far = wheel.schedule(u64::MAX, 1);
            let other = wheel.schedule(clock, 2);
            assert!(wheel.reschedule(other, u64::MAX));
            assert!(wheel.try_schedule(u64::MAX, 3).is_ok());
            assert_eq!(wheel.deadline(far), Some(u64::MAX));
            assert_eq!(wheel.next_deadline(), Some(u64::MAX));
            let exact = u64::MAX - clock;
            assert!(wheel.expiration_delay().is_some_and(|delay| delay <= exact));
            for level in [0, 1, 2, 3, 4, 5, usize::MAX] {
                let ahead = wheel.peek_ahead(level);
                assert!(ahead.is_none_or(|delay| delay <= exact));
            }
            wheel.check_invariants();
            if clock < u64::MAX {
                assert_eq!(fired(&mut wheel, u64::MAX - 1), []);
            }
            let keep = |_: TimerKey, _: u64, _: &mut u64| Verdict::Rearm(u64::MAX);
            assert_eq!(wheel.advance_with(u64::MAX, 40, keep).unused, 0);
            assert_eq!(wheel.len(), 3);
            let due = wheel.pop_expired(u64::MAX).expect("all are due at the end");
            assert_eq!(due.deadline, u64::MAX);
            assert_eq!(wheel.advance_with_budget(u64::MAX, usize::MAX).count(), 2);
            assert!(wheel.is_empty());
            wheel.check_invariants();
            wheel.schedule(u64::MAX, 4);
            assert_eq!(fired(&mut wheel, u64::MAX), [(u64::MAX, 4)]);
        }
    }
    in_every_geometry!(check);
    check::<Widest>();
}

/// tokio#6752, #8274 and #8320: the sleeper was not told of the last timer removed, of a timer
/// reset to the past, and of a clear. Of the wheel itself: the delay it answers follows at once.
#[test]
fn expiration_delay_follows_removal_reset_and_clear() {
    fn check<G: Geometry>() {
        for span in spans::<G>() {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(10 * span / 3);
            let far = wheel.now().saturating_add(span.saturating_mul(2));
            let key = wheel.schedule(far, 1);
            assert!(wheel.expiration_delay().is_some());
            wheel.cancel(key);
            assert_eq!(wheel.expiration_delay(), None, "after the last was removed");
            let key = wheel.schedule(far, 2);
            let later = wheel.schedule(far, 3);
            assert!(wheel.reschedule(key, wheel.now() - 1));
            assert_eq!(
                wheel.expiration_delay(),
                Some(0),
                "after a reset to the past"
            );
            assert_eq!(wheel.next_deadline(), Some(wheel.now() - 1));
            wheel.cancel(key);
            assert_eq!(wheel.deadline(later), Some(far));
            assert_eq!(wheel.next_deadline(), Some(far));
            assert!(wheel.reschedule(later, wheel.now() + 1));
            assert!(wheel.expiration_delay() <= Some(1));
            wheel.clear();
            assert_eq!(wheel.expiration_delay(), None, "after clear");
            wheel.schedule(far, 4);
            assert_eq!(wheel.drain().count(), 1);
            assert_eq!(wheel.expiration_delay(), None, "after drain");
            wheel.check_invariants();
        }
    }
    in_every_geometry!(check);
}

/// tokio#8402: peek returned another key than the one that fired next.
#[test]
fn next_deadline_ascending_and_next_fired_agree_to_the_end() {
    fn check<G: Geometry>() {
        let mut numbers = Numbers(42);
        let spans = spans::<G>();
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(numbers.below(1 << 40));
        let mut keys = Vec::new();
        for n in 0..200 {
            let span = spans[numbers.below(5) as usize];
            let delay = numbers.below(span) / 8 * 8;
            keys.push(wheel.schedule(wheel.now().saturating_add(delay), n));
        }
        for &key in keys.iter().step_by(3) {
            // Postponed timers must not be peeked at where they were.
            let later = wheel.now() + numbers.below(spans[4]);
            wheel.reschedule(key, later);
        }
        while let Some(next) = wheel.next_deadline() {
            let first = wheel.ascending().next().expect("a timer lives");
            let last = wheel.descending().last().expect("a timer lives");
            assert_eq!((first.key, first.deadline), (last.key, next));
            let key = first.key;
            let item = wheel.pop_expired(next).expect("due by its own deadline");
            assert_eq!((item.key, item.deadline), (key, next));
        }
        assert!(wheel.is_empty());
    }
    in_every_geometry!(check);
}

/// Dongting: a comparator on the deadline alone dropped timers of equal deadlines.
#[test]
fn ten_thousand_timers_at_one_deadline_all_fire_in_the_order_scheduled() {
    fn check<G: Geometry>() {
        for span in spans::<G>() {
            let deadline = span.saturating_mul(3) + 1;
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(span / 2);
            let count = 10_000;
            let keys: Vec<TimerKey> = (0..count).map(|n| wheel.schedule(deadline, n)).collect();
            // Neither those that leave nor a detour by another deadline may show.
            for &key in keys.iter().skip(5).step_by(10) {
                wheel.cancel(key);
            }
            for &key in keys.iter().skip(7).step_by(10) {
                wheel.reschedule(key, deadline + span);
                wheel.reschedule(key, deadline);
            }
            let stay = (0..count).filter(|n| n % 10 != 5 && n % 10 != 7);
            let moved = (0..count).filter(|n| n % 10 == 7);
            let expected: Vec<u64> = stay.chain(moved).collect();
            let ahead: Vec<u64> = wheel.ascending().map(|timer| *timer.value).collect();
            assert_eq!(ahead, expected);
            // Through every cascade on the way, and not in one go.
            let mut order = Vec::new();
            for now in [deadline - span / 2, deadline - 1, deadline] {
                let half = wheel.len() / 2;
                let items = wheel.advance(now).take(half);
                order.extend(items.map(|item| item.value));
            }
            order.extend(wheel.advance(deadline).map(|item| item.value));
            assert_eq!(order, expected);
        }
    }
    in_every_geometry!(check);
}
