//! Entries that have been proposed: what comes of an answer, a timeout, a removal and an update meanwhile. Each test of a
//! mistake says whose it was.

use std::time::Duration;

use timer_wheel::ttl::Outcome;

use crate::script::MS;
use crate::start::{SECOND, created, leader, leader_with};

const HOUR_MS: u64 = 3_600_000;

/// Dongting: an expiry fenced by the index at which the key was created deletes a key that has been
/// updated since.
#[test]
fn expiry_applied_after_an_update_is_a_no_op() {
    let mut queue = leader();
    queue.init("key", 5, 1, created(0)).unwrap();
    let due = queue.poll(MS).next().unwrap();
    assert_eq!((due.key, due.index), ("key", 5));
    queue.update("key", 8, HOUR_MS, created(MS)).unwrap();
    assert_eq!((queue.as_set().pending_len(), queue.remaining("key", MS)), (0, Some(HOUR_MS * MS)));
    assert_eq!(queue.applied(due.key, due.index), Outcome::Stale);
    assert_eq!(queue.failed(due.key, due.index, MS), Outcome::Stale);
    let timer = queue.get("key").expect("the update stands");
    assert_eq!(timer.entry.index, 8);
    assert_eq!(queue.poll(2 * SECOND).count(), 0);
}

/// T7: the timeout counts when a poll finds it, not when it is over.
#[test]
fn answer_after_the_timeout_counts_until_a_poll_has_found_it() {
    let timeout = Duration::from_secs(10);
    let late = MS + 2 * SECOND * timeout.as_secs();
    for is_polled in [false, true] {
        let mut queue = leader_with(|config| config.pending_timeout = timeout);
        for key in ["failed", "applied"] {
            queue.init(key, 5, 1, created(0)).unwrap();
        }
        assert_eq!(queue.poll(MS).count(), 2);
        if is_polled {
            assert_eq!(queue.poll(late).count(), 0, "both wait for their retry");
        }
        let expected = if is_polled { Outcome::Stale } else { Outcome::Failed };
        assert_eq!(queue.failed("failed", 5, late), expected);
        assert_eq!(queue.applied("applied", 5), Outcome::Applied);
        assert_eq!(queue.len(), 1);
    }
}

/// Dongting: the wait ignores pending retries, so a failed expiry waits behind a TTL of an hour.
#[test]
fn failed_expiry_does_not_wait_behind_a_ttl_of_an_hour() {
    let mut queue = leader();
    queue.init("long", 1, HOUR_MS, created(0)).unwrap();
    queue.init("short", 2, 10, created(0)).unwrap();
    assert_eq!(queue.poll(10 * MS).count(), 1);
    queue.failed("short", 2, 10 * MS);
    for passed in [0, SECOND / 2, SECOND - 1] {
        let count = queue.poll(10 * MS + passed).count();
        assert_eq!((count, queue.expiration_delay()), (0, Some(SECOND - passed)));
    }
    let due = queue.poll(10 * MS + SECOND).next().unwrap();
    assert_eq!((due.key, due.attempt), ("short", 2));
}

/// Dongting: one unfinished proposal at the head of the pending queue blocks all retries behind it.
#[test]
fn proposal_in_flight_never_delays_the_retry_of_another() {
    let mut queue = leader();
    for (key, ttl_ms) in [("first", 1), ("second", 2), ("third", 3)] {
        queue.init(key, 1, ttl_ms, created(0)).unwrap();
    }
    assert_eq!(queue.poll(5 * MS).count(), 3);
    // Nothing is ever heard of the first.
    queue.failed("third", 1, 6 * MS);
    queue.failed("second", 1, 7 * MS);
    assert_eq!(queue.expiration_delay(), Some(SECOND - MS));
    let keys: Vec<&str> = queue.poll(7 * MS + SECOND).map(|due| due.key).collect();
    assert_eq!(keys, ["third", "second"]);
}

/// nats#8595: an entry that is kept after its key has vanished re-arms for ever.
#[test]
fn entry_removed_in_flight_and_failed_does_not_come_back() {
    let mut queue = leader();
    queue.init("key", 1, 1, created(0)).unwrap();
    assert_eq!(queue.poll(MS).count(), 1);
    assert_eq!(queue.remove("key"), Some("key"));
    assert_eq!(queue.failed("key", 1, 2 * MS), Outcome::Stale);
    assert_eq!(queue.applied("key", 1), Outcome::Stale);
    assert_eq!((queue.poll(100 * SECOND).count(), queue.wake_at()), (0, None));
    queue.check_invariants();
}
