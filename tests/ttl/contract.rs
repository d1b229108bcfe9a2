//! The rules in the small, one promise a test.

use std::fmt::Debug;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::time::Duration;

use timer_wheel::Millis;
use timer_wheel::ttl::{Context, DefaultHashBuilder, Entry, Expiry, Outcome, Role, TtlError, TtlKey, TtlQueue, TtlSet};

use crate::script::MS;
use crate::start::{SECOND, config, created, fill, leader, leader_with, poll};

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

/// After the memory of its place came back and was asked for again.
#[test]
fn stale_handle_stays_so_after_its_page_is_gone() {
    let mut set = TtlSet::new(0);
    let fill = |set: &mut TtlSet<u32>, index| -> Vec<TtlKey> {
        let init = |key| set.init(key, index, 1_000, created(0)).unwrap().expect("the TTL is not 0");
        (0..5_000).map(init).collect()
    };
    let mut stale = Vec::new();
    for index in 1..5 {
        let handles = fill(&mut set, index);
        assert!(stale.iter().all(|&old| set.get(old).is_none()));
        assert!(handles.iter().rev().all(|&handle| set.applied(handle, index) == Outcome::Applied));
        set.check_invariants();
        stale.extend(handles);
    }
}

/// A set does not know that keys are different: two entries of one key are two entries.
#[test]
fn snapshot_is_in_order_of_key_and_index_whatever_the_handles() {
    let entry = |key, index| Entry::new(key, index, 1_000);
    let entries = [entry("b", 3), entry("a", 9), entry("b", 1), entry("a", 2)];
    let in_order = [entry("a", 2), entry("a", 9), entry("b", 1), entry("b", 3)];
    let mut set: TtlSet<&str> = TtlSet::new(0);
    set.role_change(Role::Leader, 0);
    let handles = set.restore(entries, 0, 0).unwrap();
    let of = |nth: usize| set.get(handles[nth]).map(|info| info.entry.index);
    assert_eq!([0, 1, 2, 3].map(of), [Some(3), Some(9), Some(1), Some(2)]);
    assert!(set.snapshot().into_iter().eq(&in_order));
    // In flight they are the same, and whatever came and went in between.
    set.remove(handles[0]);
    set.init("b", 3, 1_000, created(0)).unwrap();
    assert_eq!(set.poll(SECOND).count(), 4);
    assert!(set.snapshot().into_iter().eq(&in_order));
}

fn context(index: u64) -> Context {
    Context::new(5).with_owner(77).with_leader_start_ms(1_700_000_000_000 + index)
}

#[test]
fn snapshot_is_stored_as_a_sequence_and_read_back() {
    let mut queue = leader();
    for (index, key) in (1..).zip(["b", "", "a key that is rather long", "a"]) {
        let ctx = context(index);
        queue.init(key.to_string(), index, 1_000 * index, ctx).unwrap();
    }
    let json = serde_json::to_string(&queue.as_set().snapshot()).unwrap();
    let first = r#"[{"key":"","index":2,"owner":77,"leader_start_ms":1700000000002,"ttl_ms":2000},"#;
    assert!(json.starts_with(first), "{json}");
    let entries: Vec<Entry<String>> = serde_json::from_str(&json).unwrap();
    assert!(queue.as_set().snapshot().into_iter().eq(&entries));
    assert!(serde_json::from_str::<Vec<Entry<String>>>(&json.replace("owner", "other")).is_err());
}

#[test]
fn what_goes_into_log_entries_is_stored_and_read_back() {
    fn again<V: serde::Serialize + serde::de::DeserializeOwned>(value: &V) -> V {
        serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
    }
    let mut queue = leader();
    queue.init("key".to_string(), 7, 1, context(7)).unwrap();
    let expiry = queue.poll(u64::MAX - 1).next().unwrap();
    assert_eq!(again(&expiry), expiry);
    assert_eq!(again(&context(7)), context(7));
    assert_eq!(again(&queue.as_set().stats()), queue.as_set().stats());
    assert_eq!([Role::Leader, Role::Follower].map(|role| again(&role)), [Role::Leader, Role::Follower]);
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

/// tokio#5536, kube#1772, restate#5017: a far deadline panics. Every entry point, at both ends of time.
#[test]
fn any_time_and_any_index_is_taken() {
    let ends = [0, 1, u64::MAX - 1, u64::MAX];
    for now in ends {
        for created_ns in ends {
            let mut queue: TtlQueue<u8> = TtlQueue::new(now);
            let max_ms = 36_500 * 86_400_000;
            let ctx = Context::new(created_ns).with_owner(u128::MAX).with_leader_start_ms(created_ns);
            assert_eq!(queue.init(1, u64::MAX, max_ms, ctx), Ok(Outcome::Scheduled));
            assert_eq!(queue.init(2, 0, 1, ctx), Ok(Outcome::Scheduled));
            assert_eq!(queue.init(1, u64::MAX, 1, ctx), Ok(Outcome::Stale));
            assert!(queue.init(3, 9, u64::MAX, ctx).is_err());
            assert!(queue.update(&2, 9, u64::MAX, ctx).is_err());
            queue.role_change(Role::Leader, now);
            for later in ends {
                let due: Vec<_> = queue.poll(later).collect();
                for due in due {
                    queue.failed(&due.key, due.index, later);
                }
                assert!(queue.wake_at().is_some());
                queue.check_invariants();
            }
            let entries: Vec<Entry<u8>> = queue.as_set().snapshot().into_iter().cloned().collect();
            for wall_ms in ends {
                assert!(queue.restore(entries.clone(), now, wall_ms).is_ok());
                queue.check_invariants();
            }
        }
    }
}
