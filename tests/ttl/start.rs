//! What many tests begin with.

use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};

/// An empty queue on a leader, at time zero.
pub(crate) fn leader<K>() -> TtlQueue<K> {
    let mut queue = TtlQueue::new(0, TtlConfig::default());
    queue.role_change(Role::Leader, 0);
    queue
}

/// A log entry that was created at that time.
pub(crate) fn created(created_ns: u64) -> Context {
    Context::new(created_ns)
}
