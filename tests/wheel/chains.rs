//! Buckets that are sorted whole before their time: when they are, and what becomes of their timers.

use timer_wheel::{Budget, Caffeine, Geometry, TimerKey, Wheel};

use crate::geometries::{FAR_TIMERS, with_lists};

const TICK: u64 = 1 << 20;

/// A wheel in which every timer lies in a list.
fn lists() -> Wheel<u64> {
    with_lists(0)
}

/// What fires, but for the ballast.
fn fired<G: Geometry>(wheel: &mut Wheel<u64, G>, now: u64) -> Vec<(u64, u64)> {
    let fired = wheel.advance(now).map(|item| (item.deadline, item.value));
    let fired = fired.filter(|&(_, value)| value != u64::MAX).collect();
    wheel.check_invariants();
    fired
}

/// The values in ascending order, which is the reverse of the descending one, but for the ballast.
fn in_order(wheel: &Wheel<u64>) -> Vec<u64> {
    let up: Vec<u64> = wheel.ascending().map(|timer| *timer.value).collect();
    assert!(up.iter().rev().eq(wheel.descending().map(|timer| timer.value)));
    up[..up.len() - FAR_TIMERS].to_vec()
}

/// A timer that was sorted early and leaves its chain may come back with a later bucket, while the chain is still
/// there.
#[test]
fn timer_that_comes_back_to_an_early_chain_fires_at_its_own_time() {
    let start = 1 << 36;
    let mut wheel = lists();
    let keys: Vec<TimerKey> = (0..8).map(|n| wheel.schedule(start + 40 * TICK, n)).collect();
    assert_eq!(fired(&mut wheel, start), []);
    for (key, to) in keys.iter().zip([50, 40, 30, 60]) {
        assert!(wheel.reschedule(*key, start + to * TICK));
        wheel.check_invariants();
    }
    let expected = [2, 4, 5, 6, 7, 1, 0, 3];
    assert_eq!(in_order(&wheel), expected);
    let fired = fired(&mut wheel, start + 100 * TICK);
    assert_eq!(fired.iter().map(|item| item.1).collect::<Vec<_>>(), expected);
}

#[test]
fn cancelled_timers_wake_nobody_beside_an_early_chain() {
    let start = 256 * TICK;
    let mut wheel = lists();
    let keys = [0, 20, 40, 100].map(|n| wheel.schedule(start + n * TICK, n));
    assert_eq!(fired(&mut wheel, start), [(start, 0)]);
    let between = wheel.schedule(start + 50 * TICK, 50);
    assert!(wheel.cancel(between).is_some(), "its bucket is gone");
    assert!(wheel.cancel(keys[1]).is_some(), "the head of the chain");
    assert_eq!(wheel.expiration_delay(), Some(40 * TICK));
    assert_eq!(fired(&mut wheel, start + 40 * TICK).len(), 1);
    assert_eq!(wheel.expiration_delay(), Some(60 * TICK));
}

/// One timer fewer, and they are brought up when their coarse bucket begins, so that the wheel knows
/// when exactly they are due; one more, and it knows their tick.
#[test]
fn only_a_sparse_bucket_is_brought_up_whole() {
    for (timers, delay) in [(512, 50 * TICK + 7), (513, 50 * TICK)] {
        let mut wheel = lists();
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
        let mut wheel = with_lists::<Caffeine>(0);
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
fn timer_cancelled_while_a_far_rotation_is_moved_down_is_gone() {
    let start = 1 << 52;
    for work in 1..40 {
        let mut wheel = lists();
        let ticks = [2, 1, u64::from(u32::MAX), 1 << 31, 1 << 12, 2 << 32];
        let keys: Vec<TimerKey> = (0..36).map(|n| wheel.schedule(start + ticks[n as usize % 6] * TICK, n)).collect();
        assert_eq!(wheel.advance_with_budget(start, &mut Budget::of_work(work)).count(), 0);
        for (n, key) in (0..36).zip(&keys).filter(|(n, _)| n % 4 != 0) {
            assert_eq!(wheel.cancel(*key), Some(n));
            wheel.check_invariants();
        }
        assert_eq!(fired(&mut wheel, u64::MAX).len(), 9);
    }
}
