//! What takes no crate of timers: the standard library's heap, the buckets that runtimes write by hand, and a bare
//! slab.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use slab::Slab;

use super::{due_at, reached_by};
use crate::queue::Need::{self, Budget, Cancel, Fire, First, Horizon, Move};
use crate::queue::{Order, Queue};

/// A binary heap: it can schedule and fire, and nothing else.
#[derive(Clone, Debug)]
pub struct Heap(BinaryHeap<Reverse<(u64, u32)>>);

impl Queue for Heap {
    const NAME: &'static str = "heap";
    const ORDER: Order = Order::Deadline;
    const LACKS: &'static [Need] = &[Cancel, Move];
    type Key = ();

    #[inline]
    fn new(_now: u64) -> Self {
        Self(BinaryHeap::new())
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) {
        self.0.push(Reverse((deadline, value)));
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.0.pop().map(|Reverse(first)| first)
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        let &Reverse((deadline, _)) = self.0.peek()?;
        if deadline > now {
            return None;
        }
        self.pop_first()
    }
}

/// A wheel as runtimes write it: a bucket a tick for the next `BUCKETS` ticks, and above it a map of the ticks beyond,
/// whose buckets are put into the wheel as they come into its reach. A timer is found by its place in its tick's
/// bucket; one that is cancelled leaves a gap.
#[derive(Debug)]
pub struct Handwritten<const TICK_NS: u64> {
    now: u64,
    wheel: Vec<Bucket>,
    beyond: BTreeMap<u64, Bucket>,
}

type Bucket = Vec<Option<u32>>;

const BUCKETS: u64 = 4_096;

impl<const TICK_NS: u64> Handwritten<TICK_NS> {
    #[inline]
    fn bucket(&mut self, tick: u64) -> &mut Bucket {
        match tick < self.now + BUCKETS {
            true => &mut self.wheel[(tick % BUCKETS) as usize],
            false => self.beyond.entry(tick).or_default(),
        }
    }
}

impl<const TICK_NS: u64> Queue for Handwritten<TICK_NS> {
    const NAME: &'static str = "handwritten";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Move, First, Budget, Horizon];
    type Key = (u64, u32);

    fn new(now: u64) -> Self {
        let wheel = (0..BUCKETS).map(|_| Bucket::new()).collect();
        Self { now: reached_by::<TICK_NS>(now), wheel, beyond: BTreeMap::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> Self::Key {
        let tick = due_at::<TICK_NS>(deadline).max(self.now + 1);
        let bucket = self.bucket(tick);
        bucket.push(Some(value));
        (tick, bucket.len() as u32 - 1)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        while self.now < reached_by::<TICK_NS>(now) {
            self.now += 1;
            let tick = self.now;
            self.wheel[(tick % BUCKETS) as usize].drain(..).flatten().for_each(|value| fire(tick * TICK_NS, value));
            let last = tick + BUCKETS - 1;
            if self.beyond.first_key_value().is_some_and(|(&first, _)| first == last) {
                self.wheel[(last % BUCKETS) as usize] = self.beyond.pop_first().expect("it is there").1;
            }
        }
    }

    /// A key is good until its timer fires.
    #[inline]
    fn cancel(&mut self, (tick, place): Self::Key) -> Option<u32> {
        if tick <= self.now {
            return None;
        }
        self.bucket(tick).get_mut(place as usize)?.take()
    }
}

/// A bare slab: what storing and finding the values costs when nothing is ever due. It is the limit, not a queue.
#[derive(Clone, Debug)]
pub struct BareSlab(Slab<u32>);

impl Queue for BareSlab {
    const NAME: &'static str = "slab";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Fire, First];
    type Key = u32;

    #[inline]
    fn new(_now: u64) -> Self {
        Self(Slab::new())
    }

    #[inline]
    fn schedule(&mut self, _deadline: u64, value: u32) -> u32 {
        self.0.insert(value) as u32
    }

    #[inline]
    fn advance(&mut self, _now: u64, _fire: impl FnMut(u64, u32)) {}

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.0.try_remove(key as usize)
    }

    /// Touches the entry: the deadline's low half takes the place of the value.
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        let Some(value) = self.0.get_mut(*key as usize) else {
            return false;
        };
        *value = deadline as u32;
        true
    }
}
