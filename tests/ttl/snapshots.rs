//! Snapshots as values: stored and loaded with `serde`, and the same bytes from every replica.

use timer_wheel::ttl::{Context, Entry, Role, TtlConfig, TtlQueue, TtlSet};

use crate::start::leader;

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

/// Two replicas with other clocks, roles, faces and orders of hashing, and other things in flight.
#[test]
fn replicas_with_the_same_log_store_the_same_bytes() {
    let mut queue: TtlQueue<u32> = leader();
    let mut set: TtlSet<u32> = TtlSet::new(1 << 40, TtlConfig::default());
    let mut handles = Vec::new();
    for index in 1..=500_u64 {
        let key = (index as u32).wrapping_mul(2_654_435_761);
        let ttl_ms = index % 70 + 1;
        queue.init(key, index, ttl_ms, context(index)).unwrap();
        handles.extend(set.init(key, index, ttl_ms, context(index)).unwrap());
    }
    queue.poll(40_000_000).for_each(drop);
    for (key, index) in queue.poll(40_000_000).map(|due| (due.key, due.index)).collect::<Vec<_>>() {
        queue.applied(&key, index);
        set.applied(handles[index as usize - 1], index);
    }
    queue.role_change(Role::Follower, 0);
    assert!(queue.len() < 500);
    let bytes = serde_json::to_vec(&queue.as_set().snapshot()).unwrap();
    assert_eq!(serde_json::to_vec(&set.snapshot()).unwrap(), bytes);
    // And so does a replica that has it from a snapshot.
    let mut late: TtlQueue<u32> = leader();
    late.restore(serde_json::from_slice::<Vec<_>>(&bytes).unwrap(), 0, 0).unwrap();
    assert_eq!(serde_json::to_vec(&late.as_set().snapshot()).unwrap(), bytes);
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
