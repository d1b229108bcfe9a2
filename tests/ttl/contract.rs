//! The rules in the small, one promise a test.

use std::fmt::Debug;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::time::Duration;

use timer_wheel::Millis;
use timer_wheel::ttl::{DefaultHashBuilder, Entry, Expiry, Outcome, Role, TtlError, TtlQueue};

use crate::script::MS;
use crate::start::{SECOND, config, created, fill, flights, leader, leader_with, poll};

/// The numbers of Dongting's `TtlManager`.
#[test]
fn fifty_expiries_and_ten_retries_are_a_batch_and_no_wait_means_more() {
    let now = 6 * MS;
    let mut queue = leader();
    fill(&mut queue, 61, |_| 5);
    // The wait for a timeout may be early.
    let assert_poll = |queue: &mut TtlQueue<u32>, now, count, seconds: Option<u64>| {
        assert_eq!(queue.poll(now).count(), count);
        let (least, most) = seconds.map_or((0, 0), |seconds| ((seconds - 1) * SECOND + 1, seconds * SECOND));
        let wait = queue.expiration_delay().expect("a proposal is pending");
        assert!((least..=most).contains(&wait), "{wait}");
    };
    assert_poll(&mut queue, now, 50, None);
    assert_poll(&mut queue, now, 11, Some(10));
    (0..11).for_each(|key| assert_eq!(queue.failed(&key, 1, now), Outcome::Failed));
    assert_poll(&mut queue, now + SECOND, 10, None);
    assert_poll(&mut queue, now + SECOND, 1, Some(9));
}

/// The same operations under hashers that could not differ more: the same answers, in the same
/// order.
#[test]
fn order_of_hashing_shows_nowhere() {
    #[derive(Default)]
    struct Constant;
    impl Hasher for Constant {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, _: &[u8]) {}
    }
    fn run<S: BuildHasher>(hasher: S) -> (Vec<Expiry<u32>>, Vec<Entry<u32>>, Vec<u32>) {
        let mut queue: TtlQueue<u32, Millis, S> = TtlQueue::with_hasher(0, hasher);
        queue.role_change(Role::Leader, 0);
        for key in 0..300_u32 {
            let key = key.wrapping_mul(2_654_435_761);
            queue.init(key, 1, u64::from(key % 50) + 1, created(0)).unwrap();
        }
        let mut due = Vec::new();
        for now in [10, 10, 20, 30, 40] {
            due.extend(queue.poll(now * MS));
            let last = due[due.len() - 1].clone();
            queue.failed(&last.key, last.index, now * MS);
        }
        queue.role_change(Role::Leader, 60 * MS);
        due.extend(queue.poll(60 * MS));
        let entries = queue.as_set().snapshot().into_iter().cloned().collect();
        let order = queue.as_set().iter().map(|info| info.entry.key).collect();
        (due, entries, order)
    }
    let expected = run(RandomState::new());
    assert_eq!(run(RandomState::new()), expected);
    assert_eq!(run(BuildHasherDefault::<Constant>::default()), expected);
    assert_eq!(run(DefaultHashBuilder::default()), expected);
}

/// Times that were set stay, and what is in flight remains bounded.
#[test]
fn new_settings_hold_from_the_next_call_on() {
    let mut queue = leader_with(|it| it.max_pending = 3);
    fill(&mut queue, 10, |_| 1);
    assert_eq!(poll(&mut queue, MS), [0, 1, 2]);
    let refused = queue.set_config(config(|it| it.max_pending = 2));
    assert!(matches!(refused, Err(TtlError::InvalidConfig(_))));
    queue.set_config(config(|it| (it.max_pending, it.pending_timeout) = (4, Duration::from_secs(2)))).unwrap();
    assert_eq!(poll(&mut queue, MS), [3]);
    queue.check_invariants();
    assert_eq!(queue.wake_at(), Some(MS + 2 * SECOND));
    assert!(poll(&mut queue, MS + 3 * SECOND).is_empty());
    assert_eq!(poll(&mut queue, MS + 4 * SECOND), [3]);
    assert_eq!(queue.wake_at(), Some(MS + 6 * SECOND));
}

#[test]
fn clock_never_runs_backwards() {
    let mut queue = leader();
    fill(&mut queue, 1, |_| 5);
    assert_eq!(queue.poll(5 * MS).count(), 1);
    assert_eq!(queue.failed(&0, 1, MS), Outcome::Failed);
    assert_eq!(queue.expiration_delay(), Some(SECOND), "counted from 5 ms, not from 1 ms");
    assert_eq!(queue.poll(0).count(), 0);
    queue.role_change(Role::Leader, 0);
    assert_eq!(queue.poll(0).count(), 1);
}

#[test]
fn debug_is_short_and_send_and_sync_follow_the_key() {
    fn is_send_and_sync<T: Send + Sync + Debug>() {}
    is_send_and_sync::<TtlQueue<String>>();
    let mut queue = leader();
    fill(&mut queue, 5_000, |_| 1);
    assert!(format!("{queue:?}").len() < 600);
}

#[test]
#[should_panic = "there cannot be that many entries"]
fn room_for_more_than_a_queue_can_hold_is_refused() {
    let mut queue = leader();
    fill(&mut queue, 1, |_| 1);
    queue.reserve(3 << 29);
}

#[test]
fn clone_goes_its_own_way() {
    let mut queue = leader();
    fill(&mut queue, 20, |key| 1 + u64::from(key));
    assert_eq!(queue.poll(10 * MS).count(), 10);
    let mut clone = queue.clone();
    assert_eq!(queue.poll(30 * MS).count(), 10);
    clone.role_change(Role::Leader, 30 * MS);
    clone.check_invariants();
    assert!(poll(&mut clone, 30 * MS).into_iter().eq(0..20));
    assert_eq!(flights(&queue), (20, 0));
}

#[test]
fn errors_say_what_is_wrong_and_with_what() {
    for (error, part) in [
        (TtlError::TtlTooLong { ttl_ms: 8, max_ms: 7 }, "a TTL of 8 ms is past the 7 ms allowed"),
        (TtlError::ZeroTtl, "TTL of 0"),
        (TtlError::DuplicateKey, "the same key"),
        (TtlError::Full, "as many entries as there can be"),
        (TtlError::InvalidConfig("not like this"), "not like this"),
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn poll_says_how_many_it_may_yield_at_the_most() {
    let mut queue = leader();
    fill(&mut queue, 3, |_| 1);
    assert_eq!(queue.poll(0).size_hint(), (0, Some(3)), "no more than live");
    queue.clear();
    fill(&mut queue, 100, |_| 1);
    let mut due = queue.poll(MS);
    assert_eq!(due.size_hint(), (0, Some(50)), "no more than a batch");
    assert_eq!(due.by_ref().take(5).count(), 5);
    assert_eq!(due.size_hint(), (0, Some(45)));
    drop(due);
    assert!((0..4).all(|key| queue.failed(&key, 1, MS) == Outcome::Failed));
    let due = queue.poll(MS + SECOND);
    assert_eq!(due.size_hint(), (0, Some(54)), "and no more retries than wait");
}
