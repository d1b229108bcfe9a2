//! Snapshots: stored and loaded with `serde`, the same bytes from every replica, and what a replica makes of them and of the
//! log after them.

use timer_wheel::ttl::{Context, Entry, Role, TtlError, TtlQueue};

use crate::script::MS;
use crate::start::{SECOND, created, leader};

const HOUR_MS: u64 = 3_600_000;

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

/// Dongting: replaying the log after the install of a snapshot applies older indexes. Here any
/// suffix may be replayed, any number of times.
#[test]
fn replay_of_any_suffix_changes_nothing() {
    fn step(queue: &mut TtlQueue<&'static str>, index: u64) {
        let ctx = created(index * MS).with_owner(index.into());
        _ = match index {
            1 => queue.init("a", 1, 500, ctx),
            2 => queue.init("b", 2, 300, ctx),
            3 => queue.update("a", 3, 700, ctx),
            4 => queue.init("b", 4, 100, ctx),
            5 => Ok(queue.applied("b", 2)),
            6 => queue.update("c", 6, 100, ctx),
            7 => queue.init("c", 7, 50, ctx),
            _ => queue.update("a", 8, 900, ctx),
        };
    }
    let mut queue = leader();
    for index in 1..=8 {
        step(&mut queue, index);
    }
    let state = |queue: &TtlQueue<&'static str>| {
        let timers = queue.as_set().iter().map(|info| (info.entry.clone(), info.deadline_ns));
        timers.collect::<Vec<_>>()
    };
    let expected = state(&queue);
    for from in 1..=8 {
        for index in from..=8 {
            step(&mut queue, index);
        }
        assert_eq!(state(&queue), expected, "replayed from {from}");
    }
}

/// etcd#9395 and nats#6758: the TTL begins anew, or is lost, when the leader changes or recovers.
#[test]
fn ttl_does_not_begin_anew_on_restore_or_with_a_new_leader() {
    let mut old = leader();
    let wall_ms = 1_700_000_000_000;
    for (index, key, ttl_ms) in [(1, "ten", 10_000), (2, "hour", HOUR_MS), (3, "two", 2_000)] {
        let ctx = created(0).with_leader_start_ms(wall_ms);
        old.init(key, index, ttl_ms, ctx).unwrap();
    }
    let entries: Vec<Entry<&str>> = old.as_set().snapshot().into_iter().cloned().collect();

    // Four seconds later, on a machine whose monotonic clock began somewhere else.
    let now = 77 * SECOND;
    let mut new = leader();
    new.restore(entries.clone(), now, wall_ms + 4_000).unwrap();
    assert_eq!(new.remaining("ten", now), Some(6 * SECOND));
    assert_eq!(new.remaining("hour", now), Some(3_596 * SECOND));
    assert_eq!(new.get("two").unwrap().deadline_ns, now - 2 * SECOND);
    for role in [Role::Follower, Role::Leader] {
        new.role_change(role, now + SECOND);
        assert_eq!(new.remaining("ten", now + SECOND), Some(5 * SECOND));
    }
    assert_eq!(new.poll(now + SECOND).next().unwrap().key, "two");

    // A wall clock that is behind that of the leader lengthens a TTL, to the whole at most.
    let now = now + SECOND;
    new.restore(entries, now, wall_ms - 50_000).unwrap();
    assert_eq!(new.remaining("ten", now), Some(10 * SECOND));
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
