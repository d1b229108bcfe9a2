//! Lanes: chains that stay open at their ends.

use alloc::vec::Vec;
use core::mem;

use crate::node::{NodeIndex, Ordered};

/// The most lanes of a wheel.
const MAX_LANES: usize = 64;

/// A lane of a [`Wheel`](crate::Wheel) or an [`IndexWheel`](crate::index::IndexWheel): a list for timers that are scheduled
/// in the order in which they are due, as those of one constant delay are.
///
/// Such a timer needs no bucket and no sorting. It is linked behind the last one of its lane, which is O(1), and it is not
/// moved before it fires.
///
/// A lane changes what calls cost and nothing else. A timer that is due before the last one of its lane is scheduled as if
/// no lane were named. So one timer that is due far later than the others keeps the lane from taking more until it is gone.
/// A lane that the wheel does not have is ignored: one of another wheel, or of a wheel before it was stored and loaded. A
/// clone has the lanes of its original.
///
/// Name a lane for timers that mostly fire or are evicted: that takes 0.3 to 0.6 of the time. If most are cancelled, or
/// rescheduled several times before they fire, use none: a reschedule moves the timer from the middle of the lane to its
/// end, and [`Wheel::reschedule`](crate::Wheel::reschedule) only writes the new deadline down.
///
/// ```
/// use timer_wheel::{Lane, Wheel};
///
/// struct Sessions {
///     timers: Wheel<&'static str>,
///     idle: Lane,
/// }
///
/// let mut timers = Wheel::new(0);
/// let idle = timers.add_lane();
/// let mut sessions = Sessions { timers, idle };
/// for (now, user) in [(0, "ann"), (10, "bob")] {
///     sessions.timers.schedule_in(sessions.idle, now + 30, user);
/// }
/// assert_eq!(sessions.timers.wake_at(), Some(30), "it is exact");
/// assert!(sessions.timers.advance(40).map(|timer| timer.value).eq(["ann", "bob"]));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lane(u8);

impl Lane {
    /// The `next` of the last node of the lane.
    #[inline]
    pub(crate) const fn end(self) -> NodeIndex {
        NodeIndex::end_of(self.0)
    }
}

/// The last timer of a lane.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct End {
    /// The timer's deadline, or 0 if the lane is empty.
    deadline: u64,
    /// The timer's node, or nil.
    tail: NodeIndex,
}

impl End {
    const EMPTY: Self = Self { deadline: 0, tail: NodeIndex::NIL };
}

/// The ends of all lanes of a wheel.
///
/// Invariants: a lane that is not empty is one chain, the end is its last node, and the next of that node is the
/// [end](NodeIndex::end_of) of the lane instead of nil.
#[derive(Clone, Debug)]
pub(crate) struct Lanes(Vec<End>);

impl Lanes {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds an empty lane.
    #[track_caller]
    pub(super) fn add(&mut self) -> Lane {
        assert!(self.0.len() < MAX_LANES, "a timer wheel has at most {MAX_LANES} lanes");
        self.0.push(End::EMPTY);
        Lane(self.0.len() as u8 - 1)
    }

    /// The number of lanes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The heap memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * mem::size_of::<End>()
    }

    /// Whether a timer that is scheduled now, with that deadline, can be the last of a lane.
    #[inline]
    pub(super) fn takes(&self, lane: Lane, deadline: u64) -> bool {
        self.0.get(usize::from(lane.0)).is_some_and(|end| end.deadline <= deadline)
    }

    /// Makes a timer the last of a lane that [takes](Self::takes) it, and returns the one before, or nil.
    #[inline]
    pub(super) fn append(&mut self, lane: Lane, index: NodeIndex, deadline: u64) -> NodeIndex {
        let end = &mut self.0[usize::from(lane.0)];
        end.deadline = deadline;
        mem::replace(&mut end.tail, index)
    }

    /// Empties the lane with that end, if it is the end of a lane.
    #[inline]
    pub(super) fn empty(&mut self, end: NodeIndex) {
        self.end_with(end, NodeIndex::NIL, 0);
    }

    /// The number of lanes that hold timers.
    pub(crate) fn in_use(&self) -> usize {
        self.0.iter().filter(|&&end| end != End::EMPTY).count()
    }

    /// Whether `end` is that of a lane, and `last` the last timer of it.
    pub(super) fn ends_with(&self, end: NodeIndex, last: &Ordered) -> bool {
        self.0.get(end.as_end()) == Some(&End { deadline: last.deadline, tail: last.node })
    }

    /// Makes a timer the last of the lane with that end, if it is the end of a lane.
    #[inline]
    pub(super) fn end_with(&mut self, end: NodeIndex, tail: NodeIndex, deadline: u64) {
        if let Some(lane) = self.0.get_mut(end.as_end()) {
            *lane = End { deadline, tail };
        }
    }
}
