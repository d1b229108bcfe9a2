//! The instructions of an update to another TTL by its handle; see `wheel.rs`.

mod ceiling;
mod counted;
mod steady;

use timer_wheel::ttl::{Context, Outcome, Role, TtlConfig, TtlKey, TtlSet};
use timer_wheel_bench::queue::{Order, Queue};
use timer_wheel_bench::workload::MILLISECOND;

use counted::counted;

counted!(ttl_set, Ttls: update from with_random);

/// A leader's TTLs, whose values are their keys. Every call is a log entry of its own.
pub(crate) struct Ttls {
    set: TtlSet<u32>,
    index: u64,
}

impl Ttls {
    /// The log index, and the TTL in ms from the beginning of time.
    #[inline]
    fn entry(&mut self, deadline: u64) -> (u64, u64) {
        self.index += 1;
        (self.index, deadline / MILLISECOND)
    }
}

impl Queue for Ttls {
    const NAME: &'static str = "TtlSet";
    const ORDER: Order = Order::Step;
    type Key = TtlKey;

    fn new(now: u64) -> Self {
        let mut set = TtlSet::new(now, TtlConfig::default());
        set.role_change(Role::Leader, now);
        Self { set, index: 0 }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> TtlKey {
        let (index, ttl_ms) = self.entry(deadline);
        let handle = self.set.init(value, index, ttl_ms, Context::default());
        handle.expect("the TTL is not too long").expect("nor zero")
    }

    /// Each expiry is proposed and applied.
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        loop {
            let mut due = self.set.poll(now);
            let proposed: Vec<_> = due.by_ref().collect();
            let has_more = due.next_wake() == Some(0);
            if proposed.is_empty() && !has_more {
                return;
            }
            for expiry in proposed {
                let outcome = self.set.applied(expiry.handle, expiry.index);
                assert_eq!(outcome, Outcome::Applied);
                fire(now, expiry.key);
            }
        }
    }

    #[inline]
    fn cancel(&mut self, key: TtlKey) -> Option<u32> {
        self.set.remove(key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut TtlKey, deadline: u64) -> bool {
        let (index, ttl_ms) = self.entry(deadline);
        self.set.update(*key, index, ttl_ms, Context::default()) == Ok(Outcome::Updated)
    }
}
