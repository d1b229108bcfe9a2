//! The subjects: the set by handle, the queue by key, and two sets.

use timer_wheel::ttl::{Context, Role, TtlConfig, TtlKey, TtlQueue, TtlSet};
use timer_wheel_bench::TwoSets;

/// What all do. The low half of a key counts the keys.
pub(crate) trait Subject {
    /// What names a key that has a TTL.
    type Name: Copy;

    /// Empty, with a store for so many keys.
    fn new(config: &TtlConfig, keys: usize) -> Self;
    /// Makes room for so many entries.
    fn reserve(&mut self, keys: usize);
    fn init(&mut self, key: u64, index: u64, ttl_ms: u64, ctx: Context);
    /// Names these keys, which have a TTL, as the store's records do.
    fn names(&self, keys: &[u64]) -> Vec<Self::Name>;
    fn update(&mut self, index: u64, name: Self::Name, ttl_ms: u64, ctx: Context);
    /// The index of the entry of a key that has one.
    fn index_of(&self, key: u64) -> u64;
    /// Polls once, hands key and index of each expiry on, and tells the wait.
    fn poll(&mut self, now: u64, propose: impl FnMut(u64, u64, u128)) -> Option<u64>;
    fn applied(&mut self, key: u64, index: u64);
    fn failed(&mut self, key: u64, index: u64, now: u64);
    fn remove(&mut self, key: u64);
    fn lead(&mut self, now: u64);
}

/// A set, and a store that keeps a handle for each key.
pub(crate) struct ByHandle {
    set: TtlSet<u64>,
    handles: Vec<Option<TtlKey>>,
}

impl ByHandle {
    fn handle(&self, key: u64) -> TtlKey {
        self.handles[nth(key)].expect("the key has a TTL")
    }
}

/// Where in the store a key's record is.
pub(crate) fn nth(key: u64) -> usize {
    key as u32 as usize
}

impl Subject for ByHandle {
    type Name = TtlKey;

    fn new(config: &TtlConfig, keys: usize) -> Self {
        Self { set: TtlSet::new(0, config.clone()), handles: vec![None; keys] }
    }

    fn reserve(&mut self, keys: usize) {
        self.set.reserve(keys);
    }

    fn init(&mut self, key: u64, index: u64, ttl_ms: u64, ctx: Context) {
        let handle = &mut self.handles[nth(key)];
        let set = match *handle {
            Some(handle) => self.set.update(handle, index, ttl_ms, ctx).map(|_| ()),
            None => self.set.init(key, index, ttl_ms, ctx).map(|new| *handle = new),
        };
        set.expect("the TTL is not too long");
    }

    fn names(&self, keys: &[u64]) -> Vec<TtlKey> {
        keys.iter().map(|&key| self.handle(key)).collect()
    }

    fn update(&mut self, index: u64, name: TtlKey, ttl_ms: u64, ctx: Context) {
        let updated = self.set.update(name, index, ttl_ms, ctx);
        updated.expect("the TTL is not too long");
    }

    fn index_of(&self, key: u64) -> u64 {
        let info = self.set.get(self.handle(key));
        info.expect("the key has a TTL").entry.index
    }

    fn poll(&mut self, now: u64, mut propose: impl FnMut(u64, u64, u128)) -> Option<u64> {
        let mut due = self.set.poll(now);
        for due in due.by_ref() {
            propose(due.key, due.index, due.owner);
        }
        due.next_wake()
    }

    fn applied(&mut self, key: u64, index: u64) {
        let handle = self.handles[nth(key)].take().expect("the key has a TTL");
        self.set.applied(handle, index);
    }

    fn failed(&mut self, key: u64, index: u64, now: u64) {
        self.set.failed(self.handle(key), index, now);
    }

    fn remove(&mut self, key: u64) {
        let handle = self.handles[nth(key)].take().expect("the key has a TTL");
        self.set.remove(handle);
    }

    fn lead(&mut self, now: u64) {
        self.set.role_change(Role::Leader, now);
    }
}

impl Subject for TtlQueue<u64> {
    type Name = u64;

    fn new(config: &TtlConfig, _: usize) -> Self {
        Self::new(0, config.clone())
    }

    fn reserve(&mut self, keys: usize) {
        self.reserve(keys);
    }

    fn init(&mut self, key: u64, index: u64, ttl_ms: u64, ctx: Context) {
        self.init(key, index, ttl_ms, ctx).expect("the TTL is not too long");
    }

    fn names(&self, keys: &[u64]) -> Vec<u64> {
        keys.to_vec()
    }

    fn update(&mut self, index: u64, name: u64, ttl_ms: u64, ctx: Context) {
        Subject::init(self, name, index, ttl_ms, ctx);
    }

    fn index_of(&self, key: u64) -> u64 {
        self.get(&key).expect("the key has a TTL").entry.index
    }

    fn poll(&mut self, now: u64, mut propose: impl FnMut(u64, u64, u128)) -> Option<u64> {
        let mut due = self.poll(now);
        for due in due.by_ref() {
            propose(due.key, due.index, due.owner);
        }
        due.next_wake()
    }

    fn applied(&mut self, key: u64, index: u64) {
        self.applied(&key, index);
    }

    fn failed(&mut self, key: u64, index: u64, now: u64) {
        self.failed(&key, index, now);
    }

    fn remove(&mut self, key: u64) {
        self.remove(&key);
    }

    fn lead(&mut self, now: u64) {
        self.role_change(Role::Leader, now);
    }
}

impl Subject for TwoSets<u64> {
    type Name = u64;

    fn new(config: &TtlConfig, _: usize) -> Self {
        Self::new(config)
    }

    fn reserve(&mut self, keys: usize) {
        self.reserve(keys);
    }

    fn init(&mut self, key: u64, index: u64, ttl_ms: u64, ctx: Context) {
        self.init(index, key, ttl_ms, ctx);
    }

    fn names(&self, keys: &[u64]) -> Vec<u64> {
        keys.to_vec()
    }

    fn update(&mut self, index: u64, name: u64, ttl_ms: u64, ctx: Context) {
        Subject::init(self, name, index, ttl_ms, ctx);
    }

    fn index_of(&self, key: u64) -> u64 {
        self.entry(&key).expect("the key has a TTL").index
    }

    fn poll(&mut self, now: u64, mut propose: impl FnMut(u64, u64, u128)) -> Option<u64> {
        self.poll(now, |due| propose(due.key, due.index, due.owner))
    }

    fn applied(&mut self, key: u64, index: u64) {
        self.applied(key, index);
    }

    fn failed(&mut self, key: u64, index: u64, now: u64) {
        self.failed(key, index, now);
    }

    fn remove(&mut self, key: u64) {
        self.remove(key);
    }

    fn lead(&mut self, now: u64) {
        self.role_change(true, now);
    }
}
