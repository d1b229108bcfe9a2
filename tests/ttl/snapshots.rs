//! Snapshots: stored and loaded with `serde`, and those that are refused. What a replica makes of them and of the log after
//! them is in `cluster`.

use timer_wheel::ttl::{Context, Entry, Role, TtlError};

use crate::script::MS;
use crate::start::{created, leader};

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
