//! The traps that this and other queues fell into, each under its name.

use std::time::Duration;

use timer_wheel::Budget;
use timer_wheel::retry::{RetryEvent, RetryQueue};

use crate::{MS, configured, deliveries, events};

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

/// Ours, in its third year: between the timeout and the retry `failed` answered as if nothing had timed out.
#[test]
fn failure_after_the_timeout_is_stale_and_changes_nothing() {
    const SECOND: u64 = 1_000 * MS;
    let mut queue = configured(|_| {});
    let keys = [1, 2, 3].map(|value| queue.push(value, 0));
    assert_eq!(queue.failed(keys[0], 0), None, "not yet delivered");
    assert_eq!(deliveries(&mut queue, 0), [(1, 1), (2, 1), (3, 1)]);
    assert_eq!(queue.failed(keys[0], 10 * SECOND - 1), Some(11 * SECOND - 1));
    assert_eq!(queue.failed(keys[0], 10 * SECOND - 1), None, "once is enough");
    assert_eq!(queue.failed(keys[1], 10 * SECOND), None);
    assert!(deliveries(&mut queue, 10 * SECOND).is_empty());
    assert_eq!(queue.failed(keys[2], 10 * SECOND), None, "whether or not a poll came in between");
    assert_eq!(deliveries(&mut queue, 11 * SECOND), [(1, 2), (2, 2), (3, 2)], "the timeout and the delay of a retry");
    assert_eq!(queue.failed(keys[2], 11 * SECOND), Some(12 * SECOND), "an answer counts for the latest delivery");
}

/// Ours, in its third year: a poll without a budget took 21 ms at a million values in one tick.
#[test]
fn poll_does_no_more_than_its_budget_at_a_crowd_in_one_tick() {
    const COUNT: usize = 1_000_000;
    const UNITS: usize = 256;
    const AT: u64 = 60_000 * MS;
    let mut queue = configured(|it| it.attempts = 1);
    (0..COUNT).for_each(|nth| _ = queue.push(nth, AT + (nth * 7_919 % 1_000) as u64));
    let (mut delivered, mut given_up) = (0, 0);
    for now in [AT + 1_000, AT + 20_000 * MS] {
        let (mut turns, mut last) = (0, None);
        while turns == 0 || queue.expiration_delay() == Some(0) {
            turns += 1;
            let (mut budget, mut events) = (Budget::of_work(UNITS), 0);
            while let Some(event) = queue.poll(now, &mut budget) {
                events += 1;
                let order = match event {
                    RetryEvent::Deliver { value, .. } => (*value * 7_919 % 1_000, *value),
                    RetryEvent::GaveUp { value, .. } => (value * 7_919 % 1_000, value),
                };
                assert!(last.replace(order) < Some(order), "in order of deadline, first in first out");
            }
            assert!(events + budget.work <= UNITS, "each event takes a unit");
            *if now < AT + 10_000 * MS { &mut delivered } else { &mut given_up } += events;
        }
        // Each value is visited on its way through the levels, sorted, and fires.
        assert!(turns <= 14 * COUNT / UNITS, "it took {turns} turns");
    }
    assert!((delivered, given_up) == (COUNT, COUNT) && queue.is_empty());
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
