//! The rules in the small, one promise a test.

use std::fmt::Debug;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use timer_wheel::Millis;
use timer_wheel::ttl::{
    Context, DefaultHashBuilder, Entry, Expiry, Outcome, Phase, Role, TtlConfig, TtlError, TtlQueue,
};

use crate::model::Key;
use crate::pair::Pair;
use crate::script::MS;
use crate::start::{SECOND, created, fill, flights, leader, leader_with, poll};

#[test]
fn entry_keeps_what_set_it() {
    let mut queue = leader();
    let ctx = Context::new(5).with_owner(1 << 127 | 7).with_leader_start_ms(1_700_000_000_123);
    queue.init("key".to_string(), 41, 30, ctx).unwrap();
    let timer = queue.get("key").unwrap();
    let entry = Entry::new("key".to_string(), 41, 30).with_owner(1 << 127 | 7).with_leader_start_ms(1_700_000_000_123);
    assert_eq!(timer.entry, &entry);
    assert_eq!((timer.deadline_ns, timer.phase), (5 + 30 * MS, Phase::Queued));
    let Expiry { key, owner, attempt, .. } = queue.poll(SECOND).next().unwrap();
    assert_eq!((key.as_str(), owner, attempt), ("key", 1 << 127 | 7, 1));
}

#[test]
fn ttl_past_the_maximum_is_refused_and_changes_nothing() {
    let mut queue = leader();
    let max_ms = 36_500 * 86_400_000;
    assert_eq!(queue.init(1, 1, max_ms, created(0)), Ok(Outcome::Scheduled));
    let ttl_ms = max_ms + 1;
    let refusal = TtlError::TtlTooLong { ttl_ms, max_ms };
    assert_eq!(queue.init(1, 2, ttl_ms, created(0)), Err(refusal));
    assert_eq!(queue.update(&1, 2, ttl_ms, created(0)), Err(refusal));
    assert_eq!(queue.init(2, 2, ttl_ms, created(0)), Err(refusal));
    assert_eq!((queue.len(), queue.remaining(&1, 0)), (1, Some(max_ms * MS)));
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
        let mut queue: TtlQueue<u32, Millis, S> = TtlQueue::with_hasher(0, TtlConfig::default(), hasher);
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

/// With calls of every kind between.
#[test]
fn keys_are_found_while_their_index_grows() {
    let mut pair = Pair::<Millis>::new(0, TtlConfig::default());
    for step in 1..=1_200 {
        let (key, known) = (step as Key, step as Key / 3);
        pair.init(key, step, 5, created(0)).unwrap();
        match step % 5 {
            0 => pair.remove(known),
            1 => _ = pair.applied(known, pair.model.get(known).map_or(0, |known| known.entry.index)),
            _ => _ = pair.update(known, step, 7, created(0)).unwrap(),
        }
        pair.queue.check_invariants();
    }
    pair.compare_all();
    (0..=1_200).for_each(|key| pair.remove(key));
}

/// An answer, a timeout and a change of role each make room for another proposal.
#[test]
fn full_flight_yields_again_with_each_that_lands() {
    const NONE: [u32; 0] = [];
    let mut queue = leader_with(TtlConfig::builder().max_pending(3));
    fill(&mut queue, 10, |_| 1);
    let poll = |queue: &mut TtlQueue<u32>, now| -> Vec<u32> {
        let keys = queue.poll(now).map(|due| due.key).collect();
        assert_ne!(queue.expiration_delay(), Some(0), "nothing to do until one lands");
        keys
    };
    assert_eq!(poll(&mut queue, MS), [0, 1, 2]);
    assert_eq!(poll(&mut queue, MS), NONE);
    queue.applied(&1, 1);
    assert_eq!(queue.expiration_delay(), Some(0));
    assert_eq!(poll(&mut queue, MS), [3]);
    // What failed is still in flight.
    queue.failed(&0, 1, MS);
    assert_eq!(poll(&mut queue, MS), NONE);
    assert_eq!(queue.expiration_delay(), Some(SECOND));
    queue.remove(&0);
    queue.update(&2, 2, 5_000, created(0)).unwrap();
    assert_eq!(poll(&mut queue, MS), [4, 5]);
    let timeout = MS + 10 * SECOND;
    assert_eq!(poll(&mut queue, timeout), NONE, "they fail");
    assert_eq!(poll(&mut queue, timeout + SECOND), [3, 4, 5]);
    queue.role_change(Role::Leader, timeout + SECOND);
    assert_eq!(poll(&mut queue, timeout + SECOND), [3, 4, 5]);
}

#[test]
fn second_answer_to_one_proposal_is_stale() {
    let mut queue = leader();
    queue.init("key", 3, 1, created(0)).unwrap();
    assert_eq!(queue.failed("key", 3, 0), Outcome::Stale, "not proposed yet");
    assert_eq!(queue.poll(MS).count(), 1);
    assert_eq!(queue.failed("key", 2, MS), Outcome::Stale, "another index");
    assert_eq!(queue.failed("key", 3, MS), Outcome::Failed);
    assert_eq!(queue.failed("key", 3, 5 * MS), Outcome::Stale);
    assert_eq!(queue.expiration_delay(), Some(SECOND - 4 * MS));
    assert_eq!(queue.applied("key", 3), Outcome::Applied);
    assert_eq!(queue.as_set().stats().stale, 3);
}

#[test]
fn restore_forgets_everything_else() {
    let mut queue = leader();
    fill(&mut queue, 9, |key| 1 + u64::from(key));
    assert_eq!(queue.poll(6 * MS).count(), 6);
    queue.failed(&2, 1, 6 * MS);
    let entry = |key, ttl_ms| Entry::new(key, 70, ttl_ms).with_leader_start_ms(1_000);
    // Out of order, one of them known before.
    queue.restore([entry(12, 900), entry(3, 400), entry(8, 650)], 10 * MS, 1_500).unwrap();
    queue.check_invariants();
    assert_eq!((queue.len(), flights(&queue)), (3, (0, 0)));
    assert_eq!(queue.applied(&3, 1), Outcome::Stale);
    assert_eq!(queue.failed(&2, 1, 10 * MS), Outcome::Stale);
    assert_eq!(poll(&mut queue, 10 * MS), [3], "it is still the leader");
    assert_eq!(queue.expiration_delay(), Some(150 * MS));
}

#[test]
fn restore_of_bad_entries_is_refused_and_changes_nothing() {
    let mut queue = leader();
    queue.init(5_u32, 5, 50, created(0)).unwrap();
    let entry = |key, ttl_ms| Entry::new(key, 1, ttl_ms);
    let (ttl_ms, max_ms) = (u64::MAX, 36_500 * 86_400_000);
    for (entries, error) in [
        (vec![entry(1, 1), entry(2, 1), entry(1, 2)], TtlError::DuplicateKey),
        (vec![entry(1, 1), entry(1, 2), entry(2, 1)], TtlError::DuplicateKey),
        (vec![entry(1, 1), entry(2, 0)], TtlError::ZeroTtl),
        (vec![entry(1, u64::MAX)], TtlError::TtlTooLong { ttl_ms, max_ms }),
    ] {
        assert_eq!(queue.restore(entries, 9, 9), Err(error));
        assert_eq!((queue.len(), queue.remaining(&5, 0)), (1, Some(50 * MS)));
    }
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
fn iterators_say_how_many_are_left() {
    let mut queue = leader();
    fill(&mut queue, 100, |key| if key % 3 == 0 { 1 } else { 1_000 });
    assert_eq!(queue.poll(MS).count(), 34, "some are drawn, some are not");
    assert_eq!(queue.as_set().iter().next().map(|timer| timer.entry.key), Some(0));
    let mut timers = queue.as_set().iter();
    for left in (0..100).rev() {
        assert!(timers.next().is_some());
        assert_eq!(timers.size_hint(), (left, Some(left)));
    }
    assert!(timers.next().is_none());
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
