//! The model: a `BTreeMap` in the order of the contract and a table of keys. Slow, obviously right.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::Hash;

use timer_wheel::TimerKey;

/// What the model knows of one live timer.
#[derive(Clone)]
pub(crate) struct Timer<T> {
    pub(crate) deadline: u64,
    pub(crate) sequence: u64,
    /// Whether it is live and in no order.
    pub(crate) is_held: bool,
    pub(crate) value: T,
}

/// A timer wheel without a wheel. Keys are those that the real one gave out, or the indexes of an index wheel.
#[derive(Clone)]
pub(crate) struct Model<T, K = TimerKey> {
    now: u64,
    next_sequence: u64,
    queue: BTreeMap<(u64, u64), K>,
    timers: HashMap<K, Timer<T>>,
}

impl<T, K: Copy + Debug + Eq + Hash> Model<T, K> {
    pub(crate) fn new(now: u64) -> Self {
        Self { now, next_sequence: 0, queue: BTreeMap::new(), timers: HashMap::new() }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn len(&self) -> usize {
        self.timers.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.timers.is_empty()
    }

    /// All live timers, held ones included, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &Timer<T>)> {
        self.timers.iter().map(|(key, timer)| (*key, timer))
    }

    /// The held timers, in the order in which they were scheduled.
    pub(crate) fn held(&self) -> Vec<K> {
        let mut held: Vec<_> = self.iter().filter(|(_, timer)| timer.is_held).collect();
        held.sort_unstable_by_key(|(_, timer)| timer.sequence);
        held.into_iter().map(|(key, _)| key).collect()
    }

    pub(crate) fn get(&self, key: K) -> Option<&Timer<T>> {
        self.timers.get(&key)
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.timers.get_mut(&key).map(|timer| &mut timer.value)
    }

    /// The earliest deadline in the order.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.queue.keys().next().map(|&(deadline, _)| deadline)
    }

    /// Whether a timer is due at the model's clock.
    pub(crate) fn has_due(&self) -> bool {
        self.next_deadline().is_some_and(|deadline| deadline <= self.now)
    }

    /// All timers but the held ones, in the order of the contract.
    pub(crate) fn ascending(&self) -> impl DoubleEndedIterator<Item = (K, &Timer<T>)> + ExactSizeIterator {
        self.queue.values().map(|key| (*key, &self.timers[key]))
    }

    /// The timer at a place in the order, counted round and round.
    pub(crate) fn nth(&self, n: usize) -> Option<K> {
        let place = n.checked_rem(self.queue.len())?;
        self.queue.values().nth(place).copied()
    }

    pub(crate) fn schedule(&mut self, key: K, deadline: u64, value: T) {
        let sequence = self.take_sequence();
        let timer = Timer { deadline, sequence, is_held: false, value };
        let earlier = self.timers.insert(key, timer);
        assert!(earlier.is_none(), "a live timer's key was given out again");
        self.queue.insert((deadline, sequence), key);
    }

    pub(crate) fn cancel(&mut self, key: K) -> Option<T> {
        let timer = self.timers.remove(&key)?;
        self.queue.remove(&(timer.deadline, timer.sequence));
        Some(timer.value)
    }

    pub(crate) fn reschedule(&mut self, key: K, deadline: u64) -> bool {
        let sequence = self.take_sequence();
        let Some(timer) = self.timers.get_mut(&key) else {
            return false;
        };
        self.queue.remove(&(timer.deadline, timer.sequence));
        (timer.deadline, timer.sequence, timer.is_held) = (deadline, sequence, false);
        self.queue.insert((deadline, sequence), key);
        true
    }

    /// Takes a timer out of the order.
    #[allow(dead_code, reason = "only wheels with keys hold timers")]
    pub(crate) fn hold(&mut self, key: K) {
        let timer = self.timers.get_mut(&key).expect("it lives");
        timer.is_held = true;
        self.queue.remove(&(timer.deadline, timer.sequence)).expect("it is in the order");
    }

    /// Puts a held timer back to where it was in the order.
    #[allow(dead_code, reason = "only wheels with keys hold timers")]
    pub(crate) fn release(&mut self, key: K) -> bool {
        let Some(timer) = self.timers.get_mut(&key).filter(|timer| timer.is_held) else {
            return false;
        };
        timer.is_held = false;
        self.queue.insert((timer.deadline, timer.sequence), key);
        true
    }

    /// The clock only moves forwards.
    pub(crate) fn set_clock(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// The first timer, when it is due.
    pub(crate) fn first_due(&self) -> Option<K> {
        let (&(deadline, _), &key) = self.queue.first_key_value()?;
        (deadline <= self.now).then_some(key)
    }

    /// Takes the first timer out, when it is due.
    pub(crate) fn pop_due(&mut self) -> Option<(K, u64, T)> {
        let key = self.first_due()?;
        let deadline = self.timers[&key].deadline;
        let value = self.cancel(key)?;
        Some((key, deadline, value))
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.timers.clear();
    }

    fn take_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence
    }
}
