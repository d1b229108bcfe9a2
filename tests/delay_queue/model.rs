//! The model: a `BTreeMap` in the order of the contract and a table of keys. Slow, obviously right.

use std::collections::{BTreeMap, HashMap};

use timer_wheel::delay_queue::Key;

/// A delay queue without a wheel. Times are nanoseconds since it was made, values number the items,
/// keys are those the real queue gave out.
#[derive(Default)]
pub(crate) struct Model {
    next_sequence: u64,
    queue: BTreeMap<(u64, u64), Key>,
    /// Deadline, sequence and value of each item.
    items: HashMap<Key, (u64, u64, u32)>,
}

/// An item of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) key: Key,
    pub(crate) deadline: u64,
    pub(crate) value: u32,
}

impl Model {
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn get(&self, key: Key) -> Option<Item> {
        let &(deadline, _, value) = self.items.get(&key)?;
        Some(Item {
            key,
            deadline,
            value,
        })
    }

    /// All items in the order of their delivery.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.queue.values().filter_map(|&key| self.get(key))
    }

    pub(crate) fn first(&self) -> Option<Item> {
        self.items().next()
    }

    pub(crate) fn insert(&mut self, key: Key, deadline: u64, value: u32) {
        let sequence = self.take_sequence();
        let earlier = self.items.insert(key, (deadline, sequence, value));
        assert!(earlier.is_none(), "a live item's key was given out again");
        self.queue.insert((deadline, sequence), key);
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Item> {
        let item = self.get(key)?;
        let (deadline, sequence, _) = self.items.remove(&key)?;
        self.queue.remove(&(deadline, sequence));
        Some(item)
    }

    pub(crate) fn reset(&mut self, key: Key, deadline: u64) -> bool {
        let Some(Item { value, .. }) = self.remove(key) else {
            return false;
        };
        self.insert(key, deadline, value);
        true
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.items.clear();
    }

    fn take_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence
    }
}
