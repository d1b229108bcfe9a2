//! How often a call looks at a record, in the workloads of the benchmarks: each look may wait for the memory.
//! The wheel that keeps its own slots does the same work.

use std::cell::Cell;

use timer_wheel::Verdict;
use timer_wheel::index::{IndexWheel, Timer, Timers};

use crate::numbers::Numbers;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;

/// Records that count the looks at them.
struct Counted {
    timers: Vec<Timer>,
    looks: Cell<usize>,
}

impl Counted {
    fn look(&self) {
        self.looks.set(self.looks.get() + 1);
    }
}

impl Timers for Counted {
    fn timer(&self, index: u32) -> Option<&Timer> {
        self.look();
        self.timers.get(index as usize)
    }

    fn timer_mut(&mut self, index: u32) -> Option<&mut Timer> {
        self.look();
        self.timers.get_mut(index as usize)
    }
}

/// Looks of the calls of one kind.
#[derive(Debug, Default)]
struct Looks {
    calls: usize,
    sum: usize,
    longest: usize,
}

impl Looks {
    fn add(&mut self, looks: usize) {
        self.calls += 1;
        self.sum += looks;
        self.longest = self.longest.max(looks);
    }

    #[track_caller]
    fn assert_at_most(&self, mean: usize, longest: usize) {
        let is_less = self.sum <= mean * self.calls && self.longest <= longest;
        assert!(is_less && self.calls != 0, "{self:?}");
    }
}

struct World {
    wheel: IndexWheel,
    store: Counted,
    numbers: Numbers,
    schedule: Looks,
    cancel: Looks,
    /// Of the calls that take a timer out, or find none that is due.
    pop: Looks,
    /// Of all those calls of a step.
    advance: Looks,
}

impl World {
    fn new(timers: usize) -> Self {
        let timers = (0..timers).map(|_| Timer::new()).collect();
        Self {
            wheel: IndexWheel::new(0),
            store: Counted {
                timers,
                looks: Cell::new(0),
            },
            numbers: Numbers(42),
            schedule: Looks::default(),
            cancel: Looks::default(),
            pop: Looks::default(),
            advance: Looks::default(),
        }
    }

    fn any(&mut self) -> u32 {
        self.numbers.below(self.store.timers.len() as u64) as u32
    }

    fn count<R>(
        &mut self,
        kind: fn(&mut Self) -> &mut Looks,
        call: impl FnOnce(&mut IndexWheel, &mut Counted) -> R,
    ) -> R {
        self.store.looks.set(0);
        let answer = call(&mut self.wheel, &mut self.store);
        let looks = self.store.looks.get();
        kind(self).add(looks);
        answer
    }

    fn schedule(&mut self, index: u32, deadline: u64) {
        self.count(
            |world| &mut world.schedule,
            |wheel, store| wheel.schedule(store, index, deadline),
        );
    }

    fn cancel(&mut self, index: u32) -> bool {
        self.count(
            |world| &mut world.cancel,
            |wheel, store| wheel.cancel(store, index),
        )
    }

    fn pop_expired(&mut self, now: u64) -> Option<u32> {
        let popped = self.count(
            |world| &mut world.pop,
            |wheel, store| wheel.pop_expired(store, now),
        );
        popped.map(|(index, _)| index)
    }

    fn pop_first(&mut self) -> (u32, u64) {
        let popped = self.count(
            |world| &mut world.pop,
            |wheel, store| wheel.pop_first(store),
        );
        popped.expect("timers live")
    }
}

/// Lists move their last timer into the place of one that leaves, and the first list takes the timers that were too
/// few for lists.
#[track_caller]
fn assert_cheap(world: &World) {
    world.schedule.assert_at_most(4, 65);
    world.cancel.assert_at_most(3, 3);
}

/// The pause mix, which goes on for twice as long as any of its timers waits.
fn pause_mix(timers: u32) -> World {
    let mut world = World::new(timers as usize);
    for index in 0..timers {
        let deadline = 60 * SECOND + world.numbers.below(120 * SECOND);
        world.schedule(index, deadline);
    }
    let mut fired = 0;
    for step in 0..240_000 {
        let now = step * MILLISECOND;
        let ahead = |world: &mut World| now + 60 * SECOND + world.numbers.below(120 * SECOND);
        let before = world.pop.sum;
        while let Some(index) = world.pop_expired(now) {
            let deadline = ahead(&mut world);
            world.schedule(index, deadline);
            fired += 1;
        }
        world.advance.add(world.pop.sum - before);
        if step % 4 == 0 {
            let (index, deadline) = (world.any(), ahead(&mut world));
            world.schedule(index, deadline);
            let (index, deadline) = (world.any(), ahead(&mut world));
            assert!(world.cancel(index));
            world.schedule(index, deadline);
        }
    }
    assert!(fired > timers / 5 * 2);
    world
}

#[test]
fn pause_mix_looks_at_a_share_of_what_lies_ahead() {
    let world = pause_mix(50_000);
    assert_cheap(&world);
    world.pop.assert_at_most(2, 800);
}

/// What lies ahead is a thousand times what fires in a step, of 833: no step looks at more than twice as many
/// timers as one does on the average.
#[test]
#[ignore = "takes 5 GB, and minutes in release mode"]
fn pause_mix_of_a_hundred_million_looks_at_a_share_in_each_step() {
    let world = pause_mix(100_000_000);
    assert_cheap(&world);
    world.advance.assert_at_most(8_000, 16_000);
}

#[test]
fn server_mix_looks_at_next_to_nothing() {
    const TIMEOUT: u64 = 5 * SECOND;
    let mut world = World::new(10_000);
    (0..10_000).for_each(|index| world.schedule(index, TIMEOUT));
    for step in 0..20_000 {
        let now = step * MILLISECOND;
        let ended = if step % 1_000 == 999 { 500 } else { 20 };
        for _ in 0..ended {
            let index = world.any();
            assert!(world.cancel(index));
            world.schedule(index, now + TIMEOUT);
        }
        while let Some(index) = world.pop_expired(now) {
            world.schedule(index, now + TIMEOUT);
        }
    }
    assert_cheap(&world);
    world.pop.assert_at_most(1, 16);
}

/// But for the first that comes to a crowded bucket, which looks at all of it once a level.
#[test]
fn eviction_of_the_earliest_looks_at_each_timer_a_few_times() {
    for ttls in [1, 3_600] {
        let mut world = World::new(10_000);
        let mut now = 0;
        for index in 0..10_000 {
            now += 1_000;
            let ttl = (1 + world.numbers.below(ttls)) * SECOND;
            world.schedule(index, now + ttl);
        }
        for _ in 0..100_000 {
            now += 1_000;
            let (index, _) = world.pop_first();
            let ttl = (1 + world.numbers.below(ttls)) * SECOND;
            world.schedule(index, now + ttl);
        }
        world.schedule.assert_at_most(9, 65);
        world.pop.assert_at_most(8, 4 * 10_000);
    }
}

#[test]
fn far_timers_are_looked_at_when_their_rotation_begins() {
    let mut world = World::new(2_000);
    let deadline = |index: u32| (u64::from(index) + 1) << 52;
    (0..2_000).for_each(|index| world.schedule(index, deadline(index)));
    for index in 0..2_000 {
        assert_eq!(world.pop_expired(deadline(index)), Some(index));
    }
    world.schedule.assert_at_most(4, 65);
    world.pop.assert_at_most(9, 9);
}

#[test]
fn calls_at_a_peak_and_after_it_look_at_no_more() {
    let mut world = World::new(200_000);
    for index in 0..200_000 {
        let deadline = MILLISECOND + world.numbers.below(3_600 * SECOND);
        world.schedule(index, deadline);
    }
    (0..200_000).for_each(|index| world.schedule(index, SECOND));
    // By instalments: nothing fires before all have been collected.
    let mut fired = 0;
    while fired == 0 {
        fired = world.count(
            |world| &mut world.pop,
            |wheel, store| {
                wheel
                    .advance_with(store, SECOND, 256, |_, _, _| Verdict::Remove)
                    .fired
            },
        );
    }
    world.pop.assert_at_most(4 * 256, 4 * 256 + 4);
    let mut nth = 0;
    while world.wheel.len() > 10 {
        world.cancel(nth * 7_919 % 200_000);
        nth += 1;
    }
    world.schedule.assert_at_most(5, 65);
    // The first of a page is one of the heap, where others make way.
    world.cancel.assert_at_most(2, 16);
    world.store.looks.set(0);
    world.wheel.clear(&mut world.store);
    assert_eq!(world.store.looks.get(), 10);
}
