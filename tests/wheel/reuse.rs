//! Slots that are used again, entries that move, and buckets that are brought up as a whole: the corners
//! in which one timer could be taken for another.

use timer_wheel::{Caffeine, Compact, Geometry, Millis, TimerKey, Wheel};

use crate::geometries::Bare;

const TICK: u64 = 1 << 20;

/// A wheel in which every timer lies in a list.
type Lists = Wheel<u64, Bare<Millis>>;

fn fired<G: Geometry>(wheel: &mut Wheel<u64, G>, now: u64) -> Vec<(u64, u64)> {
    let fired = wheel.advance(now).map(|item| (item.deadline, item.value));
    let fired = fired.collect();
    wheel.check_invariants();
    fired
}

/// A slot that is used again for the same tick has one entry all the same.
#[test]
fn slot_reused_for_the_same_tick_fires_once() {
    let deadline = 300 * TICK + 5;
    let mut wheel = Lists::with_geometry(0);
    wheel.schedule(deadline + 1, 100);
    for value in 0..10 {
        let key = wheel.schedule(deadline, value);
        wheel.check_invariants();
        assert_eq!(wheel.cancel(key), Some(value));
    }
    wheel.schedule(deadline, 10);
    wheel.check_invariants();
    assert_eq!(wheel.ascending().count(), 2);
    assert_eq!(wheel.descending().count(), 2);
    assert_eq!(fired(&mut wheel, 256 * TICK), []);
    assert_eq!(
        fired(&mut wheel, deadline + 1),
        [(deadline, 10), (deadline + 1, 100)]
    );
    assert_eq!(wheel.stats().blocks, 0);
}

#[test]
fn slot_reused_for_the_same_tick_of_a_crowded_bucket_is_moved_down_once() {
    let mut wheel = Lists::with_geometry(0);
    let deadline = |n: u64| (256 + 5 + n % 200) * TICK;
    let keys: Vec<TimerKey> = (0..300).map(|n| wheel.schedule(deadline(n), n)).collect();
    assert_eq!(wheel.cancel(keys[299]), Some(299));
    wheel.schedule(deadline(299), 299);
    assert_eq!(wheel.stats().slots, 300);
    assert_eq!(fired(&mut wheel, 256 * TICK), []);
    assert_eq!(fired(&mut wheel, 512 * TICK).len(), 300);
}

/// The same in a bucket that is emptied in instalments, where some have come down and some have not.
#[test]
fn slot_reused_while_its_bucket_is_emptied_fires_once() {
    for budget in 1..400 {
        let mut wheel = Lists::with_geometry(0);
        let keys: Vec<TimerKey> = (0..300)
            .map(|n| wheel.schedule((256 + n % 256) * TICK + 1, n))
            .collect();
        let mut advance = wheel.advance_with_budget(256 * TICK, budget);
        assert!(advance.next().is_none());
        let mut live = 300;
        for (n, key) in (0..300).zip(keys) {
            if n % 3 != 0 {
                assert_eq!(wheel.cancel(key), Some(n));
                live -= 1;
            }
        }
        wheel.check_invariants();
        for n in (0..300).filter(|n| n % 3 == 1) {
            wheel.schedule((256 + n % 256) * TICK + 1, n);
            live += 1;
        }
        wheel.check_invariants();
        let fired = fired(&mut wheel, 512 * TICK);
        assert_eq!(fired.len(), live, "budget {budget}");
        assert!(fired.is_sorted_by_key(|item| item.0));
        assert!(wheel.is_empty());
    }
}

/// A hole at the head of the run must not hide the live ones behind it from the heap's.
#[test]
fn timers_behind_one_that_left_the_run_keep_their_turn() {
    let mut wheel = Lists::with_geometry(0);
    let keys: Vec<TimerKey> = (0..4).map(|n| wheel.schedule(9, n)).collect();
    assert_eq!(wheel.pop_expired(20).map(|item| item.value), Some(0));
    wheel.schedule(9, 10);
    assert!(wheel.reschedule(keys[1], 9), "behind all others");
    assert_eq!(fired(&mut wheel, 20), [(9, 2), (9, 3), (9, 10), (9, 1)]);
}

/// A timer that was brought up early and leaves the run may come back with a later bucket, while the
/// run is still there.
#[test]
fn timer_that_comes_back_to_an_early_run_fires_at_its_own_time() {
    let start = 1 << 36;
    let mut wheel = Lists::with_geometry(0);
    let keys: Vec<TimerKey> = (0..8)
        .map(|n| wheel.schedule(start + 40 * TICK, n))
        .collect();
    assert_eq!(fired(&mut wheel, start), []);
    for (key, to) in keys.iter().zip([50, 40, 30, 60]) {
        assert!(wheel.reschedule(*key, start + to * TICK));
        wheel.check_invariants();
    }
    let order: Vec<u64> = wheel.ascending().map(|timer| *timer.value).collect();
    let expected = [2, 4, 5, 6, 7, 1, 0, 3];
    assert_eq!(order, expected);
    let mut reverse: Vec<u64> = wheel.descending().map(|timer| *timer.value).collect();
    reverse.reverse();
    assert_eq!(reverse, expected);
    let fired = fired(&mut wheel, start + 100 * TICK);
    assert_eq!(
        fired.iter().map(|item| item.1).collect::<Vec<_>>(),
        expected
    );
}

/// What is scheduled into the range of a bucket that was brought up early fires in between.
#[test]
fn timer_scheduled_into_an_early_run_fires_in_its_place() {
    let start = 256 * TICK;
    let mut wheel = Lists::with_geometry(0);
    for n in 0..10 {
        wheel.schedule(start + 20 * n * TICK, n);
    }
    assert_eq!(fired(&mut wheel, start + TICK), [(start, 0)]);
    let between = start + 30 * TICK + 7;
    wheel.schedule(between, 100);
    wheel.schedule(start + 2 * TICK, 101);
    wheel.check_invariants();
    assert_eq!(wheel.next_deadline(), Some(start + 2 * TICK));
    assert!(wheel.expiration_delay().is_some_and(|delay| delay <= TICK));
    let values: Vec<u64> = fired(&mut wheel, start + 41 * TICK)
        .into_iter()
        .map(|item| item.1)
        .collect();
    assert_eq!(values, [101, 1, 100, 2]);
    assert_eq!(wheel.next_deadline(), Some(start + 60 * TICK));
    assert_eq!(
        wheel.expiration_delay(),
        Some(19 * TICK),
        "a timer brought up early is exact"
    );
}

/// What comes and goes beside timers that stay leaves them where they are, and no block behind.
#[test]
fn churn_beside_timers_that_stay_leaves_the_blocks_where_they_were() {
    fn check<G: Geometry>() {
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let far = 20_480 * TICK;
        let mut kept: Vec<u64> = (0..50).map(|n| far + n % 7).collect();
        for (n, &deadline) in kept.iter().enumerate() {
            wheel.schedule(deadline, n as u64);
        }
        let before = wheel.stats();
        for call in 0..300_000 {
            let key = wheel.schedule(far + call % 5, 1_000);
            let other = wheel.schedule(far / 2, 1_000);
            assert!(wheel.cancel(key).is_some() && wheel.cancel(other).is_some());
            if call % 1_000 == 0 {
                let stats = wheel.stats();
                let held = (stats.blocks, stats.occupied, stats.ready);
                assert_eq!(held, (before.blocks, before.occupied, before.ready));
            }
        }
        wheel.check_invariants();
        kept.sort_unstable();
        let deadlines: Vec<u64> = fired(&mut wheel, u64::MAX)
            .iter()
            .map(|item| item.0)
            .collect();
        assert_eq!(deadlines, kept);
    }
    check::<Millis>();
    check::<Bare<Millis>>();
    check::<Bare<Caffeine>>();
}

#[test]
fn shrink_to_fit_time_and_again_keeps_every_timer() {
    let mut wheel = Lists::with_geometry(0);
    let keys: Vec<TimerKey> = (0..500).map(|n| wheel.schedule(n << 21, n)).collect();
    for key in keys.iter().step_by(2) {
        assert!(wheel.cancel(*key).is_some());
    }
    for _ in 0..4 {
        wheel.shrink_to_fit();
        wheel.check_invariants();
    }
    assert_eq!(fired(&mut wheel, u64::MAX).len(), 250);
}

/// Timers of a bucket that was brought up early may be in the near heap, not only in the run.
#[test]
fn descending_walk_knows_early_timers_in_the_heap() {
    let mut wheel: Wheel<u64, Bare<Compact>> = Wheel::with_geometry(0);
    let anchor = wheel.schedule((4_096 + 3_000) * TICK, 0);
    assert_eq!(fired(&mut wheel, 4_096 * TICK), []);
    let now = (4_096 + 640) * TICK;
    for n in 1..=10 {
        wheel.schedule(now + 5 * n * TICK, n);
    }
    assert_eq!(wheel.advance_with_budget(now, 3).count(), 0);
    wheel.cancel(anchor);
    assert_eq!(wheel.advance(now).count(), 0);
    let down: Vec<u64> = wheel.descending().map(|timer| *timer.value).collect();
    assert_eq!(down, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
}

/// A walk in reverse that has handed out all of a bucket that it read, because they were put off, has
/// more to read, though the next that waits is one that was put off as well.
#[test]
fn descending_walk_reads_on_behind_a_bucket_of_postponed_timers() {
    let mut wheel = Lists::with_geometry(0);
    let from_1 = wheel.schedule(TICK, 3);
    let from_5 = wheel.schedule(5 * TICK, 10);
    wheel.schedule(4 * TICK, 4);
    assert!(wheel.reschedule(from_1, 3 * TICK) && wheel.reschedule(from_5, 10 * TICK));
    let values: Vec<u64> = wheel.descending().map(|timer| *timer.value).collect();
    assert_eq!(values, [10, 4, 3]);
}

/// What is due last of a run is not all that is awaited.
#[test]
fn timer_scheduled_behind_the_last_of_the_run_fires() {
    let mut wheel = Lists::with_geometry(0);
    wheel.schedule(TICK + 5, 1);
    assert_eq!(fired(&mut wheel, TICK + 1), []);
    wheel.schedule(TICK + 10, 2);
    assert_eq!(fired(&mut wheel, TICK + 5), [(TICK + 5, 1)]);
    assert_eq!(wheel.expiration_delay(), Some(5));
    assert_eq!(fired(&mut wheel, TICK + 10), [(TICK + 10, 2)]);
}

#[test]
fn timer_scheduled_before_the_head_of_the_heap_wakes_first() {
    let mut wheel = Lists::with_geometry(0);
    for deadline in [5, 6, 20] {
        wheel.schedule(deadline, deadline);
    }
    assert_eq!(fired(&mut wheel, 5), [(5, 5)]);
    wheel.schedule(10, 10);
    assert_eq!(fired(&mut wheel, 6), [(6, 6)]);
    assert_eq!(wheel.expiration_delay(), Some(4));
}

#[test]
fn timer_that_left_an_early_run_does_not_fire_at_its_old_time() {
    let tick = 306 * TICK;
    let mut wheel = Lists::with_geometry(0);
    wheel.schedule(tick + 5, 0);
    let key = wheel.schedule(tick + 7, 1);
    assert_eq!(fired(&mut wheel, 256 * TICK), []);
    assert!(wheel.reschedule(key, tick + 9));
    assert_eq!(fired(&mut wheel, tick + 8), [(tick + 5, 0)]);
    assert_eq!(fired(&mut wheel, tick + 9), [(tick + 9, 1)]);
}

#[test]
fn cancelled_timers_wake_nobody_beside_an_early_run() {
    let start = 256 * TICK;
    let mut wheel = Lists::with_geometry(0);
    let keys = [0, 20, 40, 100].map(|n| wheel.schedule(start + n * TICK, n));
    assert_eq!(fired(&mut wheel, start), [(start, 0)]);
    let between = wheel.schedule(start + 50 * TICK, 50);
    assert!(wheel.cancel(between).is_some(), "its bucket is gone");
    assert!(wheel.cancel(keys[1]).is_some(), "the head of the run");
    assert_eq!(wheel.expiration_delay(), Some(40 * TICK));
    assert_eq!(fired(&mut wheel, start + 40 * TICK).len(), 1);
    assert_eq!(wheel.expiration_delay(), Some(60 * TICK));
}

/// One timer fewer, and they are brought up when their coarse bucket begins, so that the wheel knows
/// when exactly they are due; one more, and it knows their tick.
#[test]
fn only_a_sparse_bucket_is_brought_up_whole() {
    for (timers, delay) in [(256, 50 * TICK + 7), (257, 50 * TICK)] {
        let mut wheel = Lists::with_geometry(0);
        for n in 0..timers {
            wheel.schedule(306 * TICK + 7, n);
        }
        assert_eq!(fired(&mut wheel, 256 * TICK), []);
        assert_eq!(wheel.expiration_delay(), Some(delay));
    }
}

/// However many slots there are and however long a bucket is, its few timers are known to the nanosecond
/// once it has been brought up.
#[test]
fn sparse_bucket_of_a_wide_geometry_is_brought_up_whole() {
    /// What a bucket of Caffeine's level 3 spans.
    const SPAN: u64 = 1 << 47;
    const LATER: u64 = (1 << 40) + 5;
    for slots in [4, 1 << 17] {
        let mut wheel: Wheel<u64, Bare<Caffeine>> = Wheel::with_geometry(0);
        for n in 4..slots {
            wheel.schedule(u64::MAX, n);
        }
        for (n, offset) in [9, 7, SPAN - 1, LATER].into_iter().enumerate() {
            wheel.schedule(SPAN + offset, n as u64);
        }
        assert_eq!(fired(&mut wheel, SPAN), []);
        assert_eq!(wheel.expiration_delay(), Some(7));
        assert_eq!(fired(&mut wheel, SPAN + 9), [(SPAN + 7, 1), (SPAN + 9, 0)]);
        assert_eq!(wheel.expiration_delay(), Some(LATER - 9), "{slots} slots");
        let last = [(SPAN + LATER, 3), (2 * SPAN - 1, 2)];
        assert_eq!(fired(&mut wheel, 2 * SPAN), last);
    }
}

#[test]
fn list_given_up_from_the_middle_of_a_block_gives_all_blocks_back() {
    let mut wheel = Lists::with_geometry(0);
    let keys: Vec<TimerKey> = (0..40).map(|n| wheel.schedule(300 * TICK, n)).collect();
    assert_eq!(wheel.advance_with_budget(256 * TICK, 11).count(), 0);
    for key in &keys[10..] {
        assert!(wheel.cancel(*key).is_some());
    }
    wheel.check_invariants();
    assert_eq!(wheel.stats().blocks, 1);
}

#[test]
fn moves_to_and_fro_leave_the_blocks_where_they_were() {
    let far = 20_480 * TICK;
    let mut wheel = Lists::with_geometry(0);
    for n in 0..50 {
        wheel.schedule(far, n);
    }
    let key = wheel.schedule(far, 50);
    for _ in 0..20_000 {
        // Put off in place, and then taken back to the old time by another entry.
        assert!(wheel.reschedule(key, far + 9 * TICK));
        assert!(wheel.reschedule(key, far));
    }
    assert!(wheel.stats().blocks <= 16);
    wheel.check_invariants();
}

#[test]
fn shrink_to_fit_in_the_middle_of_a_churn_keeps_every_timer() {
    let far = 20_480 * TICK;
    let mut wheel = Lists::with_geometry(0);
    for n in 0..200 {
        wheel.schedule(far + n, n);
    }
    for call in 0..20_000 {
        let key = wheel.schedule(far, 1_000);
        assert!(wheel.cancel(key).is_some());
        if call % 37 == 0 {
            let mut copy = wheel.clone();
            copy.shrink_to_fit();
            assert_eq!(fired(&mut copy, u64::MAX).len(), 200);
        }
    }
}

#[test]
fn timer_cancelled_while_a_far_rotation_is_moved_down_is_gone() {
    let start = 1 << 52;
    for budget in 1..40 {
        let mut wheel = Lists::with_geometry(0);
        let ticks = [2, 1, u64::from(u32::MAX), 1 << 31, 1 << 12, 2 << 32];
        let keys: Vec<TimerKey> = (0..36)
            .map(|n| wheel.schedule(start + ticks[n as usize % 6] * TICK, n))
            .collect();
        assert_eq!(wheel.advance_with_budget(start, budget).count(), 0);
        for (n, key) in (0..36).zip(&keys).filter(|(n, _)| n % 4 != 0) {
            assert_eq!(wheel.cancel(*key), Some(n));
            wheel.check_invariants();
        }
        assert_eq!(fired(&mut wheel, u64::MAX).len(), 9);
    }
}

/// The run is used up in the middle of a bucket, and gives its memory back; what comes after is read
/// as it was written.
#[test]
fn crowd_cancelled_between_two_pieces_leaves_the_rest_in_order() {
    const PIECE: usize = 2_000;
    for budget in [100, PIECE] {
        let mut wheel = Lists::with_geometry(0);
        let deadline = |n: u64| 300 * TICK + n % 7;
        let count = PIECE as u64 + 500;
        assert_eq!(wheel.advance(299 * TICK).count(), 0);
        let keys: Vec<TimerKey> = (0..count).map(|n| wheel.schedule(deadline(n), n)).collect();
        let advance = wheel.advance_with_budget(300 * TICK + 7, budget + 1);
        assert_eq!(advance.count(), 0);
        let stats = wheel.stats();
        assert_eq!(stats.ready, budget, "a piece has been collected");
        assert_eq!(wheel.levels()[0].timers(), PIECE + 500 - budget);
        // A list is collected from its end; from the first that fires on.
        let mut cancelled: Vec<usize> = (PIECE + 500 - budget..PIECE + 500).collect();
        cancelled.sort_by_key(|&n| deadline(n as u64));
        for &n in &cancelled {
            assert!(wheel.cancel(keys[n]).is_some());
        }
        assert_eq!(wheel.stats().ready, 0, "all that was collected");
        wheel.check_invariants();
        let left = 0..(PIECE + 500 - budget) as u64;
        let mut expected: Vec<(u64, u64)> = left.map(|n| (deadline(n), n)).collect();
        expected.sort_unstable();
        assert_eq!(fired(&mut wheel, 300 * TICK + 7), expected);
    }
}

/// Those that left a run before others come in between, and those after.
#[test]
fn cancelled_timers_of_a_run_with_others_in_between_stay_cancelled() {
    let start = 256 * TICK;
    let crowd = start + 50 * TICK;
    let mut wheel = Lists::with_geometry(0);
    let early: Vec<TimerKey> = (0..60)
        .map(|n| wheel.schedule(start + (100 + n) * TICK, n))
        .collect();
    assert_eq!(fired(&mut wheel, start), []);
    for n in (1..60).filter(|n| n % 3 == 1) {
        assert_eq!(wheel.cancel(early[n]), Some(n as u64));
        wheel.check_invariants();
    }
    // In the slots of those that left, and more.
    for n in 0..500 {
        wheel.schedule(crowd, 1_000 + n);
    }
    assert_eq!(fired(&mut wheel, crowd).len(), 500);
    for n in (1..60).filter(|n| n % 3 == 2) {
        assert_eq!(wheel.cancel(early[n]), Some(n as u64));
        wheel.check_invariants();
    }
    let left: Vec<(u64, u64)> = (0..60)
        .filter(|n| n % 3 == 0)
        .map(|n| (start + (100 + n) * TICK, n))
        .collect();
    assert_eq!(fired(&mut wheel, u64::MAX), left);
}

#[test]
fn slots_made_while_a_bucket_is_collected_disturb_nobody() {
    for slots in [1, 2, 3, 4, 127, 128, 129, 255, 256, 257] {
        let tick = 256 * TICK;
        let mut wheel = Lists::with_geometry(0);
        let mut expected = Vec::new();
        for n in 0..slots {
            wheel.schedule(tick + 9 - n % 2, n);
            expected.push((tick + 9 - n % 2, n));
        }
        let budget = 2 + slots as usize / 2;
        assert_eq!(wheel.advance_with_budget(tick + 9, budget).count(), 0);
        for n in slots..3 * slots + 70 {
            // Into what is collected, behind it in the same tick, and into the next.
            let deadline = tick + [3, 8, 9, TICK][n as usize % 4];
            wheel.schedule(deadline, n);
            expected.push((deadline, n));
            wheel.check_invariants();
        }
        wheel.shrink_to_fit();
        expected.sort_unstable();
        assert_eq!(fired(&mut wheel, tick + TICK), expected, "{slots} slots");
    }
}

/// Few enough to be sorted by rank, in both halves of their span.
#[test]
fn timers_spread_over_a_whole_bucket_fire_in_order() {
    for span in [TICK, 256 * TICK, 1 << 36] {
        let mut wheel = Lists::with_geometry(0);
        // The later, the less is left of the part below.
        let deadline = |n: u64| span + n * (span / 16) + (16 - n) * (TICK / 256);
        let mut expected = [15, 3, 8, 12, 1].map(|n| (deadline(n), n));
        for (deadline, n) in expected {
            wheel.schedule(deadline, n);
        }
        expected.sort_unstable();
        assert_eq!(fired(&mut wheel, 2 * span - 1), expected);
    }
}

#[test]
fn crowd_behind_a_crowd_before_an_early_timer_fires() {
    let start = 256 * TICK;
    let mut wheel = Lists::with_geometry(0);
    wheel.schedule(start + 100 * TICK, 0);
    assert_eq!(fired(&mut wheel, start), []);
    for tick in [40, 50, 60] {
        let deadline = start + tick * TICK;
        let crowd: Vec<(u64, u64)> = (1..9).map(|n| (deadline, n)).collect();
        for &(deadline, n) in &crowd {
            wheel.schedule(deadline, n);
        }
        assert_eq!(fired(&mut wheel, deadline), crowd);
    }
    assert_eq!(fired(&mut wheel, u64::MAX), [(start + 100 * TICK, 0)]);
}

/// A slot of the run that is used again is none of the run's.
#[test]
fn slot_reused_elsewhere_hides_nobody_behind_it_in_the_run() {
    let now = 5 * TICK;
    let mut wheel = Lists::with_geometry(0);
    let keys: Vec<TimerKey> = (0..5).map(|n| wheel.schedule(now, n)).collect();
    assert_eq!(wheel.pop_expired(now).map(|item| item.value), Some(0));
    wheel.schedule(now, 5);
    assert_eq!(wheel.pop_expired(now).map(|item| item.value), Some(1));
    assert_eq!(wheel.cancel(keys[3]), Some(3));
    for n in 6..9 {
        wheel.schedule(u64::MAX, n);
    }
    assert_eq!(fired(&mut wheel, now), [(now, 2), (now, 4), (now, 5)]);
}
