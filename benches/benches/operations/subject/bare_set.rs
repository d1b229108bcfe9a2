//! An ordered set alone: deadlines and numbers, no values and no handles.

use std::collections::BTreeSet;

use super::{Budgeted, Ordered, Queue};

pub(crate) struct BareSet(BTreeSet<(u64, u32)>);

impl BareSet {
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<u32> {
        if self.0.first()?.0 > now {
            return None;
        }
        self.0.pop_first().map(|(_, value)| value)
    }
}

impl Queue for BareSet {
    const NAME: &'static str = "btree";
    type Key = (u64, u32);

    #[inline]
    fn new() -> Self {
        Self(BTreeSet::new())
    }

    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> (u64, u32) {
        self.0.insert((deadline, value));
        (deadline, value)
    }

    #[inline]
    fn cancel(&mut self, key: (u64, u32)) -> Option<u32> {
        self.0.remove(&key).then_some(key.1)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut (u64, u32), deadline: u64) -> bool {
        let was_live = self.0.remove(key);
        if was_live {
            key.0 = deadline;
            self.0.insert(*key);
        }
        was_live
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        while let Some(value) = self.pop_expired(now) {
            fire(value);
        }
    }

    #[inline]
    fn wake(&self) -> Option<u64> {
        self.0.first().map(|&(deadline, _)| deadline)
    }
}

impl Ordered for BareSet {
    #[inline]
    fn ascending(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|&(_, value)| value)
    }

    #[inline]
    fn descending(&self) -> impl Iterator<Item = u32> {
        self.0.iter().rev().map(|&(_, value)| value)
    }
}

impl Budgeted for BareSet {
    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: usize, mut fire: impl FnMut(u32)) -> bool {
        for _ in 0..budget {
            match self.pop_expired(now) {
                Some(value) => fire(value),
                None => return false,
            }
        }
        self.wake().is_some_and(|deadline| deadline <= now)
    }
}
