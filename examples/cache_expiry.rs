//! A cache whose entries expire a while after they were written: a map, and a wheel beside it.
//!
//! The map keeps each entry's timer key and the timer the map's key, so that all is O(1).

use std::collections::HashMap;

use timer_wheel::{Caffeine, TimerKey, Wheel};

const SECOND: u64 = 1_000_000_000; // in nanoseconds
const TIME_TO_LIVE: u64 = 10 * SECOND;

#[derive(Default)]
struct Cache {
    entries: HashMap<&'static str, (u32, TimerKey)>,
    /// Ticks of a second suit a cache, and entries expire to the nanosecond all the same.
    timers: Wheel<&'static str, Caffeine>,
}

impl Cache {
    /// Writes an entry. The timer of one that is there already is put off.
    fn insert(&mut self, key: &'static str, value: u32) {
        let deadline = self.timers.now() + TIME_TO_LIVE;
        let timer = match self.entries.get(key) {
            Some(&(_, timer)) if self.timers.reschedule(timer, deadline) => timer,
            _ => self.timers.schedule(deadline, key),
        };
        self.entries.insert(key, (value, timer));
    }

    /// Takes an entry out and its timer with it: nothing stays behind to fire later.
    fn remove(&mut self, key: &str) -> Option<u32> {
        let (value, timer) = self.entries.remove(key)?;
        self.timers.cancel(timer);
        Some(value)
    }

    /// Drops what has outlived its time by `now` and says what that was, oldest first.
    fn expire(&mut self, now: u64) -> Vec<&'static str> {
        let expired = self.timers.advance(now).map(|timer| timer.value);
        let expired = expired.inspect(|key| _ = self.entries.remove(key));
        expired.collect()
    }
}

fn main() {
    let mut cache = Cache::default();
    for (value, key) in (1..).zip(["apple", "pear", "plum", "fig"]) {
        cache.insert(key, value);
    }
    assert!(cache.expire(4 * SECOND).is_empty());
    cache.insert("apple", 5); // lives until 14 s now
    assert_eq!(cache.remove("plum"), Some(3));
    // A nanosecond too early nothing goes; then both go, in the order they were written.
    assert!(cache.expire(10 * SECOND - 1).is_empty());
    assert_eq!(cache.expire(10 * SECOND), ["pear", "fig"]);
    assert_eq!(cache.expire(60 * SECOND), ["apple"]);
    assert!(cache.entries.is_empty());
    println!("pear and fig expired after 10 s, apple, written again at 4 s, after 14 s");
}
