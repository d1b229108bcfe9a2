//! Entries by handle, where a queue by key and the random scripts do not reach.

use timer_wheel::ttl::{Entry, Outcome, Role, TtlKey, TtlSet};

use crate::start::{SECOND, created};

fn leader() -> TtlSet<&'static str> {
    let mut set = TtlSet::new(0);
    set.role_change(Role::Leader, 0);
    set
}

fn init(set: &mut TtlSet<&'static str>, index: u64, key: &'static str, ttl_ms: u64) -> TtlKey {
    let handle = set.init(key, index, ttl_ms, created(0));
    handle.expect("it is not too long").expect("it is not 0")
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
    let mut set = leader();
    let handles = set.restore(entries, 0, 0).unwrap();
    let of = |nth: usize| set.get(handles[nth]).map(|info| info.entry.index);
    assert_eq!([0, 1, 2, 3].map(of), [Some(3), Some(9), Some(1), Some(2)]);
    assert!(set.snapshot().into_iter().eq(&in_order));
    // In flight they are the same, and whatever came and went in between.
    set.remove(handles[0]);
    init(&mut set, 3, "b", 1_000);
    assert_eq!(set.poll(SECOND).count(), 4);
    assert!(set.snapshot().into_iter().eq(&in_order));
}
