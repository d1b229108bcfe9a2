//! Histories of a retry queue, told by bytes, beside a model that is obviously right.

use std::collections::BTreeMap;
use std::time::Duration;

use timer_wheel::ttl::{Retry, RetryConfig, RetryEvent, RetryKey, RetryQueue, RetryStats};

/// What the model knows of a value.
struct Entry {
    value: u32,
    key: RetryKey,
    /// When it is due, and its place among those due then.
    due: (u64, u64),
    attempts: u32,
    left: u32,
    is_on_delivery: bool,
}

struct World {
    queue: RetryQueue<u32>,
    entries: BTreeMap<RetryKey, Entry>,
    stale: Vec<RetryKey>,
    stats: RetryStats,
    now: u64,
    /// The time that the queue was last told.
    heard: u64,
    sequence: u64,
    delay: u64,
    timeout: u64,
    attempts: u32,
}

impl World {
    /// The time, or one before it if the queue knows better.
    fn told(&self) -> u64 {
        let is_behind = self.heard == self.now && self.sequence % 3 == 0;
        if is_behind { self.now / 2 } else { self.now }
    }

    fn due_at(&mut self, time: u64) -> (u64, u64) {
        self.sequence += 1;
        (time, self.sequence)
    }

    fn push(&mut self, at: u64) {
        let due = self.due_at(at);
        let value = self.sequence as u32;
        let (attempts, left, is_on_delivery) = (0, self.attempts, false);
        let key = self.queue.push(value, at);
        let entry = Entry { value, key, due, attempts, left, is_on_delivery };
        assert!(self.entries.insert(key, entry).is_none() && !self.stale.contains(&key));
    }

    /// Polls at most `most` times, while there is an event.
    fn poll(&mut self, most: usize) {
        for _ in 0..most {
            let (now, timeout, delay) = (self.now, self.timeout, self.delay);
            let next = (now.saturating_add(timeout), self.sequence + 1);
            let retried = (next.0.saturating_add(delay), next.1);
            let stats = &mut self.stats;
            let expected = self.entries.values_mut().min_by_key(|entry| entry.due);
            let expected = expected.filter(|entry| entry.due.0 <= now).map(|entry| {
                stats.timed_out += u64::from(entry.is_on_delivery);
                if entry.left == 0 {
                    stats.gave_up += 1;
                    return (entry.key, entry.attempts, entry.value, true);
                }
                stats.delivered += 1;
                entry.attempts += 1;
                entry.left -= 1;
                entry.is_on_delivery = true;
                entry.due = if entry.left == 0 { next } else { retried };
                if entry.due.0 == now {
                    entry.left = 0;
                }
                (entry.key, entry.attempts, entry.value, false)
            });
            let told = self.told();
            self.sequence += 1;
            self.heard = now;
            let event = self.queue.poll(told).map(|event| match event {
                RetryEvent::Deliver { key, attempt, value } => (key, attempt, *value, false),
                RetryEvent::GaveUp { key, attempts, value } => (key, attempts, value, true),
                other => panic!("{other:?}"),
            });
            assert_eq!(event, expected);
            match event {
                Some((key, .., true)) => self.forget(key),
                Some(_) => {}
                None => break,
            }
        }
    }

    fn forget(&mut self, key: RetryKey) {
        self.entries.remove(&key);
        self.stale.push(key);
    }

    /// A key, live or stale.
    fn key(&self, number: u8) -> Option<RetryKey> {
        let keys = self.entries.keys().chain(self.stale.iter().rev().take(3));
        let keys: Vec<_> = keys.copied().collect();
        keys.get(usize::from(number) % keys.len().max(1)).copied()
    }

    fn take_out(&mut self, key: RetryKey, is_done: bool) {
        let expected = self.entries.get(&key).map(|entry| entry.value);
        let value = match is_done {
            true => self.queue.done(key),
            false => self.queue.cancel(key),
        };
        assert_eq!(value, expected);
        if expected.is_some() {
            self.stats.done += u64::from(is_done);
            self.forget(key);
        }
    }

    fn fail(&mut self, key: RetryKey) {
        let due = self.due_at(self.now.saturating_add(self.delay));
        let entry = self.entries.get_mut(&key).filter(|entry| entry.is_on_delivery);
        let expected = match entry {
            None => Retry::Stale,
            Some(entry) => {
                self.stats.failed += 1;
                entry.is_on_delivery = false;
                if entry.left == 0 {
                    self.stats.gave_up += 1;
                    Retry::GaveUp(entry.value)
                } else {
                    entry.due = due;
                    Retry::At(due.0)
                }
            }
        };
        if let Retry::GaveUp(_) = expected {
            self.forget(key);
        }
        assert_eq!(self.queue.failed(key, self.told()), expected);
    }

    fn check(&mut self) {
        assert_eq!(self.queue.stats(), self.stats);
        assert_eq!(self.queue.len(), self.entries.len());
        assert_eq!(self.queue.is_empty(), self.entries.is_empty());
        for entry in self.entries.values() {
            assert_eq!(self.queue.get(entry.key), Some(&entry.value));
        }
        for &key in self.stale.iter().rev().take(3) {
            assert_eq!(self.queue.get(key), None);
        }
        let first = self.entries.values().map(|entry| entry.due.0).min();
        let exact = first.map(|due| due.saturating_sub(self.now));
        match (self.queue.next_wake(self.now), exact) {
            (Some(wake), Some(exact)) => assert!(wake <= exact, "never late"),
            (wake, exact) => assert_eq!(wake, exact),
        }
    }
}

/// Runs the history that the bytes tell, and lets everything come to its end.
pub(crate) fn run(bytes: &[u8]) {
    let mut bytes = bytes.iter().copied();
    let mut byte = || bytes.next();
    let (delay, timeout) = match byte().unwrap_or(0) % 3 {
        0 => (1, 1),
        1 => (1_000_000_000, 10_000_000_000),
        _ => (1 << 30, 3),
    };
    let attempts = [1, 2, 5, u32::MAX][usize::from(byte().unwrap_or(0) % 4)];
    let now = [0, 1 << 40, u64::MAX - (1 << 33)][usize::from(byte().unwrap_or(0) % 3)];
    let config = RetryConfig::default()
        .retry_delay(Duration::from_nanos(delay))
        .timeout(Duration::from_nanos(timeout))
        .attempts(attempts);
    let mut world = World {
        queue: RetryQueue::new(now, config).expect("it makes sense"),
        entries: BTreeMap::new(),
        stale: Vec::new(),
        stats: RetryStats::default(),
        now,
        heard: now,
        sequence: 0,
        delay,
        timeout,
        attempts,
    };
    while let (Some(operation), Some(number)) = (byte(), byte()) {
        let span = u64::from(number % 8) << (number / 8);
        match operation % 8 {
            0 | 1 => world.push(world.now.saturating_add(span)),
            2 => world.push(world.now.saturating_sub(span)),
            3 => world.now = world.now.saturating_add(span),
            4 => world.poll(usize::from(number)),
            5 => {
                let wake = world.queue.next_wake(world.now).unwrap_or(0);
                world.now = world.now.saturating_add(wake);
                world.poll(2);
            }
            6 => _ = world.key(number).map(|key| world.take_out(key, operation > 127)),
            _ => _ = world.key(number).map(|key| world.fail(key)),
        }
        world.check();
    }
    world.now = u64::MAX;
    // Each is delivered once more at most, and then given up.
    world.poll(2 * world.entries.len() + 1);
    world.check();
    assert!(world.queue.is_empty());
}
