//! A leader proposes, a follower waits, and a change of role makes all due again.

use timer_wheel::ttl::{Outcome, Role, TtlConfig};

use crate::script::MS;
use crate::start::{SECOND, created, expire, flights, is_due, leader, poll};

const NONE: [u32; 0] = [];

/// A leader whose log stands still is not asked for more and more, and a change of role has no more than
/// that to put back, in order, among those that have come due since.
#[test]
fn role_change_puts_back_what_is_in_flight_in_order_and_that_is_bounded() {
    const COUNT: u32 = 20_000;
    let most = TtlConfig::default().max_pending;
    let mut queue = leader();
    for key in 0..COUNT {
        // Even keys are due at once, odd ones later.
        let ttl_ms = if key % 2 == 0 { 1 } else { 2 + u64::from(key / 1_000) };
        queue.init(key, 1, ttl_ms, created(u64::from(key))).unwrap();
    }
    while is_due(&queue, 2 * MS) {
        queue.poll(2 * MS).for_each(drop);
    }
    assert_eq!((queue.as_set().stats().expired, flights(&queue)), (most as u64, (most, 0)));
    let wait = queue.expiration_delay().unwrap();
    assert!((9 * SECOND..=10 * SECOND).contains(&wait), "nothing but an answer or a timeout can come: {wait}");
    for key in (0..1_000).step_by(10) {
        assert_eq!(queue.failed(&key, 1, 2 * MS), Outcome::Failed);
    }
    assert_eq!(poll(&mut queue, 2 * MS), NONE, "a retry is in flight too");
    queue.role_change(Role::Follower, 3 * MS);
    assert_eq!((flights(&queue), queue.as_set().stats().requeued), ((0, 0), most as u64));
    queue.role_change(Role::Leader, 3 * MS);
    assert_eq!(queue.expiration_delay(), Some(0));

    // With the others overdue, an early one among them, and a few gone.
    queue.init(COUNT, 2, 1, created(9)).unwrap();
    assert!([4, 6, 8].iter().all(|key| queue.remove(key).is_some()));
    let expected: Vec<u32> = queue.as_set().iter().map(|info| info.entry.key).collect();
    assert!(expected.starts_with(&[0, 2, COUNT, 10]), "{:?}", &expected[..5]);
    assert_eq!(expire(&mut queue, 3 * SECOND), expected);
    assert!(queue.is_empty());
}
