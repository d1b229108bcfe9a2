//! A cache in which an entry is one record: key, value, deadline, and its place in the order of use. The wheel
//! identifies the entry by the index of its record and keeps no copy of anything else.
//!
//! A use renews the entry by writing its deadline into the record, without a call to the wheel. A timer that fires too
//! early for its record is rearmed. All entries have one TTL, so those that are not used again stay in a lane.
//!
//! The cache cancels the timer of a record before it frees the record.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel && cargo add slab@0.4`

use std::collections::HashMap;
use std::time::Duration;

use slab::Slab;
use timer_wheel::Lane;
use timer_wheel::index::IndexWheel;

#[derive(Default)]
struct Entry {
    key: String,
    value: u32,
    /// When the entry expires, in nanoseconds: its timer fires then or earlier.
    deadline: u64,
    newer: Option<u32>,
    older: Option<u32>,
}

/// Holds `capacity` entries, each until it has not been used for `ttl`.
struct Cache {
    capacity: usize,
    ttl: Duration,
    index_of: HashMap<String, u32>,
    entries: Slab<Entry>,
    newest: Option<u32>,
    oldest: Option<u32>,
    wheel: IndexWheel,
    lane: Lane,
}

impl Cache {
    fn new(capacity: usize, ttl: Duration) -> Self {
        let mut wheel = IndexWheel::new(0);
        let (index_of, entries, lane) = (HashMap::new(), Slab::new(), wheel.add_lane());
        Self { capacity, ttl, index_of, entries, newest: None, oldest: None, wheel, lane }
    }

    /// The value of a key, which becomes the newest.
    fn get(&mut self, key: &str, now: Duration) -> Option<u32> {
        self.expire(now);
        let index = *self.index_of.get(key)?;
        self.unlink(index);
        self.link(index, now);
        Some(self.entries[index as usize].value)
    }

    fn insert(&mut self, key: &str, value: u32, now: Duration) {
        self.expire(now);
        if let Some(&index) = self.index_of.get(key) {
            self.entries[index as usize].value = value;
            self.unlink(index);
            return self.link(index, now);
        }
        if let Some(oldest) = self.oldest.filter(|_| self.entries.len() == self.capacity) {
            self.wheel.cancel(oldest);
            self.free(oldest);
        }
        let entry = Entry { key: key.into(), value, ..Entry::default() };
        let index = u32::try_from(self.entries.insert(entry)).expect("a cache holds fewer than 2^32 entries");
        self.index_of.insert(key.into(), index);
        self.link(index, now);
        self.wheel.set_in(self.lane, index, self.entries[index as usize].deadline);
    }

    /// Removes the entries that have not been used for `ttl`. `wheel.expiration_delay()` says when to call again.
    fn expire(&mut self, now: Duration) {
        let now = now.as_nanos() as u64;
        while let Some(due) = self.wheel.peek_expired(now) {
            let deadline = self.entries[due.index() as usize].deadline;
            if deadline > now {
                due.rearm(deadline); // The entry was used meanwhile.
            } else {
                let index = due.remove().index;
                self.free(index);
            }
        }
    }

    /// Frees a record whose timer is not scheduled.
    fn free(&mut self, index: u32) {
        self.unlink(index);
        let entry = self.entries.remove(index as usize);
        self.index_of.remove(&entry.key);
    }

    /// Makes a record the newest, and gives it its whole time to live.
    fn link(&mut self, index: u32, now: Duration) {
        let older = self.newest.replace(index);
        match older {
            Some(older) => self.entries[older as usize].newer = Some(index),
            None => self.oldest = Some(index),
        }
        let entry = &mut self.entries[index as usize];
        entry.older = older;
        entry.deadline = (now + self.ttl).as_nanos() as u64;
    }

    fn unlink(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let (newer, older) = (entry.newer.take(), entry.older.take());
        match newer {
            Some(newer) => self.entries[newer as usize].older = older,
            None => self.newest = older,
        }
        match older {
            Some(older) => self.entries[older as usize].newer = newer,
            None => self.oldest = newer,
        }
    }
}

fn main() {
    let second = Duration::from_secs;
    let mut cache = Cache::new(3, second(60));
    for (at, key) in ["ada", "bob", "cyd"].into_iter().enumerate() {
        cache.insert(key, 1, second(at as u64));
    }
    assert_eq!(cache.get("ada", second(50)), Some(1)); // The newest, until 1:50.
    cache.insert("dan", 1, second(55)); // There is no room, and bob is the oldest.
    assert_eq!(cache.get("bob", second(56)), None);
    assert_eq!(cache.get("cyd", second(62)), None); // It came at 0:02.
    println!("at 1:02 {} of four entries are left, and as many timers", cache.wheel.len());
    assert_eq!(cache.get("ada", second(109)), Some(1));
    assert_eq!(cache.get("dan", second(115)), None);
    assert_eq!((cache.entries.len(), cache.index_of.len(), cache.wheel.len()), (1, 1, 1));
    cache.expire(second(169));
    assert_eq!((cache.entries.len(), cache.index_of.len(), cache.wheel.len()), (0, 0, 0));
    println!("at 2:49 none is: ada was last used at 1:49");
}
