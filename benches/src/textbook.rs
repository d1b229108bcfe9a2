//! A hierarchical wheel as it is usually built: a doubly linked list a bucket, a node a timer.
//!
//! It is the baseline that shows what the list costs, so it is given every advantage that does not change the
//! structure: the nodes lie in one slab, the geometry is a type, placement is by the highest differing digit, and
//! occupancy bitmaps skip the empty buckets, whatever the jump. Cancelling and rescheduling unlink in O(1). A cascade
//! follows the list and links each node anew, which on a large wheel is a chain of cache misses: the weakness on show.
//!
//! Unlike most such wheels it is exact. The bucket of the current tick is sorted before it is popped. The sort is stable
//! and compares deadlines only: two timers with one deadline are always on the same list, in the order in which they
//! were last scheduled.
//!
//! A tick is read as a number with one digit a level. A timer belongs to the level of the highest digit in which its
//! tick differs from the current one, in the bucket which that digit names. So every occupied bucket lies ahead of the
//! current tick, and all of a level precedes all of the next.

mod lists;

use std::marker::PhantomData;

use timer_wheel::{Geometry, Millis};

use crate::queue::{Need, Order, Queue};

use lists::{Lists, Node, NodeIndex};

/// Levels with buckets of their own; what lies beyond them shares one overflow bucket.
const LEVELS: usize = 4;
const WORDS: usize = u64::BITS as usize;

/// Names one list of nodes: a bucket of a level, the overflow bucket, or the due bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BucketIndex(usize);

/// Names a scheduled timer. A key whose timer fired or was cancelled is refused, until 2^32 further timers have been
/// scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextbookKey {
    node: u32,
    stamp: u32,
}

/// A hierarchical timer wheel of linked lists. See the [module](self) for what it is for.
///
/// Invariant: no timer outside the due bucket is due before the end of the current tick.
/// Invariant: while `due_is_sorted`, the due bucket is in order of deadline, first come first.
#[derive(Debug)]
pub struct TextbookWheel<T, G: Geometry = Millis> {
    now: u64,
    current_tick: u64,
    lists: Lists<T>,
    occupancy: Occupancy,
    due_is_sorted: bool,
    /// What sorting the due bucket needs, kept so as not to allocate at every tick.
    sorting: Vec<(u64, NodeIndex)>,
    last_stamp: u32,
    geometry: PhantomData<G>,
}

impl<T, G: Geometry> Queue<T> for TextbookWheel<T, G> {
    const NAME: &'static str = "textbook";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Need::Budget, Need::First, Need::Horizon];
    type Key = TextbookKey;

    fn new(now: u64) -> Self {
        Self {
            now,
            current_tick: now >> G::TICK_BITS,
            lists: Lists::new(Self::BUCKETS),
            occupancy: Occupancy { summary: 0, words: [0; WORDS] },
            due_is_sorted: true,
            sorting: Vec::new(),
            last_stamp: 0,
            geometry: PhantomData,
        }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> TextbookKey {
        let bucket = self.bucket_for(deadline);
        self.last_stamp = self.last_stamp.wrapping_add(1);
        let stamp = self.last_stamp;
        let NodeIndex(node) = self.lists.insert(bucket, deadline, stamp, value);
        TextbookKey { node, stamp }
    }

    fn len(&self) -> usize {
        self.lists.len() - Self::BUCKETS
    }

    #[inline]
    fn cancel(&mut self, key: TextbookKey) -> Option<T> {
        let node = self.live(key)?;
        self.remove(node).value
    }

    /// The key stays.
    #[inline]
    fn reschedule(&mut self, key: &mut TextbookKey, deadline: u64) -> bool {
        let Some(node) = self.live(*key) else {
            return false;
        };
        if let Some(emptied) = self.lists.unlink(node) {
            self.occupancy.clear(emptied);
        }
        self.lists[node].deadline = deadline;
        let bucket = self.bucket_for(deadline);
        self.lists.link(node, bucket);
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
            if let Some(first) = self.lists.first(Self::DUE) {
                if self.lists[first].deadline > self.now {
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

/// A running sum of the first levels, each with its own share.
const fn sums(shares: [usize; LEVELS]) -> [usize; LEVELS + 1] {
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
    const SHIFTS: [usize; LEVELS + 1] = {
        let [first, second, third, fourth] = G::LEVEL_BITS;
        sums([first as usize, second as usize, third as usize, fourth as usize])
    };
    /// The first bucket of each level; the last entry is the overflow bucket.
    const BASES: [usize; LEVELS + 1] = {
        let [first, second, third, fourth] = G::LEVEL_BITS;
        sums([1 << first, 1 << second, 1 << third, 1 << fourth])
    };
    /// Holds what lies beyond the last level.
    const OVERFLOW: BucketIndex = BucketIndex(Self::BASES[LEVELS]);
    /// Holds the timers of the current tick and of the past.
    const DUE: BucketIndex = BucketIndex(Self::BASES[LEVELS] + 1);
    const BUCKETS: usize = {
        assert!(Self::SHIFTS[LEVELS] as u32 + G::TICK_BITS < u64::BITS, "the levels must leave room for the overflow");
        assert!(Self::BASES[LEVELS] + 2 <= WORDS * WORDS, "one summary word must cover every bucket");
        Self::BASES[LEVELS] + 2
    };

    #[inline]
    fn live(&self, key: TextbookKey) -> Option<NodeIndex> {
        let node = NodeIndex(key.node);
        (self.lists.get(node)?.stamp == key.stamp).then_some(node)
    }

    /// Where a timer of this tick belongs, seen from the current tick.
    #[inline]
    fn bucket_of(&self, tick: u64) -> BucketIndex {
        if tick <= self.current_tick {
            return Self::DUE;
        }
        let differing = tick ^ self.current_tick;
        for level in 0..LEVELS {
            if differing >> Self::SHIFTS[level + 1] == 0 {
                let digit = (tick >> Self::SHIFTS[level]) as usize & ((1 << G::LEVEL_BITS[level]) - 1);
                return BucketIndex(Self::BASES[level] + digit);
            }
        }
        Self::OVERFLOW
    }

    /// The same for a deadline, marked as occupied by it. The due bucket stays sorted if the newcomer is not before its last.
    #[inline]
    fn bucket_for(&mut self, deadline: u64) -> BucketIndex {
        let bucket = self.bucket_of(deadline >> G::TICK_BITS);
        if bucket != Self::DUE {
            self.occupancy.set(bucket);
        } else if self.due_is_sorted {
            let last = self.lists.last(bucket);
            self.due_is_sorted = last.is_none_or(|last| self.lists[last].deadline <= deadline);
        }
        bucket
    }

    /// The first tick of an occupied bucket, in the lap of the current tick; for the overflow bucket, of the next
    /// rotation, which is within a `u64` because a timer lies there or beyond.
    #[inline]
    fn first_tick(&self, bucket: BucketIndex) -> u64 {
        let Some(level) = (0..LEVELS).find(|level| bucket.0 < Self::BASES[level + 1]) else {
            return Self::rotation_start(self.current_tick) + (1 << Self::SHIFTS[LEVELS]);
        };
        let lap = self.current_tick >> Self::SHIFTS[level + 1];
        let digit = (bucket.0 - Self::BASES[level]) as u64;
        ((lap << G::LEVEL_BITS[level]) | digit) << Self::SHIFTS[level]
    }

    /// The first tick of the rotation in which this tick falls: the overflow bucket's own digit.
    #[inline]
    fn rotation_start(tick: u64) -> u64 {
        (tick >> Self::SHIFTS[LEVELS]) << Self::SHIFTS[LEVELS]
    }

    #[inline]
    fn remove(&mut self, node: NodeIndex) -> Node<T> {
        let (removed, emptied) = self.lists.remove(node);
        if let Some(emptied) = emptied {
            self.occupancy.clear(emptied);
        }
        removed
    }

    /// Moves the current tick to the next bucket that starts by `target_tick` and opens it. If there is none, moves to
    /// `target_tick` and says `false`.
    fn open_next(&mut self, target_tick: u64) -> bool {
        let next = self.occupancy.first().filter(|bucket| self.first_tick(*bucket) <= target_tick);
        let entry_tick = next.map(|bucket| match bucket == Self::OVERFLOW {
            // Where the first rotation that has a timer starts: with every level empty the others can be skipped.
            true => Self::rotation_start(self.earliest_in_overflow() >> G::TICK_BITS),
            false => self.first_tick(bucket),
        });
        let (Some(bucket), Some(entry_tick)) = (next, entry_tick.filter(|&tick| tick <= target_tick)) else {
            self.current_tick = target_tick;
            return false;
        };
        self.current_tick = entry_tick;
        self.occupancy.clear(bucket);
        if bucket.0 < Self::BASES[1] {
            self.lists.splice(bucket, Self::DUE);
            self.due_is_sorted = false;
        } else {
            self.cascade(bucket);
        }
        true
    }

    /// Links every node of a bucket anew, seen from the current tick.
    fn cascade(&mut self, bucket: BucketIndex) {
        let mut next = self.lists.detach(bucket);
        while let Some(node) = next {
            next = self.lists.following(node, bucket);
            let lower = self.bucket_for(self.lists[node].deadline);
            self.lists.link(node, lower);
        }
    }

    fn earliest_in_overflow(&self) -> u64 {
        let nodes = self.lists.iter(Self::OVERFLOW);
        nodes.map(|node| self.lists[node].deadline).min().unwrap_or(u64::MAX)
    }

    /// Brings the due bucket into order of deadline, equals as they came.
    fn sort_due(&mut self) {
        self.due_is_sorted = true;
        self.sorting.clear();
        self.sorting.extend(self.lists.iter(Self::DUE).map(|node| (self.lists[node].deadline, node)));
        if self.sorting.is_sorted_by_key(|&(deadline, _)| deadline) {
            return;
        }
        self.sorting.sort_by_key(|&(deadline, _)| deadline);
        self.lists.detach(Self::DUE);
        for &(_, node) in &self.sorting {
            self.lists.link(node, Self::DUE);
        }
    }
}

/// One bit a bucket. Buckets are numbered in the order in which they fall due, so the lowest bit names the next one.
///
/// Invariant: a bit is set exactly while its bucket's list is not empty; the due bucket, which is not ahead, has none.
/// Invariant: bit `w` of the summary is set exactly while word `w` is not zero.
#[derive(Debug)]
struct Occupancy {
    summary: u64,
    words: [u64; WORDS],
}

impl Occupancy {
    #[inline]
    fn set(&mut self, bucket: BucketIndex) {
        let word = bucket.0 / WORDS % WORDS;
        self.words[word] |= 1 << (bucket.0 % WORDS);
        self.summary |= 1 << word;
    }

    #[inline]
    fn clear(&mut self, bucket: BucketIndex) {
        let word = bucket.0 / WORDS % WORDS;
        self.words[word] &= !(1 << (bucket.0 % WORDS));
        if self.words[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// The occupied bucket that falls due first.
    #[inline]
    fn first(&self) -> Option<BucketIndex> {
        if self.summary == 0 {
            return None;
        }
        let word = self.summary.trailing_zeros() as usize;
        Some(BucketIndex(word * WORDS + self.words[word].trailing_zeros() as usize))
    }
}
