//! TTLs as a queue: each call is an entry of the log, and each expiry is applied as soon as it is proposed.

use timer_wheel::ttl::{Context, Outcome, Role, TtlKey, TtlQueue, TtlSet};

use super::Need::{self, Budget, First, Horizon};
use super::{Order, Queue};
use crate::workload::MILLISECOND;

/// Keys with TTLs, on the leader.
pub trait Layer {
    /// The name under which it stands in tables.
    const NAME: &'static str;
    type Key: Copy;

    /// Without a key, at time 0.
    fn new() -> Self;
    /// Sets the TTL of a key that has none.
    fn init(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> Self::Key;
    /// Sets another TTL. `false` if there was none.
    fn update(&mut self, key: Self::Key, index: u64, ttl_ms: u64, ctx: Context) -> bool;
    /// Proposes what is due, and says whether more is.
    fn poll(&mut self, now: u64, due: &mut Vec<Proposal<Self::Key>>) -> bool;
    /// Ends a TTL whose expiry has come back.
    fn applied(&mut self, proposal: Proposal<Self::Key>);
    fn remove(&mut self, key: Self::Key) -> Option<u32>;
    fn clear(&mut self);
}

/// An expiry that a poll proposes: what names its entry, the index, and the key.
pub type Proposal<N> = (N, u64, u32);

/// A layer and the log around it.
#[derive(Debug)]
pub struct Applied<L: Layer> {
    layer: L,
    index: u64,
    due: Vec<Proposal<L::Key>>,
}

/// By how much the layer's time is ahead, so that every deadline takes a TTL of a millisecond or more.
const AHEAD: u64 = MILLISECOND;

/// The TTL for a deadline, and the moment from which on it counts: the deadline is kept to the nanosecond.
#[inline]
fn lifetime(deadline: u64) -> (u64, Context) {
    (deadline / MILLISECOND + AHEAD / MILLISECOND, Context::new(deadline % MILLISECOND))
}

impl<L: Layer> Queue for Applied<L> {
    const NAME: &'static str = L::NAME;
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[First, Budget, Horizon];
    type Key = L::Key;

    fn new(_now: u64) -> Self {
        Self { layer: L::new(), index: 0, due: Vec::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> L::Key {
        let (ttl_ms, ctx) = lifetime(deadline);
        self.index += 1;
        self.layer.init(value, self.index, ttl_ms, ctx)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        loop {
            let has_more = self.layer.poll(now + AHEAD, &mut self.due);
            for proposal in self.due.drain(..) {
                self.layer.applied(proposal);
                fire(now, proposal.2);
            }
            if !has_more {
                return;
            }
        }
    }

    #[inline]
    fn cancel(&mut self, key: L::Key) -> Option<u32> {
        self.layer.remove(key)
    }

    #[inline(always)]
    fn reschedule(&mut self, key: &mut L::Key, deadline: u64) -> bool {
        let (ttl_ms, ctx) = lifetime(deadline);
        self.index += 1;
        self.layer.update(*key, self.index, ttl_ms, ctx)
    }

    fn clear(&mut self) {
        self.layer.clear();
    }
}

impl Layer for TtlSet<u32> {
    const NAME: &'static str = "TtlSet";
    type Key = TtlKey;

    fn new() -> Self {
        let mut set = Self::new(0);
        set.role_change(Role::Leader, 0);
        set
    }

    #[inline]
    fn init(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> TtlKey {
        let handle = self.init(key, index, ttl_ms, ctx);
        handle.expect("the TTL is not too long").expect("nor zero")
    }

    #[inline]
    fn update(&mut self, handle: TtlKey, index: u64, ttl_ms: u64, ctx: Context) -> bool {
        self.update(handle, index, ttl_ms, ctx) == Ok(Outcome::Updated)
    }

    #[inline]
    fn poll(&mut self, now: u64, due: &mut Vec<Proposal<TtlKey>>) -> bool {
        due.extend(self.poll(now).map(|it| (it.handle, it.index, it.key)));
        self.expiration_delay() == Some(0)
    }

    #[inline]
    fn applied(&mut self, (handle, index, _): Proposal<TtlKey>) {
        self.applied(handle, index);
    }

    #[inline]
    fn remove(&mut self, handle: TtlKey) -> Option<u32> {
        self.remove(handle)
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl Layer for TtlQueue<u32> {
    const NAME: &'static str = "TtlQueue";
    type Key = u32;

    fn new() -> Self {
        let mut queue = Self::new(0);
        queue.role_change(Role::Leader, 0);
        queue
    }

    #[inline]
    fn init(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> u32 {
        self.init(key, index, ttl_ms, ctx).expect("the TTL is not too long");
        key
    }

    #[inline]
    fn update(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> bool {
        self.update(&key, index, ttl_ms, ctx) == Ok(Outcome::Updated)
    }

    #[inline]
    fn poll(&mut self, now: u64, due: &mut Vec<Proposal<u32>>) -> bool {
        due.extend(self.poll(now).map(|it| (it.key, it.index, it.key)));
        self.expiration_delay() == Some(0)
    }

    #[inline]
    fn applied(&mut self, (key, index, _): Proposal<u32>) {
        self.applied(&key, index);
    }

    #[inline]
    fn remove(&mut self, key: u32) -> Option<u32> {
        self.remove(&key)
    }

    fn clear(&mut self) {
        self.clear();
    }
}
