//! Panics in the caller's code lose nothing.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use timer_wheel::ttl::{Outcome, Phase, Role, TtlQueue};

use crate::script::MS;
use crate::start::{created, expire, fill, leader, poll};

#[test]
fn panic_between_two_items_loses_nothing() {
    let mut queue = leader();
    fill(&mut queue, 10, |key| 1 + u64::from(key));
    let mut seen = Vec::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        for due in queue.poll(20 * MS) {
            assert_ne!(due.key, 3, "the caller panics here");
            seen.push(due.key);
        }
    }));
    assert!(panicked.is_err());
    queue.check_invariants();
    assert_eq!(queue.len(), 10);
    // The one it panicked on is pending, and will time out; the others are due as before.
    assert_eq!(queue.as_set().pending_len(), 4);
    assert_eq!(queue.get(&3).unwrap().phase, Phase::Pending);
    assert_eq!(queue.expiration_delay(), Some(0));
    assert_eq!((seen, poll(&mut queue, 20 * MS)), (vec![0, 1, 2], (4..10).collect()));
    assert_eq!(queue.poll(20 * MS + 10_000 * MS).count(), 0);
    let retried = poll(&mut queue, 20 * MS + 11_000 * MS);
    assert!(retried.contains(&3), "nothing heard of it: retried");
}

/// What a leaked poll had made pending ahead of its turn is proposed after the pending timeout.
#[test]
fn leaked_poll_loses_nothing() {
    let mut queue = leader();
    fill(&mut queue, 100, |_| 5);
    let mut leaked = queue.poll(5 * MS);
    assert_eq!(leaked.next().map(|due| due.key), Some(0));
    mem::forget(leaked);
    queue.check_invariants();
    assert_eq!(queue.applied(&0, 1), Outcome::Applied);
    let (mut now, mut keys) = (5 * MS, Vec::new());
    while let Some(wait) = queue.expiration_delay() {
        now += wait;
        keys.extend(expire(&mut queue, now));
    }
    keys.sort_unstable();
    assert!(keys.into_iter().eq(1..100));
}

/// What a key does when its fuse has burnt down.
#[derive(Default)]
struct Fuse {
    left: Cell<u32>,
    burnt: Cell<bool>,
}

impl Fuse {
    fn burn(&self) {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == 1 {
            self.burnt.set(true);
            resume_unwind(Box::new("a key panics"));
        }
    }
}

/// A key of which every operation may panic.
struct Key {
    number: u32,
    fuse: Rc<Fuse>,
}

impl Clone for Key {
    fn clone(&self) -> Self {
        self.fuse.burn();
        let fuse = Rc::clone(&self.fuse);
        Self { fuse, ..*self }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.fuse.burn();
        // All in a few places, so that they must be compared.
        (self.number % 2).hash(hasher);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.fuse.burn();
        self.number == other.number
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.fuse.burn();
        self.number.cmp(&other.number)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.fuse.burn();
        }
    }
}

#[test]
fn panic_in_any_operation_of_a_key_leaves_the_queue_valid() {
    type Call = fn(&mut TtlQueue<Key>, Key);
    let calls: [(&str, Call); 9] = [
        ("init", |queue, key| _ = queue.init(key, 9, 7, created(0))),
        ("update", |queue, key| _ = queue.update(&key, 9, 7, created(0))),
        ("remove", |queue, key| _ = queue.remove(&key)),
        ("applied", |queue, key| _ = queue.applied(&key, 1)),
        ("failed", |queue, key| _ = queue.failed(&key, 1, 30 * MS)),
        ("poll", |queue, _| queue.poll(30 * MS).for_each(drop)),
        ("snapshot", |queue, _| drop(queue.as_set().snapshot())),
        ("clear", |queue, _| queue.clear()),
        ("restore", |queue, _| {
            let entries: Vec<_> = queue.as_set().snapshot().into_iter().cloned().collect();
            queue.restore(entries, 40 * MS, 0).unwrap();
        }),
    ];
    for (name, call) in calls {
        for number in [0, 5, 25, 99] {
            for left in 1.. {
                assert!(left < 400, "{name}: more operations than expected");
                let fuse = Rc::new(Fuse::default());
                let key = |number| Key { number, fuse: Rc::clone(&fuse) };
                let mut queue = leader();
                for number in 0..20 {
                    queue.init(key(number), 1, 1 + u64::from(number), created(0)).unwrap();
                }
                // Some pending, some waiting for a retry, the rest not due yet.
                assert_eq!(queue.poll(10 * MS).count(), 10);
                (5..8).for_each(|number| _ = queue.failed(&key(number), 1, 10 * MS));
                let asked = key(number);
                fuse.left.set(left);
                let panicked = catch_unwind(AssertUnwindSafe(|| call(&mut queue, asked)));
                fuse.left.set(0);
                assert_eq!(panicked.is_err(), fuse.burnt.get());
                queue.check_invariants();
                // Whatever is left expires and goes.
                queue.role_change(Role::Leader, 1_000 * MS);
                while !queue.is_empty() {
                    let due: Vec<_> = queue.poll(1_000 * MS).collect();
                    assert!(!due.is_empty(), "{name}: something is lost");
                    for due in due {
                        assert_eq!(queue.applied(&due.key, due.index), Outcome::Applied);
                    }
                }
                if !fuse.burnt.get() {
                    break;
                }
            }
        }
    }
}
