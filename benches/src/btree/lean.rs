//! The leanest ordered set with handles: its key says where the timer is in the order and in the store.

use std::collections::BTreeSet;
use std::fmt::Debug;

use slab::Slab;

use crate::queue::{Order, Queue};

pub trait Store<T>: Default {
    /// The name of the queue that has this store.
    const NAME: &'static str;

    /// Keeps a value, and names its slot.
    fn insert(&mut self, value: T) -> u32;
    /// Takes a value that is there.
    fn remove(&mut self, slot: u32) -> T;
    /// A value that is there; `slot` lies in the order.
    fn get<'a>(&'a self, slot: &'a u32) -> &'a T;
    fn clear(&mut self);
}

impl<T> Store<T> for Slab<T> {
    const NAME: &'static str = "btree+slab";

    #[inline]
    fn insert(&mut self, value: T) -> u32 {
        u32::try_from(Slab::insert(self, value)).expect("at most 2^32 timers")
    }

    #[inline]
    fn remove(&mut self, slot: u32) -> T {
        Slab::remove(self, slot as usize)
    }

    #[inline]
    fn get<'a>(&'a self, slot: &'a u32) -> &'a T {
        &self[*slot as usize]
    }

    fn clear(&mut self) {
        Slab::clear(self);
    }
}

/// No store: the value is the number in the set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers;

impl Store<u32> for Numbers {
    const NAME: &'static str = "btree";

    #[inline]
    fn insert(&mut self, value: u32) -> u32 {
        value
    }

    #[inline]
    fn remove(&mut self, slot: u32) -> u32 {
        slot
    }

    #[inline]
    fn get<'a>(&'a self, slot: &'a u32) -> &'a u32 {
        slot
    }

    fn clear(&mut self) {}
}

/// A set of deadlines and numbers, without values.
pub type BareSet = LeanBTreeQueue<u32, Numbers>;

/// Names a scheduled timer by its deadline and slot. A key whose timer fired or was cancelled is refused, except that a
/// timer which took the same slot for the same nanosecond is mistaken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeanKey {
    deadline: u64,
    slot: u32,
}

/// A queue of timers in order of deadline, and of slot among equals.
///
/// Against [`BTreeQueue`](super::BTreeQueue) it gives up three things for speed: first come first served among equals,
/// the certain refusal of stale keys, and a key that outlives a reschedule.
#[derive(Debug)]
pub struct LeanBTreeQueue<T, S: Store<T> = Slab<T>> {
    order: BTreeSet<(u64, u32)>,
    values: S,
    value: std::marker::PhantomData<T>,
}

impl<T, S: Store<T>> Queue<T> for LeanBTreeQueue<T, S> {
    const NAME: &'static str = S::NAME;
    const ORDER: Order = Order::Deadline;
    type Key = LeanKey;

    /// It has no time of its own: it only ever compares deadlines.
    #[inline]
    fn new(_now: u64) -> Self {
        Self { order: BTreeSet::new(), values: S::default(), value: std::marker::PhantomData }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> LeanKey {
        let slot = self.values.insert(value);
        self.order.insert((deadline, slot));
        LeanKey { deadline, slot }
    }

    #[inline]
    fn cancel(&mut self, LeanKey { deadline, slot }: LeanKey) -> Option<T> {
        let was_live = self.order.remove(&(deadline, slot));
        was_live.then(|| self.values.remove(slot))
    }

    #[inline]
    fn reschedule(&mut self, key: &mut LeanKey, deadline: u64) -> bool {
        let was_live = self.order.remove(&(key.deadline, key.slot));
        if was_live {
            self.order.insert((deadline, key.slot));
            key.deadline = deadline;
        }
        was_live
    }

    #[inline]
    fn wake_at(&self) -> Option<u64> {
        self.order.first().map(|&(deadline, _)| deadline)
    }

    #[inline]
    fn ascending(&self, mut visit: impl FnMut(&T)) {
        self.order.iter().for_each(|(_, slot)| visit(self.values.get(slot)));
    }

    #[inline]
    fn descending(&self, mut visit: impl FnMut(&T)) {
        self.order.iter().rev().for_each(|(_, slot)| visit(self.values.get(slot)));
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        let (deadline, slot) = self.order.pop_first()?;
        Some((deadline, self.values.remove(slot)))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        if self.order.first()?.0 > now {
            return None;
        }
        self.pop_first()
    }

    fn clear(&mut self) {
        self.order.clear();
        self.values.clear();
    }
}
