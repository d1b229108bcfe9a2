//! Buckets that are sorted whole before their time: when they are, and what becomes of their timers.

use timer_wheel::{Caffeine, Geometry, Wheel};

use crate::geometries::with_lists;

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
