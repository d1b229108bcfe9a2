//! The rules in the small, one promise a test.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hasher};

use timer_wheel::Millis;
use timer_wheel::ttl::{Context, Entry, Expiry, Outcome, Phase, Role, TtlConfig, TtlError, TtlQueue};

use crate::script::MS;
use crate::start::{created, leader};

const SECOND: u64 = 1_000 * MS;

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
    assert_eq!(queue.len(), 1);
    assert_eq!(queue.remaining(&1, 0), Some(max_ms * MS));
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
    fn run<S: std::hash::BuildHasher>(hasher: S) -> (Vec<Expiry<u32>>, Vec<Entry<u32>>, Vec<u32>) {
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
        let entries = queue.as_set().snapshot().cloned().collect();
        let order = queue.as_set().iter().map(|info| info.entry.key).collect();
        (due, entries, order)
    }
    let expected = run(std::hash::RandomState::new());
    assert_eq!(run(std::hash::RandomState::new()), expected);
    assert_eq!(run(BuildHasherDefault::<Constant>::default()), expected);
    assert_eq!(run(timer_wheel::ttl::DefaultHashBuilder::default()), expected);
}

/// An index that is full is moved to a larger one piece by piece, with calls of every kind between.
#[test]
fn keys_are_found_while_their_index_grows() {
    let mut queue = leader();
    let mut indices = BTreeMap::new();
    for step in 1..=1_200 {
        let key = step as u32;
        queue.init(key, step, 5, created(0)).unwrap();
        indices.insert(key, step);
        let known = key / 3;
        match step % 5 {
            0 => {
                let is_there = indices.remove(&known).is_some();
                assert_eq!(queue.remove(&known).is_some(), is_there);
            }
            1 => {
                let index = indices.remove(&known).unwrap_or(0);
                assert_eq!(queue.applied(&known, index) == Outcome::Applied, index != 0);
            }
            _ => {
                let updated = queue.update(&known, step, 7, created(0)).unwrap();
                assert_eq!(updated == Outcome::Updated, indices.contains_key(&known));
                indices.entry(known).and_modify(|index| *index = step);
            }
        }
        queue.check_invariants();
    }
    let found = queue.as_set().iter().map(|timer| (timer.entry.key, timer.entry.index));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), indices);
    for key in 0..=1_200 {
        assert_eq!(queue.get(&key).map(|timer| timer.entry.index), indices.get(&key).copied());
    }
}

/// A leader whose log stands still is not asked for more and more, and a change of role has no more than
/// that to put back, in order, among those that have come due since.
#[test]
fn role_change_puts_back_what_is_in_flight_in_order_and_that_is_bounded() {
    const COUNT: u32 = 20_000;
    let most = TtlConfig::default().max_pending();
    let mut queue = leader();
    for key in 0..COUNT {
        // Even keys are due at once, odd ones later.
        let ttl_ms = match key % 2 {
            0 => 1,
            _ => 2 + u64::from(key / 1_000),
        };
        queue.init(key, 1, ttl_ms, created(u64::from(key))).unwrap();
    }
    let mut proposed = 0;
    while queue.next_wake(2 * MS) == Some(0) {
        proposed += queue.poll(2 * MS).count();
    }
    assert_eq!((proposed, queue.as_set().pending_len()), (most, most));
    let wait = queue.next_wake(2 * MS).unwrap();
    assert!(
        wait > 9 * SECOND && wait <= 10 * SECOND,
        "all that there is to wait for is an answer or a timeout: {wait}"
    );
    for key in (0..1_000).step_by(10) {
        assert_eq!(queue.failed(&key, 1, 2 * MS), Outcome::Failed);
    }
    assert_eq!(queue.poll(2 * MS).count(), 0, "a retry is in flight too");
    queue.role_change(Role::Follower, 3 * MS);
    assert_eq!((queue.as_set().pending_len(), queue.as_set().retrying_len()), (0, 0));
    assert_eq!(queue.as_set().stats().requeued, most as u64);
    queue.role_change(Role::Leader, 3 * MS);
    assert_eq!(queue.next_wake(3 * MS), Some(0));

    // With the others overdue, an early one among them, and a few gone.
    let now = 3 * SECOND;
    queue.init(COUNT, 2, 1, created(9)).unwrap();
    for key in [4, 6, 8] {
        assert!(queue.remove(&key).is_some());
    }
    let expected: Vec<u32> = queue.as_set().iter().map(|info| info.entry.key).collect();
    assert!(expected.starts_with(&[0, 2, COUNT, 10]), "{:?}", &expected[..5]);
    let mut found = Vec::new();
    while !queue.is_empty() {
        let due: Vec<u32> = queue.poll(now).map(|due| due.key).collect();
        for key in &due {
            let index = if *key == COUNT { 2 } else { 1 };
            assert_eq!(queue.applied(key, index), Outcome::Applied);
        }
        found.extend(due);
    }
    assert_eq!(found, expected);
}

/// An answer, a timeout and a change of role each make room for another proposal.
#[test]
fn full_flight_yields_again_with_each_that_lands() {
    const NONE: [u32; 0] = [];
    let config = TtlConfig::builder().max_pending(3).build().unwrap();
    let mut queue: TtlQueue<u32> = TtlQueue::new(0, config);
    queue.role_change(Role::Leader, 0);
    for key in 0..10 {
        queue.init(key, 1, 1, created(0)).unwrap();
    }
    let poll = |queue: &mut TtlQueue<u32>, now| -> Vec<u32> {
        let mut due = queue.poll(now);
        let keys = due.by_ref().map(|due| due.key).collect();
        assert_ne!(due.next_wake(), Some(0), "nothing to do until one lands");
        keys
    };
    assert_eq!(poll(&mut queue, MS), [0, 1, 2]);
    assert_eq!(poll(&mut queue, MS), NONE);
    queue.applied(&1, 1);
    assert_eq!(queue.next_wake(MS), Some(0));
    assert_eq!(poll(&mut queue, MS), [3]);
    // What failed is still in flight.
    queue.failed(&0, 1, MS);
    assert_eq!(poll(&mut queue, MS), NONE);
    assert_eq!(queue.next_wake(MS), Some(SECOND));
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
fn leader_flaps_while_putting_back_keep_the_order() {
    let mut queue = leader();
    for key in 0..500_u32 {
        queue.init(key, 1, 1 + u64::from(key), created(0)).unwrap();
    }
    let mut now = SECOND;
    for flap in 0..20 {
        let keys: Vec<u32> = queue.poll(now).map(|due| due.key).collect();
        assert!(keys.into_iter().eq(0..50), "flap {flap}");
        queue.poll(now).for_each(drop);
        now += MS;
        queue.role_change(Role::Leader, now);
        queue.check_invariants();
    }
    let mut keys = Vec::new();
    while keys.len() < 500 {
        keys.extend(queue.poll(now).map(|due| due.key));
    }
    assert!(keys.into_iter().eq(0..500));
}

#[test]
fn attempts_are_counted_until_the_role_changes() {
    let mut queue = leader();
    queue.init("key", 3, 1, created(0)).unwrap();
    let mut now = MS;
    for attempt in 1..5 {
        let due = queue.poll(now).next().unwrap();
        assert_eq!(due.attempt, attempt);
        assert_eq!(queue.get("key").unwrap().attempts, attempt);
        queue.failed("key", 3, now);
        now += SECOND;
    }
    queue.role_change(Role::Leader, now);
    assert_eq!(queue.get("key").unwrap().attempts, 0);
    assert_eq!(queue.poll(now).next().unwrap().attempt, 1);
}

#[test]
fn answers_of_an_old_term_are_stale_until_it_is_proposed_again() {
    let mut queue = leader();
    queue.init("key", 3, 1, created(0)).unwrap();
    assert_eq!(queue.poll(MS).count(), 1);
    queue.role_change(Role::Leader, 2 * MS);
    assert_eq!(queue.failed("key", 3, 2 * MS), Outcome::Stale);
    assert_eq!(queue.as_set().retrying_len(), 0);
    // An old proposal may have been committed all the same.
    assert_eq!(queue.applied("key", 3), Outcome::Applied);
    assert_eq!(queue.poll(3 * MS).count(), 0);
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
    assert_eq!(queue.next_wake(5 * MS), Some(SECOND - 4 * MS));
    assert_eq!(queue.applied("key", 3), Outcome::Applied);
    assert_eq!(queue.as_set().stats().stale, 3);
}

#[test]
fn stopped_queue_proposes_nothing_and_answers_all_else() {
    let mut queue = leader();
    for key in ["a", "b", "c"] {
        queue.init(key, 1, 1, created(0)).unwrap();
    }
    assert_eq!(queue.poll(MS).count(), 3);
    queue.failed("a", 1, MS);
    queue.stop();
    assert_eq!(queue.failed("b", 1, MS), Outcome::Failed);
    assert_eq!(queue.applied("c", 1), Outcome::Applied);
    for now in [2 * SECOND, 60 * SECOND] {
        let mut due = queue.poll(now);
        assert_eq!((due.next(), due.next_wake()), (None, None));
    }
    queue.role_change(Role::Leader, 60 * SECOND);
    assert_eq!(queue.poll(61 * SECOND).count(), 0);
    assert_eq!(queue.as_set().snapshot().len(), 2);
}

#[test]
fn restore_forgets_everything_else() {
    let mut queue = leader();
    for key in 0..9_u32 {
        queue.init(key, 1, 1 + u64::from(key), created(0)).unwrap();
    }
    assert_eq!(queue.poll(6 * MS).count(), 6);
    queue.failed(&2, 1, 6 * MS);
    let entry = |key, ttl_ms| Entry::new(key, 70, ttl_ms).with_leader_start_ms(1_000);
    // Out of order, one of them known before.
    let entries = [entry(12, 900), entry(3, 400), entry(8, 650)];
    queue.restore(entries, 10 * MS, 1_500).unwrap();
    queue.check_invariants();
    assert_eq!((queue.len(), queue.as_set().pending_len(), queue.as_set().retrying_len()), (3, 0, 0));
    assert_eq!(queue.applied(&3, 1), Outcome::Stale);
    assert_eq!(queue.failed(&2, 1, 10 * MS), Outcome::Stale);
    assert_eq!(queue.as_set().role(), Role::Leader);
    let due: Vec<u32> = queue.poll(10 * MS).map(|due| due.key).collect();
    assert_eq!(due, [3]);
    assert_eq!(queue.next_wake(10 * MS), Some(150 * MS));
}

#[test]
fn restore_of_bad_entries_is_refused_and_changes_nothing() {
    let mut queue = leader();
    queue.init(5_u32, 5, 50, created(0)).unwrap();
    let entry = |key, ttl_ms| Entry::new(key, 1, ttl_ms);
    let twice = [entry(1, 1), entry(2, 1), entry(1, 2)];
    assert_eq!(queue.restore(twice, 9, 9), Err(TtlError::DuplicateKey));
    let in_order = [entry(1, 1), entry(1, 2), entry(2, 1)];
    assert_eq!(queue.restore(in_order, 9, 9), Err(TtlError::DuplicateKey));
    let zero = [entry(1, 1), entry(2, 0)];
    assert_eq!(queue.restore(zero, 9, 9), Err(TtlError::ZeroTtl));
    let far = [entry(1, u64::MAX)];
    let refused = queue.restore(far, 9, 9);
    assert!(matches!(refused, Err(TtlError::TtlTooLong { .. })));
    assert_eq!((queue.len(), queue.remaining(&5, 0)), (1, Some(50 * MS)));
}

#[test]
fn clock_never_runs_backwards() {
    let mut queue = leader();
    queue.init(1, 1, 5, created(0)).unwrap();
    assert_eq!(queue.poll(5 * MS).count(), 1);
    assert_eq!(queue.failed(&1, 1, MS), Outcome::Failed);
    assert_eq!(queue.next_wake(0), Some(SECOND), "counted from 5 ms, not from 1 ms");
    assert_eq!(queue.poll(0).count(), 0);
    queue.role_change(Role::Leader, 0);
    assert_eq!(queue.poll(0).count(), 1);
}

#[test]
fn memory_of_entries_is_used_again() {
    let mut queue: TtlQueue<u64> = leader();
    for round in 0..2_000_u64 {
        let now = round * SECOND;
        for nth in 0..30 {
            queue.init(nth, round + 1, 1, created(now)).unwrap();
        }
        let due: Vec<_> = queue.poll(now + MS).collect();
        for due in &due[..10] {
            queue.failed(&due.key, due.index, now + MS);
        }
        for due in due {
            queue.applied(&due.key, due.index);
        }
        assert!(queue.is_empty());
        if round % 100 == 0 {
            queue.check_invariants();
        }
    }
    assert_eq!(queue.as_set().stats().applied, 60_000);
}

#[test]
fn debug_is_short_and_send_and_sync_follow_the_key() {
    fn is_send_and_sync<T: Send + Sync + Debug>() {}
    is_send_and_sync::<TtlQueue<String>>();
    let mut queue = leader();
    for key in 0..5_000_u32 {
        queue.init(key, 1, 1, created(0)).unwrap();
    }
    assert!(format!("{queue:?}").len() < 600);
    assert!(format!("{:?}", queue.poll(MS)).len() < 800);
}

#[test]
#[should_panic = "there cannot be that many entries"]
fn room_for_more_than_a_queue_can_hold_is_refused() {
    let mut queue = leader();
    queue.init(1, 1, 1, Context::default()).unwrap();
    queue.reserve(3 << 29);
}

#[test]
fn clone_goes_its_own_way() {
    let mut queue = leader();
    for key in 0..20_u32 {
        queue.init(key, 1, 1 + u64::from(key), created(0)).unwrap();
    }
    assert_eq!(queue.poll(10 * MS).count(), 10);
    let mut clone = queue.clone();
    assert_eq!(queue.poll(30 * MS).count(), 10);
    clone.role_change(Role::Leader, 30 * MS);
    clone.check_invariants();
    let keys: Vec<u32> = clone.poll(30 * MS).map(|due| due.key).collect();
    assert!(keys.into_iter().eq(0..20));
    assert_eq!(queue.as_set().pending_len(), 20);
}

#[test]
fn settings_of_a_queue_are_those_it_was_made_with() {
    let config = TtlConfig::builder().expire_batch(7).build().unwrap();
    let queue: TtlQueue<u32> = TtlQueue::new(0, config.clone());
    assert_ne!(config, TtlConfig::default());
    assert_eq!(queue.as_set().config(), &config);
}

#[test]
fn iterators_say_how_many_are_left() {
    let mut queue = leader();
    for key in 0..100 {
        let ttl_ms = if key % 3 == 0 { 1 } else { 1_000 };
        queue.init(key, 1, ttl_ms, Context::default()).unwrap();
    }
    assert_eq!(queue.poll(MS).count(), 34, "some are drawn, some are not");
    assert_eq!(queue.as_set().iter().next().map(|timer| timer.entry.key), Some(0));
    let (mut timers, mut entries) = (queue.as_set().iter(), queue.as_set().snapshot());
    for left in (0..100).rev() {
        assert!(timers.next().is_some() && entries.next().is_some());
        assert_eq!(timers.size_hint(), (left, Some(left)));
        assert_eq!(entries.size_hint(), (left, Some(left)));
    }
    assert!(timers.next().is_none() && entries.next().is_none());
}

#[test]
fn errors_say_what_is_wrong_and_with_what() {
    let mut queue = leader();
    let error = queue.init(7, 1, u64::MAX, Context::default()).unwrap_err();
    assert_eq!(error.to_string(), "a TTL of 18446744073709551615 ms is past the 3153600000000 ms allowed");
    for (error, part) in [
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
    for key in 0..3 {
        queue.init(key, 1, 1, Context::default()).unwrap();
    }
    assert_eq!(queue.poll(0).size_hint(), (0, Some(3)), "no more than live");
    for key in 3..100 {
        queue.init(key, 1, 1, Context::default()).unwrap();
    }
    let mut due = queue.poll(MS);
    assert_eq!(due.size_hint(), (0, Some(50)), "no more than a batch");
    let proposed: Vec<_> = due.by_ref().take(5).collect();
    assert_eq!(due.size_hint(), (0, Some(45)));
    drop(due);
    for due in &proposed[..4] {
        queue.failed(&due.key, due.index, MS);
    }
    let due = queue.poll(MS + SECOND);
    assert_eq!(due.size_hint(), (0, Some(54)), "and no more retries than wait");
}

/// What is put back stands before what has the same deadline and came later, as it did before.
#[test]
fn role_change_keeps_the_order_of_arrival_among_equal_deadlines() {
    let config = TtlConfig::builder().expire_batch(7).build().unwrap();
    let mut queue: TtlQueue<u32> = TtlQueue::new(0, config);
    queue.role_change(Role::Leader, 0);
    for key in 0..100 {
        queue.init(key, 1, 5, created(0)).unwrap();
    }
    for _ in 0..3 {
        let keys: Vec<u32> = queue.poll(5 * MS).map(|due| due.key).collect();
        assert!(keys.into_iter().eq(0..7));
        queue.failed(&2, 1, 5 * MS);
        queue.role_change(Role::Leader, 5 * MS);
    }
    let order = queue.as_set().iter().map(|info| info.entry.key);
    assert!(order.eq(0..100));
}
