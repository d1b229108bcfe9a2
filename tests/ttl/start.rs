//! What many tests begin with, and how they go on.

use timer_wheel::ttl::{Context, Outcome, Role, TtlConfig, TtlQueue};

use crate::script::MS;

pub(crate) const SECOND: u64 = 1_000 * MS;

/// An empty queue on a leader, at time zero.
pub(crate) fn leader<K>() -> TtlQueue<K> {
    leader_with(|_| {})
}

pub(crate) fn leader_with<K>(set: impl FnOnce(&mut TtlConfig)) -> TtlQueue<K> {
    let mut queue = TtlQueue::new(0);
    queue.set_config(config(set)).unwrap();
    queue.role_change(Role::Leader, 0);
    queue
}

/// The default settings but for some.
pub(crate) fn config(set: impl FnOnce(&mut TtlConfig)) -> TtlConfig {
    let mut config = TtlConfig::default();
    set(&mut config);
    config
}

/// A log entry that was created at that time.
pub(crate) fn created(created_ns: u64) -> Context {
    Context::new(created_ns)
}

/// Sets the TTL of so many keys, from 0 on, by the log entry 1 at time zero.
pub(crate) fn fill(queue: &mut TtlQueue<u32>, count: u32, ttl_ms: impl Fn(u32) -> u64) {
    for key in 0..count {
        assert_eq!(queue.init(key, 1, ttl_ms(key), created(0)), Ok(Outcome::Scheduled));
    }
}

/// The keys that a poll yields.
pub(crate) fn poll(queue: &mut TtlQueue<u32>, now: u64) -> Vec<u32> {
    queue.poll(now).map(|due| due.key).collect()
}

/// Whether a caller whose clock stands at `now` is to poll at once.
pub(crate) fn is_due<K>(queue: &TtlQueue<K>, now: u64) -> bool {
    queue.wake_at().is_some_and(|at| at <= now)
}

/// Applies all that is due, in order, until a poll says that there is no more.
pub(crate) fn expire(queue: &mut TtlQueue<u32>, now: u64) -> Vec<u32> {
    let (mut keys, mut polls) = (Vec::new(), 0);
    while is_due(queue, now) {
        polls += 1;
        assert!(polls < 10_000, "no progress");
        for due in queue.poll(now).collect::<Vec<_>>() {
            assert_eq!(queue.applied(&due.key, due.index), Outcome::Applied);
            keys.push(due.key);
        }
    }
    keys
}
