//! What a wheel and a TTL queue ask of the allocator is what they say, and what was reserved is not
//! asked for again.
//!
//! A test binary of its own with one test, as the counts are those of the whole process.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use timer_wheel::ttl::{Context, Outcome, Role, TtlConfig, TtlQueue};
use timer_wheel::{Compact, Geometry, Millis, TimerKey, Wheel};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TICK: u64 = 1 << 20;

/// What the harness, on its own thread, may ask for meanwhile, in bytes.
const HARNESS: usize = 2_000;

/// Panics when the bytes of the wheel's statistics are not those that the allocator counts.
#[track_caller]
fn assert_bytes<G: Geometry>(wheel: &Wheel<u64, G>, region: &Region<'_, System>) {
    let change = region.change();
    let counted = change.bytes_allocated - change.bytes_deallocated;
    let said = wheel.stats().bytes - size_of::<Wheel<u64, G>>();
    let differing = said.abs_diff(counted);
    assert!(differing < HARNESS, "{said} bytes, {counted} were counted");
}

/// At every stage of a wheel's life: the levels, the overflow, the due run and its heap.
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
    wheel.schedule(u64::MAX, 0);
    wheel.reserve(3_000);
    assert_bytes(&wheel, &region);
    for n in 0..3_000 {
        wheel.schedule(100 * TICK + n % 5, n);
    }
    assert_eq!(
        wheel.pop_expired(100 * TICK).map(|item| item.value),
        Some(0)
    );
    for n in 0..2_000 {
        wheel.schedule(n, n);
    }
    assert!(wheel.pop_expired(100 * TICK).is_some());
    assert!(wheel.stats().due > 2_000, "they wait in the due run");
    assert_bytes(&wheel, &region);
    let fired = wheel.advance(10_000 * TICK).count();
    assert!(fired > 5_000);
    assert_bytes(&wheel, &region);
    wheel.shrink_to_fit();
    assert_bytes(&wheel, &region);
    wheel.clear();
    wheel.shrink_to_fit();
    assert_bytes(&wheel, &region);
}

fn allocations(of: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    of();
    let change = region.change();
    change.allocations + change.reallocations
}

/// With timers of one bucket, which need as few blocks as there can be.
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
    wheel.schedule(5 * TICK, 0);
    wheel.reserve(COUNT);
    keys.clear();
    let asked = allocations(|| fill(&mut wheel, &mut keys));
    assert_eq!(asked, 0, "what is reserved comes on top of what is there");
}

fn reserved_entries_ask_for_little_more() {
    let fill = |queue: &mut TtlQueue<u64>| {
        for key in 0..10_000 {
            queue.init(1, key, 5, Context::default()).unwrap();
        }
    };
    let mut queue = TtlQueue::new(0, TtlConfig::default());
    let unprepared = allocations(|| fill(&mut queue));
    let mut queue = TtlQueue::new(0, TtlConfig::default());
    queue.reserve(10_000);
    let prepared = allocations(|| fill(&mut queue));
    // Blocks of the wheel double and are not reserved: their number is not known.
    assert!(
        prepared + 10 <= unprepared,
        "{prepared} allocations after a reserve, {unprepared} without"
    );
}

fn cleared_queue_gives_its_memory_back() {
    let region = Region::new(ALLOCATOR);
    let held = || {
        let change = region.change();
        change.bytes_allocated - change.bytes_deallocated
    };
    let mut queue: TtlQueue<u64> = TtlQueue::new(0, TtlConfig::default());
    let empty = held();
    queue.role_change(Role::Leader, 0);
    for key in 0..10_000 {
        queue.init(1, key, 5, Context::default()).unwrap();
    }
    // Some of them pending, some waiting for a retry.
    while queue.pending_len() < 100 {
        queue.poll(6_000_000).for_each(drop);
    }
    for key in 0..50 {
        assert_eq!(queue.failed(&key, 1, 6_000_000), Outcome::Failed);
    }
    let full = held();
    assert!(full > 1_000_000, "{full} bytes");
    queue.clear();
    let left = held().abs_diff(empty);
    assert!(left < HARNESS, "{left} bytes are kept");
}

#[test]
fn memory_is_what_the_wheel_says_and_what_was_reserved() {
    bytes_are_those_of_the_allocator::<Millis>();
    bytes_are_those_of_the_allocator::<Compact>();
    reserved_timers_ask_for_nothing_more();
    reserved_entries_ask_for_little_more();
    cleared_queue_gives_its_memory_back();
}
