//! A map whose entries expire some time after they were written, some time after they were last
//! read, or both: one thread, one map, one wheel.
//!
//! The map keeps each entry's timer key and the wheel the map's key, so that all is O(1). What is written lives equally long, so
//! those timers are in a lane, which costs least for an entry that is not read again. The first read takes the timer out of it;
//! a further one that postpones the expiry writes one cache line.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel`

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use timer_wheel::clock::nanoseconds;
use timer_wheel::{Caffeine, Lane, TimerKey, Wheel};

/// Seconds in the unit of the wheel.
const fn seconds(count: u64) -> u64 {
    nanoseconds(Duration::from_secs(count))
}

/// How long entries live, in nanoseconds; [`u64::MAX`] for a limit that is not wanted.
struct Expiry {
    after_write: u64,
    after_access: u64,
}

struct Entry<V> {
    value: V,
    timer: TimerKey,
    /// However often it is read.
    latest_end: u64,
}

struct TtlCache<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Ticks of a second suit a cache, and entries expire to the nanosecond all the same.
    timers: Wheel<K, Caffeine>,
    written: Lane,
    expiry: Expiry,
}

impl<K: Hash + Eq + Clone, V> TtlCache<K, V> {
    fn new(now: u64, expiry: Expiry) -> Self {
        let mut timers = Wheel::with_geometry(now);
        Self { entries: HashMap::new(), written: timers.add_lane(), timers, expiry }
    }

    /// Writes an entry and hands back the value it replaces. Its time begins anew.
    fn insert(&mut self, key: K, value: V, now: u64) -> Option<V> {
        self.expire(now);
        let latest_end = now.saturating_add(self.expiry.after_write);
        let deadline = latest_end.min(now.saturating_add(self.expiry.after_access));
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.latest_end = latest_end;
            self.timers.reschedule_in(self.written, entry.timer, deadline);
            return Some(std::mem::replace(&mut entry.value, value));
        }
        let timer = self.timers.schedule_in(self.written, deadline, key.clone());
        let entry = Entry { value, timer, latest_end };
        self.entries.insert(key, entry);
        None
    }

    /// Reads an entry, which postpones its end, though never past what the last write allows.
    fn get(&mut self, key: &K, now: u64) -> Option<&V> {
        self.expire(now);
        let entry = self.entries.get(key)?;
        let deadline = now.saturating_add(self.expiry.after_access);
        self.timers.reschedule(entry.timer, deadline.min(entry.latest_end));
        Some(&entry.value)
    }

    /// Takes an entry out, and its timer with it: nothing stays behind to fire later.
    fn remove(&mut self, key: &K) -> Option<V> {
        let entry = self.entries.remove(key)?;
        self.timers.cancel(entry.timer);
        Some(entry.value)
    }

    /// Drops what has expired by `now`, and says which keys that were, in order of their times.
    fn expire(&mut self, now: u64) -> Vec<K> {
        let due = self.timers.advance(now).map(|timer| timer.value);
        let due = due.inspect(|key| _ = self.entries.remove(key));
        due.collect()
    }
}

fn main() {
    let mut cache = TtlCache::new(0, Expiry { after_write: seconds(60), after_access: seconds(10) });
    for (key, value) in [("popular", 1), ("forgotten", 2), ("removed", 3)] {
        assert_eq!(cache.insert(key, value, 0), None);
    }
    assert_eq!(cache.remove(&"removed"), Some(3));

    // Read every nine seconds "popular" lives on. A nanosecond before its time so does the other.
    assert_eq!(cache.get(&"popular", seconds(9)), Some(&1));
    assert!(cache.expire(seconds(10) - 1).is_empty());
    assert_eq!(cache.expire(seconds(10)), ["forgotten"]);
    for second in (18..60).step_by(9) {
        assert_eq!(cache.get(&"popular", seconds(second)), Some(&1));
    }
    // But not past a minute after it was written.
    assert_eq!(cache.expire(seconds(60)), ["popular"]);

    // A write begins that minute anew: the entry's one timer is postponed.
    assert_eq!(cache.insert("popular", 4, seconds(61)), None);
    assert_eq!(cache.insert("popular", 5, seconds(66)), Some(4));
    assert_eq!(cache.get(&"popular", seconds(75)), Some(&5));
    assert_eq!(cache.expire(seconds(600)), ["popular"]);
    assert!(cache.entries.is_empty() && cache.timers.is_empty());
    println!("forgotten expired 10 s after its write, popular, read all the time, after 60 s");
}
