//! A budget bounds one call, repeated calls come to an end, and work follows the timers.

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, TimerKey, Verdict, Wheel};

use crate::geometries::{Lopsided, Tiny, TinyTick};
use crate::pair::LEVELS;
use crate::script::spans;

const MILLION: usize = 1_000_000;

/// The number of buckets, over all levels, that hold one of these deadlines on the way down.
fn buckets_passed<G: Geometry>(deadlines: &[u64]) -> usize {
    let mut passed = 0;
    for span in spans::<G>() {
        let mut buckets: Vec<u64> = deadlines.iter().map(|at| at / span).collect();
        buckets.dedup();
        passed += buckets.len();
    }
    passed
}

/// Calls with a budget of one until all fired, in order. The deadlines are sorted.
fn drain_by_one<G: Geometry>(start: u64, deadlines: &[u64]) {
    let mut wheel: Wheel<u32, G> = Wheel::with_geometry(start);
    wheel.reserve(deadlines.len());
    for (nth, &deadline) in deadlines.iter().enumerate() {
        wheel.schedule(deadline, nth as u32);
    }
    let now = deadlines[deadlines.len() - 1];
    let most = (LEVELS + 2) * deadlines.len() + buckets_passed::<G>(deadlines);
    let mut calls = 0;
    let mut next = 0;
    let mut backlog = true;
    while backlog {
        calls += 1;
        assert!(calls <= most, "{next} fired after {calls} calls");
        let mut advance = wheel.advance_with_budget(now, 1);
        if let Some(item) = advance.next() {
            assert_eq!(item.value, next, "fired out of order");
            next += 1;
            assert!(advance.next().is_none(), "two items for one unit");
        }
        backlog = advance.has_backlog();
        assert!(!backlog || advance.unused() == 0, "a backlog, and no work");
    }
    assert_eq!(next as usize, deadlines.len());
    assert!(wheel.is_empty());
}

/// Caffeine's notes again: with a million timers in one coarse bucket.
#[test]
fn million_timers_in_one_coarse_bucket_with_budget_one_end() {
    let span = spans::<Millis>()[3];
    let deadlines: Vec<u64> = (0..MILLION as u64)
        .map(|n| 3 * span + n * (span / MILLION as u64))
        .collect();
    drain_by_one::<Millis>(12_345, &deadlines);
}

#[test]
fn million_timers_at_one_deadline_with_budget_one_end() {
    let deadlines = vec![spans::<Millis>()[3] * 5 / 2; MILLION];
    drain_by_one::<Millis>(12_345, &deadlines);
}

#[test]
fn million_timers_in_the_overflow_with_budget_one_end() {
    let [tick, .., horizon] = spans::<Caffeine>();
    let deadlines: Vec<u64> = (0..MILLION as u64)
        .map(|n| 3 * horizon + n / 16 * tick)
        .collect();
    drain_by_one::<Caffeine>(12_345, &deadlines);
}

/// A call never uses more than its budget, whatever it meets, and always all of it.
#[test]
fn budgeted_calls_use_their_budget_and_no_more() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for budget in [1, 2, 3, 7, 64] {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(spans[2] / 3);
            for n in 0..500 {
                let key = wheel.schedule(spans[3] + n * (spans[2] / 8), n);
                if n % 3 == 0 {
                    wheel.reschedule(key, spans[3] * 2 + n);
                }
            }
            let now = spans[3] * 3 + 500 * spans[2];
            let mut yielded = 0;
            loop {
                let mut advance = wheel.advance_with_budget(now, budget);
                let items = advance.by_ref().count();
                let (unused, backlog) = (advance.unused(), advance.has_backlog());
                assert!(unused <= budget && items <= budget - unused);
                assert!(!backlog || unused == 0, "stopped early with a backlog");
                yielded += items;
                if !backlog {
                    break;
                }
            }
            assert_eq!(yielded, 500);
        }
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Lopsided>();
    check::<Tiny>();
}

/// A budget that bounded nothing would be kept easily. Here the work is seen from outside: how many
/// buckets were filled and entries collected by one call.
#[test]
fn budgeted_call_moves_no_more_entries_than_its_budget() {
    fn check<G: Geometry>(budget: usize) {
        let spans = spans::<G>();
        for level in 1..4 {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(spans[0] / 3);
            let buckets = spans[level] / spans[level - 1];
            let start = spans[level];
            // One timer for each bucket of the level below, then many for one tick.
            for n in 0..buckets {
                wheel.schedule(start + n * spans[level - 1], n);
            }
            for n in 0..100 {
                wheel.schedule(start + 1, n);
            }
            let now = start + spans[level] - 1;
            let mut calls = 0;
            loop {
                let before = wheel.stats();
                let mut advance = wheel.advance_with_budget(now, budget);
                let fired = advance.by_ref().count();
                let backlog = advance.has_backlog();
                let after = wheel.stats();
                let filled: usize = before
                    .occupied
                    .iter()
                    .zip(after.occupied)
                    .map(|(&before, after)| after.saturating_sub(before))
                    .sum();
                let collected = (after.due + fired).saturating_sub(before.due);
                assert!(filled <= budget, "{filled} buckets filled by {budget}");
                assert!(collected <= budget, "{collected} collected by {budget}");
                calls += 1;
                if !backlog {
                    break;
                }
            }
            // Each was moved once at least, and fired.
            let least = 2 * (buckets as usize + 100) / budget;
            assert!(calls >= least, "{calls} calls did the work of {least}");
        }
    }
    for budget in [1, 2, 7, 33] {
        check::<Millis>(budget);
        check::<Caffeine>(budget);
        check::<Micros>(budget);
        check::<Lopsided>(budget);
    }
}

/// One unit each for the bucket opened, the entry collected and the timer fired; and for each level
/// on the way, for the bucket and the entry.
#[test]
fn units_of_one_timer_count_buckets_visits_and_firing() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for (level, span) in spans.into_iter().enumerate() {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
            wheel.schedule(span, 0);
            let budget = 1_000;
            let mut advance = wheel.advance_with_budget(span, budget);
            assert_eq!(advance.by_ref().count(), 1);
            let used = budget - advance.unused();
            assert!((3..=2 * level + 3).contains(&used), "{used} on {level}");
        }
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Compact>();
    check::<Tiny>();
}

#[test]
fn budget_of_nothing_does_nothing() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    wheel.schedule(5, 1);
    wheel.schedule(1 << 40, 2);
    for _ in 0..3 {
        let mut advance = wheel.advance_with_budget(1 << 50, 0);
        assert!(advance.next().is_none());
        assert!(advance.has_backlog(), "both timers are due");
        assert_eq!(advance.unused(), 0);
    }
    let keep = |_: TimerKey, _: u64, _: &mut u64| Verdict::Remove;
    let progress = wheel.advance_with(1 << 50, 0, keep);
    assert_eq!((progress.fired, progress.unused), (0, 0));
    assert!(progress.has_backlog);
    assert_eq!(wheel.advance(1 << 50).count(), 2);
}

/// A few timers and a long way: the work follows the timers, not the ticks.
#[test]
fn idle_jump_costs_by_timers_and_not_by_ticks() {
    fn check<G: Geometry>() {
        let minute = 60 * 1_000_000_000;
        for start in [0, 1, 987_654_321, 1 << 52] {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(start);
            for n in 0..3 {
                wheel.schedule(start + 59 * minute + n * 1_000_000, n);
            }
            let budget = 1_000;
            let mut advance = wheel.advance_with_budget(start + 60 * minute, budget);
            assert_eq!(advance.by_ref().count(), 3);
            assert!(!advance.has_backlog());
            // A visit on each level, the collection, the firing; and as many buckets opened.
            let used = budget - advance.unused();
            assert!(
                used <= 3 * 2 * (LEVELS + 2),
                "{used} units for three timers"
            );

            let mut advance = wheel.advance_with_budget(u64::MAX, budget);
            assert!(advance.next().is_none());
            let used = budget - advance.unused();
            assert!(used <= 2 * LEVELS, "{used} units for an empty wheel");
        }
    }
    in_every_geometry!(check);
}

/// Cancelled timers of the current tick cost a unit each when they are passed, like any entry: not
/// even a million of them make one call long.
#[test]
fn stale_entries_of_the_current_tick_are_paid_for() {
    let count = 100_000_u32;
    let at = 5 << 20;
    for cancelled in [2..49_000, 50_500..100_000] {
        let mut wheel: Wheel<u32> = Wheel::new(0);
        let keys: Vec<TimerKey> = (0..count).map(|n| wheel.schedule(at, n)).collect();
        assert_eq!(wheel.pop_expired(at).map(|item| item.value), Some(0));
        for &key in &keys[cancelled.clone()] {
            assert!(wheel.cancel(key).is_some());
        }
        let mut fired = vec![0];
        loop {
            let before = wheel.stats().due;
            let mut advance = wheel.advance_with_budget(at, 1);
            fired.extend(advance.by_ref().map(|item| item.value));
            let has_backlog = advance.has_backlog();
            let after = wheel.stats().due;
            if !has_backlog {
                break;
            }
            assert!(
                before - after <= 1,
                "{} entries for one unit",
                before - after
            );
        }
        let expected = (0..count).filter(|&n| !cancelled.contains(&(n as usize)));
        assert!(fired.into_iter().eq(expected));
    }
}

/// However many rotations of the top level a jump passes, it looks at each timer beyond the levels
/// once, and fires it.
#[test]
fn jump_over_many_rotations_looks_at_each_timer_once() {
    fn check<G: Geometry>() {
        let rotation = spans::<G>()[LEVELS - 1];
        let count = 500_u64.min(u64::MAX / rotation - 2);
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        for n in 0..count {
            wheel.schedule((n + 1) * rotation + n % rotation, n);
        }
        let mut advance = wheel.advance_with_budget((count + 1) * rotation, usize::MAX);
        assert!(advance.by_ref().map(|item| item.value).eq(0..count));
        let used = usize::MAX - advance.unused();
        let most = 2 * count as usize + 1;
        assert!(
            used <= most,
            "{used} units for {count} timers, {most} allowed"
        );
    }
    check::<Millis>();
    check::<Compact>();
    check::<Micros>();
    check::<Tiny>();
    check::<TinyTick>();
}

/// Eight bytes an entry, and little more: a heap takes three times as much, an array that doubles
/// twice.
#[test]
fn crowded_tick_is_collected_piece_by_piece_without_a_heap() {
    const TIMERS: usize = 100_000;
    fn check<G: Geometry>(deadline: u64, budget: usize) {
        let mut wheel: Wheel<u32, G> = Wheel::with_geometry(0);
        for nth in 0..TIMERS {
            wheel.schedule(deadline, nth as u32);
        }
        // A call before anything is due lets what is allocated once be allocated.
        assert_eq!(wheel.advance_with_budget(1, budget).count(), 0);
        let most = wheel.stats().bytes + (TIMERS + 4 * budget.max(1024)) * 8;
        let mut next = 0;
        while !wheel.is_empty() {
            for item in wheel.advance_with_budget(deadline, budget) {
                assert_eq!(item.value, next, "fired out of order");
                next += 1;
            }
            let bytes = wheel.stats().bytes;
            assert!(bytes <= most, "{bytes} bytes, {most} at the most");
        }
    }
    // The deadline's digits: of ticks, and of a coarse bucket's first tick.
    for deadline in [30_000_000_000, 30 << 36, 7 << 26 | 1] {
        for budget in [1, 256, 5_000] {
            check::<Millis>(deadline, budget);
            check::<Compact>(deadline, budget);
        }
    }
}

/// A lone timer is brought up early, for all of its coarse bucket; the crowd comes afterwards.
#[test]
fn early_timer_makes_way_for_a_crowd() {
    const CROWD: usize = 100_000;
    for budget in [100, usize::MAX] {
        let mut wheel: Wheel<u32, Millis> = Wheel::new(0);
        let coarse = 5 << 26;
        wheel.schedule(coarse + (63 << 20), u32::MAX);
        // Brings it up, and leaves time for others in front of it.
        assert_eq!(wheel.advance(coarse).count(), 0);
        for nth in 0..CROWD {
            wheel.schedule(coarse + (40 << 20), nth as u32);
        }
        // The run may double here: no budget, no promise.
        let room = if budget == usize::MAX { 2 } else { 1 };
        let most = wheel.stats().bytes + room * (CROWD + 8192) * 8;
        let mut next = 0;
        while wheel.len() > 1 {
            for item in wheel.advance_with_budget(coarse + (40 << 20), budget) {
                assert_eq!(item.value, next, "fired out of order");
                next += 1;
                assert!(item.deadline == coarse + (40 << 20));
            }
            let bytes = wheel.stats().bytes;
            assert!(bytes <= most, "{bytes} bytes, {most} at the most");
        }
        assert_eq!(wheel.next_deadline(), Some(coarse + (63 << 20)));
        let last = wheel.advance(coarse + (63 << 20)).next();
        assert_eq!(last.map(|item| item.value), Some(u32::MAX));
    }
}

/// What is moved out of a crowd's way is paid for, as it is visited; and it is moved for the sake of
/// four times as many at least, if the budget is enough.
#[test]
fn timers_that_make_way_are_paid_for_and_fewer_than_those_they_make_way_for() {
    const TICK: u64 = 1 << 20;
    const EARLY: usize = 64;
    let start = 256 * TICK;
    let now = start + 50 * TICK;
    // In the run at the end are the early timers, and what was collected and has not fired.
    for (crowd, budget, used, due) in [
        (1000, 9_999, 1 + EARLY + 2 * 1000, EARLY),
        (4 * EARLY, 9_999, 1 + EARLY + 2 * 4 * EARLY, EARLY),
        (4 * EARLY - 1, 9_999, 1 + 2 * (4 * EARLY - 1), EARLY),
        (1000, EARLY + 1, EARLY + 1, EARLY),
        (1000, EARLY, EARLY, 2 * EARLY - 1),
        (1000, 1, 1, EARLY),
    ] {
        let mut wheel: Wheel<usize> = Wheel::new(0);
        for n in 0..EARLY {
            wheel.schedule(start + (100 + n as u64) * TICK, n);
        }
        assert_eq!(wheel.advance(start).count(), 0);
        assert_eq!(wheel.stats().due, EARLY, "brought up early");
        for n in 0..crowd {
            wheel.schedule(now, n);
        }
        let mut advance = wheel.advance_with_budget(now, budget);
        advance.by_ref().for_each(drop);
        assert_eq!(budget - advance.unused(), used, "{crowd}, budget {budget}");
        assert_eq!(wheel.stats().due, due, "{crowd}, budget {budget}");
        wheel.check_invariants();
    }
}

/// Cancelling the very last timer that a call has collected leaves a stale entry at the end of the
/// run, and what is collected next must extend it all the same.
#[test]
fn cancelled_end_of_a_piece_sends_no_crowd_to_the_heap() {
    const CROWD: usize = 100_000;
    const BUDGET: usize = 256;
    let deadline = 300 << 20;
    let mut wheel: Wheel<u32> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..CROWD as u32)
        .map(|nth| wheel.schedule(deadline, nth))
        .collect();
    // Up to the tick before, so that the next calls only collect.
    assert_eq!(wheel.advance(299 << 20).count(), 0);
    let most = wheel.stats().bytes + (CROWD + 8192) * 8;
    let mut expected: Vec<u32> = (0..CROWD as u32).collect();
    let mut fired = Vec::new();
    while !wheel.is_empty() {
        let advance = wheel.advance_with_budget(deadline, BUDGET);
        fired.extend(advance.map(|item| item.value));
        let collected = fired.len() + wheel.stats().due;
        if fired.is_empty() && (1..CROWD).contains(&collected) {
            let cancelled = expected.remove(collected - 1);
            assert_eq!(wheel.cancel(keys[cancelled as usize]), Some(cancelled));
            wheel.check_invariants();
        }
        let bytes = wheel.stats().bytes;
        assert!(bytes <= most, "{bytes} bytes, {most} at the most");
    }
    assert!(expected.len() < CROWD - 100, "most pieces lost their last");
    assert_eq!(fired, expected);
}
