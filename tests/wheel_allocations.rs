//! What a wheel and a TTL queue ask of the allocator is what they say, and what was reserved is not
//! asked for again.
//!
//! A program of its own without the harness of tests, as the counts are those of the whole process.

use std::alloc::System;
use std::ops::Range;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use timer_wheel::ttl::{Context, Outcome, Role, TtlQueue};
use timer_wheel::{Budget, Compact, Geometry, Millis, TimerKey, Wheel};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TICK: u64 = 1 << 20;

/// Bytes of a timer with a value of eight: its node, the generation and the value.
const NODE: usize = 24 + 16;

/// Bytes of a page of the near heap.
const PAGE: usize = 256 * 24;

/// A time on the highest level of a wheel that begins at zero.
const HIGHEST: u64 = 1 << 45;

/// Bytes that are held since the region began.
fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}

/// Panics when the bytes of the wheel's statistics are not those that the allocator counts.
#[track_caller]
fn assert_bytes<G: Geometry>(wheel: &Wheel<u64, G>, region: &Region<'_, System>) {
    let said = wheel.stats().bytes - size_of::<Wheel<u64, G>>();
    assert_eq!(said, held(region), "bytes that were counted");
}

/// At every stage of a wheel's life: the levels and the near heap.
fn bytes_are_those_of_the_allocator<G: Geometry>() {
    let region = Region::new(ALLOCATOR);
    let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
    assert_bytes(&wheel, &region);
    for n in 0..5_000 {
        wheel.schedule(n * n * TICK / 7, n);
        if n % 500 == 0 {
            assert_bytes(&wheel, &region);
        }
    }
    (0..500).for_each(|n| _ = wheel.schedule(u64::MAX - n, n));
    assert_bytes(&wheel, &region);
    wheel.reserve(3_000);
    assert_bytes(&wheel, &region);
    for n in 0..3_000 {
        wheel.schedule(100 * TICK + n % 5, n);
    }
    assert_eq!(wheel.advance(100 * TICK).next().map(|item| item.value), Some(0));
    for n in 0..2_000 {
        wheel.schedule(n, n);
    }
    assert!(wheel.advance(100 * TICK).next().is_some());
    assert!(wheel.stats().near > 2_000, "they are in the near heap");
    assert_bytes(&wheel, &region);
    let fired = wheel.advance(10_000 * TICK).count();
    assert!(fired > 5_000);
    assert_bytes(&wheel, &region);
    wheel.shrink_to_fit();
    assert_bytes(&wheel, &region);
    wheel.clear();
    wheel.shrink_to_fit();
    assert_bytes(&wheel, &region);
    assert_eq!(wheel.stats().bytes, size_of_val(&wheel), "nothing is left");
    // So many that what holds their pages counts.
    (0..50_000).for_each(|n| _ = wheel.schedule(20_000 * TICK, n));
    assert!(wheel.peek_expired(20_000 * TICK).is_some());
    assert_bytes(&wheel, &region);
    // A page is spare, and then given back.
    assert_eq!(wheel.advance(20_000 * TICK).take(1_000).count(), 1_000);
    wheel.shrink_to_fit();
    assert_bytes(&wheel, &region);
}

fn allocations(of: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    of();
    let change = region.change();
    change.allocations + change.reallocations
}

fn reserved_timers_ask_for_nothing_more() {
    const COUNT: usize = 10_000;
    let fill = |wheel: &mut Wheel<u64>, keys: &mut Vec<TimerKey>| {
        keys.extend((0..COUNT as u64).map(|n| wheel.schedule(5 * TICK, n)));
    };
    let mut keys = Vec::with_capacity(COUNT);
    let mut wheel = Wheel::with_capacity(0, COUNT);
    // The lists of the finest level are made when they are first used.
    let asked = allocations(|| fill(&mut wheel, &mut keys));
    assert!(asked <= 1 + 4, "{asked} allocations for what was reserved");
    for key in keys.drain(..) {
        assert!(wheel.cancel(key).is_some());
    }
    assert_eq!(allocations(|| wheel.reserve(COUNT)), 0, "there is room");
    assert_eq!(allocations(|| fill(&mut wheel, &mut keys)), 0);
    let mut wheel = Wheel::new(0);
    // The first few need no list.
    (0..100).for_each(|n| _ = wheel.schedule(5 * TICK, n));
    wheel.reserve(COUNT);
    keys.clear();
    let asked = allocations(|| fill(&mut wheel, &mut keys));
    assert_eq!(asked, 0, "what is reserved comes on top of what is there");
}

/// Timers in the tests of what one call asks for.
const TIMERS: usize = 200_000;

/// The most that one call may ask for, in bytes: a page of nodes, of the near heap and of the bitmap of free slots, and a
/// table of pages that doubles.
const MOST: usize = 50_000;

/// What the greediest of the calls asked for. An array that doubles counts with what it asks for, which is twice what
/// it grows by.
fn greediest(calls: impl Iterator<Item = ()>) -> usize {
    let mut greediest = 0;
    let mut region = Region::new(ALLOCATOR);
    for () in calls {
        let change = region.change_and_reset();
        let grown = usize::try_from(change.bytes_reallocated).unwrap_or(0);
        greediest = greediest.max(change.bytes_allocated + grown);
    }
    greediest
}

/// The table of pages doubled inside one call, which took up to 17 ms at millions of timers.
fn no_schedule_of_ten_millions_asks_for_more_than_a_page_and_its_tables() {
    const TEN_MILLIONS: u32 = 10_000_000;
    let mut wheel: Wheel<u32> = Wheel::new(0);
    // The lists of all levels are made when the highest is first used.
    let ballast = greediest((0..33).map(|_| _ = wheel.schedule(HIGHEST, 0)));
    assert!(ballast < 80_000, "{ballast} bytes for the lists");
    let asked = greediest((0..TEN_MILLIONS).map(|n| {
        wheel.schedule(u64::from(n % 100_003) * 60 * TICK, n);
    }));
    // The call that makes the 32,769th page: 8 KB of nodes, 512 KB of a table of pages that doubles, and of the set of
    // free slots a chunk of 512 bytes and 64 KB of a table of chunks.
    assert!(asked <= 600_000, "{asked} bytes for one timer");
    let stats = wheel.stats();
    assert!(stats.bytes < 33 * TEN_MILLIONS as usize, "{stats:?}");
    // And none asks for any once there were as many.
    wheel.clear();
    let asked = greediest((0..TEN_MILLIONS).map(|n| {
        wheel.schedule(u64::from(n % 100_003) * 60 * TICK, n);
    }));
    assert_eq!(asked, 0, "there was room");
}

/// A timer in each rotation took 228 bytes, a table of links doubled, and a drop took 50 ms.
fn one_timer_in_each_far_rotation_takes_little_memory_and_work() {
    const ROTATIONS: u64 = 500_000;
    let rotation: u64 = 1 << 44;
    let at = |n: u64| (1 + n * 314_159 % ROTATIONS) * rotation + n % rotation;
    let mut region = Region::new(ALLOCATOR);
    let mut wheel: Wheel<u32, Compact> = Wheel::with_geometry(0);
    let asked = greediest((0..ROTATIONS).map(|n| {
        wheel.schedule(at(n), n as u32);
    }));
    assert!(asked <= MOST, "{asked} bytes for one timer");
    let held = held(&region);
    assert!(held <= 33 * ROTATIONS as usize, "{held} bytes");
    wheel.check_invariants();
    let copy = wheel.clone();
    region.change_and_reset();
    drop(copy);
    let given_back = region.change_and_reset().deallocations;
    // Pages, and the chunks of the set of free slots.
    assert!(given_back <= ROTATIONS as usize / 256 + ROTATIONS as usize / 4_096 + 10, "a drop of {given_back} pieces");

    let (mut last, mut fired, mut units, mut longest) = (0, 0, 0, 0);
    while let Some(now) = wheel.wake_at() {
        let mut budget = Budget::unlimited();
        for item in wheel.advance_with_budget(now, &mut budget) {
            assert!(item.deadline > last && item.deadline == now);
            (last, fired) = (now, fired + 1);
        }
        let asked = region.change_and_reset().bytes_allocated;
        assert!(asked <= MOST, "{asked} bytes in one advance");
        let of_call = usize::MAX - budget.work;
        (units, longest) = (units + of_call, longest.max(of_call));
    }
    // Once for each bit of its rotation that lies above those of 128 rotations, by some of the levels, sorted and fired.
    assert!(units <= 15 * ROTATIONS as usize / 2, "{units} units");
    // A bucket of few timers that is sorted, and one of them that fires.
    assert!(longest <= 128 + 2, "{longest} units in a call");
    assert_eq!((fired, wheel.stats().occupied), (ROTATIONS, [0; 5]));
}

/// C15: no array of timers is ever copied to grow. One that doubled for so many timers would ask for millions of bytes at
/// once.
fn no_call_asks_for_more_than_a_page_and_its_tables() {
    type DeadlineOf = fn(u64) -> u64;
    let orders: [(&str, DeadlineOf); 5] = [
        ("in the present tick", |n| n * 7_919 % TICK),
        ("at one nanosecond", |_| 300 * TICK),
        ("in a tick, in no order", |n| 300 * TICK + n * 7_919 % TICK),
        ("over three minutes", |n| n * 900_000),
        ("far ahead", |n| u64::MAX / 2 + (n << 30)),
    ];
    for (what, deadline) in orders {
        let mut wheel: Wheel<u64> = Wheel::new(0);
        let mut keys = Vec::with_capacity(TIMERS);
        let scheduled = greediest((0..TIMERS as u64).map(|n| {
            keys.push(wheel.schedule(deadline(n), n));
        }));
        let moved = greediest(keys[..TIMERS / 2].iter().map(|&key| {
            assert!(wheel.reschedule(key, deadline(7)));
        }));
        let cancelled = greediest(keys.iter().map(|&key| _ = wheel.cancel(key)));
        let asked = [scheduled, moved, cancelled];
        assert!(asked.into_iter().all(|asked| asked <= MOST), "{asked:?} bytes, {what}");
        assert!(wheel.is_empty());
    }
    let mut wheel: Wheel<u64> = Wheel::new(TICK);
    (0..TIMERS as u64).for_each(|n| _ = wheel.schedule(n * 7_919 % TICK, n));
    let asked = greediest((0..TIMERS).map(|_| assert!(wheel.pop_first().is_some())));
    assert!(asked <= MOST, "{asked} bytes to take one out of the near heap");
}

/// Timers come, are due a second later and go, so many a tick: once there is memory for them, no more is asked for.
fn steady_use_asks_for_nothing() {
    for each in [1, 20, 300] {
        let mut wheel: Wheel<u64> = Wheel::new(0);
        let use_for = |wheel: &mut Wheel<u64>, ticks: Range<u64>| {
            for tick in ticks {
                for n in 0..each {
                    wheel.schedule((tick + 1_000) * TICK + n, n);
                }
                _ = wheel.advance(tick * TICK).count();
            }
        };
        use_for(&mut wheel, 0..3_000);
        let asked = allocations(|| use_for(&mut wheel, 3_000..6_000));
        assert_eq!(asked, 0, "{each} timers a tick");
    }
}

/// C11: no page comes back while half of them are in use, only to be made again.
fn load_that_swings_between_half_and_all_of_its_peak_keeps_its_pages() {
    const PEAK: usize = 40 * 256;
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let swing = |wheel: &mut Wheel<u64>, rounds: Range<u64>| {
        for start in rounds.map(|round| round * 32) {
            (wheel.len()..PEAK).for_each(|n| _ = wheel.schedule((start + 33 + n as u64 % 32) * TICK, 0));
            let fired: usize = (1..=32).map(|tick| wheel.advance((start + tick) * TICK).count()).sum();
            assert_eq!(fired, PEAK / 2);
        }
    };
    (0..PEAK as u64 / 2).for_each(|n| _ = wheel.schedule((1 + n % 32) * TICK, 0));
    swing(&mut wheel, 0..100);
    let region = Region::new(ALLOCATOR);
    swing(&mut wheel, 100..200);
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations, change.deallocations), (0, 0, 0));
}

/// What is reserved is what so many timers need, and little else.
fn little_is_reserved_beyond_what_is_asked_for() {
    for count in [1_000, 100_000] {
        let said = Wheel::<u64>::with_capacity(0, count).stats().bytes;
        // And at most a page more, and a table of the pages.
        let most = (count + 256) * NODE * 51 / 50;
        assert!(said < most, "{said} bytes for {count}");
    }
}

/// The tables of the keys double one by one.
fn no_key_asks_for_more_than_a_page_and_its_tables() {
    let mut queue: TtlQueue<u64> = TtlQueue::new(0);
    let asked = greediest((0..TIMERS as u64).map(|key| {
        queue.init(key, 1, 5, Context::default()).unwrap();
    }));
    assert!(asked <= MOST, "{asked} bytes for one key");
    // Those of any other key that comes and goes, without a place left for it.
    let asked = greediest((0..TIMERS as u64).map(|key| {
        assert!(queue.remove(&key).is_some());
        queue.init(!key, 2, 5, Context::default()).unwrap();
    }));
    assert!(asked <= MOST, "{asked} bytes for another key");
}

/// C15: the set of free slots is made with the slots, not when the first of many is freed.
fn first_slot_freed_asks_for_little() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..TIMERS as u64).map(|n| wheel.schedule(5 * TICK, n)).collect();
    let frees = |wheel: &mut Wheel<u64>, keys: [TimerKey; 3]| {
        let mut region = Region::new(ALLOCATOR);
        for key in keys {
            assert!(wheel.cancel(key).is_some());
        }
        let asked = region.change_and_reset().bytes_allocated;
        assert!(asked < 2_000, "{asked} bytes to free three slots");
    };
    // The first of all is kept apart.
    frees(&mut wheel, [keys[TIMERS - 1], keys[TIMERS - 2], keys[0]]);
    wheel.shrink_to_fit();
    frees(&mut wheel, [keys[TIMERS - 3], keys[TIMERS - 4], keys[1]]);
}

/// C10, C15: the memory of the near heap is under the budget as well, both when a crowd is collected and when
/// it has gone. No call copies what others have collected, nor gives it all back.
fn crowd_comes_and_goes_by_pages() {
    for stride in [0, 1, TIMERS as u64 - 1, 7_919] {
        let crowd = || {
            let mut wheel: Wheel<u64> = Wheel::new(0);
            let deadline = |n| 300 * TICK + n * stride % TIMERS as u64;
            let keys = (0..TIMERS as u64).map(|n| wheel.schedule(deadline(n), n));
            let keys: Vec<TimerKey> = keys.collect();
            let _ = wheel.advance(299 * TICK).count();
            (wheel, keys)
        };
        // Each timer that leaves may be the last of a page.
        let most = |region: &mut Region<'_, System>, leave: usize| {
            let change = region.change_and_reset();
            let pages = change.bytes_deallocated.saturating_sub(leave * PAGE);
            change.bytes_allocated.max(pages)
        };
        let (mut wheel, _) = crowd();
        let mut region = Region::new(ALLOCATOR);
        while !wheel.is_empty() {
            let _ = wheel.advance_with_budget(301 * TICK, &mut Budget::of_work(256)).count();
            let moved = most(&mut region, 256);
            assert!(moved <= MOST, "{moved} bytes in an advance, {stride} apart");
        }
        // Cancelled when all are in the near heap: from either end, and from within.
        for order in [1, TIMERS - 1, 7_919] {
            let (mut wheel, keys) = crowd();
            let before = wheel.stats().bytes;
            region.change_and_reset();
            // Without a budget a crowd is sorted 16,384 timers at a time, in memory for as many, which is not copied.
            assert!(wheel.peek_expired(301 * TICK).is_some());
            let change = region.change_and_reset();
            assert!(change.bytes_allocated <= 16_384 * (24 + 16) + MOST, "{change:?} to sort, {stride} apart");
            assert_eq!(change.reallocations, 0, "{change:?} to sort, {stride} apart");
            for nth in 0..TIMERS {
                assert!(wheel.cancel(keys[nth * order % TIMERS]).is_some());
                let moved = most(&mut region, 1);
                assert!(moved <= MOST, "{moved} bytes in a cancel, {stride} apart");
            }
            // What the sort took comes back with the first page.
            assert!(wheel.advance(302 * TICK).next().is_none());
            let left = wheel.stats().bytes.saturating_sub(before);
            assert!(left < 100_000, "{left} bytes of the crowd are left");
        }
    }
}

fn reserved_entries_ask_for_little_more() {
    let fill = |queue: &mut TtlQueue<u64>| {
        for key in 0..10_000 {
            queue.init(key, 1, 5, Context::default()).unwrap();
        }
    };
    let filled = |room| {
        let region = Region::new(ALLOCATOR);
        let mut queue = TtlQueue::new(0);
        queue.reserve(room);
        (allocations(|| fill(&mut queue)), held(&region))
    };
    // The lists of the finest level are made when they are first used, as those of a wheel.
    let (asked, bytes) = filled(10_000);
    assert!(asked <= 1 + 4, "{asked} allocations for what was reserved");
    let (_, needed) = filled(0);
    assert!(bytes < needed * 2, "{bytes} bytes for {needed}");
}

/// What is in flight may come back, and has its room beside that of new entries.
fn entries_in_flight_keep_their_room() {
    const COUNT: u64 = 4_000;
    let mut queue: TtlQueue<u64> = TtlQueue::new(0);
    queue.role_change(Role::Leader, 0);
    let fill = |queue: &mut TtlQueue<u64>, keys: Range<u64>| {
        keys.for_each(|key| _ = queue.init(key, 1, 5, Context::new(0)).unwrap());
    };
    fill(&mut queue, 0..COUNT);
    while queue.as_set().pending_len() < COUNT as usize {
        queue.poll(6_000_000).for_each(drop);
    }
    queue.reserve(COUNT as usize);
    let asked = allocations(|| {
        fill(&mut queue, COUNT..2 * COUNT);
        (0..COUNT).for_each(|key| assert_eq!(queue.failed(&key, 1, 6_000_000), Outcome::Failed));
    });
    // 21, for what is made when it is first used, and 39 without room for what was in flight.
    assert!(asked < 30, "{asked} allocations for what was reserved");
}

/// C11 of the TTL layer: by itself on either role, and a page or a table a call. A follower is polled once a minute, so
/// there it comes back without a poll.
fn entries_that_have_ended_leave_little_behind() {
    let count = TIMERS as u64;
    for (role, step) in [(Role::Follower, 1), (Role::Leader, 7_919), (Role::Follower, count - 1)] {
        let region = Region::new(ALLOCATOR);
        let mut queue: TtlQueue<u64> = TtlQueue::new(0);
        queue.role_change(role, 0);
        let set = |queue: &mut TtlQueue<u64>, key| _ = queue.init(key, 1, 3_600_000, Context::default()).unwrap();
        (0..count).for_each(|key| set(&mut queue, key));
        let full = held(&region);
        let mut change = Region::new(ALLOCATOR);
        // The first 100 stay, and then others come and go.
        for key in (0..count).map(|nth| nth * step % count).filter(|&key| key >= 100) {
            assert_eq!(queue.applied(&key, 1), Outcome::Applied);
            let gone = change.change_and_reset().bytes_deallocated;
            assert!(gone <= MOST, "{gone} bytes with one entry");
        }
        for now in 1..=count / 256 {
            set(&mut queue, count);
            assert_eq!(queue.applied(&count, 1), Outcome::Applied);
            if role == Role::Leader {
                assert_eq!(queue.poll(now).count(), 0);
            }
        }
        queue.check_invariants();
        let left = held(&region);
        assert!(left < full / 50, "{left} of {full} bytes are left");
    }
}

fn cleared_queue_gives_its_memory_back() {
    let region = Region::new(ALLOCATOR);
    let mut queue: TtlQueue<u64> = TtlQueue::new(0);
    let empty = held(&region);
    queue.role_change(Role::Leader, 0);
    for key in 0..10_000 {
        queue.init(key, 1, 5, Context::default()).unwrap();
    }
    // Some of them pending, some waiting for a retry.
    while queue.as_set().pending_len() < 100 {
        queue.poll(6_000_000).for_each(drop);
    }
    for key in 0..50 {
        assert_eq!(queue.failed(&key, 1, 6_000_000), Outcome::Failed);
    }
    let full = held(&region);
    assert!(full > 1_000_000, "{full} bytes");
    queue.clear();
    let left = held(&region).abs_diff(empty);
    assert!(left < 2_000, "{left} bytes are kept");
}

fn main() {
    reserved_timers_ask_for_nothing_more();
    little_is_reserved_beyond_what_is_asked_for();
    no_call_asks_for_more_than_a_page_and_its_tables();
    no_schedule_of_ten_millions_asks_for_more_than_a_page_and_its_tables();
    one_timer_in_each_far_rotation_takes_little_memory_and_work();
    first_slot_freed_asks_for_little();
    reserved_entries_ask_for_little_more();
    entries_in_flight_keep_their_room();
    no_key_asks_for_more_than_a_page_and_its_tables();
    cleared_queue_gives_its_memory_back();
    entries_that_have_ended_leave_little_behind();
    crowd_comes_and_goes_by_pages();
    bytes_are_those_of_the_allocator::<Millis>();
    bytes_are_those_of_the_allocator::<Compact>();
    steady_use_asks_for_nothing();
    load_that_swings_between_half_and_all_of_its_peak_keeps_its_pages();
}
