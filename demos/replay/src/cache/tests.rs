//! Hand-made traces, with their expiries and counts worked out by hand.

use super::*;
use timer_wheel_bench::BTreeQueue;

const AFTER_WRITE: Policy = Policy { expire: Expire::AfterWrite, ttl_ns: None, capacity: None };
const AFTER_ACCESS: Policy = Policy { expire: Expire::AfterAccess, ..AFTER_WRITE };
const TTL_OF_7_S: Policy = Policy { ttl_ns: Some(7 * NS_PER_S), ..AFTER_WRITE };
const ONE_ENTRY: Policy = Policy { capacity: NonZeroUsize::new(1), ..AFTER_WRITE };
const TWO_ENTRIES: Policy = Policy { capacity: NonZeroUsize::new(2), ..AFTER_WRITE };

/// Each with its policy; its requests, `time in s, operation, key, TTL in s` each; its expiries, `time of the advance:
/// key @ deadline`; and those that are not 0 of hits, misses, inserts, refreshes, expired, evicted and deleted.
#[rustfmt::skip]
const CASES: [(&str, Policy, &str, &str, &str); 17] = [
    ("after a write a hit leaves the deadline", AFTER_WRITE, "0 set 1 10, 5 get 1 0, 12 get 1 0, 15 set 2 10, 30 get 2 0",
        "12:1@10 30:2@25", "hits 1 misses 2 inserts 2 expired 2"),
    ("after an access a hit starts the TTL anew", AFTER_ACCESS, "0 set 1 10, 5 get 1 0, 12 get 1 0, 15 set 2 10, 30 get 2 0",
        "30:1@22 30:2@25", "hits 2 misses 1 inserts 2 refreshes 2 expired 2"),
    ("an entry is gone at its very deadline", AFTER_WRITE, "0 set 1 10, 10 get 1 0",
        "10:1@10", "misses 1 inserts 1 expired 1"),
    ("expiries at once are in order of deadline, then of writing", AFTER_WRITE, "0 set 3 9, 0 set 2 9, 0 set 1 8, 1 set 3 8, 20 get 0 0",
        "20:1@8 20:2@9 20:3@9", "misses 1 inserts 3 refreshes 1 expired 3"),
    ("a fetch that misses fills and a get does not", AFTER_WRITE, "0 fetch 1 5, 1 get 1 0, 1 get 2 5, 1 get 2 5",
        "", "hits 1 misses 3 inserts 1"),
    ("a set of a present key moves its deadline either way", AFTER_WRITE, "0 set 1 10, 1 set 1 20, 2 set 1 3, 50 get 0 0",
        "50:1@5", "misses 1 inserts 1 refreshes 2 expired 1"),
    ("a set without a TTL cancels the timer", AFTER_WRITE, "0 set 1 10, 1 set 1 0, 50 get 0 0",
        "", "misses 1 inserts 1"),
    ("an entry without a TTL lasts until a set with one", AFTER_WRITE, "0 set 1 0, 60 set 1 10, 90 get 1 0",
        "90:1@70", "misses 1 inserts 1 refreshes 1 expired 1"),
    ("an add writes only what is absent", AFTER_WRITE, "0 add 1 10, 1 add 1 50, 20 add 1 10, 40 get 0 0",
        "20:1@10 40:1@30", "misses 1 inserts 2 expired 2"),
    ("a replace writes only what is present", AFTER_WRITE, "0 replace 1 10, 1 set 1 10, 2 replace 1 20, 40 get 0 0",
        "40:1@22", "misses 1 inserts 1 refreshes 1 expired 1"),
    ("a change of a value keeps the deadline", AFTER_WRITE, "0 incr 1 9, 0 set 1 10, 5 incr 1 99, 40 get 0 0",
        "40:1@10", "misses 1 inserts 1 expired 1"),
    ("a change of a value is an access", AFTER_ACCESS, "0 incr 1 9, 0 set 1 10, 5 incr 1 99, 40 get 0 0",
        "40:1@15", "misses 1 inserts 1 refreshes 1 expired 1"),
    ("a delete cancels the timer", AFTER_WRITE, "0 set 1 10, 5 delete 1 0, 5 delete 1 0, 40 get 0 0",
        "", "misses 1 inserts 1 deleted 1"),
    ("the policy's TTL replaces every other", TTL_OF_7_S, "0 set 1 0, 1 set 2 100, 40 get 0 0",
        "40:1@7 40:2@8", "misses 1 inserts 2 expired 2"),
    ("a full cache evicts the least recently used, timer included", TWO_ENTRIES, "0 set 1 50, 1 set 2 50, 2 get 1 0, 3 set 3 50, 4 get 2 0, 5 get 1 0, 99 get 0 0",
        "99:1@50 99:3@53", "hits 2 misses 2 inserts 3 expired 2 evicted 1"),
    ("an expired entry makes room without an eviction", ONE_ENTRY, "0 set 1 5, 5 set 2 5, 6 set 3 5",
        "5:1@5", "inserts 3 expired 1 evicted 1"),
    ("a deleted entry makes room without an eviction", ONE_ENTRY, "0 set 1 5, 1 delete 1 0, 2 set 2 5, 9 get 0 0",
        "9:2@7", "misses 1 inserts 2 expired 1 deleted 1"),
];

/// Expiries, as a case has them.
#[derive(Default)]
struct Expiries(Vec<String>);

impl Observer for Expiries {
    fn expired(&mut self, now_ns: u64, key: KeyId, deadline_ns: u64) {
        self.0.push(format!("{}:{}@{}", now_ns / NS_PER_S, key.0, deadline_ns / NS_PER_S));
    }
}

fn request(text: &str) -> Request {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: usize| words[word].parse::<u32>().unwrap();
    let operation = match words[1] {
        "fetch" => Operation::Fetch,
        name => Operation::of_memcached(name.as_bytes()).unwrap(),
    };
    Request { at_ns: u64::from(number(0)) * NS_PER_S, ttl_s: number(3), key: KeyId(number(2)), operation }
}

#[test]
fn cache_does_what_was_worked_out_by_hand() {
    for (name, policy, requests, expiries, shown) in CASES {
        let requests: Vec<Request> = requests.split(',').map(request).collect();
        let mut cache = Cache::new(BTreeQueue::<KeyId>::new(0), policy, 10);
        let mut expired = Expiries::default();
        for &request in &requests {
            cache.serve(request, &mut expired);
        }
        assert_eq!(expired.0.join(" "), expiries, "{name}");
        let counts = cache.counts();
        let counted = serde_json::to_value(counts).unwrap();
        let names = ["hits", "misses", "inserts", "refreshes", "expired", "evicted", "deleted"];
        let names = names.into_iter().filter(|&name| counted[name] != 0);
        let counted: Vec<String> = names.map(|name| format!("{name} {}", counted[name])).collect();
        assert_eq!(counted.join(" "), shown, "{name}");
        assert_eq!(counts.hits + counts.misses + counts.writes, requests.len() as u64);
        assert_eq!(counts.inserts, counts.expired + counts.evicted + counts.deleted + counts.left);
        assert!(cache.recency.is_none_or(|recency| recency.len() as u64 == counts.left));
    }
}
