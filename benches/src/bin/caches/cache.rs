//! One cache, least recently used first out and with a time to live, over either of two wheels.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use slab::Slab;
use timer_wheel::index::IndexWheel;
use timer_wheel::{TimerKey, Wheel};

/// The end of the list of entries by use.
const NONE: u32 = u32::MAX;

/// An entry, and what its wheel wants kept in it.
pub(crate) struct Entry<H> {
    key: u64,
    value: u64,
    newer: u32,
    older: u32,
    timer: H,
}

/// What has expired, as the wheel names it.
pub(crate) enum Expired {
    Index(u32),
    Key(u64),
}

/// How a cache keeps its deadlines.
pub(crate) trait Deadlines: Default {
    /// What an entry holds of it.
    type Handle: Default;

    fn name() -> &'static str;
    fn schedule(&mut self, entries: &mut Slab<Entry<Self::Handle>>, index: u32, deadline: u64);
    /// Lets an entry live until a deadline that is not before the one it has.
    fn renew(&mut self, entries: &mut Slab<Entry<Self::Handle>>, index: u32, deadline: u64);
    fn cancel(&mut self, entries: &mut Slab<Entry<Self::Handle>>, index: u32);
    fn pop(&mut self, entries: &mut Slab<Entry<Self::Handle>>, now: u64) -> Option<Expired>;
    fn bytes(&self) -> usize;
}

/// A wheel of the keys, which owns a slot for each.
#[derive(Default)]
pub(crate) struct OfKeys(Wheel<u64>);

impl Deadlines for OfKeys {
    type Handle = Option<TimerKey>;

    fn name() -> &'static str {
        "Wheel<Key>"
    }

    fn schedule(&mut self, entries: &mut Slab<Entry<Self::Handle>>, index: u32, deadline: u64) {
        let entry = &mut entries[index as usize];
        entry.timer = Some(self.0.schedule(deadline, entry.key));
    }

    fn renew(&mut self, entries: &mut Slab<Entry<Self::Handle>>, index: u32, deadline: u64) {
        let timer = entries[index as usize].timer;
        assert!(timer.is_some_and(|timer| self.0.reschedule(timer, deadline)));
    }

    fn cancel(&mut self, entries: &mut Slab<Entry<Self::Handle>>, index: u32) {
        let timer = entries[index as usize].timer.take();
        assert!(timer.is_some_and(|timer| self.0.cancel(timer).is_some()));
    }

    fn pop(&mut self, _: &mut Slab<Entry<Self::Handle>>, now: u64) -> Option<Expired> {
        Some(Expired::Key(self.0.pop_expired(now)?.value))
    }

    fn bytes(&self) -> usize {
        self.0.stats().bytes
    }
}

/// A wheel of the entries' indexes. An entry keeps its deadline, which the wheel learns of when the timer is too early.
#[derive(Default)]
pub(crate) struct OfIndexes(IndexWheel);

impl Deadlines for OfIndexes {
    /// The deadline.
    type Handle = u64;

    fn name() -> &'static str {
        "IndexWheel"
    }

    fn schedule(&mut self, entries: &mut Slab<Entry<u64>>, index: u32, deadline: u64) {
        entries[index as usize].timer = deadline;
        self.0.set(index, deadline);
    }

    fn renew(&mut self, entries: &mut Slab<Entry<u64>>, index: u32, deadline: u64) {
        entries[index as usize].timer = deadline;
    }

    fn cancel(&mut self, _: &mut Slab<Entry<u64>>, index: u32) {
        assert!(self.0.cancel(index));
    }

    fn pop(&mut self, entries: &mut Slab<Entry<u64>>, now: u64) -> Option<Expired> {
        while let Some(due) = self.0.peek_expired(now) {
            let deadline = entries[due.index() as usize].timer;
            if deadline <= now {
                return Some(Expired::Index(due.remove().index));
            }
            due.rearm(deadline);
        }
        None
    }

    fn bytes(&self) -> usize {
        self.0.stats().bytes
    }
}

/// A cache of so many entries at most, each with the same time to live.
pub(crate) struct Cache<D: Deadlines> {
    capacity: usize,
    ttl: u64,
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    entries: Slab<Entry<D::Handle>>,
    newest: u32,
    oldest: u32,
    deadlines: D,
}

impl<D: Deadlines> Cache<D> {
    pub(crate) fn new(capacity: usize, ttl: u64) -> Self {
        Self {
            capacity,
            ttl,
            hasher: DefaultHashBuilder::default(),
            table: HashTable::with_capacity(capacity),
            entries: Slab::with_capacity(capacity),
            newest: NONE,
            oldest: NONE,
            deadlines: D::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of heap memory in all.
    pub(crate) fn bytes(&self) -> usize {
        // The slab's entry is ours or the next vacant index: `Option<Entry>` needs as much room.
        let entry = size_of::<Option<Entry<D::Handle>>>();
        self.entries.capacity() * entry + self.table.allocation_size() + self.deadlines.bytes()
    }

    fn find(&self, key: u64) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let is_it = |&index: &u32| self.entries[index as usize].key == key;
        self.table.find(hash, is_it).copied()
    }

    /// The value of a key, which has its whole time to live again.
    pub(crate) fn get(&mut self, key: u64, now: u64) -> Option<u64> {
        let index = self.find(key)?;
        self.deadlines
            .renew(&mut self.entries, index, now + self.ttl);
        self.unlink(index);
        self.link(index);
        Some(self.entries[index as usize].value)
    }

    /// Puts a value in, in the place of that of the same key or of the entry that was used least recently.
    pub(crate) fn insert(&mut self, key: u64, value: u64, now: u64) {
        if let Some(index) = self.find(key) {
            self.entries[index as usize].value = value;
            self.deadlines
                .renew(&mut self.entries, index, now + self.ttl);
            self.unlink(index);
            return self.link(index);
        }
        if self.len() == self.capacity {
            self.deadlines.cancel(&mut self.entries, self.oldest);
            self.forget(self.oldest);
        }
        let index = self.entries.insert(Entry {
            key,
            value,
            newer: NONE,
            older: NONE,
            timer: D::Handle::default(),
        }) as u32;
        let hash = self.hasher.hash_one(key);
        let (entries, hasher) = (&self.entries, &self.hasher);
        let hash_of = |&index: &u32| hasher.hash_one(entries[index as usize].key);
        self.table.insert_unique(hash, index, hash_of);
        self.deadlines
            .schedule(&mut self.entries, index, now + self.ttl);
        self.link(index);
    }

    pub(crate) fn remove(&mut self, key: u64) -> Option<u64> {
        let index = self.find(key)?;
        self.deadlines.cancel(&mut self.entries, index);
        Some(self.forget(index))
    }

    /// Removes what has expired, and returns the sum of the values.
    pub(crate) fn expire(&mut self, now: u64) -> u64 {
        let mut sum = 0_u64;
        while let Some(expired) = self.deadlines.pop(&mut self.entries, now) {
            let index = match expired {
                Expired::Index(index) => index,
                Expired::Key(key) => self.find(key).expect("what expires is in the cache"),
            };
            sum = sum.wrapping_add(self.forget(index));
        }
        sum
    }

    /// Frees an entry whose timer is gone.
    fn forget(&mut self, index: u32) -> u64 {
        self.unlink(index);
        let entry = self.entries.remove(index as usize);
        let hash = self.hasher.hash_one(entry.key);
        let found = self.table.find_entry(hash, |&it| it == index);
        found.expect("every entry is in the table").remove();
        entry.value
    }

    fn link(&mut self, index: u32) {
        let older = std::mem::replace(&mut self.newest, index);
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = index,
            None => self.oldest = index,
        }
        let entry = &mut self.entries[index as usize];
        (entry.newer, entry.older) = (NONE, older);
    }

    fn unlink(&mut self, index: u32) {
        let Entry { newer, older, .. } = self.entries[index as usize];
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }
}
