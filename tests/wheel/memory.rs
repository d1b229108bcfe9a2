//! Memory follows the timers that live, not the calls: a million of them in every part of the
//! wheel, in every state, leave what was there before.

use timer_wheel::{Caffeine, Compact, Geometry, Millis, TimerKey, Wheel};

use crate::geometries::{FAR_TIMERS, Narrow, with_lists};
use crate::pair::LEVELS;
use crate::script::spans;

/// Calls in one storm.
const MILLION: usize = 1_000_000;

/// Live timers in the storms of schedule and cancel.
const FEW: usize = 10;

/// Bytes that a storm may need besides: the near heap doubles now and then.
const SPARE: usize = 1_000;

/// Where in the wheel a storm takes place, as seen from an unaligned clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Due since long.
    Past,
    /// Due at this nanosecond.
    Now,
    /// Due within the current tick.
    CurrentTick,
    /// A bucket on that level, 4 being beyond the others.
    Level(usize),
}

const PARTS: [Part; 8] = [
    Part::Past,
    Part::Now,
    Part::CurrentTick,
    Part::Level(0),
    Part::Level(1),
    Part::Level(2),
    Part::Level(3),
    Part::Level(4),
];

/// What happened to the wheel before the storm, and happens now and then during it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was ever pulled.
    Untouched,
    /// Something has fired.
    Sorted,
    /// As `Sorted`, and every thousand calls another timer fires.
    PulledInBetween,
    /// A budget ran out in the middle of a coarse bucket, and its rest waits.
    Cascading,
    /// A budget ran out in the middle of what is due.
    Firing,
}

const STATES: [State; 5] = [
    State::Untouched,
    State::Sorted,
    State::PulledInBetween,
    State::Cascading,
    State::Firing,
];

/// A clock in the middle of a bucket on every level.
fn unaligned<G: Geometry>() -> u64 {
    let spans = spans::<G>();
    spans[4] + spans[4] / 4 + spans[3] / 2 + spans[2] / 2 + spans[1] / 2 + spans[0] / 2
}

impl Part {
    /// A deadline in this part. Those with other numbers are near it.
    fn deadline<G: Geometry>(self, number: u64) -> u64 {
        let spans = spans::<G>();
        let now = unaligned::<G>();
        match self {
            Self::Past => now / 2 + number,
            Self::Now => now,
            Self::CurrentTick => now + 1 + number,
            Self::Level(4) => spans[4] * 9 + number,
            Self::Level(level) => now + spans[level] + number,
        }
    }
}

impl State {
    /// A wheel in this state, at the unaligned clock, with nothing in it but the ballast and what makes the state.
    fn wheel<G: Geometry>(self) -> Wheel<u64, G> {
        let now = unaligned::<G>();
        let [tick, _, coarse, ..] = spans::<G>();
        match self {
            Self::Untouched => with_lists(now),
            Self::Sorted | Self::PulledInBetween => {
                let mut wheel = with_lists(now - tick);
                wheel.schedule(now - 1, 0);
                wheel.schedule(now, 0);
                assert_eq!(wheel.advance(now).count(), 2);
                wheel
            }
            Self::Cascading => {
                let mut wheel = with_lists(now - 2 * coarse);
                for number in 0..400 {
                    // Spread over one bucket of the third level, ahead of the clock.
                    wheel.schedule(now + coarse / 4 + number * (coarse / 4_000), 0);
                }
                let mut advance = wheel.advance_with_budget(now + coarse / 2, 100);
                while advance.next().is_some() {}
                assert!(advance.has_backlog(), "the budget was enough");
                wheel
            }
            Self::Firing => {
                let mut wheel = with_lists(now - tick);
                for number in 0..100 {
                    wheel.schedule(now - number % 7, 0);
                }
                assert_eq!(wheel.advance(now).take(50).count(), 50);
                wheel
            }
        }
    }

    fn interfere<G: Geometry>(self, wheel: &mut Wheel<u64, G>) {
        if self == Self::PulledInBetween {
            let now = wheel.now();
            let key = wheel.schedule(0, 0);
            let item = wheel.pop_expired(now).expect("a timer due since ever");
            assert_eq!(item.key, key);
        }
    }
}

/// The memory that a wheel holds.
#[derive(Clone, Copy, Debug)]
struct Memory {
    timers: usize,
    slots: usize,
    ready: usize,
    bytes: usize,
}

impl Memory {
    fn of<G: Geometry>(wheel: &Wheel<u64, G>) -> Self {
        let stats = wheel.stats();
        Self {
            timers: stats.timers,
            slots: stats.slots,
            ready: stats.ready,
            bytes: stats.bytes,
        }
    }

    /// What the wheel holds with one timer more, the one that comes and goes in a storm.
    fn with_one_more<G: Geometry>(wheel: &mut Wheel<u64, G>, deadline: u64) -> Self {
        let key = wheel.schedule(deadline, 0);
        let memory = Self::of(wheel);
        assert_eq!(wheel.cancel(key), Some(0));
        memory
    }

    /// Panics when the wheel holds more than this.
    #[track_caller]
    fn assert_bounds<G: Geometry>(self, wheel: &Wheel<u64, G>, what: &str) {
        let held = Self::of(wheel);
        let within = held.timers <= self.timers
            && held.slots <= self.slots
            && held.ready <= self.ready.max(self.timers)
            && held.bytes <= self.bytes + SPARE;
        assert!(within, "from {self:?} to {held:?}, {what}");
    }
}

fn schedule_and_cancel<G: Geometry>(state: State, part: Part) {
    let what = format!("{state:?} {part:?}");
    let mut wheel = state.wheel::<G>();
    for number in 0..FEW as u64 {
        wheel.schedule(part.deadline::<G>(number), number);
    }
    state.interfere(&mut wheel);
    let before = Memory::of(&wheel);
    let most = Memory::with_one_more(&mut wheel, part.deadline::<G>(3));
    for call in 0..MILLION {
        let key = wheel.schedule(part.deadline::<G>(call as u64 % 32), 0);
        if call % 1_009 == 0 {
            most.assert_bounds(&wheel, &what);
        }
        assert_eq!(wheel.cancel(key), Some(0));
        if call % 1_000 == 0 {
            state.interfere(&mut wheel);
        }
    }
    most.assert_bounds(&wheel, &what);
    let after = Memory::of(&wheel);
    assert_eq!(after.timers, before.timers, "timers, {what}");
    check_rest(wheel, before.timers);
}

fn cancel_oldest_and_schedule<G: Geometry>(state: State, part: Part) {
    let what = format!("{state:?} {part:?}");
    let mut wheel = state.wheel::<G>();
    let mut keys: Vec<TimerKey> = (0..FEW as u64)
        .map(|number| wheel.schedule(part.deadline::<G>(number), number))
        .collect();
    state.interfere(&mut wheel);
    let live = wheel.len();
    let most = Memory::with_one_more(&mut wheel, part.deadline::<G>(3));
    for call in 0..MILLION {
        let deadline = part.deadline::<G>(call as u64 % 8);
        assert!(wheel.cancel(keys[call % FEW]).is_some());
        keys[call % FEW] = wheel.schedule(deadline, 0);
        if call % 1_009 == 0 {
            most.assert_bounds(&wheel, &what);
            state.interfere(&mut wheel);
        }
    }
    most.assert_bounds(&wheel, &what);
    check_rest(wheel, live);
}

fn reschedule_back_and_forth<G: Geometry>(state: State, part: Part, other: Part) {
    let what = format!("{state:?} between {part:?} and {other:?}");
    let mut wheel = state.wheel::<G>();
    let key = wheel.schedule(part.deadline::<G>(0), 1);
    state.interfere(&mut wheel);
    let live = wheel.len();
    // Elsewhere it may need a level of its own; and one timer more interferes.
    let mut most = Memory::of(&wheel);
    for place in [part, other] {
        wheel.reschedule(key, place.deadline::<G>(0));
        let there = Memory::with_one_more(&mut wheel, 0);
        most.timers = most.timers.max(there.timers);
        most.slots = most.slots.max(there.slots);
        most.bytes = most.bytes.max(there.bytes);
    }
    for call in 0..MILLION {
        let to = if call % 2 == 0 { other } else { part };
        assert!(wheel.reschedule(key, to.deadline::<G>(call as u64 % 5)));
        if call % 1_009 == 0 {
            most.assert_bounds(&wheel, &what);
        }
        if call % 1_000 == 0 {
            state.interfere(&mut wheel);
        }
    }
    most.assert_bounds(&wheel, &what);
    check_rest(wheel, live);
}

/// All that is left fires, in order.
fn check_rest<G: Geometry>(mut wheel: Wheel<u64, G>, live: usize) {
    wheel.check_invariants();
    let rest: Vec<u64> = wheel.advance(u64::MAX).map(|item| item.deadline).collect();
    assert_eq!(rest.len(), live);
    assert!(rest.is_sorted());
    assert_eq!(wheel.stats().occupied, [0; LEVELS]);
    wheel.check_invariants();
}

#[test]
fn storm_of_schedule_and_cancel_leaves_the_memory_of_ten_timers() {
    for state in STATES {
        for part in PARTS {
            schedule_and_cancel::<Millis>(state, part);
        }
    }
}

#[test]
fn storm_of_replacing_the_oldest_leaves_the_memory_of_ten_timers() {
    for state in STATES {
        for part in PARTS {
            cancel_oldest_and_schedule::<Narrow>(state, part);
        }
    }
}

#[test]
fn storm_of_reschedules_between_parts_leaves_the_memory_of_one_timer() {
    for state in STATES {
        for (part, other) in [
            (Part::Past, Part::Past),
            (Part::Past, Part::CurrentTick),
            (Part::Past, Part::Level(4)),
            (Part::Now, Part::Level(0)),
            (Part::CurrentTick, Part::CurrentTick),
            (Part::CurrentTick, Part::Level(3)),
            (Part::Level(0), Part::Level(1)),
            (Part::Level(2), Part::Level(2)),
            (Part::Level(4), Part::Level(0)),
        ] {
            reschedule_back_and_forth::<Caffeine>(state, part, other);
        }
    }
}

/// The storms above stand still. Here time passes: each timer is cancelled before it fires.
#[test]
fn churn_while_time_passes_leaves_the_memory_of_ten_timers() {
    let mut wheel = with_lists::<Millis>(0);
    let mut keys: Vec<TimerKey> = (0..FEW as u64)
        .map(|n| wheel.schedule(30 << 30, n))
        .collect();
    let most = Memory::with_one_more(&mut wheel, 30 << 30);
    for call in 0..MILLION {
        assert!(wheel.cancel(keys[call % FEW]).is_some());
        keys[call % FEW] = wheel.schedule(wheel.now() + (30 << 30), 0);
        if call % 100 == 0 {
            let now = wheel.now() + (1 << 20);
            assert_eq!(wheel.advance(now).count(), 0);
            most.assert_bounds(&wheel, "time passes");
        }
    }
    let live = wheel.len();
    check_rest(wheel, live);
}

/// The touch of a cache: always postponed, visited now and then, never fired.
#[test]
fn touches_while_time_passes_leave_the_memory_of_one_timer() {
    let mut wheel = with_lists::<Millis>(12_345);
    let ttl = 600 << 30;
    let key = wheel.schedule(wheel.now() + ttl, 7);
    let timers = FAR_TIMERS + 1;
    for _ in 0..MILLION {
        let now = wheel.now() + (1 << 20);
        assert_eq!(wheel.advance(now).count(), 0);
        assert!(wheel.reschedule(key, now + ttl));
        let stats = wheel.stats();
        assert_eq!((stats.timers, stats.slots), (timers, timers));
    }
    check_rest(wheel, timers);
}

/// A burst leaves slots behind for the next one, and nothing else.
#[test]
fn burst_after_burst_reuses_its_memory_and_shrink_returns_it() {
    let count = 100_000;
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let spread = |n: u64| (n * 7_919 % count) << 22;
    for burst in 0..4 {
        let keys: Vec<TimerKey> = (0..count).map(|n| wheel.schedule(spread(n), n)).collect();
        assert_eq!(wheel.stats().slots, count as usize, "burst {burst}");
        for key in keys {
            assert!(wheel.cancel(key).is_some());
        }
        let stats = wheel.stats();
        assert_eq!((stats.timers, stats.ready), (0, 0));
        assert_eq!(stats.occupied, [0; LEVELS]);
    }
    let before = wheel.capacity();
    assert!(before >= count as usize);
    wheel.shrink_to_fit();
    assert!(
        wheel.capacity() < before / 10,
        "an empty wheel did not shrink"
    );
    wheel.check_invariants();
}

/// A crowd in one tick passes through the near heap, which does not keep its size.
#[test]
fn crowd_in_one_tick_leaves_no_memory_behind_when_it_has_fired() {
    const KEPT: usize = 1 << 18;
    for ahead in [0, 1, 1 << 30] {
        let mut wheel: Wheel<u64> = Wheel::new(unaligned::<Millis>());
        for n in 0..200_000 {
            wheel.schedule(wheel.now() + ahead, n);
        }
        let scheduled = wheel.stats().bytes;
        let to = wheel.now() + ahead;
        assert_eq!(wheel.advance(to).count(), 200_000);
        let fired = wheel.stats().bytes;
        assert!(
            fired <= scheduled + KEPT,
            "from {scheduled} to {fired} bytes, {ahead} ahead"
        );
    }
}

/// Memory that a crowded tick needed goes back when it is asked for.
#[test]
fn shrink_after_a_crowded_tick_leaves_the_memory_of_an_empty_wheel() {
    let mut wheel: Wheel<u64, Compact> = Wheel::with_geometry(0);
    let empty = wheel.stats().bytes;
    for n in 0..4_000 {
        wheel.schedule(n, n);
    }
    assert_eq!(wheel.advance(4_000).count(), 4_000);
    wheel.shrink_to_fit();
    assert_eq!(wheel.stats().bytes, empty);
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
            assert!(
                is_full || now == claimed,
                "{asked} asked for, {claimed} claimed"
            );
            claimed = wheel.capacity();
            assert!(claimed >= wheel.len() && claimed <= 2 * wheel.len().max(asked) + 4_104);
        }
        wheel.clear();
        wheel.shrink_to_fit();
        assert_eq!(wheel.capacity(), 0);
    }
}

/// Whether a wheel comes to its levels one by one or to the last at once: it makes as many buckets.
#[test]
fn levels_reached_one_by_one_take_no_more_memory_than_all_at_once() {
    let bytes = |levels: [usize; 4]| {
        let mut wheel = with_lists::<Millis>(0);
        for level in levels {
            wheel.schedule(spans::<Millis>()[level], 0);
        }
        assert_eq!(wheel.stats().occupied, [1, 1, 1, 1, 1]);
        wheel.stats().bytes
    };
    assert_eq!(bytes([0, 1, 2, 3]), bytes([3, 2, 1, 0]));
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
