//! No call takes long: whatever lies ahead, a call costs what fires, what its tick holds and its share of
//! what must be moved for the future. Each test counts work, in units of a budget that is never used up.

use std::collections::BTreeMap;

use timer_wheel::{Budget, Compact, Geometry, Micros, Millis, TimerKey, Verdict, Wheel};

use crate::geometries::{FAR_TIMERS, Narrow, Tiny, with_lists};
use crate::numbers::Numbers;
use crate::pair::{LEVELS, Pair};
use crate::script::{Op, Pick, When, spans};

const TICK: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// A bucket of [`Millis`] with more timers is crowded.
const FEW: usize = 512;

/// A sleeping caller is woken up once for so many timers that are moved ahead.
const WOKEN_FOR: usize = FEW / 2;

/// What one call has done.
#[derive(Clone, Copy, Debug, Default)]
struct Call {
    fired: usize,
    units: usize,
}

impl Call {
    /// What was done beside collecting and firing what was due.
    fn ahead(self) -> usize {
        self.units.saturating_sub(2 * self.fired)
    }
}

/// One advance, without a budget.
fn advance<T, G: Geometry>(wheel: &mut Wheel<T, G>, to: u64) -> Call {
    let mut advance = wheel.advance_with_budget(to, usize::MAX);
    let fired = advance.by_ref().count();
    assert!(!advance.has_backlog());
    Call {
        fired,
        units: usize::MAX - advance.unused(),
    }
}

/// Timers 60 to 180 s ahead, an advance each millisecond for four minutes, and another timer for each
/// that fires. Says how much work the longest call has done beside firing.
fn pause_mix<G: Geometry>(
    timers: u64,
    mut disturb: impl FnMut(&mut Wheel<u64, G>, &mut [TimerKey], u64),
) -> usize {
    let mut numbers = Numbers(42);
    let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
    let mut delay = move || 60 * SECOND + numbers.below(120 * SECOND);
    let mut keys: Vec<TimerKey> = (0..timers).map(|n| wheel.schedule(delay(), n)).collect();
    let (mut longest, mut units, mut fired) = (0, 0, 0);
    for step in 1..240_000 {
        disturb(&mut wheel, &mut keys, step);
        let now = step * MILLISECOND;
        let mut advance = wheel.advance_with_budget(now, usize::MAX);
        let values: Vec<u64> = advance.by_ref().map(|item| item.value).collect();
        assert!(!advance.has_backlog());
        let call = Call {
            fired: values.len(),
            units: usize::MAX - advance.unused(),
        };
        longest = longest.max(call.ahead());
        units += call.units;
        fired += call.fired;
        for value in values {
            keys[value as usize] = wheel.schedule(now + delay(), value);
        }
    }
    assert!(fired as u64 > timers, "{fired} fired");
    // Most are moved down once or twice and then brought up with few others, and fire.
    let most = 4 * (fired + wheel.len());
    assert!(units <= most, "{units} units in all");
    longest
}

/// The longest call of 20,000 timers: a share of each level's crowd, and a bucket of few timers, whole.
const LONGEST: usize = FEW;

/// Caffeine and this project's own first core: a coarse bucket was emptied at one go, which was a pause of
/// 32 ms for a million timers.
#[test]
fn pause_mix_has_no_call_that_moves_a_whole_crowd() {
    for (timers, most) in [(20_000, LONGEST), (100_000, 2 * FEW)] {
        let longest = pause_mix::<Millis>(timers, |_, _, _| {});
        assert!(longest <= most, "{longest} units, {timers} timers");
    }
    let longest = pause_mix::<Compact>(20_000, |_, _, _| {});
    assert!(longest <= LONGEST, "{longest} units, in `Compact`");
    let longest = pause_mix::<Micros>(20_000, |_, _, _| {});
    assert!(longest <= LONGEST, "{longest} units, in `Micros`");
}

/// Ours: one timer that had been postponed sent a whole cascade the slow way.
#[test]
fn pause_mix_with_one_postponed_timer_has_no_longer_call() {
    let longest = pause_mix::<Millis>(20_000, |wheel, keys, step| {
        if step == 100 {
            let deadline = wheel.deadline(keys[77]).expect("nothing has fired");
            assert!(wheel.reschedule(keys[77], deadline + 100 * SECOND));
        }
    });
    assert!(longest <= LONGEST, "{longest} units");
    // And one of a thousand, time and again.
    let longest = pause_mix::<Millis>(20_000, |wheel, keys, step| {
        if step % 1_000 == 0 {
            for &key in keys.iter().step_by(1_000) {
                let deadline = wheel.deadline(key).expect("as many live as ever");
                assert!(wheel.reschedule(key, deadline + SECOND));
            }
        }
    });
    assert!(longest <= LONGEST, "{longest} units");
}

#[test]
fn pause_mix_with_one_in_a_thousand_cancelled_has_no_longer_call() {
    let longest = pause_mix::<Millis>(20_000, |wheel, keys, step| {
        if step % 1_000 == 0 {
            for key in keys.iter_mut().step_by(1_000) {
                let value = wheel.cancel(*key).expect("as many live as ever");
                *key = wheel.schedule(wheel.now() + 100 * SECOND, value);
            }
        }
    });
    assert!(longest <= LONGEST, "{longest} units");
}

/// A crowd of timers spread evenly over one bucket of a level.
fn crowd<G: Geometry>(
    wheel: &mut Wheel<u64, G>,
    level: usize,
    number: u64,
    timers: u64,
) -> Vec<TimerKey> {
    let span = spans::<G>()[level];
    let at = |n: u64| number * span + n * (span / timers);
    (0..timers).map(|n| wheel.schedule(at(n), n)).collect()
}

/// A sleeping caller is not woken up for each timer that is moved ahead, and never for nothing.
#[test]
fn driver_asleep_over_a_crowded_bucket_is_woken_once_for_so_many_timers_moved() {
    fn check<G: Geometry>(level: usize, number: u64, timers: u64) {
        let start = number * spans::<G>()[level];
        let mut wheel = with_lists::<G>(0);
        crowd(&mut wheel, level, number, timers);
        let mut wake_ups = 0;
        let mut moved = 0;
        loop {
            let delay = wheel.expiration_delay().expect("timers live");
            let now = wheel.now() + delay;
            if now >= start {
                break;
            }
            let call = advance(&mut wheel, now);
            wake_ups += 1;
            moved += call.units;
            assert_eq!(call.fired, 0, "nothing is due");
            assert!(call.units > 0, "woken up for nothing, {delay} later");
        }
        let most = timers as usize / WOKEN_FOR + LEVELS + 1;
        assert!(wake_ups <= most, "{wake_ups} wake-ups, {most} allowed");
        assert!(moved >= wake_ups * WOKEN_FOR, "{moved} moved in {wake_ups}");
        // And not much later than that: what is left is no crowd.
        let left: usize = wheel.levels()[level].timers();
        assert!(
            left <= FEW + FAR_TIMERS,
            "{left} of {timers} are left for the last moment"
        );
        let call = advance(&mut wheel, start);
        assert!(call.units <= 2 * (FEW + timers as usize / 64), "{call:?}");
        wheel.check_invariants();
    }
    for timers in [1_000, 10_000] {
        for number in [1, 2, 3, 70, 255] {
            check::<Millis>(1, number, timers);
            check::<Millis>(2, number, timers);
        }
        check::<Millis>(3, 1, timers);
        check::<Millis>(3, 7, timers);
        check::<Millis>(4, 2, timers);
    }
}

/// What is cancelled wakes nobody, however far the crowd had been moved ahead.
#[test]
fn driver_of_a_crowd_that_was_cancelled_is_not_woken() {
    for number in [1, 2, 5] {
        let span = spans::<Millis>()[2];
        let start = number * span;
        for passed in [0, 1, span / 2, start - span, start - span / 2, start - TICK] {
            let mut wheel = with_lists::<Millis>(0);
            let keys = crowd(&mut wheel, 2, number, 5_000);
            advance(&mut wheel, passed);
            // All but one, and that one in the middle of the bucket.
            for &key in keys.iter().filter(|&&key| key != keys[2_500]) {
                assert!(wheel.cancel(key).is_some());
            }
            wheel.check_invariants();
            let mut wake_ups = 0;
            while wheel.contains(keys[2_500]) {
                let delay = wheel.expiration_delay().expect("one lives");
                assert!(delay >= start.saturating_sub(wheel.now()), "too early");
                let now = wheel.now() + delay;
                advance(&mut wheel, now);
                wake_ups += 1;
            }
            assert!(wake_ups <= LEVELS, "{wake_ups} wake-ups after {passed}");

            let keys = crowd(&mut wheel, 2, number + 2, 5_000);
            for key in keys {
                assert!(wheel.cancel(key).is_some());
            }
            // What is left is the ballast, in the last rotation.
            let last = u64::MAX / spans::<Millis>()[4] * spans::<Millis>()[4];
            assert_eq!(wheel.expiration_delay(), Some(last - wheel.now()));
        }
    }
}

/// A crowd that is cancelled down to few timers is none, and waits for its time.
#[test]
fn driver_of_a_crowd_that_was_cancelled_down_to_few_is_woken_at_its_start() {
    for number in [1, 2, 5] {
        let start = number * spans::<Millis>()[2];
        for left in [FEW, FEW - 1, WOKEN_FOR, 1] {
            for from_the_end in [false, true] {
                let mut wheel = with_lists::<Millis>(0);
                let mut keys = crowd(&mut wheel, 2, number, 5_000);
                if from_the_end {
                    keys.reverse();
                }
                assert!(wheel.expiration_delay() < Some(start));
                for &key in &keys[left..] {
                    assert!(wheel.cancel(key).is_some());
                }
                assert_eq!(wheel.expiration_delay(), Some(start), "{left} left");
                // And it is opened at one go.
                let call = advance(&mut wheel, start);
                assert!(call.units <= 1 + 2 * left, "{call:?}");
                wheel.check_invariants();
            }
        }
    }
}

/// Timers that crowd into the next bucket late, in the last ticks before it begins: each call takes its
/// share of them, and what comes once the bucket has been opened goes below at once.
#[test]
fn crowd_that_comes_late_is_moved_in_shares() {
    const TIMERS: u64 = 20_000;
    let span = spans::<Millis>()[2];
    for ticks_left in [1, 2, 10, 100, 1_000] {
        let mut wheel = with_lists::<Millis>(0);
        let from = span - ticks_left * TICK;
        advance(&mut wheel, from);
        crowd(&mut wheel, 2, 1, TIMERS);
        let share = (TIMERS / ticks_left) as usize;
        let (mut longest, mut units) = (0, 0);
        for tick in 0..=ticks_left {
            let call = advance(&mut wheel, from + tick * TICK);
            longest = longest.max(call.ahead());
            units += call.units;
        }
        let most = share + share / 256 + LONGEST;
        assert!(longest <= most, "{longest} units, {ticks_left} ticks left");
        assert!(units <= TIMERS as usize + LONGEST, "{units} units");
        wheel.check_invariants();
    }
    // As many, an advance after each few: only the first few are moved at all.
    let mut wheel = with_lists::<Millis>(0);
    advance(&mut wheel, span - 2 * TICK);
    let mut units = 0;
    for n in 0..TIMERS {
        wheel.schedule(span + n * (span / TIMERS), n);
        if n % 64 == 0 {
            let now = wheel.now();
            units += advance(&mut wheel, now).units;
        }
    }
    units += advance(&mut wheel, span - TICK).units;
    units += advance(&mut wheel, span).units;
    assert!(units <= 3 * LONGEST, "{units} units");
    wheel.check_invariants();
}

/// Ours: what lies ahead was moved only when nothing more was due, and then all of it at one go.
#[test]
fn advances_that_stop_at_a_few_fires_move_their_share_all_the_same() {
    const TIMERS: u64 = 100_000;
    for level in [1, 2] {
        let mut wheel = with_lists::<Millis>(0);
        let start = 4 * spans::<Millis>()[level];
        crowd(&mut wheel, level, 4, TIMERS);
        let first = start - 600 * TICK;
        advance(&mut wheel, first - TICK);
        // One more in each tick than may fire.
        for tick in 0..600 {
            (0..11).for_each(|n| _ = wheel.schedule(first + tick * TICK, n));
        }
        let mut longest = 0;
        for tick in 0..600 {
            let budget = Budget::UNLIMITED.with_fires(10);
            let now = first + tick * TICK;
            let call = wheel.advance_with(now, budget, |_, _, _| Verdict::Remove);
            assert!(call.has_backlog, "there is one more");
            longest = longest.max(usize::MAX - call.unused);
        }
        let most = 2 * TIMERS as usize / 256 + LONGEST;
        assert!(longest <= most, "{longest} units, {most} allowed");
        wheel.check_invariants();
    }
}

/// Ours: a share that a budget cut short was taken for one that had not begun, until all had been moved.
#[test]
fn share_that_a_budget_cuts_short_is_moved_once() {
    const TIMERS: u64 = 100_000;
    for budget in [1, 32, 256, 4_096] {
        let mut wheel = with_lists::<Millis>(0);
        crowd(&mut wheel, 1, 1, TIMERS);
        for tick in 1..20 {
            let mut units = 0;
            loop {
                let mut advance = wheel.advance_with_budget(tick * TICK, budget);
                assert_eq!(advance.by_ref().count(), 0);
                units += budget - advance.unused();
                if !advance.has_backlog() {
                    break;
                }
            }
            let share = TIMERS as usize / 256;
            let most = share + share / 100 + FEW;
            assert!(units <= most, "{units} units of {share} in a tick");
            // What is left of it is too little to call again for.
            assert!(units + WOKEN_FOR >= share, "{units} units of {share}");
            wheel.check_invariants();
        }
    }
}

/// Ours: each few timers that came to a crowd brought the wake-up closer, and woke up a sleeping caller.
#[test]
fn crowd_that_grows_brings_the_wake_up_closer_when_it_doubles() {
    const TIMERS: u64 = 100_000;
    for level in [1, 2, 3] {
        let mut wheel: Wheel<u64> = Wheel::new(0);
        let span = spans::<Millis>()[level];
        let mut delays: Vec<u64> = (0..TIMERS)
            .filter_map(|n| {
                wheel.schedule(5 * span + n * (span / TIMERS), n);
                wheel.expiration_delay()
            })
            .collect();
        assert!(delays.is_sorted_by(|a, b| a >= b), "it comes closer");
        delays.dedup();
        assert!(delays.len() < 20, "{} wake-ups", delays.len());
        // And it is early enough for a share that is not much more than a sleeping caller is woken up for.
        let mut advance = wheel.advance_with_budget(delays[delays.len() - 1], usize::MAX);
        assert!(advance.next().is_none());
        let units = usize::MAX - advance.unused();
        assert!((WOKEN_FOR..=FEW + LEVELS).contains(&units), "{units} units");
    }
}

/// Ours: when the few timers before a crowd left, nobody woke up to move that ahead, but at its start for all.
#[test]
fn driver_asleep_is_woken_for_a_crowd_when_those_before_it_have_left() {
    for level in 1..LEVELS {
        let span = spans::<Millis>()[level];
        let mut wheel = with_lists::<Millis>(0);
        crowd(&mut wheel, level, 5, 10_000);
        let before = [2, 3, 4].map(|number| wheel.schedule(number * span, 0));
        advance(&mut wheel, TICK);
        assert!(wheel.cancel(before[1]).is_some() && wheel.cancel(before[0]).is_some());
        assert!(wheel.reschedule(before[2], 2 * TICK));
        let mut longest = 0;
        while wheel.now() < 5 * span {
            let delay = wheel.expiration_delay().expect("timers live");
            let now = wheel.now() + delay;
            longest = longest.max(advance(&mut wheel, now).ahead());
        }
        assert!(longest <= 2 * FEW, "{longest} units, level {level}");
    }
}

/// Ours: `clear` walked the peak. Here it would walk a million slots twenty thousand times, which nobody
/// would wait for; and nothing is left of the peak but pages.
#[test]
fn clear_and_drain_after_a_peak_cost_what_is_live() {
    const PEAK: u64 = 1_000_000;
    // Where ten timers make lists.
    let mut wheel: Wheel<u64, Narrow> = Wheel::with_geometry(0);
    let keys: Vec<TimerKey> = (0..PEAK).map(|n| wheel.schedule(n << 16, n)).collect();
    for &key in &keys[10..] {
        assert!(wheel.cancel(key).is_some());
    }
    let bytes = wheel.stats().bytes;
    for round in 0..20_000 {
        if round % 2 == 0 {
            wheel.clear();
        } else {
            assert_eq!(wheel.drain().count(), 10);
        }
        assert!(wheel.is_empty());
        for n in 0..10 {
            wheel.schedule(n << 30, n);
        }
    }
    assert_eq!(wheel.stats().slots, PEAK as usize);
    assert!(wheel.stats().bytes <= bytes + 1_000, "more than the peak");
    assert!(keys.iter().all(|&key| !wheel.contains(key)));
    wheel.check_invariants();
}

/// Ours: an advance that stopped in a rotation of the top level walked all far timers, each time.
#[test]
fn stops_in_each_far_rotation_look_at_no_others() {
    fn check<G: Geometry>(rotations: u64) {
        let [.., rotation] = spans::<G>();
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let fires = |n: u64| n * rotation + n % rotation;
        for n in 1..=rotations {
            wheel.schedule(fires(n), n);
            wheel.schedule(u64::MAX - n, 0);
        }
        for n in 1..=rotations {
            let to = advance(&mut wheel, n * rotation);
            let call = advance(&mut wheel, fires(n));
            assert_eq!(to.fired + call.fired, 1);
            let units = to.units + call.units;
            // Its rotation is opened, it is brought up, and it fires.
            assert!(units <= 3, "{units} units, rotation {n}");
        }
        assert_eq!(wheel.len() as u64, rotations);
    }
    check::<Compact>(20_000);
    check::<Millis>(2_000);
    check::<Tiny>(20_000);
}

/// In which order a crowd of one tick comes.
#[derive(Clone, Copy, Debug)]
enum Arrival {
    /// All at one nanosecond.
    Together,
    InOrder,
    Reversed,
    InNoOrder,
}

impl Arrival {
    const ALL: [Self; 4] = [
        Self::Together,
        Self::InOrder,
        Self::Reversed,
        Self::InNoOrder,
    ];

    fn offset(self, n: u64, count: u64) -> u64 {
        match self {
            Self::Together => 0,
            Self::InOrder => n,
            Self::Reversed => count - 1 - n,
            Self::InNoOrder => n * 7_919 % count,
        }
    }
}

/// Ours: a crowd in one tick made the heap's array double in the middle of a budgeted call.
#[test]
fn crowd_in_one_tick_takes_as_many_calls_as_its_budget_says() {
    fn check<G: Geometry>(arrival: Arrival, budget: usize) {
        const CROWD: u64 = 20_000;
        let tick = 3 * spans::<G>()[1];
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let mut expected: Vec<(u64, u64)> = (0..CROWD)
            .map(|n| (tick + arrival.offset(n, CROWD), n))
            .collect();
        for &(deadline, n) in &expected {
            wheel.schedule(deadline, n);
        }
        expected.sort_unstable();
        let (mut fired, mut units, mut calls) = (Vec::new(), 0, 0);
        while !wheel.is_empty() {
            let mut advance = wheel.advance_with_budget(tick + CROWD, budget);
            fired.extend(advance.by_ref().map(|item| (item.deadline, item.value)));
            let used = budget - advance.unused();
            assert!(used == budget || !advance.has_backlog());
            units += used;
            calls += 1;
            assert!(calls <= 10 * CROWD, "{} fired", fired.len());
        }
        assert!(fired == expected, "{arrival:?}, budget {budget}");
        // Moved down two levels at most, collected and fired; and what makes way for a piece.
        let crowd = CROWD as usize;
        let ways = (crowd / budget).min(crowd) * budget.min(FEW);
        let most = 4 * crowd + LEVELS + ways;
        assert!(units <= most, "{units} units, {arrival:?}, budget {budget}");
    }
    for arrival in Arrival::ALL {
        for budget in [1, 7, 256, 5_000, usize::MAX / 2] {
            check::<Millis>(arrival, budget);
            check::<Narrow>(arrival, budget);
        }
    }
}

/// A crowd that is moved ahead, opened and fired by a unit a call, while timers are cancelled, postponed, taken back and
/// scheduled between the calls: in one tick, in a coarse bucket, and in a far rotation.
#[test]
fn crowd_disturbed_between_calls_of_one_unit_fires_in_order() {
    fn check<G: Geometry>(level: usize, timers: u64, is_spread: bool) {
        let spans = spans::<G>();
        let start = 2 * spans[level];
        let apart = if is_spread { spans[level] / timers } else { 0 };
        let mut pair = Pair::<G>::new(start - spans[level] / 2 - 1);
        pair.apply(&Op::Bunch {
            at: When::At(u64::MAX),
            count: FAR_TIMERS as u8,
        });
        (0..timers).for_each(|n| pair.schedule(start + n * apart));
        // Some ticks before the crowd begins; when it does; and when all of it is due.
        let end = start + timers * apart;
        let mut calls = 0;
        for to in [start - spans[level] / 3, start - 1, start, end] {
            while pair.model.now() < to || pair.wheel.has_backlog() {
                let before = pair.wheel.levels().map(|level| level.timers());
                pair.apply(&Op::AdvanceBudgeted {
                    to: When::At(to),
                    budget: 1,
                    calls: 0,
                });
                let after = pair.wheel.levels().map(|level| level.timers());
                let left = before.iter().zip(after);
                let taken: usize = left
                    .map(|(before, after)| before.saturating_sub(after))
                    .sum();
                assert!(taken <= 1, "{taken} timers were taken from buckets");
                calls += 1;
                assert!(calls <= 20 * timers, "{} are left", pair.model.len());
                let nth = (calls * 7 % timers) as u8;
                if calls > 2 * timers {
                    continue;
                }
                match calls % 8 {
                    1 => pair.apply(&Op::Cancel(Pick::Live(nth))),
                    2 => pair.apply(&Op::Schedule(When::At(start + u64::from(nth) * apart))),
                    4 => pair.apply(&Op::Reschedule(
                        Pick::Live(nth),
                        When::At(end + u64::from(nth)),
                    )),
                    5 => pair.apply(&Op::Schedule(When::At(end - apart / 2))),
                    7 => pair.apply(&Op::Reschedule(Pick::Live(nth), When::In(0))),
                    _ => {}
                }
            }
        }
        assert!(calls > timers, "{calls} calls of one unit");
        pair.finish();
    }
    for is_spread in [true, false] {
        for level in 0..LEVELS {
            check::<Narrow>(level, 40, is_spread);
        }
        check::<Compact>(2, 150, is_spread);
    }
}

/// Whichever of a sorted crowd are cancelled, the others keep their order, and no memory is asked for.
#[test]
fn sorted_timers_cancelled_from_a_crowd_leave_order_and_memory() {
    const CROWD: u64 = 10_000;
    let tick = 300 * TICK;
    for arrival in Arrival::ALL {
        for collected in [1_000, 5_000, 2 * CROWD as usize] {
            for stride in [1, 2, 3, 100] {
                let mut wheel = with_lists::<Millis>(0);
                let mut timers: Vec<(u64, u64, TimerKey)> = (0..CROWD)
                    .map(|n| {
                        let deadline = tick + arrival.offset(n, CROWD);
                        (deadline, n, wheel.schedule(deadline, n))
                    })
                    .collect();
                timers.sort_unstable_by_key(|timer| (timer.0, timer.1));
                let opened = wheel.advance_with_budget(tick, collected).count();
                timers.drain(..opened);
                let before = wheel.stats();
                let mut nth = 0;
                timers.retain(|&(_, n, key)| {
                    nth += 1;
                    let is_kept = nth % stride != 0 || nth % 1_000 == 1;
                    assert!(is_kept || wheel.cancel(key) == Some(n));
                    is_kept
                });
                let after = wheel.stats();
                assert!(after.ready <= before.ready);
                // But for the bits of the slots that are free now.
                let (most, bytes) = (before.bytes + CROWD as usize / 4, after.bytes);
                assert!(bytes <= most, "from {} to {bytes} bytes", before.bytes);
                assert_eq!(after.timers, timers.len() + FAR_TIMERS);
                wheel.check_invariants();
                let fired = wheel.advance(tick + CROWD).map(|item| item.key);
                assert!(fired.eq(timers.into_iter().map(|timer| timer.2)));
                assert_eq!(wheel.stats().ready, 1);
            }
        }
    }
}

/// A cache that evicts whatever expires first: take the earliest, schedule another.
#[test]
fn pop_first_in_steady_state_takes_them_in_order() {
    fn check<G: Geometry>(timers: u64, most_delay: u64) {
        let mut numbers = Numbers(7);
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let mut model = BTreeMap::new();
        let mut time = 0;
        for n in 0..5 * timers {
            if n >= timers {
                let peeked = wheel.peek_first().map(|timer| timer.key);
                let item = wheel.pop_first().expect("timers live");
                assert_eq!(peeked, Some(item.key));
                let first = model.pop_first().expect("timers live");
                assert_eq!(((item.deadline, item.value), item.key), first);
                time = item.deadline;
            }
            let deadline = time + numbers.below(most_delay);
            let key = wheel.schedule(deadline, n);
            model.insert((deadline, n), key);
        }
        assert_eq!((wheel.now(), wheel.len() as u64), (0, timers));
        wheel.check_invariants();
        // Its clock is where it was: what was taken early is no reason to be late.
        let first = model.first_key_value().map(|(&(deadline, _), _)| deadline);
        assert_eq!(wheel.next_deadline(), first);
        let rest = wheel.advance(u64::MAX).map(|item| item.key);
        assert!(rest.eq(model.into_values()));
    }
    for most_delay in [10, TICK, 1_000 * TICK, 1 << 40, 1 << 55] {
        check::<Millis>(10, most_delay);
        check::<Millis>(5_000, most_delay);
        check::<Micros>(5_000, most_delay);
        check::<Narrow>(1_000, most_delay);
    }
}

/// Taking the earliest of a crowd opens its bucket once, and what is scheduled meanwhile, before it or
/// behind it, keeps its place and its time.
#[test]
fn pop_first_before_its_time_leaves_the_clock_and_the_others() {
    let start = 5 << 36;
    let mut wheel = with_lists::<Millis>(0);
    let keys = crowd(&mut wheel, 2, 5, 5_000);
    assert_eq!(wheel.pop_first().map(|item| item.key), Some(keys[0]));
    assert_eq!(wheel.now(), 0);
    wheel.check_invariants();
    let before = wheel.schedule(TICK, 1);
    assert_eq!(wheel.expiration_delay(), Some(TICK));
    assert_eq!(wheel.peek_first().map(|timer| timer.key), Some(before));
    assert_eq!(advance(&mut wheel, TICK).fired, 1);
    assert!(!wheel.has_backlog(), "nothing is due");
    let delay = wheel.expiration_delay().expect("timers live");
    assert!(wheel.now() + delay <= start + (1 << 36) / 5_000);
    assert_eq!(wheel.pop_first().map(|item| item.key), Some(keys[1]));
    assert!(
        wheel
            .advance(start + (1 << 36))
            .map(|item| item.key)
            .eq(keys[2..].iter().copied())
    );
}
