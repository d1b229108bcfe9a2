//! What Dongting's `TtlManager` is tested for, with its numbers, where no other test says it. Its mistakes are in
//! `traps`.

use timer_wheel::ttl::{Outcome, Role, TtlConfig, TtlQueue};

use crate::script::MS;
use crate::start::{SECOND, created, flights};

/// Some moment on a machine that has been up for a while.
const START: u64 = 987_654_321_987;

/// A queue on a leader, with so many keys from `test0` on.
fn leader(count: usize, ttl_ms: u64) -> TtlQueue<String> {
    let mut queue = TtlQueue::new(START, TtlConfig::default());
    queue.role_change(Role::Leader, START);
    for nth in 0..count {
        let outcome = queue.init(format!("test{nth}"), 1, ttl_ms, created(START));
        assert_eq!(outcome, Ok(Outcome::Scheduled));
    }
    queue
}

/// The number of expiries that a poll yields and the wait that it tells.
fn poll(queue: &mut TtlQueue<String>, now: u64) -> (usize, Option<u64>) {
    (queue.poll(now).count(), queue.expiration_delay())
}

#[test]
fn zero_ttl_is_ignored() {
    let mut queue = leader(1, 5);
    assert_eq!(queue.init("test".to_string(), 1, 0, created(START)), Ok(Outcome::Ignored));
    assert_eq!(queue.update("test0", 2, 0, created(START)), Ok(Outcome::Ignored));
    assert_eq!(queue.get("test0").map(|timer| timer.entry.index), Some(1));
    assert_eq!(queue.len(), 1);
}

#[test]
fn init_with_two_milliseconds_waits_two_million_nanoseconds() {
    let mut queue = leader(1, 2);
    assert_eq!(queue.expiration_delay(), Some(2_000_000));
    assert_eq!(poll(&mut queue, START), (0, Some(2_000_000)));
    assert_eq!(poll(&mut queue, START + 1_999_999), (0, Some(1)));
    assert_eq!(poll(&mut queue, START + 2_000_000), (1, Some(10 * SECOND)));
}

#[test]
fn remove_while_queued_due_or_pending_leaves_nothing() {
    let now = START + 6 * MS;
    let polls: [fn(&mut TtlQueue<String>); 3] =
        [|_| (), |queue| drop(queue.poll(START + 6 * MS)), |queue| queue.poll(START + 6 * MS).for_each(drop)];
    for before in polls {
        let mut queue = leader(1, 5);
        before(&mut queue);
        assert!(queue.remove("test0").is_some());
        assert_eq!((queue.len(), flights(&queue)), (0, (0, 0)));
        assert_eq!(poll(&mut queue, now), (0, None));
        assert_eq!(poll(&mut queue, now + 100 * SECOND), (0, None));
        assert!(queue.remove("test0").is_none());
    }
}

#[test]
fn fifty_expiries_and_ten_retries_are_a_batch_and_no_wait_means_more() {
    let now = START + 6 * MS;
    // The wait for a timeout may be early.
    let assert_wait = |(count, wait): (usize, Option<u64>), expected, seconds| {
        let wait = wait.expect("a proposal is pending");
        assert_eq!(count, expected);
        assert!(wait > (seconds - 1) * SECOND && wait <= seconds * SECOND, "{wait}");
    };
    assert_wait(poll(&mut leader(50, 5), now), 50, 10);
    let mut queue = leader(61, 5);
    assert_eq!(poll(&mut queue, now), (50, Some(0)));
    assert_wait(poll(&mut queue, now), 11, 10);
    for nth in 0..11 {
        assert_eq!(queue.failed(&*format!("test{nth}"), 1, now), Outcome::Failed);
    }
    assert_eq!(poll(&mut queue, now + SECOND), (10, Some(0)));
    assert_wait(poll(&mut queue, now + SECOND), 1, 9);
}
