//! The timer wheel: values with deadlines, handed back in order when they are due.

// rustdoc shows the methods of `Wheel` in the order of these modules, and those of this file last.
mod construction;
mod schedule;

pub(crate) mod key;
pub(crate) mod slots;

pub(crate) mod advance;
pub(crate) mod due;

mod look;

mod iter;

#[cfg(feature = "serde")]
mod serde;
pub(crate) mod timer;

use crate::engine::geometry::{Geometry, Millis};
use crate::engine::hierarchy::Hierarchy;
use crate::engine::node::{MAX_TIMERS, NODES_A_PAGE};
use crate::wheel::slots::{Slot, Slots};

/// A hierarchical timer wheel.
///
/// It behaves like a `BTreeSet` of `(deadline, sequence)` pairs with a value for each, where the sequence counts calls
/// to [`schedule`](Wheel::schedule) and [`reschedule`](Wheel::reschedule). Timers fire in order of deadline, and first
/// in first out among equals. No timer fires twice, before its deadline, or after the first advance that reaches it.
///
/// Times are nanoseconds since an origin of the caller's choice. Every `u64` is a valid time and a
/// valid deadline.
///
/// # Costs
///
/// Scheduling, cancelling and rescheduling are O(1), or O(log k) in the near heap of k timers. A timer is moved at most
/// once for each level between its first one and the finest. Beyond the four levels, it is moved at most once for each
/// bit of its deadline above them. Each postponement adds at most one move. The timers of one tick are sorted when the
/// tick is reached. An [`advance`](Wheel::advance) over any span costs O(timers touched), however long the span. If it
/// is called at least once per tick, timers that lie ahead cause no long pause: crowded buckets are moved down in
/// shares before they begin.
///
/// Memory is a node of 24 bytes for each timer, and a slot of 4 bytes and the value, rounded up to their alignments, in
/// pages of 256 that are never moved. After a peak, advances release it a page at a time. Values are
/// moved in and out: box those larger than about 200 bytes.
///
/// The geometry `G` sets the tick and the span of the levels. It changes costs only, never what
/// fires when or in what order.
///
/// The idea of five levels with power-of-two ticks comes from [Caffeine](https://github.com/ben-manes/caffeine)'s
/// `TimerWheel`, after Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987).
///
/// # Examples
///
/// A loop that sleeps until there is work:
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::<u32>::new(0);
/// wheel.schedule(90_000_000_000, 7);
///
/// let mut wake_ups = 0;
/// let mut fired = Vec::new();
/// while let Some(now) = wheel.wake_at() {
///     wake_ups += 1; // after a sleep until `now`
///     fired.extend(wheel.advance(now).map(|timer| (now, timer.deadline, timer.value)));
/// }
/// assert_eq!(fired, [(90_000_000_000, 90_000_000_000, 7)]);
/// assert!(wake_ups <= 6);
/// ```
pub struct Wheel<T, G: Geometry = Millis> {
    pub(crate) hierarchy: Hierarchy<Slot<T>, G>,
    pub(crate) slots: Slots,
}

impl<T, G: Geometry> Wheel<T, G> {
    /// Cancels every timer and drops the values. O(n), however many there once were.
    ///
    /// The clock and the memory stay; later advances give the memory back, a page at a time. All keys become stale,
    /// even if the drop of a value panics.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<&str>::new(0);
    /// let key = wheel.schedule(10, "value");
    /// wheel.clear();
    /// assert!(wheel.is_empty());
    /// assert_eq!(wheel.cancel(key), None);
    /// ```
    pub fn clear(&mut self) {
        drop(self.drain());
    }

    /// The number of timers that fit before the wheel allocates memory for more slots. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u64>::new(0);
    /// assert_eq!(wheel.capacity(), 0);
    /// wheel.schedule(10, 1);
    /// assert!(wheel.capacity() >= 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.hierarchy.nodes().capacity() - self.slots.retired()
    }

    /// Makes room for `additional` more timers. O(additional).
    ///
    /// The wheel may still allocate the near heap, and the buckets of a level when it is first used.
    ///
    /// # Panics
    ///
    /// If the wheel could never hold that many.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u64>::new(0);
    /// wheel.reserve(10_000);
    /// let bytes = wheel.stats().bytes;
    /// for value in 0..10_000 {
    ///     wheel.schedule(1_000_000_000, value);
    /// }
    /// assert!(wheel.stats().bytes < bytes + 40_000, "the buckets of two levels are all that is new");
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        assert!(additional <= MAX_TIMERS - self.len(), "a timer wheel holds at most {MAX_TIMERS} timers");
        let free = self.hierarchy.nodes().len() - self.len() - self.slots.retired();
        self.hierarchy.reserve(additional.saturating_sub(free));
        self.slots.make_room_to_free(self.hierarchy.nodes().capacity());
    }

    /// Gives back at once the memory that the live timers do not need. O(n).
    ///
    /// A timer keeps its slot, so memory is kept up to the highest slot in use. Keys stay valid, and stale ones stale.
    /// Without this call, advances give back a page at a time while more is free than in use.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u64>::new(0);
    /// let keys: Vec<_> = (0..10_000).map(|value| wheel.schedule(1_000_000, value)).collect();
    /// for key in &keys[1..] {
    ///     wheel.cancel(*key);
    /// }
    /// let before = wheel.stats().bytes;
    /// wheel.shrink_to_fit();
    /// assert!(wheel.stats().bytes < before / 10);
    /// assert_eq!(wheel.get(keys[0]), Some(&0));
    /// ```
    pub fn shrink_to_fit(&mut self) {
        let nodes = self.hierarchy.nodes();
        let len = self.slots.shrink_to_fit(nodes.len(), |index| &nodes.at(index).value);
        self.hierarchy.shrink_to_fit(len);
        self.slots.make_room_to_free(self.hierarchy.nodes().capacity());
    }

    /// Whether more nodes are free than in use, by more than two pages.
    #[inline]
    fn has_spare_pages(&self) -> bool {
        self.hierarchy.nodes().len() / 2 > self.len() + NODES_A_PAGE
    }

    /// Gives back the last page of nodes if all of it is free. O(nodes of a page).
    #[cold]
    #[inline(never)]
    fn give_back_page(&mut self) {
        let nodes = self.hierarchy.nodes();
        let last = (nodes.pages() - 1) * NODES_A_PAGE..nodes.len();
        if !last.is_empty() && self.slots.give_back(last, |index| &nodes.at(index).value) {
            self.hierarchy.drop_page();
        }
    }
}

/// For the fuzz targets, which are built with `--cfg fuzzing`.
#[cfg(fuzzing)]
impl<T, G: Geometry> Wheel<T, G> {
    /// Leaves no more than `left` sequence numbers before the timers must be renumbered, which
    /// otherwise takes 2^48 calls.
    #[doc(hidden)]
    pub fn exhaust_sequence(&mut self, left: u64) {
        self.hierarchy.exhaust_sequence(left);
    }
}

impl<T: Clone, G: Geometry> Clone for Wheel<T, G> {
    /// Copies the wheel. The keys of the original are valid for the copy too.
    fn clone(&self) -> Self {
        Self { hierarchy: self.hierarchy.clone(), slots: self.slots.clone() }
    }
}

impl<T, G: Geometry> Default for Wheel<T, G> {
    /// An empty wheel at time 0.
    fn default() -> Self {
        Self::with_geometry(0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::engine::node::NodeIndex;
    use crate::wheel::key::TimerKey;

    /// All sequence numbers but three are used up. New timers come after the existing ones, wherever those are.
    #[test]
    fn sequence_that_runs_out_is_renumbered_in_order() {
        let now = 1 << 40;
        let mut wheel: Wheel<u32> = Wheel::new(now);
        let later = now + (50 << 20);
        let mut keys = Vec::new();
        let lane = wheel.add_lane();
        for value in 0..48 {
            // Due, current, on two levels, beyond them all, in a lane; some of them at equal times.
            let deadlines = [0, now + 9, now + 9, later, later + (1 << 30), u64::MAX];
            keys.push(match deadlines.get(value % 8) {
                Some(&deadline) => wheel.schedule(deadline, value as u32),
                None => wheel.schedule_in(lane, later, value as u32),
            });
        }
        assert!(wheel.reschedule(keys[3], later + 1), "postponed in place");
        assert!(wheel.advance(now).next().is_some(), "the others stay in order");
        wheel.hierarchy.exhaust_sequence(3);
        let before: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        for value in 48..60 {
            keys.push(if value % 3 == 0 {
                wheel.schedule(later, value)
            } else {
                wheel.schedule_in(lane, later, value)
            });
            wheel.check_invariants();
        }
        let after: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        let old: Vec<TimerKey> = after.iter().copied().filter(|key| !keys[48..].contains(key)).collect();
        assert_eq!(old, before);
        let at_later: Vec<u32> =
            wheel.ascending().filter(|timer| timer.deadline == later).map(|timer| *timer.value).collect();
        assert!(at_later.is_sorted() && at_later.ends_with(&[58, 59]));
        assert!(wheel.descending().map(|timer| timer.key).eq(after.iter().rev().copied()));
        let fired: Vec<TimerKey> = wheel.advance(u64::MAX).map(|timer| timer.key).collect();
        assert_eq!(fired, after);
    }

    /// A postponement takes the last sequence number, or is the first call that must renumber.
    #[test]
    fn timer_that_is_postponed_when_numbers_run_out_comes_last() {
        for left in [1, 0] {
            let mut wheel = Wheel::new(0);
            let keys: Vec<TimerKey> = (0..40).map(|value| wheel.schedule(50 << 20, value)).collect();
            wheel.hierarchy.exhaust_sequence(left);
            assert!(wheel.reschedule(keys[35], 50 << 20));
            wheel.check_invariants();
            let fired: Vec<u32> = wheel.advance(u64::MAX).map(|timer| timer.value).collect();
            assert_eq!((fired.len(), fired.last()), (40, Some(&35)));
        }
    }

    /// A slot whose generations are used up does not count as room.
    #[test]
    fn room_that_is_reserved_does_not_count_a_retired_slot() {
        let mut wheel: Wheel<u32> = Wheel::new(0);
        wheel.schedule(1, 0);
        let Slot::Taken { generation, .. } = wheel.hierarchy.value_mut(NodeIndex::new(0)).unwrap() else {
            panic!("the slot is taken");
        };
        *generation = core::num::NonZeroU32::MAX;
        assert_eq!((wheel.advance(1).count(), wheel.slots.retired()), (1, 1));
        wheel.reserve(NODES_A_PAGE);
        assert!(wheel.capacity() >= NODES_A_PAGE, "{}", wheel.capacity());
    }
}
