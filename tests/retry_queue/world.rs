//! A retry queue beside a model that is obviously right.

use timer_wheel::retry::{RetryConfig, RetryEvent, RetryQueue};
use timer_wheel::{Budget, TimerKey};

use super::script::{Op, Script};
use crate::model::Model;

/// What the model knows of a value, beside when it is due.
struct Entry {
    value: u32,
    attempts: u32,
    pending_until: Option<u64>,
}

struct World {
    queue: RetryQueue<u32>,
    config: RetryConfig,
    /// Its clock shows the latest time that the queue was told.
    model: Model<Entry>,
    stale: Vec<TimerKey>,
    /// The caller's clock.
    now: u64,
    pushed: u32,
}

/// The key, the attempts and the value of an event, and whether the value was given up.
type Event = (TimerKey, u32, u32, bool);

/// Runs a history, and lets everything come to its end.
pub(crate) fn run(script: &Script) {
    let (now, config) = (script.start, script.setup.config());
    let (queue, model) = (RetryQueue::new(now), Model::new(now));
    let mut world = World { queue, config, model, stale: Vec::new(), now, pushed: 0 };
    world.queue.set_config(config).expect("it makes sense");
    for op in &script.ops {
        world.apply(*op);
        world.check();
    }
    world.now = u64::MAX;
    // Each is delivered once more at most, and then given up.
    let most = 2 * world.model.len();
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

    fn push(&mut self, attempts: u32, at: u64) {
        self.pushed += 1;
        let value = self.pushed;
        let key = match attempts {
            0 => self.queue.push(value, at),
            _ => self.queue.push_again(value, attempts, at),
        };
        assert!(!self.stale.contains(&key));
        self.model.schedule(key, at, Entry { value, attempts, pending_until: None });
    }

    /// Polls until there is nothing more to do or to do it with, and says how often something was.
    fn poll(&mut self, budget: &mut Budget) -> usize {
        self.model.set_clock(self.now);
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
        let (key, clock) = (self.model.first_due()?, self.model.now());
        let is_over = self.model.get(key)?.deadline == u64::MAX;
        let entry = self.model.get_mut(key)?;
        if entry.attempts >= self.config.attempts || (entry.attempts > 0 && is_over) {
            let event = (key, entry.attempts, entry.value, true);
            self.forget(key);
            return Some(event);
        }
        entry.attempts += 1;
        let timeout = clock.saturating_add(self.config.pending_timeout.as_nanos() as u64);
        entry.pending_until = Some(timeout);
        let event = (key, entry.attempts, entry.value, false);
        self.model.reschedule(key, self.retry_at(timeout, event.1));
        Some(event)
    }

    fn retry_at(&self, failed_at: u64, attempts: u32) -> u64 {
        let delay = if attempts >= self.config.attempts { 0 } else { self.config.retry_delay.as_nanos() as u64 };
        failed_at.saturating_add(delay)
    }

    fn forget(&mut self, key: TimerKey) -> Option<Entry> {
        let entry = self.model.cancel(key)?;
        self.stale.push(key);
        Some(entry)
    }

    fn with_key(&mut self, place: u8, act: fn(&mut Self, TimerKey)) {
        let live = self.model.ascending().map(|(key, _)| key);
        let keys: Vec<_> = live.chain(self.stale.iter().rev().take(3).copied()).collect();
        if let Some(&key) = keys.get(usize::from(place) % keys.len().max(1)) {
            act(self, key);
        }
    }

    fn done(&mut self, key: TimerKey) {
        let expected = self.forget(key).map(|entry| entry.value);
        assert_eq!(self.queue.done(key), expected);
    }

    fn fail(&mut self, key: TimerKey) {
        self.model.set_clock(self.now);
        let clock = self.model.now();
        let pending = self.model.get_mut(key).filter(|entry| entry.pending_until.is_some_and(|until| clock < until));
        let attempts = pending.map(|entry| {
            entry.pending_until = None;
            entry.attempts
        });
        let retry = attempts.map(|attempts| self.retry_at(clock, attempts));
        assert_eq!(self.queue.failed(key, self.now), retry);
        if let Some(retry) = retry {
            self.model.reschedule(key, retry);
        }
    }

    /// What is pending is due by now.
    fn end_pending(&mut self) {
        let (clock, keys) = (self.model.now(), self.model.ascending().map(|(key, _)| key).collect::<Vec<_>>());
        for key in keys {
            let pending_until = self.model.get_mut(key).and_then(|entry| entry.pending_until.take());
            if pending_until.is_some_and(|until| clock < until) {
                self.model.reschedule(key, clock);
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
        self.end_pending();
        let now = self.model.now();
        let old = std::mem::replace(&mut self.queue, RetryQueue::new(now));
        let mut former = std::mem::replace(&mut self.model, Model::new(now));
        self.queue.set_config(self.config).expect("it makes sense");
        self.stale.clear();
        for (key, value, attempts, at) in old.iter() {
            let deadline = former.get(key).expect("it is known").deadline;
            let entry = former.cancel(key).expect("it is known");
            self.model.schedule(self.queue.push_again(*value, attempts, at), deadline, entry);
        }
    }

    fn check(&self) {
        assert_eq!(self.queue.len(), self.model.len());
        assert_eq!(self.queue.is_empty(), self.model.is_empty());
        for &key in self.stale.iter().rev().take(3) {
            assert_eq!(self.queue.get(key), None);
        }
        let clock = self.model.now();
        let known = self.model.ascending().map(|(key, timer)| {
            let Entry { value, attempts, pending_until } = &timer.value;
            assert_eq!(self.queue.get(key), Some(value));
            let is_pending = pending_until.is_some_and(|until| clock < until);
            (key, value, *attempts, if is_pending { clock } else { timer.deadline })
        });
        assert!(self.queue.iter().eq(known));
        let (first, wake) = (self.model.next_deadline(), self.queue.wake_at());
        assert_eq!(wake.is_some(), first.is_some());
        assert!(wake <= first.map(|first| first.max(clock)), "never late");
        assert_eq!(self.queue.expiration_delay(), wake.map(|wake| wake - clock));
    }
}
