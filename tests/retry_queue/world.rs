//! A retry queue beside a model that is obviously right.

use std::collections::BTreeMap;

use timer_wheel::retry::{RetryConfig, RetryEvent, RetryQueue};
use timer_wheel::{Budget, TimerKey};

use crate::script::{Op, Script};

/// What the model knows of a value.
struct Entry {
    value: u32,
    /// When it is due, and its place among those due then.
    due: (u64, u64),
    attempts: u32,
    pending_until: Option<u64>,
}

struct World {
    queue: RetryQueue<u32>,
    config: RetryConfig,
    entries: BTreeMap<TimerKey, Entry>,
    stale: Vec<TimerKey>,
    /// The caller's clock.
    now: u64,
    /// The latest time that the queue was told.
    clock: u64,
    sequence: u64,
}

/// The key, the attempts and the value of an event, and whether the value was given up.
type Event = (TimerKey, u32, u32, bool);

/// Runs a history, and lets everything come to its end.
pub(crate) fn run(script: &Script) {
    let (now, config) = (script.start, script.setup.config());
    let mut world = World {
        queue: RetryQueue::new(now),
        config,
        entries: BTreeMap::new(),
        stale: Vec::new(),
        now,
        clock: now,
        sequence: 0,
    };
    world.queue.set_config(config).expect("it makes sense");
    for op in &script.ops {
        world.apply(*op);
        world.check();
    }
    world.now = u64::MAX;
    // Each is delivered once more at most, and then given up.
    let most = 2 * world.entries.len();
    assert!(world.poll(&mut Budget::unlimited().with_fires(most + 1)) <= most);
    world.check();
    assert!(world.queue.is_empty());
}

impl World {
    fn apply(&mut self, op: Op) {
        match op {
            Op::Push { attempts, ahead } => self.push(attempts.into(), self.now.saturating_add(ahead)),
            Op::Overdue { age } => self.push(0, self.now.saturating_sub(age)),
            Op::Pass(span) => self.now = self.now.saturating_add(span),
            Op::Back(span) => self.now = self.now.saturating_sub(span),
            Op::Poll { units } => _ = self.poll(&mut Budget::of_work(units.into())),
            Op::Sleep => {
                self.now = self.now.max(self.queue.wake_at().unwrap_or(0));
                self.poll(&mut Budget::unlimited().with_fires(1));
            }
            Op::Done(place) => self.with_key(place, Self::done),
            Op::Failed(place) => self.with_key(place, Self::fail),
            Op::Configure(setup) => {
                self.config = setup.config();
                self.queue.set_config(self.config).expect("it makes sense");
            }
            Op::Reload => self.reload(),
            Op::Refill => self.refill(),
        }
    }

    fn due_at(&mut self, time: u64) -> (u64, u64) {
        self.sequence += 1;
        (time, self.sequence)
    }

    fn push(&mut self, attempts: u32, at: u64) {
        let due = self.due_at(at);
        let value = self.sequence as u32;
        let key = match attempts {
            0 => self.queue.push(value, at),
            _ => self.queue.push_again(value, attempts, at),
        };
        let entry = Entry { value, due, attempts, pending_until: None };
        assert!(self.entries.insert(key, entry).is_none() && !self.stale.contains(&key));
    }

    /// Polls until there is nothing more to do or to do it with, and says how often something was.
    fn poll(&mut self, budget: &mut Budget) -> usize {
        self.clock = self.clock.max(self.now);
        for events in 0.. {
            let before = *budget;
            let event = self.queue.poll(self.now, budget).map(|event| match event {
                RetryEvent::Deliver { key, attempt, value } => (key, attempt, *value, false),
                RetryEvent::GaveUp { key, attempts, value } => (key, attempts, value, true),
            });
            assert!(budget.work <= before.work && before.fires - budget.fires == usize::from(event.is_some()));
            if event.is_none() && (budget.work == 0 || budget.fires == 0) {
                return events;
            }
            assert_eq!(event, self.expected());
            if event.is_none() {
                return events;
            }
            assert!(budget.work < before.work, "an event is work");
        }
        unreachable!("there are not as many numbers")
    }

    /// What happens first of all that is due.
    fn expected(&mut self) -> Option<Event> {
        let first = self.entries.iter_mut().min_by_key(|(_, entry)| entry.due);
        let (&key, entry) = first.filter(|(_, entry)| entry.due.0 <= self.clock)?;
        if entry.attempts >= self.config.attempts || (entry.attempts > 0 && entry.due.0 == u64::MAX) {
            let event = (key, entry.attempts, entry.value, true);
            self.forget(key);
            return Some(event);
        }
        entry.attempts += 1;
        let timeout = self.clock.saturating_add(self.config.pending_timeout.as_nanos() as u64);
        entry.pending_until = Some(timeout);
        let event = (key, entry.attempts, entry.value, false);
        let due = self.retry_at(timeout, event.1);
        self.entry(key).due = due;
        Some(event)
    }

    fn retry_at(&mut self, failed_at: u64, attempts: u32) -> (u64, u64) {
        let delay = if attempts >= self.config.attempts { 0 } else { self.config.retry_delay.as_nanos() as u64 };
        self.due_at(failed_at.saturating_add(delay))
    }

    fn entry(&mut self, key: TimerKey) -> &mut Entry {
        self.entries.get_mut(&key).expect("it is known")
    }

    fn forget(&mut self, key: TimerKey) {
        self.entries.remove(&key);
        self.stale.push(key);
    }

    fn with_key(&mut self, place: u8, act: fn(&mut Self, TimerKey)) {
        let keys = self.entries.keys().chain(self.stale.iter().rev().take(3));
        let keys: Vec<_> = keys.copied().collect();
        if let Some(&key) = keys.get(usize::from(place) % keys.len().max(1)) {
            act(self, key);
        }
    }

    fn done(&mut self, key: TimerKey) {
        let expected = self.entries.get(&key).map(|entry| entry.value);
        assert_eq!(self.queue.done(key), expected);
        if expected.is_some() {
            self.forget(key);
        }
    }

    fn fail(&mut self, key: TimerKey) {
        self.clock = self.clock.max(self.now);
        let clock = self.clock;
        let pending = self.entries.get_mut(&key).filter(|entry| entry.pending_until.is_some_and(|until| clock < until));
        let attempts = pending.map(|entry| {
            entry.pending_until = None;
            entry.attempts
        });
        let due = attempts.map(|attempts| self.retry_at(clock, attempts));
        assert_eq!(self.queue.failed(key, self.now), due.map(|due| due.0));
        if let Some(due) = due {
            self.entry(key).due = due;
        }
    }

    fn ascending(&self) -> Vec<TimerKey> {
        let mut keys: Vec<TimerKey> = self.entries.keys().copied().collect();
        keys.sort_by_key(|key| self.entries[key].due);
        keys
    }

    /// What is pending is due by now.
    fn end_pending(&mut self) {
        for key in self.ascending() {
            let pending_until = self.entry(key).pending_until.take();
            if pending_until.is_some_and(|until| self.clock < until) {
                let due = self.due_at(self.clock);
                self.entry(key).due = due;
            }
        }
    }

    fn reload(&mut self) {
        let stored = serde_json::to_string(&self.queue).expect("it can be stored");
        self.queue = serde_json::from_str(&stored).expect("it can be loaded");
        self.queue.set_config(self.config).expect("it makes sense");
        self.end_pending();
    }

    fn refill(&mut self) {
        let old = std::mem::replace(&mut self.queue, RetryQueue::new(self.clock));
        self.queue.set_config(self.config).expect("it makes sense");
        let keys = old.iter().map(|(key, value, attempts, at)| (key, self.queue.push_again(*value, attempts, at)));
        let keys: BTreeMap<TimerKey, TimerKey> = keys.collect();
        self.end_pending();
        self.stale.clear();
        self.entries = std::mem::take(&mut self.entries).into_iter().map(|(key, entry)| (keys[&key], entry)).collect();
    }

    fn check(&self) {
        assert_eq!(self.queue.len(), self.entries.len());
        assert_eq!(self.queue.is_empty(), self.entries.is_empty());
        for &key in self.stale.iter().rev().take(3) {
            assert_eq!(self.queue.get(key), None);
        }
        let known = self.ascending().into_iter().map(|key| {
            let Entry { value, due, attempts, pending_until } = &self.entries[&key];
            assert_eq!(self.queue.get(key), Some(value));
            let is_pending = pending_until.is_some_and(|until| self.clock < until);
            (key, value, *attempts, if is_pending { self.clock } else { due.0 })
        });
        assert!(self.queue.iter().eq(known));
        let first = self.entries.values().map(|entry| entry.due.0).min();
        let wake = self.queue.wake_at();
        assert_eq!(wake.is_some(), first.is_some());
        assert!(wake <= first.map(|due| due.max(self.clock)), "never late");
        assert_eq!(self.queue.expiration_delay(), wake.map(|wake| wake - self.clock));
    }
}
