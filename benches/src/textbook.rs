//! A hierarchical wheel as it is usually built: a doubly linked list a bucket, a node a timer.
//!
//! It is the baseline that shows what the list costs, so it is given every advantage that does not change the
//! structure: the nodes lie in one slab, the geometry is a type, placement is by the highest differing digit, and
//! occupancy bitmaps skip the empty buckets, whatever the jump. Cancelling and rescheduling unlink in O(1). A cascade
//! follows the list and links each node anew, which on a large wheel is a chain of cache misses: the weakness on show.
//!
//! Unlike most such wheels it is exact. The bucket of the current tick is sorted before it is popped. The sort is
//! stable and compares deadlines only: two timers with one deadline are always on the same list, in the order in which
//! they were last scheduled.
//!
//! A tick is read as a number with one digit a level. A timer belongs to the level of the highest digit in which its
//! tick differs from the current one, in the bucket which that digit names. So every occupied bucket lies ahead of the
//! current tick, and all of a level precedes all of the next.

use std::marker::PhantomData;

use slab::Slab;
use timer_wheel::{Geometry, Millis};

use crate::queue::{Need, Order, Queue};

/// Levels with buckets of their own; what lies beyond them shares one overflow bucket.
const LEVELS: usize = 4;
const WORDS: usize = u64::BITS as usize;

/// Names a scheduled timer. A key whose timer fired or was cancelled is refused, until 2^32 further timers have been
/// scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextbookKey {
    node: u32,
    stamp: u32,
}

/// A timer, or the sentinel of a bucket, which has the bucket's number.
#[derive(Debug)]
struct Node<T> {
    deadline: u64,
    previous: u32,
    next: u32,
    /// Tells this timer from an earlier one in the same slot.
    stamp: u32,
    /// `None` in a sentinel.
    value: Option<T>,
}

/// A hierarchical timer wheel of linked lists. See the [module](self) for what it is for.
///
/// Buckets are numbered in the order in which they fall due: those of the levels, the overflow bucket, the due bucket.
///
/// Invariant: the lists are rings, each through exactly one sentinel, and every timer is on one.
/// Invariant: a bucket's bit is set exactly while its list is not empty, and a bit of the summary while the word of
/// that number is not zero; the due bucket, which is not ahead, has no bit.
/// Invariant: no timer outside the due bucket is due before the end of the current tick.
/// Invariant: while `due_is_sorted`, the due bucket is in order of deadline, first come first.
#[derive(Debug)]
pub struct TextbookWheel<T, G: Geometry = Millis> {
    now: u64,
    current_tick: u64,
    nodes: Slab<Node<T>>,
    summary: u64,
    occupied: [u64; WORDS],
    due_is_sorted: bool,
    /// What sorting the due bucket needs, kept so as not to allocate at every tick.
    sorting: Vec<(u64, u32)>,
    last_stamp: u32,
    geometry: PhantomData<G>,
}

impl<T, G: Geometry> Queue<T> for TextbookWheel<T, G> {
    const NAME: &'static str = "textbook";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Need::Budget, Need::First, Need::Horizon];
    type Key = TextbookKey;

    fn new(now: u64) -> Self {
        let mut nodes = Slab::new();
        // A new slab hands out slots in order.
        for bucket in 0..=Self::DUE {
            nodes.insert(Node { deadline: 0, previous: bucket, next: bucket, stamp: 0, value: None });
        }
        Self {
            now,
            current_tick: now >> G::TICK_BITS,
            nodes,
            summary: 0,
            occupied: [0; WORDS],
            due_is_sorted: true,
            sorting: Vec::new(),
            last_stamp: 0,
            geometry: PhantomData,
        }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> TextbookKey {
        let next = self.bucket_for(deadline);
        let previous = self.at(next).previous;
        self.last_stamp = self.last_stamp.wrapping_add(1);
        let stamp = self.last_stamp;
        let slot = self.nodes.insert(Node { deadline, previous, next, stamp, value: Some(value) });
        let node = u32::try_from(slot).expect("at most 2^32 nodes");
        self.at(previous).next = node;
        self.at(next).previous = node;
        TextbookKey { node, stamp }
    }

    fn len(&self) -> usize {
        self.nodes.len() - (Self::DUE as usize + 1)
    }

    #[inline]
    fn cancel(&mut self, key: TextbookKey) -> Option<T> {
        self.live(key)?;
        self.remove(key.node).value
    }

    /// The key stays.
    #[inline]
    fn reschedule(&mut self, key: &mut TextbookKey, deadline: u64) -> bool {
        let Some(&Node { previous, next, .. }) = self.live(*key) else {
            return false;
        };
        self.join(previous, next);
        self.at(key.node).deadline = deadline;
        let bucket = self.bucket_for(deadline);
        self.link(key.node, bucket);
        true
    }

    /// Time never goes back: an earlier `now` counts as the latest one. Amortized O(levels + log bucket).
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        self.now = self.now.max(now);
        let target_tick = self.now >> G::TICK_BITS;
        loop {
            if !self.due_is_sorted {
                self.sort_due();
            }
            if let Some(first) = self.after(Self::DUE, Self::DUE) {
                if self.at(first).deadline > self.now {
                    return None;
                }
                let fired = self.remove(first);
                return fired.value.map(|value| (fired.deadline, value));
            }
            if !self.open_next(target_tick) {
                return None;
            }
        }
    }
}

/// A running sum of what each level has.
const fn sums(shares: [u32; LEVELS]) -> [u32; LEVELS + 1] {
    let mut sums = [0; LEVELS + 1];
    let mut level = 0;
    while level < LEVELS {
        sums[level + 1] = sums[level] + shares[level];
        level += 1;
    }
    sums
}

impl<T, G: Geometry> TextbookWheel<T, G> {
    /// Where each level's digit begins in a tick; the last entry is where the overflow begins.
    const SHIFTS: [u32; LEVELS + 1] = sums(G::LEVEL_BITS);
    /// The first bucket of each level; the last entry is the overflow bucket.
    const BASES: [u32; LEVELS + 1] = {
        let [first, second, third, fourth] = G::LEVEL_BITS;
        sums([1 << first, 1 << second, 1 << third, 1 << fourth])
    };
    /// Holds what lies beyond the last level.
    const OVERFLOW: u32 = Self::BASES[LEVELS];
    /// Holds the timers of the current tick and of the past.
    const DUE: u32 = {
        assert!(Self::SHIFTS[LEVELS] + G::TICK_BITS < u64::BITS, "the levels must leave room for the overflow");
        assert!(Self::OVERFLOW as usize + 2 <= WORDS * WORDS, "one summary word must cover every bucket");
        Self::OVERFLOW + 1
    };

    #[inline]
    fn at(&mut self, node: u32) -> &mut Node<T> {
        &mut self.nodes[node as usize]
    }

    #[inline]
    fn live(&self, key: TextbookKey) -> Option<&Node<T>> {
        self.nodes.get(key.node as usize).filter(|node| node.stamp == key.stamp)
    }

    /// The bucket for a deadline, marked as occupied by it. The due bucket stays sorted if the newcomer is not before
    /// its last.
    #[inline]
    fn bucket_for(&mut self, deadline: u64) -> u32 {
        let tick = deadline >> G::TICK_BITS;
        if tick <= self.current_tick {
            let last = self.at(Self::DUE).previous;
            self.due_is_sorted &= last == Self::DUE || self.at(last).deadline <= deadline;
            return Self::DUE;
        }
        let differing = tick ^ self.current_tick;
        let bucket = match (0..LEVELS).find(|level| differing >> Self::SHIFTS[level + 1] == 0) {
            Some(level) => {
                let digit = (tick >> Self::SHIFTS[level]) as u32 & ((1 << G::LEVEL_BITS[level]) - 1);
                Self::BASES[level] + digit
            }
            None => Self::OVERFLOW,
        };
        let word = bucket as usize / WORDS % WORDS;
        self.occupied[word] |= 1 << (bucket as usize % WORDS);
        self.summary |= 1 << word;
        bucket
    }

    #[inline]
    fn vacate(&mut self, bucket: u32) {
        let word = bucket as usize / WORDS % WORDS;
        self.occupied[word] &= !(1 << (bucket as usize % WORDS));
        if self.occupied[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// The first tick of an occupied bucket, in the lap of the current tick. For the overflow bucket it is that of the
    /// first rotation that has a timer, as with every level empty the others can be skipped, if the next rotation
    /// starts in time.
    #[inline]
    fn first_tick(&self, bucket: u32, target_tick: u64) -> u64 {
        let Some(level) = (0..LEVELS).find(|level| bucket < Self::BASES[level + 1]) else {
            let rotation = |tick: u64| tick >> Self::SHIFTS[LEVELS];
            if rotation(target_tick) == rotation(self.current_tick) {
                return u64::MAX;
            }
            let first = self.walk(bucket).map(|(deadline, _)| deadline).min().unwrap_or(u64::MAX);
            return rotation(first >> G::TICK_BITS) << Self::SHIFTS[LEVELS];
        };
        let lap = self.current_tick >> Self::SHIFTS[level + 1];
        let digit = u64::from(bucket - Self::BASES[level]);
        ((lap << G::LEVEL_BITS[level]) | digit) << Self::SHIFTS[level]
    }

    /// Moves the current tick to the next bucket that starts by `target_tick` and opens it. If there is none, moves to
    /// `target_tick` and says `false`.
    fn open_next(&mut self, target_tick: u64) -> bool {
        let word = self.summary.trailing_zeros() as usize;
        let next = (self.summary != 0).then(|| word * WORDS + self.occupied[word].trailing_zeros() as usize);
        let next = next.map(|bucket| (bucket as u32, self.first_tick(bucket as u32, target_tick)));
        let Some((bucket, first_tick)) = next.filter(|&(_, first_tick)| first_tick <= target_tick) else {
            self.current_tick = target_tick;
            return false;
        };
        self.current_tick = first_tick;
        if bucket < Self::BASES[1] {
            // The whole list becomes the end of the due one.
            let &mut Node { previous: last, next: first, .. } = self.at(bucket);
            let before = self.at(Self::DUE).previous;
            self.join(before, first);
            self.join(last, Self::DUE);
            self.join(bucket, bucket);
            self.due_is_sorted = false;
        } else {
            self.vacate(bucket);
            let mut next = self.detach(bucket);
            while let Some(node) = next {
                next = self.after(node, bucket);
                let deadline = self.at(node).deadline;
                let lower = self.bucket_for(deadline);
                self.link(node, lower);
            }
        }
        true
    }

    /// Brings the due bucket into order of deadline, equals as they came.
    fn sort_due(&mut self) {
        self.due_is_sorted = true;
        let mut sorting = std::mem::take(&mut self.sorting);
        sorting.clear();
        sorting.extend(self.walk(Self::DUE));
        if !sorting.is_sorted_by_key(|&(deadline, _)| deadline) {
            sorting.sort_by_key(|&(deadline, _)| deadline);
            self.detach(Self::DUE);
            sorting.iter().for_each(|&(_, node)| self.link(node, Self::DUE));
        }
        self.sorting = sorting;
    }

    #[inline]
    fn remove(&mut self, node: u32) -> Node<T> {
        let removed = self.nodes.remove(node as usize);
        self.join(removed.previous, removed.next);
        removed
    }

    /// Appends a node to a bucket's list.
    #[inline]
    fn link(&mut self, node: u32, bucket: u32) {
        let previous = self.at(bucket).previous;
        let linked = self.at(node);
        (linked.previous, linked.next) = (previous, bucket);
        self.at(previous).next = node;
        self.at(bucket).previous = node;
    }

    /// Closes the gap between two nodes. Only a sentinel can be on both sides of it, and its list is empty then.
    #[inline]
    fn join(&mut self, previous: u32, next: u32) {
        self.at(previous).next = next;
        self.at(next).previous = previous;
        if previous == next {
            self.vacate(previous);
        }
    }

    /// Empties a bucket's list in O(1) and gives its first node; [`after`](Self::after) walks the others.
    #[inline]
    fn detach(&mut self, bucket: u32) -> Option<u32> {
        let first = self.after(bucket, bucket);
        let sentinel = self.at(bucket);
        (sentinel.previous, sentinel.next) = (bucket, bucket);
        first
    }

    /// The node after this one on a bucket's list, or the first after the sentinel.
    #[inline]
    fn after(&self, node: u32, bucket: u32) -> Option<u32> {
        Some(self.nodes[node as usize].next).filter(|&next| next != bucket)
    }

    /// The deadlines on a bucket's list and their nodes, in order.
    fn walk(&self, bucket: u32) -> impl Iterator<Item = (u64, u32)> {
        let nodes = std::iter::successors(self.after(bucket, bucket), move |&node| self.after(node, bucket));
        nodes.map(|node| (self.nodes[node as usize].deadline, node))
    }
}
