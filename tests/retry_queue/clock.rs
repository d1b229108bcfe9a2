//! Time that goes backwards, and its end.

use std::time::Duration;

use timer_wheel::retry::RetryQueue;

use crate::{configured, deliveries, events};

/// Ours, in its third year: after `failed(.., 1_000)` a `failed(.., 900)` counted as 900. Every call that is told a
/// time remembers it.
#[test]
fn time_that_goes_backwards_stands_still_in_every_call() {
    let calls: [fn(&mut RetryQueue<u32>, u64); 2] = [
        |queue, now| assert!(deliveries(queue, now).is_empty()),
        |queue, now| {
            let stale = queue.push(7, 0);
            queue.done(stale);
            assert_eq!(queue.failed(stale, now), None, "also of a key that is stale");
        },
    ];
    for tell in calls {
        let mut queue =
            configured(|it| (it.retry_delay, it.pending_timeout) = (Duration::from_nanos(50), Duration::MAX));
        let keys = [1, 2].map(|value| queue.push(value, 0));
        assert_eq!(deliveries(&mut queue, 0), [(1, 1), (2, 1)]);
        tell(&mut queue, 1_000);
        assert_eq!(queue.failed(keys[0], 900), Some(1_050));
        assert_eq!(queue.failed(keys[1], 2_000), Some(2_050));
        queue.push(3, 1_999);
        assert_eq!(deliveries(&mut queue, 900), [(1, 2), (3, 1)]);
        assert_eq!((queue.wake_at(), queue.expiration_delay()), (Some(2_050), Some(50)));
        assert_eq!(queue.failed(keys[0], 0), Some(2_050));
        tell(&mut queue, 2_049);
        assert_eq!((queue.wake_at(), queue.expiration_delay()), (Some(2_050), Some(1)));
    }
}

/// Where a retry cannot come later than the attempt, it would come again and again.
#[test]
fn loop_at_the_end_of_time_ends() {
    let mut queue = configured(|_| {});
    let keys = [u64::MAX, u64::MAX - 5, 0].map(|at| queue.push(at, at));
    assert_eq!(deliveries(&mut queue, u64::MAX - 5), [(0, 1), (u64::MAX - 5, 1)]);
    assert_eq!(queue.failed(keys[1], u64::MAX - 4), Some(u64::MAX));
    assert_eq!(queue.failed(keys[2], u64::MAX), None, "every timeout is over");
    let given_up = vec![(0, 1), (u64::MAX - 5, 1), (u64::MAX, 1)];
    assert_eq!(events(&mut queue, u64::MAX), [vec![(u64::MAX, 1)], given_up]);
}

#[test]
fn delays_as_long_as_time_never_end() {
    let mut queue = configured(|it| (it.retry_delay, it.pending_timeout) = (Duration::MAX, Duration::MAX));
    let keys = [1, 2].map(|value| queue.push(value, 0));
    assert_eq!(deliveries(&mut queue, 0), [(1, 1), (2, 1)]);
    assert_eq!(queue.failed(keys[0], 7), Some(u64::MAX));
    assert!(deliveries(&mut queue, u64::MAX - 1).is_empty());
    assert_eq!(events(&mut queue, u64::MAX), [vec![], vec![(2, 1), (1, 1)]]);
}
