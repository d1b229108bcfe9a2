//! Panics in the caller's code lose nothing.

use std::hash::{Hash, Hasher};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::ttl::{Outcome, Role, TtlQueue};

use crate::fuse::Fuse;
use crate::script::MS;
use crate::start::{created, expire, fill, leader};

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

/// A key of which every operation may panic.
struct Key {
    number: u32,
    fuse: Fuse,
}

impl Clone for Key {
    fn clone(&self) -> Self {
        self.fuse.ask();
        Self { number: self.number, fuse: self.fuse.clone() }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.fuse.ask();
        // All in a few places, so that they must be compared.
        (self.number % 2).hash(hasher);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.fuse.ask();
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
        self.fuse.ask();
        self.number.cmp(&other.number)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.fuse.ask();
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
            for spared in 0.. {
                assert!(spared < 400, "{name}: more operations than expected");
                let fuse = Fuse::default();
                let key = |number| Key { number, fuse: fuse.clone() };
                let mut queue = leader();
                for number in 0..20 {
                    queue.init(key(number), 1, 1 + u64::from(number), created(0)).unwrap();
                }
                // Some pending, some waiting for a retry, the rest not due yet.
                assert_eq!(queue.poll(10 * MS).count(), 10);
                (5..8).for_each(|number| _ = queue.failed(&key(number), 1, 10 * MS));
                let asked = key(number);
                fuse.set(spared..spared + 1);
                let panicked = catch_unwind(AssertUnwindSafe(|| call(&mut queue, asked)));
                let is_burnt = fuse.asked() > spared;
                fuse.set(0..0);
                assert_eq!(panicked.is_err(), is_burnt);
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
                if !is_burnt {
                    break;
                }
            }
        }
    }
}
