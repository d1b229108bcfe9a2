//! Iteration over all timers of a wheel: in any order, in the order of time or its reverse; `retain` and `drain`.

use core::iter::{self, FusedIterator};

use crate::engine::geometry::Geometry;
use crate::engine::node::NodeIndex;
use crate::wheel::Wheel;
use crate::wheel::advance::LIVE;
use crate::wheel::key::TimerKey;
use crate::wheel::timer::{Expired, TimerRef};

impl<T, G: Geometry> Wheel<T, G> {
    /// All live timers, held ones included, in no particular order. O(slots) in all.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// wheel.schedule(20, 2);
    /// wheel.schedule(10, 1);
    /// assert_eq!(wheel.iter().map(|timer| timer.value).sum::<u32>(), 3);
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = TimerRef<'_, T>> + FusedIterator + Clone + '_ {
        let nodes = (0..self.hierarchy.nodes().len()).map(NodeIndex::new);
        Counted { left: self.len(), timers: nodes.filter_map(|index| self.timer_at(index)) }
    }

    /// All live timers but those that are [held](crate::DueTimer::hold), in the order in which they will fire, without
    /// disturbing the wheel.
    ///
    /// Lazy: a bucket is read when those before it are used up, so `.take(n)` does not look at the timers after the
    /// next n. O(n log n) for all of them.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<char>::new(0);
    /// for (deadline, value) in [(30, 'c'), (10, 'a'), (20, 'b')] {
    ///     wheel.schedule(deadline, value);
    /// }
    /// let oldest: String = wheel.ascending().take(2).map(|timer| timer.value).collect();
    /// assert_eq!(oldest, "ab");
    /// ```
    pub fn ascending(&self) -> impl ExactSizeIterator<Item = TimerRef<'_, T>> + FusedIterator + Clone + '_ {
        let ascent = self.hierarchy.ascent();
        Counted { left: ascent.len(), timers: ascent.map(|timer| self.timer_in(timer.node)) }
    }

    /// All live timers but those that are [held](crate::DueTimer::hold), in the reverse of the order in which they will
    /// fire, without disturbing the wheel.
    ///
    /// O(n) for the first, because a postponed timer may be later than its bucket says, and O(log n) for
    /// each further one.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<char>::new(0);
    /// for (deadline, value) in [(30, 'c'), (10, 'a'), (20, 'b')] {
    ///     wheel.schedule(deadline, value);
    /// }
    /// let youngest: String = wheel.descending().take(2).map(|timer| timer.value).collect();
    /// assert_eq!(youngest, "cb");
    /// ```
    pub fn descending(&self) -> impl ExactSizeIterator<Item = TimerRef<'_, T>> + FusedIterator + Clone + '_ {
        let mut latest = self.hierarchy.latest_first();
        let left = latest.len();
        Counted { left, timers: iter::from_fn(move || Some(self.timer_in(latest.pop()?.node))) }
    }

    /// Cancels every timer for which `f` returns `false`, given its key, deadline and value, in no
    /// particular order. O(slots).
    ///
    /// # Panics
    ///
    /// If `f` panics. The timer that it was called for is then kept, as are those it was not called for.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut sessions = Wheel::new(0);
    /// for (deadline, user) in [(10, "ann"), (20, "bob"), (30, "ann")] {
    ///     sessions.schedule(deadline, user);
    /// }
    /// sessions.retain(|_, _, user| *user != "ann"); // logged out everywhere
    /// assert_eq!((sessions.len(), sessions.next_deadline()), (1, Some(20)));
    /// ```
    pub fn retain(&mut self, mut f: impl FnMut(TimerKey, u64, &mut T) -> bool) {
        for index in 0..self.hierarchy.nodes().len() {
            let index = NodeIndex::new(index);
            let deadline = self.hierarchy.order(index).deadline;
            let Some((key, value)) = self.hierarchy.value_mut(index).and_then(|slot| slot.timer_mut(index)) else {
                continue;
            };
            if !f(key, deadline, value) {
                drop(self.cancel(key));
            }
        }
    }

    /// Takes all timers out, due or not, in no particular order. O(n) in all.
    ///
    /// Dropping the iterator removes the rest.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<u32>::new(0);
    /// wheel.schedule(10, 1);
    /// wheel.schedule(20, 2);
    /// assert_eq!(wheel.drain().map(|timer| timer.value).sum::<u32>(), 3);
    /// assert!(wheel.is_empty());
    /// ```
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = Expired<T>> + FusedIterator + '_ {
        Drain(self)
    }

    /// Takes any timer out, due or not. O(1), or O(log k) from the near heap.
    fn take_any(&mut self) -> Option<Expired<T>> {
        let index = self.hierarchy.any()?;
        let deadline = self.hierarchy.order(index).deadline;
        let (key, value) = self.hierarchy.cancel(index, |slot| slot.vacate(index))?;
        self.slots.freed(key);
        Some(Expired { key, deadline, value })
    }

    /// The timer of a node, if the node has one.
    fn timer_at(&self, index: NodeIndex) -> Option<TimerRef<'_, T>> {
        let (deadline, slot) = self.hierarchy.timer(index)?;
        let (key, value) = slot.timer(index)?;
        Some(TimerRef { key, deadline, value })
    }

    /// The timer of a node that is scheduled.
    pub(super) fn timer_in(&self, index: NodeIndex) -> TimerRef<'_, T> {
        self.timer_at(index).expect(LIVE)
    }
}

/// An iterator over a known number of timers, which does not search on after the last.
#[derive(Clone)]
struct Counted<I> {
    left: usize,
    timers: I,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.left = self.left.checked_sub(1)?;
        self.timers.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}

impl<I: Iterator> FusedIterator for Counted<I> {}

/// Takes all timers out. Dropping it takes out the rest.
struct Drain<'a, T, G: Geometry>(&'a mut Wheel<T, G>);

impl<T, G: Geometry> Iterator for Drain<'_, T, G> {
    type Item = Expired<T>;

    fn next(&mut self) -> Option<Expired<T>> {
        self.0.take_any()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T, G: Geometry> ExactSizeIterator for Drain<'_, T, G> {}

impl<T, G: Geometry> FusedIterator for Drain<'_, T, G> {}

impl<T, G: Geometry> Drop for Drain<'_, T, G> {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            // If the drop of a value panics, the drop of `rest` continues.
            let rest = Drain(self.0);
            while rest.0.take_any().is_some() {}
        }
    }
}
