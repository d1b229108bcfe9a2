//! How much work the calls do that move time, by the units that a budget counts: a timer visited, or a bucket opened.
//! Each may wait for the memory. The workloads are those of the benchmarks.

use std::ops::RangeInclusive;

use timer_wheel::Budget;
use timer_wheel::index::IndexWheel;

use crate::rng::Rng;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;

/// Indexes that are set for some time again when they are due, and the work of the steps.
struct World {
    wheel: IndexWheel,
    numbers: Rng,
    indexes: u64,
    fired: usize,
    sum: usize,
    longest: usize,
}

impl World {
    fn new(indexes: u32) -> Self {
        Self { wheel: IndexWheel::new(0), numbers: Rng(42), indexes: indexes.into(), fired: 0, sum: 0, longest: 0 }
    }

    fn any(&mut self) -> u32 {
        self.numbers.below(self.indexes) as u32
    }

    /// Lets everything fire that is due, and rearms it for as long as `ahead` says.
    fn step(&mut self, now: u64, ahead: impl Fn(&mut Rng) -> u64) {
        let mut budget = Budget::unlimited();
        while let Some(due) = self.wheel.peek_expired_with_budget(now, &mut budget) {
            due.rearm(now + 1 + ahead(&mut self.numbers));
        }
        assert!(!self.wheel.has_backlog());
        let work = usize::MAX - budget.work;
        self.fired += usize::MAX - budget.fires;
        self.sum += work;
        self.longest = self.longest.max(work);
    }

    /// For each timer that fires there are so many units of work, and at most `longest` in one step.
    #[track_caller]
    fn assert_work(&self, per_fire: RangeInclusive<usize>, longest: usize) {
        let (sum, fired) = (self.sum, self.fired);
        let is_expected = (per_fire.start() * fired..=per_fire.end() * fired).contains(&sum);
        assert!(
            is_expected && fired != 0 && self.longest <= longest,
            "{sum} units for {fired} timers, {} in one step",
            self.longest
        );
    }
}

/// The pause mix, which goes on for twice as long as any of its timers waits.
fn pause_mix(timers: u32) -> World {
    let ahead = |numbers: &mut Rng| 60 * SECOND + numbers.below(120 * SECOND);
    let mut world = World::new(timers);
    for index in 0..timers {
        let deadline = ahead(&mut world.numbers);
        world.wheel.set(index, deadline);
    }
    for step in 0..240_000 {
        let now = step * MILLISECOND;
        world.step(now, ahead);
        if step % 4 == 0 {
            let (index, deadline) = (world.any(), now + ahead(&mut world.numbers));
            world.wheel.set(index, deadline);
            let (index, deadline) = (world.any(), now + ahead(&mut world.numbers));
            assert!(world.wheel.cancel(index));
            world.wheel.set(index, deadline);
        }
    }
    assert_eq!(world.wheel.len(), timers as usize);
    assert!(world.fired > timers as usize / 5 * 2);
    world
}

#[test]
fn pause_mix_visits_a_share_of_what_lies_ahead() {
    pause_mix(50_000).assert_work(3..=4, 400);
}

/// What lies ahead is a thousand times what fires in a step, of 833: no step visits more than twice as many timers
/// as one does on the average.
#[test]
#[ignore = "takes 3 GB, and minutes in release mode"]
fn pause_mix_of_a_hundred_million_visits_a_share_in_each_step() {
    pause_mix(100_000_000).assert_work(3..=5, 16_000);
}

#[test]
fn server_mix_does_next_to_nothing() {
    const TIMEOUT: u64 = 5 * SECOND;
    let mut world = World::new(10_000);
    (0..10_000).for_each(|index| world.wheel.set(index, TIMEOUT));
    for step in 0..20_000 {
        let now = step * MILLISECOND;
        let ended = if step % 1_000 == 999 { 500 } else { 20 };
        for _ in 0..ended {
            let index = world.any();
            assert!(world.wheel.cancel(index));
            world.wheel.set(index, now + TIMEOUT);
        }
        world.step(now, |_| TIMEOUT);
    }
    world.assert_work(2..=4, 8);
}
