//! What Dongting's `TtlManager` is tested for, with its numbers. Where it is wrong the test says what
//! is expected instead; the mistakes themselves are in `traps`.

use timer_wheel::ttl::{Outcome, Phase, Role, TtlConfig, TtlQueue};

use crate::script::MS;
use crate::start::created;

const SECOND: u64 = 1_000 * MS;

/// Some moment on a machine that has been up for a while.
const START: u64 = 987_654_321_987;

fn leader() -> TtlQueue<String> {
    let mut queue = TtlQueue::new(START, TtlConfig::default());
    queue.role_change(Role::Leader, START);
    queue
}

fn init(queue: &mut TtlQueue<String>, count: usize, ttl_ms: u64) {
    for nth in 0..count {
        let outcome = queue.init(format!("test{nth}"), 1, ttl_ms, created(START));
        assert_eq!(outcome, Ok(Outcome::Scheduled));
    }
}

/// The number of expiries that a poll yields and the wait that it tells.
fn poll(queue: &mut TtlQueue<String>, now: u64) -> (usize, Option<u64>) {
    let mut due = queue.poll(now);
    (due.by_ref().count(), due.next_wake())
}

/// Polls, and checks that the next time something is to be done is a pending timeout.
fn poll_until_timeout(queue: &mut TtlQueue<String>, now: u64) -> usize {
    let (count, wait) = poll(queue, now);
    let wait = wait.expect("a proposal is pending");
    assert!(wait > 9 * SECOND && wait <= 10 * SECOND, "{wait}");
    count
}

#[test]
fn zero_ttl_is_ignored() {
    let mut queue = leader();
    let zero = queue.init("test".to_string(), 1, 0, created(START));
    assert_eq!(zero, Ok(Outcome::Ignored));
    assert!(queue.is_empty());
    init(&mut queue, 1, 5);
    let zero = queue.update("test0", 2, 0, created(START));
    assert_eq!(zero, Ok(Outcome::Ignored));
    assert_eq!(queue.get("test0").map(|timer| timer.entry.index), Some(1));
}

#[test]
fn init_with_two_milliseconds_waits_two_million_nanoseconds() {
    let mut queue = leader();
    init(&mut queue, 1, 2);
    assert_eq!(queue.next_wake(START), Some(2_000_000));
    assert_eq!(poll(&mut queue, START), (0, Some(2_000_000)));
    assert_eq!(poll(&mut queue, START + 1_999_999), (0, Some(1)));
    assert_eq!(poll(&mut queue, START + 2_000_000), (1, Some(10 * SECOND)));
}

#[test]
fn update_from_five_to_three_milliseconds_moves_deadline_and_wait() {
    let mut queue = leader();
    init(&mut queue, 1, 5);
    assert_eq!(poll(&mut queue, START), (0, Some(5_000_000)));
    let updated = queue.update("test0", 2, 3, created(START));
    assert_eq!(updated, Ok(Outcome::Updated));
    let timer = queue.get("test0").unwrap();
    assert_eq!(timer.deadline_ns, START + 3_000_000);
    assert_eq!(timer.entry.ttl_ms, 3);
    assert_eq!(poll(&mut queue, START), (0, Some(3_000_000)));
    assert_eq!(poll(&mut queue, START + 2 * SECOND).0, 1);
}

#[test]
fn update_while_pending_brings_key_back_with_the_new_deadline() {
    let mut queue = leader();
    init(&mut queue, 1, 5);
    let now = START + 6 * MS;
    assert_eq!(poll(&mut queue, now).0, 1);
    assert_eq!(queue.as_set().pending_len(), 1);
    let updated = queue.update("test0", 2, 3, created(now));
    assert_eq!(updated, Ok(Outcome::Updated));
    assert_eq!(queue.as_set().pending_len(), 0);
    assert_eq!(queue.get("test0").unwrap().deadline_ns, now + 3_000_000);
    assert_eq!(poll(&mut queue, now), (0, Some(3_000_000)));
    assert_eq!(queue.applied("test0", 1), Outcome::Stale);
    assert_eq!(poll(&mut queue, now + 3 * MS).0, 1);
}

#[test]
fn remove_while_queued_leaves_nothing() {
    let mut queue = leader();
    init(&mut queue, 1, 3);
    assert!(queue.remove("test0").is_some());
    assert_eq!(poll(&mut queue, START), (0, None));
    assert_eq!(poll(&mut queue, START + 2 * SECOND), (0, None));
    assert!(queue.remove("test0").is_none());
}

#[test]
fn remove_while_due_or_pending_empties_both() {
    let mut queue = leader();
    init(&mut queue, 1, 5);
    let now = START + 6 * MS;
    drop(queue.poll(now));
    assert_eq!(queue.next_wake(now), Some(0), "due");
    queue.remove("test0");
    assert_eq!((queue.len(), queue.as_set().pending_len()), (0, 0));

    init(&mut queue, 1, 5);
    assert_eq!(poll(&mut queue, now).0, 1);
    queue.remove("test0");
    assert_eq!((queue.len(), queue.as_set().pending_len()), (0, 0));
    assert_eq!(poll(&mut queue, now + 100 * SECOND), (0, None));
}

#[test]
fn failed_expiry_is_retried_after_the_retry_delay_and_not_before() {
    let mut queue = leader();
    init(&mut queue, 1, 3);
    let now = START + 2 * SECOND;
    assert_eq!(poll(&mut queue, now).0, 1);
    assert_eq!(queue.failed("test0", 1, now), Outcome::Failed);
    assert_eq!(queue.get("test0").unwrap().phase, Phase::Retrying);
    assert_eq!(poll(&mut queue, now + SECOND / 2), (0, Some(SECOND / 2)));
    assert_eq!(poll(&mut queue, now + SECOND - 1), (0, Some(1)));
    let retry = queue.poll(now + SECOND).next().unwrap();
    assert_eq!((retry.key.as_str(), retry.attempt), ("test0", 2));
}

#[test]
fn role_change_to_follower_pauses_and_puts_back() {
    let mut queue = leader();
    init(&mut queue, 1, 5);
    let now = START + 6 * MS;
    assert_eq!(poll(&mut queue, now).0, 1);
    queue.role_change(Role::Follower, now);
    assert_eq!((queue.len(), queue.as_set().pending_len()), (1, 0));
    assert_eq!(queue.get("test0").unwrap().phase, Phase::Queued);
    assert_eq!(poll(&mut queue, now + 60 * SECOND), (0, None));
}

#[test]
fn fifty_one_due_entries_are_fifty_and_no_wait_then_one() {
    let mut queue = leader();
    init(&mut queue, 51, 5);
    let now = START + 6 * MS;
    assert_eq!(poll(&mut queue, now), (50, Some(0)));
    assert_eq!(poll_until_timeout(&mut queue, now), 1);
}

#[test]
fn fifty_due_entries_are_one_batch_that_is_not_cut_short() {
    let mut queue = leader();
    init(&mut queue, 50, 5);
    let now = START + 6 * MS;
    assert_eq!(poll_until_timeout(&mut queue, now), 50);
}

#[test]
fn eleven_failed_entries_are_ten_retries_and_no_wait_then_one() {
    let mut queue = leader();
    init(&mut queue, 11, 5);
    let now = START + 6 * MS;
    assert_eq!(poll(&mut queue, now), (11, Some(10 * SECOND)));
    for nth in 0..11 {
        assert_eq!(queue.failed(&*format!("test{nth}"), 1, now), Outcome::Failed);
    }
    let later = now + SECOND + 1;
    assert_eq!(poll(&mut queue, later), (10, Some(0)));
    assert_eq!(poll(&mut queue, later), (1, Some(10 * SECOND)));
}

/// In Dongting the order of two entries of one deadline survives the wrap of its 32-bit counter;
/// here the counter has 64 bits, and the order is that of arrival.
#[test]
fn equal_deadlines_are_proposed_in_order_of_arrival() {
    let mut queue = leader();
    init(&mut queue, 40, 5);
    queue.update("test7", 2, 5, created(START)).unwrap();
    let keys: Vec<String> = queue.poll(START + 5 * MS).map(|due| due.key).collect();
    let expected = (0..40).filter(|&nth| nth != 7).chain([7]);
    assert!(keys.into_iter().eq(expected.map(|nth| format!("test{nth}"))));
}
