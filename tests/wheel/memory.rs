//! Memory follows the timers that live, not the calls: a hundred thousand of them in every part of the
//! wheel, in every state, leave what was there before.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{Budget, Caffeine, Compact, Geometry, Lane, Micros, Millis, TimerKey, Wheel};

use crate::geometries::{FAR_TIMERS, Narrow, with_lists};
use crate::pair::LEVELS;
use crate::script::{lane, spans};

/// Live timers in a storm.
const FEW: usize = 10;

/// Bytes that a storm may need besides: the near heap doubles now and then.
const SPARE: usize = 1_000;

/// Bytes that a sort of 1,024 timers takes.
const SCRATCH: usize = 1_024 * (24 + 16);

/// Slots on a page.
const PAGE: usize = 256;

/// Where in the wheel a storm takes place, as seen from an unaligned clock: the past, the present, the current tick, and
/// a bucket on each level.
const PARTS: usize = 3 + LEVELS;

/// A clock in the middle of a bucket on every level.
fn unaligned<G: Geometry>() -> u64 {
    let spans = spans::<G>();
    spans[4] + spans[4] / 4 + spans[3] / 2 + spans[2] / 2 + spans[1] / 2 + spans[0] / 2
}

/// A deadline in a part. Those with other numbers are near it.
fn deadline<G: Geometry>(part: usize, number: usize) -> u64 {
    let (spans, now, number) = (spans::<G>(), unaligned::<G>(), number as u64);
    match part {
        0 => now / 2 + number,
        1 => now,
        2 => now + 1 + number,
        7 => spans[4] * 9 + number,
        part => now + spans[part - 3] + number,
    }
}

/// Wheels at the unaligned clock with nothing in them but the ballast and what the state needs: nothing was ever pulled; a
/// budget ran out in the middle of a coarse bucket, and its rest waits; half of what is due has fired.
fn states<G: Geometry>() -> [Wheel<u64, G>; 3] {
    let (now, [tick, _, coarse, ..]) = (unaligned::<G>(), spans::<G>());
    let mut cascading = with_lists(now - 2 * coarse);
    // Spread over one bucket of the third level, ahead of the clock.
    (0..400).for_each(|number| _ = cascading.schedule(now + coarse / 4 + number * (coarse / 4_000), 0));
    cascading.advance_with_budget(now + coarse / 2, &mut Budget::of_work(100)).for_each(drop);
    assert!(cascading.has_backlog(), "the budget was enough");
    let mut firing = with_lists(now - tick);
    (0..100).for_each(|number| _ = firing.schedule(now - number % 7, 0));
    assert_eq!(firing.advance(now).take(50).count(), 50);
    [with_lists(now), cascading, firing]
}

/// What a call of a storm does to a timer, given a deadline in the part of the storm and one elsewhere.
type Storm<G> = fn(&mut Wheel<u64, G>, &mut TimerKey, [u64; 2]);

#[test]
fn storm_in_every_part_and_state_leaves_the_memory_of_ten_timers() {
    fn check<G: Geometry>(mut wheel: Wheel<u64, G>, part: usize, storm: Storm<G>) {
        assert_eq!(wheel.add_lane(), lane(0));
        let timers = (0..FEW).map(|number| wheel.schedule(deadline::<G>(part, number), 0));
        let mut keys: Vec<TimerKey> = timers.collect();
        let live = wheel.len();
        let mut most = usize::MAX;
        for call in 0..100_000 {
            let here = deadline::<G>(part, call % 32);
            let there = deadline::<G>((part + 4) % PARTS, call % 5);
            storm(&mut wheel, &mut keys[call % FEW], [here, there]);
            if call % 1_009 == 1_008 {
                let stats = wheel.stats();
                assert!(stats.slots <= live.max(400 + FAR_TIMERS + FEW) + 1, "{stats:?}");
                assert!(stats.bytes <= most, "{} bytes, {most} before", stats.bytes);
                most = most.min(stats.bytes + SPARE);
            }
        }
        assert_eq!(wheel.len(), live, "part {part}");
        // All that is left fires, in order.
        wheel.check_invariants();
        let rest: Vec<u64> = wheel.advance(u64::MAX).map(|item| item.deadline).collect();
        assert_eq!((rest.len(), rest.is_sorted()), (live, true));
    }
    fn check_all<G: Geometry>() {
        let storms: [Storm<G>; 4] = [
            |wheel, _, [here, _]| {
                let key = wheel.schedule(here, 0);
                assert_eq!(wheel.cancel(key), Some(0));
            },
            |wheel, oldest, [here, _]| {
                assert_eq!(wheel.cancel(*oldest), Some(0));
                *oldest = wheel.schedule(here, 0);
            },
            |wheel, key, [here, there]| {
                let is_here = wheel.deadline(*key) != Some(there);
                assert!(wheel.reschedule(*key, if is_here { there } else { here }));
            },
            // From the second call on at the end of the lane, in it or early for it.
            |wheel, key, [here, there]| {
                let is_here = wheel.deadline(*key) != Some(there);
                assert!(wheel.reschedule_in(lane(0), *key, if is_here { there } else { here }));
            },
        ];
        for (part, wheel) in (0..PARTS).flat_map(|part| states::<G>().map(|wheel| (part, wheel))) {
            storms.iter().for_each(|storm| check(wheel.clone(), part, *storm));
        }
    }
    check_all::<Millis>();
    check_all::<Narrow>();
    check_all::<Caffeine>();
}

/// Buckets are made up to the highest level in use, and given back by a shrink.
#[test]
fn shrink_leaves_the_memory_of_a_wheel_that_held_nothing_else() {
    let spans = spans::<Millis>();
    for kept in [None, Some(0), Some(1), Some(2), Some(3), Some(4)] {
        let [mut fresh, mut used] = [(); 2].map(|()| with_lists::<Millis>(0));
        let ballast = fresh.stats().bytes;
        for wheel in [&mut fresh, &mut used] {
            if let Some(level) = kept {
                wheel.schedule(spans[level], 0);
            }
        }
        let others = spans.map(|span| used.schedule(2 * span, 0));
        assert!(others.into_iter().all(|key| used.cancel(key).is_some()));
        fresh.shrink_to_fit();
        used.shrink_to_fit();
        assert_eq!(used.stats().bytes, fresh.stats().bytes, "{kept:?} is kept");
        assert!(kept.is_some() || used.stats().bytes <= ballast);
        used.check_invariants();
        let left = FAR_TIMERS + usize::from(kept.is_some());
        assert_eq!(used.advance(u64::MAX).count(), left);
    }
}

/// Room that was asked for is there, and no more is claimed than is there.
#[test]
fn capacity_that_is_claimed_takes_timers_without_more_memory_for_slots() {
    for asked in [0, 1, 64, 2_400, 4_096, 4_097, 10_000] {
        let mut wheel: Wheel<u64> = Wheel::with_capacity(0, asked);
        assert!(wheel.capacity() >= asked);
        let mut claimed = wheel.capacity();
        for n in 0..13_000 {
            let is_full = wheel.len() == claimed;
            wheel.schedule(1, n);
            let now = wheel.capacity();
            assert!(is_full || now == claimed, "{asked} asked for, {claimed} claimed");
            claimed = wheel.capacity();
            assert!(claimed >= wheel.len() && claimed <= 2 * wheel.len().max(asked) + 4_104);
        }
        wheel.clear();
        wheel.shrink_to_fit();
        assert_eq!(wheel.capacity(), 0);
    }
}

/// One for each connection, say.
#[test]
fn wheel_of_ten_timers_makes_no_lists() {
    let mut wheel: Wheel<u32> = Wheel::new(0);
    let empty = wheel.stats().bytes;
    (0..10).for_each(|n| _ = wheel.schedule(u64::from(n) * 3_000_000_000, n));
    let bytes = wheel.stats().bytes;
    assert!(empty <= 768 && bytes <= 1_700, "{empty} and {bytes} bytes");
}

/// Where a timer lies does not change by much what it takes: in a bucket, in a lane, overdue, or beyond the levels.
#[test]
fn timer_of_four_bytes_takes_33_bytes_in_a_bucket_or_a_lane_57_overdue_and_34_far_ahead() {
    const TIMERS: u64 = 100_000;
    fn check<G: Geometry>() {
        let ([tick, .., rotation], now) = (spans::<G>(), 1_u64 << 40);
        let assert_bytes = |at: fn(u64, [u64; 3]) -> u64, most: usize, place: &str| {
            let mut wheel: Wheel<u32, G> = Wheel::with_geometry(now);
            let before = wheel.stats().bytes;
            (0..TIMERS).for_each(|n| _ = wheel.schedule(at(n, [now, tick, rotation]), 0));
            let bytes = wheel.stats().bytes - before;
            assert!(bytes <= most * TIMERS as usize, "{bytes} bytes {place}");
        };
        assert_bytes(|n, [now, tick, _]| now + 2 * tick + n * 600_000, 33, "within a minute");
        assert_bytes(|n, [now, tick, rotation]| now + 2 * tick + n * (rotation / TIMERS), 33, "on all levels");
        assert_bytes(|n, _| n, 57, "overdue");
        let (mut wheel, bytes) = (Wheel::<u32, G>::with_geometry(now), 33 * TIMERS as usize);
        let lane = wheel.add_lane();
        (0..TIMERS).for_each(|n| _ = wheel.schedule_in(lane, now + n, 0));
        assert!(wheel.stats().bytes <= bytes, "{} bytes in a lane", wheel.stats().bytes);
        assert_bytes(|n, [now, tick, _]| now + n % tick, 57, "in the present tick");
        assert_bytes(|n, _| u64::MAX - n, 34, "at the end of time");
        assert_bytes(|n, [now, _, rotation]| now.saturating_add((n + 1).saturating_mul(rotation)), 34, "each far");
        assert_bytes(|n, [_, _, rotation]| rotation << (n % u64::from(rotation.leading_zeros() + 1)), 34, "all far");
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Micros>();
    check::<Compact>();
}

/// 28 bytes and the value, rounded up to its alignment, and a byte for pages and buckets. Where words have 32 bits, eight bytes
/// may lie at a multiple of four.
#[cfg(target_pointer_width = "64")]
#[test]
fn timer_takes_33_bytes_without_a_value_41_with_eight_bytes_and_65_with_sixteen() {
    fn assert_bytes<T: Default>(most: usize) {
        let mut wheel: Wheel<T> = Wheel::new(0);
        (0..100_000).for_each(|n| _ = wheel.schedule(n * 600_000, T::default()));
        let bytes = wheel.stats().bytes;
        assert!(bytes <= most * 100_000 && bytes > (most - 1) * 100_000, "{bytes} bytes, not {most} a timer");
    }
    assert_bytes::<()>(33);
    assert_bytes::<u32>(33);
    assert_bytes::<u64>(41);
    assert_bytes::<u128>(65);
}

/// Fills a wheel with timers that are due within a second, looks at keys of before, and lets all fire. Returns the bytes
/// that it took.
fn peak(wheel: &mut Wheel<u32>, timers: u64, gone: &mut HashSet<TimerKey>) -> usize {
    let (start, second) = (wheel.now(), 1_000_000_000);
    let keys: Vec<TimerKey> = (0..timers).map(|n| wheel.schedule(start + n * 997 % second, 0)).collect();
    assert!(gone.iter().all(|&key| !wheel.contains(key)), "a key names another timer");
    gone.extend(keys.into_iter().step_by(101));
    let bytes = wheel.stats().bytes;
    assert_eq!(wheel.advance(start + second).count() as u64, timers);
    bytes
}

/// C11: as often as it comes and goes. In between, a timer fires with each advance and another takes its place.
#[test]
fn memory_after_each_of_ten_peaks_is_what_a_thousand_timers_need_and_keys_stay_stale() {
    let (mut wheel, mut first, mut gone) = (Wheel::new(0), None, HashSet::new());
    for nth in 0..10 {
        // The buckets of all levels are made once.
        wheel.schedule(1 << 51, 0);
        let most = peak(&mut wheel, 200_000, &mut gone);
        let start = wheel.now();
        (1..=1_000).for_each(|n| _ = wheel.schedule(start + (n << 20), 0));
        for step in 1..=10_000 {
            let now = start + (step << 20);
            assert_eq!(wheel.advance(now).count(), 1);
            wheel.schedule(now + (1_000 << 20), 0);
        }
        let bytes = wheel.stats().bytes;
        assert!(bytes <= most / 10, "{bytes} bytes after peak {nth} of {most}");
        // What a sort keeps for the next one differs.
        let least = *first.get_or_insert(bytes);
        assert!(bytes <= least + SCRATCH, "{bytes} bytes after peak {nth}, {least} after the first");
        wheel.clear();
    }
    wheel.check_invariants();
}

/// Each timer that is overdue has an entry in the near heap, of 24 bytes, or of 20 where numbers of 64 bits are aligned to 4.
#[test]
fn entries_of_the_near_heap_come_back_within_the_advance_that_fires_their_timers() {
    let mut wheel: Wheel<u32> = Wheel::new(1 << 40);
    (0..20_000).for_each(|n| _ = wheel.schedule(n, 0));
    let most = wheel.stats().bytes;
    assert_eq!(wheel.advance(1 << 40).take(19_900).count(), 19_900);
    let bytes = wheel.stats().bytes;
    assert!(bytes < most - 19_000 * 20, "{bytes} bytes, {most} before");
}

/// C11: however many buckets they open and timers they fire.
#[test]
fn page_comes_back_at_most_with_each_advance_that_ends() {
    let mut wheel = Wheel::new(0);
    peak(&mut wheel, 100_000, &mut HashSet::new());
    let mut slots = wheel.stats().slots;
    for step in 1..=100 {
        let now = wheel.now() + (1 << 30);
        (0..40).for_each(|n| _ = wheel.schedule(now - (n << 24), 0));
        assert!(wheel.advance_with_budget(now, &mut Budget::of_work(20)).count() <= 20);
        assert!(wheel.peek_expired(now).is_some());
        while wheel.advance(now).next().is_some() {}
        wheel.schedule(now + 1, 0);
        assert_eq!(wheel.advance(now).count(), 0);
        let left = wheel.stats().slots;
        assert!((left..=left + 3 * PAGE).contains(&slots), "{slots} slots, then {left}, step {step}");
        slots = left;
    }
    assert!(slots < 90_000, "{slots} slots are left");
}

/// C11: the advance before the cancels has found that there is nothing to do for an hour. Wherever the timers were, in buckets
/// or in a lane, the next ones must not take its word for it.
#[test]
fn pages_come_back_by_idle_advances_after_timers_of_buckets_or_of_a_lane_were_cancelled() {
    for lane in [None, Some(Wheel::add_lane as fn(&mut Wheel<u64>) -> Lane)] {
        let (hour, mut wheel) = (3_600 << 30, Wheel::new(0));
        let lane = lane.map(|add| add(&mut wheel));
        let keys: Vec<TimerKey> = (0..50_000)
            .map(|n| match lane {
                Some(lane) => wheel.schedule_in(lane, hour + n, n),
                None => wheel.schedule(hour + n, n),
            })
            .collect();
        assert_eq!(wheel.advance(1).count() + wheel.advance(2).count(), 0);
        keys[1_000..].iter().for_each(|&key| assert!(wheel.cancel(key).is_some()));
        (3..200).for_each(|now| assert_eq!(wheel.advance(now).count(), 0));
        assert!(wheel.stats().slots <= 3_000, "{:?} {lane:?}", wheel.stats());
    }
}

#[test]
fn room_for_more_than_a_wheel_can_hold_panics_and_changes_nothing() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    wheel.schedule(10, 0);
    let before = wheel.stats();
    for additional in [3 << 29, usize::MAX / 2, usize::MAX] {
        let reserved = catch_unwind(AssertUnwindSafe(|| wheel.reserve(additional)));
        assert!(reserved.is_err(), "{additional} more reserved");
        let made = catch_unwind(|| Wheel::<u64>::with_capacity(0, additional.max((3 << 29) + 1)));
        assert!(made.is_err(), "made with room for {additional}");
    }
    assert_eq!(wheel.stats(), before);
    wheel.reserve(0);
    wheel.reserve(100);
    assert!(wheel.capacity() > 100);
    let before = wheel.stats();
    wheel.reserve(100);
    assert_eq!(wheel.stats(), before, "there was room");
}
