//! Hand-made traces, with what should become of them worked out by hand.

use super::*;
use crate::observer::Observer;
use crate::queue::BTree;
use Operation::{Add, Delete, Fetch, Get, Modify, Replace, Set};

/// Expiries as (time of the advance, key, deadline), in seconds.
#[derive(Default)]
struct Expiries(Vec<(u64, u32, u64)>);

impl Observer for Expiries {
    fn expired(&mut self, now_ns: u64, key: KeyId, deadline_ns: u64) {
        self.0
            .push((now_ns / NS_PER_S, key.0, deadline_ns / NS_PER_S));
    }
}

const POLICY: Policy = Policy {
    expire: Expire::AfterWrite,
    ttl_ns: None,
    capacity: None,
};

const AFTER_ACCESS: Policy = Policy {
    expire: Expire::AfterAccess,
    ..POLICY
};

/// Serves (time in s, operation, key, TTL in s) and says what expired and what was counted.
fn serve(
    policy: Policy,
    requests: &[(u64, Operation, u32, u32)],
) -> (Vec<(u64, u32, u64)>, Counts) {
    let mut cache = Cache::new(BTree::new(0), policy, 10);
    let mut expiries = Expiries::default();
    for &(at_s, operation, key, ttl_s) in requests {
        let request = Request::new(at_s * NS_PER_S, operation, KeyId(key), ttl_s);
        cache.serve(request, &mut expiries);
    }
    let counts = cache.counts();
    let served = counts.hits + counts.misses + counts.writes;
    assert_eq!(served, requests.len() as u64);
    let gone = counts.expired + counts.evicted + counts.deleted;
    assert_eq!(counts.inserts, gone + counts.left);
    if let Some(recency) = &cache.recency {
        assert_eq!(recency.len() as u64, counts.left);
    }
    (expiries.0, counts)
}

const ACCESSES: [(u64, Operation, u32, u32); 5] = [
    (0, Set, 1, 10),
    (5, Get, 1, 0),
    (12, Get, 1, 0),
    (15, Set, 2, 10),
    (30, Get, 2, 0),
];

#[test]
fn after_write_a_hit_leaves_the_deadline() {
    let (expiries, counts) = serve(POLICY, &ACCESSES);
    assert_eq!(expiries, [(12, 1, 10), (30, 2, 25)]);
    assert_eq!((counts.hits, counts.misses, counts.refreshes), (1, 2, 0));
}

#[test]
fn after_access_a_hit_starts_the_ttl_anew() {
    let (expiries, counts) = serve(AFTER_ACCESS, &ACCESSES);
    assert_eq!(expiries, [(30, 1, 22), (30, 2, 25)]);
    assert_eq!((counts.hits, counts.misses, counts.refreshes), (2, 1, 2));
}

#[test]
fn entry_is_gone_at_its_very_deadline() {
    let (expiries, counts) = serve(POLICY, &[(0, Set, 1, 10), (10, Get, 1, 0)]);
    assert_eq!(expiries, [(10, 1, 10)]);
    assert_eq!((counts.hits, counts.misses), (0, 1));
}

#[test]
fn expiries_of_one_moment_come_in_order_of_deadline_then_of_writing() {
    let (expiries, _) = serve(
        POLICY,
        &[
            (0, Set, 3, 9),
            (0, Set, 2, 9),
            (0, Set, 1, 8),
            (1, Set, 3, 8),
            (20, Get, 0, 0),
        ],
    );
    assert_eq!(expiries, [(20, 1, 8), (20, 2, 9), (20, 3, 9)]);
}

#[test]
fn fetch_that_misses_fills_and_get_does_not() {
    let (_, counts) = serve(
        POLICY,
        &[
            (0, Fetch, 1, 5),
            (1, Get, 1, 0),
            (1, Get, 2, 5),
            (1, Get, 2, 5),
        ],
    );
    assert_eq!((counts.inserts, counts.hits, counts.misses), (1, 1, 3));
}

#[test]
fn set_of_a_present_key_moves_its_deadline_either_way() {
    let (expiries, counts) = serve(
        POLICY,
        &[
            (0, Set, 1, 10),
            (1, Set, 1, 20),
            (2, Set, 1, 3),
            (50, Get, 0, 0),
        ],
    );
    assert_eq!(expiries, [(50, 1, 5)]);
    assert_eq!((counts.inserts, counts.refreshes), (1, 2));
}

#[test]
fn set_without_a_ttl_makes_an_entry_last_until_one_with_a_ttl() {
    let (expiries, _) = serve(POLICY, &[(0, Set, 1, 10), (1, Set, 1, 0), (50, Get, 0, 0)]);
    assert_eq!(expiries, []);
    let (expiries, counts) = serve(POLICY, &[(0, Set, 1, 0), (60, Set, 1, 10), (90, Get, 1, 0)]);
    assert_eq!(expiries, [(90, 1, 70)]);
    assert_eq!((counts.inserts, counts.refreshes), (1, 1));
}

#[test]
fn add_writes_only_what_is_absent() {
    let (expiries, counts) = serve(
        POLICY,
        &[
            (0, Add, 1, 10),
            (1, Add, 1, 50),
            (20, Add, 1, 10),
            (40, Get, 0, 0),
        ],
    );
    assert_eq!(expiries, [(20, 1, 10), (40, 1, 30)]);
    assert_eq!((counts.inserts, counts.refreshes), (2, 0));
}

#[test]
fn replace_writes_only_what_is_present() {
    let (expiries, counts) = serve(
        POLICY,
        &[
            (0, Replace, 1, 10),
            (1, Set, 1, 10),
            (2, Replace, 1, 20),
            (40, Get, 0, 0),
        ],
    );
    assert_eq!(expiries, [(40, 1, 22)]);
    assert_eq!((counts.inserts, counts.refreshes), (1, 1));
}

#[test]
fn modify_keeps_the_deadline_unless_accesses_move_it() {
    let requests = [
        (0, Modify, 1, 9),
        (0, Set, 1, 10),
        (5, Modify, 1, 99),
        (40, Get, 0, 0),
    ];
    assert_eq!(serve(POLICY, &requests).0, [(40, 1, 10)]);
    assert_eq!(serve(AFTER_ACCESS, &requests).0, [(40, 1, 15)]);
}

#[test]
fn delete_takes_the_timer_along() {
    let (expiries, counts) = serve(
        POLICY,
        &[
            (0, Set, 1, 10),
            (5, Delete, 1, 0),
            (5, Delete, 1, 0),
            (40, Get, 0, 0),
        ],
    );
    assert_eq!(expiries, []);
    assert_eq!(counts.deleted, 1);
}

#[test]
fn ttl_of_the_policy_replaces_every_other() {
    let policy = Policy {
        ttl_ns: Some(7 * NS_PER_S),
        ..POLICY
    };
    let (expiries, _) = serve(policy, &[(0, Set, 1, 0), (1, Set, 2, 100), (40, Get, 0, 0)]);
    assert_eq!(expiries, [(40, 1, 7), (40, 2, 8)]);
}

#[test]
fn full_cache_evicts_who_was_not_used_for_longest() {
    let policy = Policy {
        capacity: NonZeroUsize::new(2),
        ..POLICY
    };
    let (expiries, counts) = serve(
        policy,
        &[
            (0, Set, 1, 50),
            (1, Set, 2, 50),
            (2, Get, 1, 0),
            // Evicts 2, and its timer with it.
            (3, Set, 3, 50),
            (4, Get, 2, 0),
            (5, Get, 1, 0),
            (99, Get, 0, 0),
        ],
    );
    assert_eq!(expiries, [(99, 1, 50), (99, 3, 53)]);
    assert_eq!((counts.evicted, counts.hits), (1, 2));
}

#[test]
fn expired_entry_makes_room_without_an_eviction() {
    let policy = Policy {
        capacity: NonZeroUsize::new(1),
        ..POLICY
    };
    let (_, counts) = serve(policy, &[(0, Set, 1, 5), (5, Set, 2, 5), (6, Set, 3, 5)]);
    assert_eq!((counts.expired, counts.evicted), (1, 1));
}
