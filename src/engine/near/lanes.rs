//! The ends of lanes: chains that stay open.

use alloc::boxed::Box;
use core::mem;

use super::lane::Lane;
use crate::engine::node::{NodeIndex, Ordered};

/// The most lanes of a wheel.
const MAX_LANES: usize = 64;

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
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes(Box<[End]>);

impl Lanes {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds an empty lane.
    #[track_caller]
    pub(super) fn add(&mut self) -> Lane {
        assert!(self.0.len() < MAX_LANES, "a timer wheel has at most {MAX_LANES} lanes");
        let ends = self.0.iter().copied().chain([End::EMPTY]);
        self.0 = ends.collect();
        Lane::new(self.0.len() - 1)
    }

    /// The number of lanes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The heap memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        mem::size_of_val(&*self.0)
    }

    /// Whether a timer that is scheduled now, with that deadline, can be the last of a lane.
    #[inline]
    pub(super) fn takes(&self, lane: Lane, deadline: u64) -> bool {
        self.0.get(lane.get()).is_some_and(|end| end.deadline <= deadline)
    }

    /// The last timer of a lane, or `None` if the lane is empty.
    pub(super) fn last(&self, lane: Lane) -> Option<NodeIndex> {
        self.0.get(lane.get()).map(|end| end.tail).filter(|&tail| tail != NodeIndex::NIL)
    }

    /// Appends a timer to a lane that [takes](Self::takes) it, and returns the one before it, or nil.
    #[inline]
    pub(super) fn append(&mut self, lane: Lane, index: NodeIndex, deadline: u64) -> NodeIndex {
        let end = &mut self.0[lane.get()];
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
